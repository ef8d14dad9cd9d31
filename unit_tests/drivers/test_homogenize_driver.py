#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""brickwork-homogenize as a user meets it: exit codes, messages, files, and tensors that are known.

  test_homogenize_driver.py BIN_DIR SOURCE_DIR [WORD...]

Exit status: 0 right, 1 wrong, 77 where there is no brickwork-homogenize.
"""

import csv
import math
import os
import struct
import sys

from driver_support import case, check, close, content, history, main, summary

SOLID = dict(c11=13.461538, c12=5.769231, c44=3.846154)  # E = 10, nu = 0.3


def write_npy(path, values, cells):
    """Values, x fastest, as float32 of shape (nz, ny, nx); by hand, so that no NumPy is needed."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (cells[2], cells[1], cells[0])
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("ascii"))
        file.write(struct.pack("<%df" % len(values), *values))
    return path


def image(bench, function, cells=(8, 8, 8), name="image.npy"):
    values = [function(i, j, k) for k in range(cells[2]) for j in range(cells[1]) for i in range(cells[0])]
    return write_npy(bench.path(name), values, cells)


def tensor_csv(output):
    """The first block of C.csv, as rows of numbers."""
    with open(os.path.join(output, "C.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    check(rows[0] == ["stress", "xx", "yy", "zz", "yz", "xz", "xy"], rows[0])
    check(rows[7] == ["stress", "xx", "yy", "zz", "xy", "yz", "xz"], rows[7])
    return [[float(number) for number in row[1:]] for row in rows[1:7]]


def command(bench, subcommand, *arguments, output=None):
    words = [os.path.join(bench.binaries, bench.program), subcommand, *arguments, "--threads", "1"]
    return words + (["--output", output] if output else [])


def tensor(bench, *arguments):
    """Runs and expects success; returns the output directory."""
    output = bench.fresh()
    run = bench.run(command(bench, "tensor", *arguments, output=output))
    check(run.code == 0, "exit code 0 expected", run)
    check(summary(output)["status"] == "finished", summary(output))
    return output


def refused(bench, subcommand, arguments, *words):
    """Must end in one line on stderr that holds all words, without a result."""
    output = bench.fresh()
    run = bench.run(command(bench, subcommand, *arguments, output=output))
    bench.one_line(run, 2, words)
    check(not os.path.exists(output), "refused, but '%s' was made" % output, run)


def design(bench, text, *arguments, code=0):
    output = bench.fresh()
    run = bench.run(command(bench, "design", bench.config(text), *arguments, output=output), timeout=300)
    check(run.code == code, "exit code %d expected" % code, run)
    return output


SMALL = "[cell]\ncells = [8, 8, 8]\n[schedule]\nsteps = 4\n"


# ------------------------------------------------------------------------------------------------- known tensors

@case
def flat_images_are_repeated(bench):
    """One layer of cells gives the tensor of two."""
    stripes = lambda i, j, k: float((i + 2 * j) % 3 == 0)
    flat = tensor_csv(tensor(bench, image(bench, stripes, (6, 6, 1), "flat.npy"), "--set", "cell.lengths=[1, 1, 0.5]"))
    thick = tensor_csv(tensor(bench, image(bench, stripes, (6, 6, 2), "thick.npy"), "--set", "cell.lengths=[1, 1, 0.5]"))
    for one, other in zip(flat, thick):
        for a, b in zip(one, other):
            check(close(a, b, 1e-5) or abs(a - b) < 1e-7, (flat, thick))


@case
def solid(bench):
    """A homogeneous cell has its material's tensor, whatever its sides."""
    path = image(bench, lambda i, j, k: 1, (4, 6, 5))
    output = tensor(bench, path, "--set", "material.young=10", "--set", "cell.lengths=[1, 2, 0.5]")
    c = tensor_csv(output)
    for i in range(6):
        for j in range(6):
            wanted = 0 if max(i, j) > 2 else SOLID["c12"]
            if i == j:
                wanted = SOLID["c11"] if i < 3 else SOLID["c44"]
            check(abs(c[i][j] - wanted) <= 1e-5 * SOLID["c11"], "C%d%d = %s" % (i + 1, j + 1, c[i][j]))
    result = summary(output)
    check(all(close(e, 10, 1e-5) for e in result["young"]), result["young"])
    check(close(result["bulk_voigt"], result["hashin_shtrikman_bulk"], 1e-5), result)
    check(result["tensor_order"] == "xx,yy,zz,yz,xz,xy", result["tensor_order"])


@case
def uniform_density(bench):
    path = image(bench, lambda i, j, k: 0.5)
    c = tensor_csv(tensor(bench, path, "--set", "material.young=10"))
    check(close(c[0][0], 1.682692, 1e-5) and close(c[0][1], 0.721154, 1e-5) and close(c[3][3], 0.480769, 1e-5), c)


LAMINATE = "[[material]]\nlabel = 1\nyoung = 1\npoisson = 0.3\n[[material]]\nlabel = 2\nyoung = 0.1\npoisson = 0.3\n"


@case
def laminate_of_two_materials(bench):
    """Exact for laminates: moduli 1 and 0.1 in layers normal to z; times 10."""
    path = image(bench, lambda i, j, k: 1 if k < 4 else 2)
    config = bench.config(LAMINATE.replace("young = 1\n", "young = 10\n").replace("0.1", "1"))
    output = tensor(bench, path, "--config", config, "--set", "solver.tolerance=1e-8")
    c = tensor_csv(output)
    exact = {(0, 0): 6.493506, (0, 1): 2.262737, (0, 2): 1.048951, (2, 2): 2.447552, (3, 3): 0.699301,
             (4, 4): 0.699301, (5, 5): 2.115385}
    for (i, j), value in exact.items():
        check(close(c[i][j], value, 1e-5), "C%d%d = %s, not %s" % (i + 1, j + 1, c[i][j], value))
    result = summary(output)
    check(result["hashin_shtrikman_bulk_lower"] < result["bulk_reuss"], result)
    check(result["bulk_voigt"] < result["hashin_shtrikman_bulk"], result)
    check([material["share"] for material in result["materials"]] == [0.5, 0.5], result["materials"])


def backus(layers):
    """C11, C12, C13, C33, C44, C66 of layers (E, nu) of equal thickness normal to z."""
    moduli = [(e * nu / ((1 + nu) * (1 - 2 * nu)), e / (2 * (1 + nu))) for e, nu in layers]

    def mean(values):
        values = list(values)
        return sum(values) / len(values)

    c33 = 1 / mean(1 / (l + 2 * m) for l, m in moduli)
    q = mean(l / (l + 2 * m) for l, m in moduli)
    return (mean(4 * m * (l + m) / (l + 2 * m) for l, m in moduli) + q * q * c33,
            mean(2 * l * m / (l + 2 * m) for l, m in moduli) + q * q * c33, q * c33, c33,
            1 / mean(1 / m for l, m in moduli), mean(m for l, m in moduli))


@case
def laminate_of_different_poisson_ratios(bench):
    path = image(bench, lambda i, j, k: 1 if k < 4 else 2)
    text = ("[[material]]\nlabel = 0\nyoung = 0\n[[material]]\nlabel = 1\nyoung = 70e9\npoisson = 0.2\n"
            "[[material]]\nlabel = 2\nyoung = 3e9\npoisson = 0.4\n")
    output = tensor(bench, path, "--config", bench.config(text), "--set", "solver.tolerance=1e-8")
    c = tensor_csv(output)
    found = (c[0][0], c[0][1], c[0][2], c[2][2], c[3][3], c[5][5])
    exact = backus([(70e9, 0.2), (3e9, 0.4)])
    check(all(close(a, b, 1e-5) for a, b in zip(found, exact)), (found, exact))
    result = summary(output)
    check(result["hashin_shtrikman_bulk_lower"] < result["bulk_reuss"], result)
    check(result["bulk_voigt"] < result["hashin_shtrikman_bulk"], result)
    check([m["poisson"] for m in result["materials"]] == [0.3, 0.2, 0.4], result["materials"])
    # the resolved configuration repeats the run, and so does Jacobi but for the solver's tolerance
    again = tensor(bench, "--config", os.path.join(output, "config.toml"))
    check(content(output)["C.csv"] == content(again)["C.csv"], "C.csv differs")
    jacobi = tensor_csv(tensor(bench, "--config", os.path.join(output, "config.toml"), "--set", "solver.method=jacobi"))
    check(all(abs(jacobi[i][j] - c[i][j]) <= 1e-6 * c[0][0] for i in range(6) for j in range(6)), (jacobi, c))


@case
def surface_without_a_file(bench):
    output = tensor(bench, "--set", "image.surface=schwarz_p", "--grid", "12,12,12", "--set", "output.npy=true",
                    "--set", "output.stl=true", "--set", "output.vti=true")
    result = summary(output)
    check(0.2 < result["volume"] < 0.4, result["volume"])
    check(0 < result["bulk_voigt"] <= result["hashin_shtrikman_bulk"], result)
    for name in ("density.npy", "cell.stl", "density.vti", "C.csv", "config.toml", "summary.json"):
        check(os.path.getsize(os.path.join(output, name)) > 0, name)
    # Each output is the next run's input, with the same tensor.
    for name in ("density.npy", "density.vti"):
        check(tensor_csv(tensor(bench, os.path.join(output, name))) == tensor_csv(output), name)


@case
def config_repeats_the_run(bench):
    path = image(bench, lambda i, j, k: 1 if i + j < 6 else 0)
    output = tensor(bench, path, "--set", "material.threshold=0.5")
    again = tensor(bench, "--config", os.path.join(output, "config.toml"))
    check(content(output)["C.csv"] == content(again)["C.csv"], "C.csv differs")


# ----------------------------------------------------------------------------------------------------- bad input

@case
def image_of_another_size(bench):
    path = image(bench, lambda i, j, k: 1, (4, 6, 5))
    refused(bench, "tensor", [path, "--grid", "4,6,6"], "image.npy", "4", "6", "5")


@case
def values_that_are_no_densities(bench):
    path = image(bench, lambda i, j, k: 1.5 if (i, j, k) == (1, 2, 3) else 0.5)
    refused(bench, "tensor", [path], "cell (1, 2, 3)", "1.5", "[0, 1]")
    path = image(bench, lambda i, j, k: math.nan if (i, j, k) == (1, 2, 3) else 0.5)
    refused(bench, "tensor", [path], "nan")


@case
def empty_cell(bench):
    refused(bench, "tensor", [image(bench, lambda i, j, k: 0)], "empty")


@case
def label_without_a_material(bench):
    path = image(bench, lambda i, j, k: 3 if (i, j, k) == (0, 0, 7) else 1)
    refused(bench, "tensor", [path, "--config", bench.config(LAMINATE)], "cell (0, 0, 7)", "label 3", "1, 2")


@case
def poisson_ratios_that_cannot_be(bench):
    path = image(bench, lambda i, j, k: 1)
    refused(bench, "tensor", [path, "--config", bench.config(LAMINATE.replace("poisson = 0.3\n", "poisson = 0.5\n", 1))],
            "material 1: poisson 0.5", "(-1, 0.5)", ".toml:4")
    refused(bench, "tensor", [path, "--config", bench.config(LAMINATE[:LAMINATE.rindex("poisson")])],
            "[[material]] 2 needs 'poisson'", ".toml:5")


@case
def files_that_are_missing(bench):
    refused(bench, "tensor", ["nowhere.npy"], "nowhere.npy")
    refused(bench, "tensor", [], "needs an image")
    bench.one_line(bench.run(command(bench, "design", "nowhere.toml")), 2, ["nowhere.toml"])


@case
def expressions_that_mean_nothing(bench):
    refused(bench, "design", [bench.config(SMALL + '[objective]\nexpression = "C11 + C77"\n')], "C77", "column",
            ".toml:")
    refused(bench, "design", [bench.config(SMALL + '[objective]\nexpression = "(C11 + C22"\n')], "column")


@case
def contradictory_constraints(bench):
    constraint = '[[constraint]]\nkind = "bulk_at_least"\nbound = 0.5\n'
    refused(bench, "design", [bench.config(SMALL + constraint)], 'update = "mma"', ".toml:")
    refused(bench, "design", [bench.config(SMALL + '[design]\nupdate = "mma"\n' + constraint)], "Hashin-Shtrikman")
    refused(bench, "design", [bench.config(SMALL), "--grid", "8,8,9"], "reflect6", "cell.cells")
    refused(bench, "design", [bench.config(SMALL), "--set", "design.lower=0.4"], "design.lower", "volume_fraction")


@case
def start_files_that_do_not_fit(bench):
    path = image(bench, lambda i, j, k: 0.3, (4, 4, 4))
    refused(bench, "design", [bench.config(SMALL), "--set", 'start.file="%s"' % path], "image.npy",
            "holds 4 x 4 x 4 cells, cell.cells are 8 x 8 x 8", "start.resample")
    path = image(bench, lambda i, j, k: 2 if (i, j, k) == (1, 2, 3) else 0.3)
    refused(bench, "design", [bench.config(SMALL), "--set", 'start.file="%s"' % path], "[0, 1]", "cell (1, 2, 3)")
    # Another volume is no mistake, but is remarked on.
    path = image(bench, lambda i, j, k: 0.5 if i + j + k < 9 else 0.25)
    output = bench.fresh()
    run = bench.run(command(bench, "design", bench.config(SMALL), "--set", 'start.file="%s"' % path, output=output))
    note = "its mean density is 0."
    check(run.code == 0 and note in run.out, run)
    check(any(note in warning for warning in summary(output)["warnings"]), summary(output)["warnings"])
    check(summary(output)["volume"] < 0.3001, summary(output))
    path = image(bench, lambda i, j, k: 0.3 + (0.1 if i % 2 else -0.1))
    warnings = summary(design(bench, SMALL, "--set", 'start.file="%s"' % path))["warnings"]
    check(not any(note in warning for warning in warnings), warnings)


@case
def messages_for_newcomers(bench):
    path = image(bench, lambda i, j, k: 1.5)
    refused(bench, "tensor", [path], "'%s': image: cell (0, 0, 0) has the value 1.5" % path)
    refused(bench, "tensor", [bench.directory], "it is a directory")
    refused(bench, "tensor", [bench.config(SMALL)], "--config")
    refused(bench, "tensor", [path, "--set", "image.field=rho"], "'field' belongs to files with named fields")
    refused(bench, "tensor", ["--set", "image.surface=gyroid", "--grid", "8,8,9", "--set", "image.periods=5"],
            "'periods' is 5; it must lie in [1, 4]")
    refused(bench, "design", [bench.config(SMALL), "--steps", "5"], "--steps 5", "steps 1 to 4")
    refused(bench, "design", [bench.config(SMALL), "--steps", "0"], "--steps", "'0' must be an integer of at least 1 ")
    refused(bench, "design", [bench.config(SMALL), "--threads", "x"], "'x' must be an integer of at least 0 ")


@case
def surfaces_that_are_empty(bench):
    """No density passes the level: the STL is empty, and the console and the summary say so."""
    path = image(bench, lambda i, j, k: 0.25)
    output = bench.fresh()
    run = bench.run(command(bench, "tensor", path, "--set", "output.stl=true", output=output))
    check(run.code == 0 and "cell.stl has no triangles" in run.out, run)
    check(any("output.stl_level = 0.5" in warning for warning in summary(output)["warnings"]), summary(output))
    text = SMALL.replace("steps = 4", "steps = 1") + "[output]\nstl_level = 0.99\n"
    output = bench.fresh()
    run = bench.run(command(bench, "design", bench.config(text + '[start]\ndensity = "uniform"\n'), output=output))
    check(run.code == 0 and run.out.count("cell.stl has no triangles") == 1, run)
    check(any("output.stl_level = 0.99" in warning for warning in summary(output)["warnings"]), summary(output))


@case
def directories_that_hold_something(bench):
    path = image(bench, lambda i, j, k: 1, (4, 4, 4))
    output = tensor(bench, path)
    before = content(output)
    bench.one_line(bench.run(command(bench, "tensor", path, output=output)), 2, [output, "--force"])
    check(content(output) == before, "a refused run changed the directory")
    check(bench.run(command(bench, "tensor", path, "--force", output=output)).code == 0, "--force")


@case
def force_keeps_the_input(bench):
    output = tensor(bench, "--set", "image.surface=gyroid", "--grid", "8,8,8", "--set", "output.npy=true")
    path = os.path.join(output, "density.npy")
    for subcommand, arguments in (("tensor", [path]), ("design", [bench.config(SMALL + '[start]\nfile = "%s"\n' % path)])):
        run = bench.run(command(bench, subcommand, *arguments, "--force", output=output + "/"))
        bench.one_line(run, 2, [path, "--force removes"])
    check(os.path.exists(path), "the input is gone")


# -------------------------------------------------------------------------------------------------------- design

@case
def examples_resolve(bench):
    paths = bench.examples()
    check(len(paths) >= 5, paths)
    for path in paths:
        name = os.path.basename(path)
        if name.startswith("cell_"):
            run = bench.run(command(bench, "design", path, "--print-config"))
        else:
            arguments = ["laminate.raw"] if name == "two_phases.toml" else []
            run = bench.run(command(bench, "tensor", *arguments, "--config", path, "--print-config"))
        check(run.code == 0 and not run.err, run)


@case
def design_writes_its_files(bench):
    output = design(bench, SMALL)
    rows = history(output)
    check(len(rows) == 4, rows)
    check(all(abs(float(row["volume"]) - 0.3) < 1e-5 for row in rows[1:]), [row["volume"] for row in rows])
    result = summary(output)
    check(result["objective"] == "bulk" and result["steps"] == 4, result)
    check(0 < result["bulk_voigt"] <= result["hashin_shtrikman_bulk"], result)
    for name in ("density.vti", "density.npy", "cell.stl", "density.vtkhdf.series", "C.csv", "config.toml"):
        check(os.path.getsize(os.path.join(output, name)) > 0, name)
    c = tensor_csv(output)
    for i in range(6):
        for j in range(6):
            check(abs(c[i][j] - c[j][i]) <= 1e-12 * c[0][0], "C is not symmetric")
    # The design's density gives the tensor that the design reports.
    other = tensor_csv(tensor(bench, os.path.join(output, "density.npy"), "--set", "solver.tolerance=1e-5"))
    check(all(abs(a - b) <= 1e-4 * c[0][0] for one, two in zip(c, other) for a, b in zip(one, two)), [c, other])


@case
def same_seed_same_design(bench):
    one, two = design(bench, SMALL), design(bench, SMALL)
    check(content(one)["density.npy"] == content(two)["density.npy"], "two runs differ")
    other = design(bench, SMALL, "--set", "start.seed=2")
    check(content(one)["density.npy"] != content(other)["density.npy"], "the seed has no effect")


@case
def two_threads_repeat_bit_by_bit(bench):
    mma = '[objective]\nexpression = "-C33"\n[[constraint]]\nkind = "shear_at_least"\nbound = 0.01\n'
    cases = [SMALL.replace("8, 8, 8", "12, 12, 12"),
             SMALL.replace("8, 8, 8", "9, 7, 10") + mma + '[design]\nupdate = "mma"\nsymmetry = "none"\n']
    for text in cases:
        outputs = []
        for _ in range(2):
            outputs.append(bench.fresh())
            run = bench.run([os.path.join(bench.binaries, bench.program), "design", bench.config(text), "--threads", "2",
                             "--output", outputs[-1]])
            check(run.code == 0, run)
        one, two = (content(output) for output in outputs)
        for name in ("C.csv", "density.npy", "density.vti", "cell.stl"):
            check(one[name] == two[name], "%s differs" % name)
        for a, b in zip(*(history(output) for output in outputs)):
            check(all(a[key] == b[key] for key in a if not key.startswith("seconds")), a, b)


@case
def design_from_a_file_and_resampled(bench):
    output = design(bench, SMALL)
    path = os.path.join(output, "density.npy")
    again = design(bench, SMALL, "--set", 'start.file="%s"' % path)
    # The first step analyses the design that the other run ended with.
    first, reported = -float(history(again)[0]["objective"]), summary(output)["bulk_voigt"]
    check(close(first, reported, 1e-4), "bulk modulus %s of the start, %s reported" % (first, reported))
    design(bench, SMALL, "--set", 'start.file="%s"' % path, "--set", "start.resample=true", "--grid", "10,10,10")


@case
def densities_of_another_run(bench):
    """Bytes and the series are understood as densities: image or start, the last step or one that is named."""
    output = design(bench, SMALL + "[output]\nevery = 2\nfloat_type = \"uint8\"\n")
    exact = tensor_csv(output)
    names = ["density.vti", "density.vtkhdf.series"]
    if not os.path.exists(os.path.join(output, names[1])):
        names.pop()
    for name in names:
        path = os.path.join(output, name)
        c = tensor_csv(tensor(bench, path, "--set", "solver.tolerance=1e-5"))
        # Rounded to a 255th each.
        check(all(abs(a - b) <= 0.03 * exact[0][0] for one, two in zip(exact, c) for a, b in zip(one, two)), [exact, c])
        again = design(bench, SMALL, "--set", 'start.file="%s"' % path)
        check(close(-float(history(again)[0]["objective"]), summary(output)["bulk_voigt"], 0.03), name)
    if len(names) == 1:
        return
    second = design(bench, SMALL, "--set", 'start.file="%s"' % path, "--set", "start.step=2")
    check(close(-float(history(second)[0]["objective"]), -float(history(output)[2]["objective"]), 0.03), "step 2")
    refused(bench, "tensor", [path, "--set", "image.step=3"], "no step 3; it has 2, 4")
    refused(bench, "design", [bench.config(SMALL), "--set", 'start.file="%s"' % path, "--set", "start.step=9"],
            "no step 9; it has 2, 4")
    frame = os.path.join(output, "density_frames", "density_0002.vtkhdf")
    run = bench.run(command(bench, "tensor", frame, "--force", output=output))
    bench.one_line(run, 2, [frame, "--force removes"])


@case
def expression_equals_the_named_objective(bench):
    named = design(bench, SMALL)
    written = design(bench, SMALL + '[objective]\nexpression = "-(C11+C22+C33+2*(C12+C13+C23))/9"\n')
    for one, two in zip(history(named), history(written)):
        check(close(float(one["objective"]), float(two["objective"]), 1e-4), one, two)


@case
def division_by_zero_is_reported(bench):
    output = bench.fresh()
    config = bench.config(SMALL + '[objective]\nexpression = "C11 / (C12 - C12)"\n')
    run = bench.run(command(bench, "design", config, output=output))
    bench.one_line(run, 2, ["division", "column"])


if __name__ == "__main__":
    sys.exit(main("brickwork-homogenize"))
