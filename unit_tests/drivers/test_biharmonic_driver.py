#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""brickwork-biharmonic: known deflections, orders and iterations, files, messages, exit codes, pictures.

  test_biharmonic_driver.py BIN_DIR SOURCE_DIR [WORD...]

Exit status: 0 right, 1 wrong, 77 where there is no brickwork-biharmonic.
"""

import csv
import os
import shutil
import signal
import subprocess
import sys
import time

from driver_support import case, check, close, content, history, main, summary

PYTHON = "/usr/bin/python3"  # where the distribution's VTK is


def command(bench, config, *arguments, output=None):
    words = [os.path.join(bench.binaries, bench.program), config, "--threads", "1", *arguments]
    return words + (["--output", output] if output else [])


def solve(bench, text, *arguments, code=0):
    """Runs a configuration given as text; returns the output directory."""
    output = bench.fresh()
    run = bench.run(command(bench, bench.config(text), *arguments, output=output))
    check(run.code == code, "exit code %d expected" % code, run)
    return output


def refused(bench, text, *words, arguments=(), code=2):
    """Must end in one line on stderr that holds all words, without a result."""
    output = bench.fresh()
    run = bench.run(command(bench, bench.config(text), *arguments, output=output))
    bench.one_line(run, code, words)
    check(not os.path.exists(output), "refused, but '%s' was made" % output, run)


def meshes(output):
    with open(os.path.join(output, "convergence.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PLATE = "[domain]\ndimension = 2\nrefinements = 4\n"
UNIFORM = PLATE + '[load]\nkind = "constant"\n'
CUBE = "[study]\nrefinements = [2, 3]\n"


# ------------------------------------------------------------------------------------------------- known solutions

@case
def plate_under_a_uniform_load(bench):
    """0.00126532 q a^4 / D at the centre, whatever the sizes; the load's sign decides the direction."""
    result = summary(solve(bench, UNIFORM))
    check(close(result["points"][0]["value"], 0.00126532, 1e-5), result["points"])
    scaled = summary(solve(bench, UNIFORM + "value = -3.0\n[form]\nbiharmonic = 5.0\n", "--set", "domain.lengths=[2, 2]",
                           "--set", "domain.origin=[1, -1]"))
    check(close(scaled["points"][0]["value"], -0.00126532 * 3 * 16 / 5, 1e-5), scaled["points"])
    check(scaled["points"][0]["position"][:2] == [2, 0], scaled["points"])


@case
def plate_on_simple_supports(bench):
    """0.00406235 q a^4 / D (Timoshenko and Woinowsky-Krieger, table 8)."""
    result = summary(solve(bench, UNIFORM + '[boundary]\nall = "simply_supported"\n'))
    check(close(result["points"][0]["value"], 0.00406235, 1e-5), result["points"])


@case
def plate_under_a_point_load(bench):
    """0.00560 P a^2 / D, better refined around the force; its work is the force times its deflection."""
    output = solve(bench, PLATE + '[adaptive]\nregion = "ball"\ndepth = 3\n[load]\nkind = "point"\nvalue = 2.0\n')
    result = summary(output)
    check(close(result["points"][0]["value"], 2 * 0.00560, 4e-3), result["points"])
    last = meshes(output)[-1]
    check(close(float(last["work"]), 2 * result["points"][0]["value"], 1e-9), last)
    values = [float(row["value"]) for row in meshes(output)]
    check(values == sorted(values) and len(values) == 4, "nested spaces give growing deflections", values)


@case
def cube_of_the_manufactured_solution(bench):
    """Order 4, few iterations with every solver, no jumps."""
    for arguments, most in (((), 7), (("--set", "solver.smoother=patch"), 8),
                            (("--set", "solver.smoother=patch", "--set", "solver.method=stationary"), 12),
                            (("--set", "solver.smoother=patch", "--set", "solver.method=stationary", "--set",
                              "solver.symmetric=false"), 9),
                            (("--set", "solver.storage=cell"), 7),
                            (("--set", "solver.storage=cell", "--set", "solver.evaluation=fdm"), 7),
                            (("--set", "solver.storage=cell", "--set", "solver.smoother=patch"), 8),
                            (("--set", "solver.precision=mixed"), 7), (("--set", "solver.interval=estimated"), 8)):
        rows = meshes(solve(bench, CUBE, *arguments))
        check([row["cells"] for row in rows] == ["64", "512"], rows)
        check(rows[0]["order_l2"] == "" and float(rows[1]["order_l2"]) > 3.8, rows)
        check(all(int(row["iterations"]) <= most for row in rows), arguments, rows)
        check(all(float(row["true_residual"]) <= 1e-8 for row in rows), arguments, rows)
        check(all(row["value_jump"] == row["slope_jump"] == "0" for row in rows), arguments, rows)


@case
def mixed_boundaries(bench):
    """Each combination of conditions on opposite faces has its manufactured solution, of order 4."""
    boundary = '[boundary]\nx_lower = "simply_supported"\ny_lower = "simply_supported"\ny_upper = "simply_supported"\n'
    rows = meshes(solve(bench, "[domain]\ndimension = 2\nlengths = [1.5, 1.0]\ncells = [3, 2]\n[study]\nrefinements = [2, 3]\n"
                        "[form]\nmass = 10.0\nlaplace = 5.0\n" + boundary))
    check(3.8 < float(rows[1]["order_l2"]) < 4.2, rows)


@case
def storages_agree(bench):
    """Vertex-wise and cell-wise solves of a refined plate: the same iterations and deflection."""
    plate = ('[domain]\ndimension = 2\nlengths = [1.5, 1.0]\ncells = [3, 2]\nrefinements = 2\n'
             '[boundary]\nx_lower = "simply_supported"\n[adaptive]\nregion = "ball"\ndepth = 2\n[load]\nkind = "constant"\n')
    outputs = [solve(bench, plate, *arguments) for arguments in ((), ("--set", "solver.storage=cell"))]
    vertex, cell = (meshes(output) for output in outputs)
    for a, b in zip(vertex, cell):
        check(a["iterations"] == b["iterations"], a, b)
        check(b["value_jump"] == b["slope_jump"] == "0", "jumps", b)
        check(abs(float(a["value"]) - float(b["value"])) < 1e-7 * abs(float(a["value"])), a, b)
    check(summary(outputs[1])["kernel"] == "cell (automatic)", "kernel")


@case
def local_refinement_keeps_the_field_smooth(bench):
    output = solve(bench, '[domain]\nrefinements = 3\n[adaptive]\nregion = "ring"\ndepth = 2\n[solver]\nsmoother = "patch"\n')
    rows = meshes(output)
    check([row["levels"] for row in rows] == ["4", "5", "6"], rows)
    check(int(rows[2]["marked"]) > 0 and int(rows[2]["balanced"]) > 0, "balanced", rows)
    for before, row in zip(rows, rows[1:]):
        refined = int(row["marked"]) + int(row["balanced"])
        check(int(row["cells"]) == int(before["cells"]) + 7 * refined, "cells", rows)
        check(row["value_jump"] == row["slope_jump"] == "0", "jumps", row)
        check(int(row["iterations"]) <= 20, row)


@case
def indicator_beats_uniform_refinement(bench):
    """A force near a corner: the estimate falls faster per unknown, and the energy is nearer to its limit."""
    load = '[load]\nkind = "point"\nposition = [0.3, 0.3]\n'
    adaptive = meshes(solve(bench, "[domain]\ndimension = 2\nrefinements = 3\n" + load +
                            '[adaptive]\nregion = "indicator"\ndepth = 8\ntheta = 0.5\n'))
    uniform = meshes(solve(bench, "[domain]\ndimension = 2\n[study]\nrefinements = [4, 7]\n" + load))
    work = [float(row["work"]) for row in adaptive]
    check(work == sorted(work), work)
    check(int(adaptive[-1]["unknowns"]) < int(uniform[1]["unknowns"]) / 4, adaptive[-1])
    check(work[-1] > float(uniform[0]["work"]), "worse than uniform", work, uniform)
    estimates = [float(row["estimate"]) for row in adaptive]
    check(estimates[-1] < estimates[0] / 4, estimates)


# ------------------------------------------------------------------------------------------------------- the files

@case
def files(bench):
    output = solve(bench, CUBE)
    check(sorted(os.listdir(output)) == ["config.toml", "convergence.csv", "history.csv", "solution.vtkhdf",
                                         "summary.json"], os.listdir(output))
    rows = history(output)
    first = [row for row in rows if row["mesh"] == "1"]
    check([row["iteration"] for row in first] == [str(n) for n in range(len(first))], first)
    check(float(first[0]["relative_residual"]) == 1 and float(first[-1]["relative_residual"]) <= 1e-8, first)
    result = summary(output)
    check(result["status"] == "finished" and result["cells"] == [1, 1, 1] and len(result["meshes"]) == 2, result)
    check(result["degrees_of_freedom"] == int(meshes(output)[-1]["unknowns"]), result)
    # The resolved configuration repeats the run to the last bit.
    again = bench.fresh()
    run = bench.run(command(bench, os.path.join(output, "config.toml"), output=again))
    check(run.code == 0, run)
    check(content(again)["history.csv"] == content(output)["history.csv"], "history.csv differs")
    check(content(again)["solution.vtkhdf"] == content(output)["solution.vtkhdf"], "solution.vtkhdf differs")
    # An existing result is kept, unless --force is given; other files stay.
    with open(os.path.join(output, "notes.txt"), "w", encoding="utf-8") as file:
        file.write("mine")
    before = content(output)
    config = bench.config(UNIFORM + "[output]\nvtkhdf = false\n")
    bench.one_line(bench.run(command(bench, config, output=output)), 2, ["not empty", "--force"])
    check(content(output) == before, "touched")
    check(bench.run(command(bench, config, "--force", output=output)).code == 0, "--force")
    check("notes.txt" in os.listdir(output) and "solution.vtkhdf" not in os.listdir(output), os.listdir(output))


READ = """
import sys, math
import numpy as np, vtk
from vtk.util.numpy_support import vtk_to_numpy
reader = vtk.vtkHDFReader()
assert reader.CanReadFile(sys.argv[1]) == 1
reader.SetFileName(sys.argv[1])
reader.Update()
mesh = reader.GetOutputDataObject(0)
assert mesh.IsA("vtkUnstructuredGrid")
dim, cells = int(sys.argv[2]), int(sys.argv[3])
assert mesh.GetNumberOfCells() == cells, mesh.GetNumberOfCells()
points = vtk_to_numpy(mesh.GetPoints().GetData())[:, :dim]
value = vtk_to_numpy(mesh.GetPointData().GetArray("value"))
gradient = vtk_to_numpy(mesh.GetPointData().GetArray("gradient"))[:, :dim]
lengths = np.array([float(text) for text in sys.argv[4:4 + dim]])
t = points / lengths
u = np.prod(np.sin(np.pi * t) ** 2, axis=1)
assert abs(value - u).max() < 0.02, abs(value - u).max()
for d in range(dim):
    g = np.pi / lengths[d] * np.sin(2 * np.pi * t[:, d]) * np.prod(np.delete(np.sin(np.pi * t) ** 2, d, axis=1), axis=1)
    assert abs(gradient[:, d] - g).max() < 0.2, (d, abs(gradient[:, d] - g).max())
quality = vtk.vtkCellSizeFilter()
quality.SetInputData(mesh)
quality.Update()
size = vtk_to_numpy(quality.GetOutput().GetCellData().GetArray("Area" if dim == 2 else "Volume"))
assert (size > 0).all() and abs(size.sum() - lengths.prod()) < 1e-12, size.sum()  # the corners' order is VTK's
level = vtk_to_numpy(mesh.GetCellData().GetArray("level"))
assert np.allclose(size * (2.0 ** dim) ** level, (size * (2.0 ** dim) ** level)[0]), "levels"
assert (mesh.GetCellData().GetArray("estimate") is not None) == (sys.argv[-1] == "estimate")
"""


@case
def vtk_reads_the_solution(bench):
    probe = [PYTHON, "-c", "import numpy, vtk"]
    if not os.path.exists(PYTHON) or subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("no vtk for %s: left out" % PYTHON)
        return
    thin = "lengths = [1.5, 1.0]\ncells = [3, 2]\nrefinements = 2\n"
    for dim, lengths, text, last in (
            (2, (1.5, 1), "[domain]\ndimension = 2\n" + thin + '[adaptive]\nregion = "octant"\ndepth = 2\n', "none"),
            (2, (1.5, 1), "[domain]\ndimension = 2\n" + thin + '[adaptive]\nregion = "indicator"\n', "estimate"),
            (3, (1, 0.5, 1), "[domain]\nlengths = [1, 0.5, 1]\nrefinements = 2\n[adaptive]\nregion = \"ball\"\nradius = 0.3\n", "none")):
        output = solve(bench, text)
        run = bench.run([PYTHON, "-c", READ, os.path.join(output, "solution.vtkhdf"), str(dim), meshes(output)[-1]["cells"],
                         *[str(length) for length in lengths], last])
        check(run.code == 0, text, run)


@case
def pictures(bench):
    probe = [PYTHON, "-c", "import numpy, matplotlib, vtk"]
    if not os.path.exists(PYTHON) or subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode != 0 or (
            not os.environ.get("DISPLAY") and (shutil.which("xvfb-run") is None or shutil.which("xauth") is None)):
        print("no vtk for %s, or no display: left out" % PYTHON)
        return
    for text, expected in ((UNIFORM, ["convergence.png", "solution.png"]), (CUBE, ["convergence.png", "solution.png"]),
                           (CUBE + "[output]\nvtkhdf = false\n", ["convergence.png"])):
        output = solve(bench, text)
        run = bench.run([PYTHON, os.path.join(bench.binaries, "brickwork-view"), output, "--size", "160x120"], timeout=300)
        check(run.code == 0 and not run.err, run)
        made = sorted(name for name in os.listdir(output) if name.endswith(".png"))
        check(made == expected, made)
        for name in made:
            check(os.path.getsize(os.path.join(output, name)) > 2000, name)


@case
def examples(bench):
    """Every example resolves, and its configuration is complete."""
    names = bench.examples()
    check(len(names) >= 6, names)
    for path in names:
        run = bench.run(command(bench, path, "--print-config"))
        check(run.code == 0, run)
        again = bench.run(command(bench, bench.config(run.out), "--print-config"))
        check(again.out == run.out, path, again)


@case
def example_plates(bench):
    """The deflections that the examples promise."""
    for name, value, tolerance in (("plate_uniform", 0.00126532, 1e-5), ("plate_point", 0.00560, 4e-3)):
        output = bench.fresh()
        run = bench.run(command(bench, os.path.join(bench.sources, "examples", name + ".toml"), output=output))
        check(run.code == 0, run)
        check(close(summary(output)["points"][0]["value"], value, tolerance), name, summary(output)["points"])


# ------------------------------------------------------------------------------------------- bad input, exit codes

@case
def bad_input(bench):
    refused(bench, "[domain]\nrefinements = -1\n", "refinements", "-1", ".toml:2")
    refused(bench, "[domain]\nrefinements = 0\n", "the boundary fixes every unknown", "0 refinements")
    refused(bench, '[adaptive]\nregion = "cylinder"\n', "cylinder", "octant", "ring")
    refused(bench, '[load]\nkind = "constant"\nvalue = nan\n', "value", "nan")
    refused(bench, "[form]\nbiharmonic = -2.0\n", "biharmonic", "-2")
    refused(bench, "[form]\nbiharmonic = nan\n", "biharmonic", "nan")
    refused(bench, '[load]\nkind = "point"\nposition = [0.5, 0.5, 1.5]\n', "position", "z is 1.5")
    refused(bench, '[domain]\nrefinements = 2\n[adaptive]\nregion = "ball"\nradius = 1e-6\n', "holds no cell")
    refused(bench, CUBE, "grid", arguments=("--grid", "0,1,1"))
    refused(bench, CUBE, "evaluation", "cell", arguments=("--set", "solver.evaluation=dense"))
    refused(bench, CUBE, "precision", "FP64", arguments=("--set", "solver.storage=cell", "--set", "solver.precision=mixed"))
    refused(bench, CUBE, "smoothr", "smoother", arguments=("--set", "solver.smoothr=patch"))
    bench.one_line(bench.run(command(bench, "nowhere.toml")), 2, ["nowhere.toml"])


@case
def meshes_that_do_not_fit(bench):
    """Refused with the bytes, before anything is allocated or written."""
    refused(bench, "[domain]\nrefinements = 11\n", "2^31", "fewer refinements")
    refused(bench, "[domain]\nrefinements = 10\n", "bytes", "at least", "fewer refinements", "1073741824 active cells", code=4)


@case
def capped(bench):
    output = solve(bench, CUBE, "--set", "solver.max_iterations=2", code=3)
    result = summary(output)
    check(result["status"] == "capped" and result["capped_solves"] == 2 and len(result["warnings"]) == 1, result)
    check(all(row["status"] == "capped" and row["iterations"] == "2" for row in meshes(output)), meshes(output))


@case
def cells_that_are_no_cubes(bench):
    """The interval is estimated unless stated; one that is too small is reported with its remedy."""
    flat = "[domain]\nlengths = [1, 0.5, 1]\n[study]\nrefinements = [2, 3]\n"
    rows = meshes(solve(bench, flat))
    check(all(int(row["iterations"]) <= 9 for row in rows) and float(rows[1]["order_l2"]) > 3.8, rows)
    output = solve(bench, flat, "--set", "solver.interval=[0.2, 2.0]", code=3)
    check(all(row["status"] == "breakdown" for row in meshes(output)), meshes(output))
    check("estimated" in summary(output)["warnings"][0], summary(output)["warnings"])


@case
def ctrl_c(bench):
    """The meshes that are solved stay; exit code 1, status interrupted."""
    output = bench.fresh()
    config = bench.config("[study]\nrefinements = [1, 6]\n[load]\nkind = \"constant\"\n[solver]\ntolerance = 1e-15\nmax_iterations = 100000\n")
    process = subprocess.Popen(command(bench, config, output=output), cwd=bench.directory, env=bench.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while not os.path.exists(os.path.join(output, "convergence.csv")) and time.time() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    check(process.returncode == 1, process.returncode, out, err)
    result = summary(output)
    check(result["status"] == "interrupted" and len(result["meshes"]) in (1, 2), result)


if __name__ == "__main__":
    sys.exit(main("brickwork-biharmonic"))
