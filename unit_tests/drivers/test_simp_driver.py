#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""brickwork-simp as a user meets it: exit codes, messages, files.

  test_simp_driver.py BIN_DIR SOURCE_DIR [WORD...]

Exit status: 0 right, 1 wrong, 77 where there is no brickwork-simp.
"""

import math
import os
import re
import signal
import subprocess
import sys
import time

from driver_support import Run, case, check, close, content, density, history, main, problem, summary

TIP = "box = {lower = [2, 0, 0], upper = [2, 1, 1]}"


def tip(force="[0, -1, 0]", more="", region=TIP):
    return '[[load]]\nname = "tip"\n%s\nforce = %s\n%s\n' % (region, force, more)


def same_forces(found, expected):
    """Resultants are sums over nodes, so equal to rounding only."""
    return len(found) == len(expected) and all(
        abs(a - b) <= 1e-12 for one, other in zip(found, expected) for a, b in zip(one, other))


# ------------------------------------------------------------------------------------------------------- supports

@case
def no_support(bench):
    bench.refused(problem(supports=""), "support")


@case
def supports_fix_z_only(bench):
    """A plane that slides: two translations and one rotation are left."""
    run = bench.refused(problem(supports='[[support]]\nplane = {axis = "z", at = 0}\nfix = "z"\n'), "3 rigid mode",
                        "translation along x", "translation along y")
    check("rotation about the line along z" in run.err or "rotation about z" in run.err, "no rotation about z", run)


@case
def one_node_fixed(bench):
    run = bench.refused(problem(supports="[[support]]\npoint = [0, 0, 0]\n"), "3 rigid mode")
    check(run.err.count("rotation") == 3 and "translation" not in run.err, "three rotations must be named", run)
    for axis in range(3):  # the lines pass through the node, wherever on them the point is that is named
        found = re.search(r"line along %s through \(([^)]*)\)" % "xyz"[axis], run.err)
        check(found, "no rotation about " + "xyz"[axis], run)
        point = [float(number) for number in found.group(1).split(",")]
        check(all(point[other] == 0 for other in range(3) if other != axis), "the line misses the node", run)


@case
def support_that_selects_nothing(bench):
    bench.refused(problem(supports='[[support]]\nname = "wall"\nplane = {axis = "x", at = -3}\n'), "support 'wall'",
                  "selects no node")


# ---------------------------------------------------------------------------------------------------------- loads

@case
def zero_load(bench):
    bench.refused(problem(loads=tip("[0, 0, 0]")), "load 'tip'", "zero")


@case
def no_load(bench):
    bench.refused(problem(loads=""), "load")


@case
def load_that_is_not_a_number(bench):
    for number in ("nan", "inf", "-inf"):
        bench.refused(problem(loads=tip("[0, %s, 0]" % number)), "force", number, "finite", ".toml:")


@case
def load_on_fixed_degrees_of_freedom(bench):
    bench.refused(problem(loads=tip(region='plane = {axis = "x", at = 0}')), "load 'tip'", "fixed degrees of freedom")


CORNER_VOID = '[[passive]]\nbox = {lower = [1.5, 0.5, 0.5], upper = [2, 1, 1]}\nstate = "void"\n'


@case
def load_on_passive_void(bench):
    """All of it: refused, before a directory is made. Some of it: a warning with the number of nodes."""
    bench.refused(problem(loads=tip(region="point = [2, 1, 1]"), passive=CORNER_VOID), "passive void")
    run, output = bench.simp(problem(passive=CORNER_VOID), "--steps", "1")
    # The tip's face has 5 x 5 nodes; those that touch void cells only are 2 x 2.
    check(any("4 of 25 nodes" in text for text in summary(output)["warnings"]), summary(output)["warnings"], run)


@case
def load_region_that_selects_nothing(bench):
    # Between the nodes, and outside of the box.
    bench.refused(problem(loads=tip(region="sphere = {center = [1.125, 0.4, 0.4], radius = 0.01}")), "load 'tip'",
                  "selects no node")
    bench.refused(problem(loads=tip(region="point = [5, 0, 0]")), "load 'tip'", "selects no node", "(2, 1, 1)")


@case
def loads_in_each_direction(bench):
    """A long beam of square section along x: Fx, Fy and Fz are not mixed up."""
    found = []
    for force in ("[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]"):
        _, output = bench.simp(problem(cells=(12, 3, 3), lengths=(4, 1, 1), solver='precision = "fp64"\ntolerance = 1e-9',
                                       loads=tip(force, region='plane = {axis = "x", at = 4}')), "--steps", "1")
        found.append(float(history(output)[0]["compliance"]))
    check(close(found[1], found[2], 1e-6), "y and z differ on a square section: %s" % found)
    check(found[1] > 5 * found[0], "bending must be much softer than tension: %s" % found)


@case
def two_load_cases_are_summed(bench):
    down, side = tip("[0, -1, 0]"), tip("[0, 0, 2]")
    solver = 'precision = "fp64"\ntolerance = 1e-9'
    values = []
    for loads in (down, side, down + tip("[0, 0, 2]", "case = 1")):
        _, output = bench.simp(problem(loads=loads, solver=solver), "--steps", "1")
        values.append(float(history(output)[0]["compliance"]))
    check(close(values[0] + values[1], values[2], 1e-7), "compliances %s" % values)
    check(same_forces(summary(output)["load_resultants"], [[0, -1, 0], [0, 0, 2]]), summary(output)["load_resultants"])
    # Weights, and loads of one case acting together.
    _, output = bench.simp(problem(loads=down + tip("[0, 0, 2]", "case = 1"), solver=solver,
                                   design="volume_fraction = 0.4\nload_case_weights = [0.5, 3]"), "--steps", "1")
    check(close(0.5 * values[0] + 3 * values[1], float(history(output)[0]["compliance"]), 1e-7), "weights")
    _, output = bench.simp(problem(loads=down + tip("[0, 0, 2]"), solver=solver), "--steps", "1")
    check(same_forces(summary(output)["load_resultants"], [[0, -1, 2]]), "one case: %s" % summary(output)["load_resultants"])


@case
def resultant_does_not_depend_on_the_grid(bench):
    traction = '[[load]]\nname = "press"\nplane = {axis = "y", at = 1}\ntraction = [0, -3, 0]\n'
    for cells in ((4, 2, 2), (8, 4, 4)):
        run, output = bench.simp(problem(cells=cells, loads=traction), "--steps", "1")
        force = summary(output)["load_resultants"][0]
        check(close(force[1], -6, 1e-12) and force[0] == force[2] == 0, "resultant %s" % force, run)
        check("resultant (0, -6, 0)" in run.out, "the console must name the resultant", run)


# --------------------------------------------------------------------------------------------------------- volume

@case
def volume_out_of_range(bench):
    for volume in ("0", "1.2", "-0.1"):
        bench.refused(problem(design="volume_fraction = " + volume), "volume_fraction", volume, "(0, 1]", ".toml:")


@case
def volume_one_is_a_solid_run(bench):
    _, output = bench.simp(problem(design="volume_fraction = 1"))
    values = density(output)
    check(len(values) == 8 * 4 * 4 and min(values) > 0.9999 and max(values) <= 1, "densities %g to %g" % (
        min(values), max(values)))
    check(any("solid" in text for text in summary(output)["warnings"]), summary(output)["warnings"])


@case
def volume_below_the_passive_solid(bench):
    half = '[[passive]]\nbox = {lower = [0, 0, 0], upper = [1, 1, 1]}\nstate = "solid"\n'
    bench.refused(problem(passive=half, design="volume_fraction = 0.3"), "volume_fraction", "0.3", "[0.5, 1]")


@case
def passive_regions_keep_their_cells(bench):
    passive = ('[[passive]]\nbox = {lower = [1.75, 0, 0], upper = [2, 1, 1]}\nstate = "solid"\n'
               '[[passive]]\nbox = {lower = [0.5, 0, 0], upper = [1, 0.25, 1]}\nstate = "void"\n')
    _, output = bench.simp(problem(passive=passive))
    values = density(output)
    for cell, value in enumerate(values):
        i, j = cell % 8, cell // 8 % 4
        if i == 7:
            check(value == 1, "solid cell (%d, %d) holds %g" % (i, j, value))
        elif i in (2, 3) and j == 0:
            check(value == 0, "void cell (%d, %d) holds %g" % (i, j, value))
    check(close(sum(values) / len(values), summary(output)["volume"], 1e-6), "volume of the whole box")


# ----------------------------------------------------------------------------------------------- material, filter

@case
def poisson_one_half(bench):
    for number in ("0.5", "0.6", "-1"):
        bench.refused(problem(material="poisson = " + number), "material.poisson", number)


@case
def poisson_near_one_half_warns(bench):
    run, output = bench.simp(problem(material="poisson = 0.499"), "--steps", "1")
    check(any("poisson" in text and "lock" in text for text in summary(output)["warnings"]), run)
    check("lock" in run.out + run.err, "the console must show the warning", run)


@case
def radius_of_one_cell_warns(bench):
    for radius in ("0", "0.5", "1"):
        run, output = bench.simp(problem(schedule='protocol = "constant"\nsteps = 2\nradius = ' + radius))
        check(any("filter inactive" in text for text in summary(output)["warnings"]), run)
    _, output = bench.simp(problem(schedule='protocol = "constant"\nsteps = 2\nradius = 1.5'))
    check(not summary(output)["warnings"], summary(output)["warnings"])


@case
def radius_beyond_the_box_keeps_the_volume(bench):
    _, output = bench.simp(problem(cells=(4, 2, 2), schedule='protocol = "constant"\nsteps = 2\nradius = 9'))
    check(close(summary(output)["volume"], 0.4, 1e-6), summary(output)["volume"])


@case
def units_do_not_matter(bench):
    """Young's modulus 1 or 210e9, force 1 or 1e-3: the same design, and a compliance in the ratio of force^2 / modulus."""
    for schedule in ('protocol = "A"\nsteps = 12', 'protocol = "B"\nsteps = 12', 'protocol = "constant"\nsteps = 6'):
        results = []
        for young, force in ((1.0, 1.0), (210e9, 1.0), (210e9, 1e-3), (1e-6, 1e3)):
            _, output = bench.simp(problem(material="young = %r" % young, schedule=schedule, loads=tip("[0, %r, 0]" % -force),
                                           solver='precision = "fp64"\ntolerance = 1e-8'))
            results.append((density(output), [float(row["compliance"]) * young / force**2 for row in history(output)]))
        for other, c_other in results[1:]:
            largest = max(abs(a - b) for a, b in zip(results[0][0], other))
            check(largest < 1e-5, "%s: densities differ by %g" % (schedule, largest))
            for a, b in zip(results[0][1], c_other):
                check(close(a, b, 1e-5), "%s: scaled compliances %s and %s" % (schedule, results[0][1], c_other))


# ---------------------------------------------------------------------------------------------------------- files

@case
def truncated_file(bench):
    text = problem()
    bench.refused(text[:text.index("lengths") + 14], ".toml:3")


@case
def misspelt_keys_are_suggested(bench):
    bench.refused(problem(design="volume_fractoin = 0.3"), "volume_fractoin", "did you mean 'volume_fraction'", ".toml:5")
    bench.refused(problem(design="volfrac = 0.3"), "did you mean 'volume_fraction'")
    bench.refused(problem(solver='precison = "fp64"'), "did you mean 'precision'")
    bench.refused(problem(), "did you mean 'tolerance'", arguments=("--set", "solver.tolerence=1e-6"))


@case
def wrong_types_and_values(bench):
    bench.refused(problem(solver='tolerance = "small"'), "tolerance", "number")
    bench.refused(problem(solver='kernel = "paritty"'), "did you mean", "parity")
    bench.refused(problem(cells=(8, 0, 4)), "cells", "at least 1")
    bench.refused(problem(lengths=(2, -1, 1)), "lengths", "above 0")


@case
def missing_file(bench):
    run = bench.run(bench.command(bench.path("nowhere.toml")))
    bench.one_line(run, 2, ["nowhere.toml"])


@case
def wrong_command_line(bench):
    config = bench.config(problem())
    for arguments, word in ((["--grid", "4,4"], "--grid"), (["--grid", "0,4,4"], "--grid"), (["--steps", "0"], "--steps"),
                            (["--nonsense"], "nonsense"), (["--set", "novalue"], "novalue")):
        bench.one_line(bench.run(bench.command(config, *arguments)), 2, [word])
    run = bench.run([os.path.join(bench.binaries, "brickwork-simp")])
    bench.one_line(run, 2, ["config"])


@case
def version_and_help(bench):
    program = os.path.join(bench.binaries, "brickwork-simp")
    run = bench.run([program, "--version"])
    check(run.code == 0 and run.out.startswith("brickwork-simp ") and run.out.strip()[-1].isdigit(), run)
    run = bench.run([program, "--help"])
    check(run.code == 0 and not run.err, run)
    for option in ("--grid", "--steps", "--output", "--set", "--print-config", "--threads", "--device", "--quiet", "--force",
                   "--help", "--version", "Exit codes"):
        check(option in run.out, "--help lacks " + option, run)


@case
def grid_that_cannot_fit(bench):
    """Refused with the bytes named, before anything of the grid's size is made."""
    for name in ("own", "cantilever"):
        text = problem() if name == "own" else 'preset = "cantilever"\n'
        start = time.monotonic()
        run = bench.refused(text, "out of memory", "4000 x 4000 x 4000", " bytes", code=4, arguments=("--grid", "4000,4000,4000"))
        seconds = time.monotonic() - start
        check(seconds < 5, "%s: refused after %.1f s only" % (name, seconds), run)
    import resource  # after the children above: the largest of them
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    check(peak < 300, "%.0f MiB were used before refusing" % peak)


@case
def predicted_memory_is_used(bench):
    """On a grid beside which the program itself is small, what the run grew by is what it said before."""
    preset = 'preset = "cantilever_b"\n[grid]\ncells = [192, 96, 96]\n[output]\nvti = false\nvtkhdf = false\n'
    for precision in ("mixed", "fp64", "fp32"):
        output = bench.fresh()
        run = bench.run(bench.command(bench.config(preset), "--steps", "1", "--set", "solver.max_iterations=1",
                                      "--set", "solver.precision=" + precision, output=output))
        check(run.code == 3, run)
        record = summary(output)
        check(close(record["peak_bytes"], record["predicted_bytes"], 0.05), precision, record["peak_bytes"],
              record["predicted_bytes"])
        parts = [float(found) for found in re.findall(r"(?:design fields|state solver|kernels) .*?([0-9.]+) bytes per cell", run.out)]
        total = float(re.search(r"memory .*?([0-9.]+) bytes per cell", run.out).group(1))
        check(len(parts) == 3 and abs(sum(parts) - total) < 0.2, "parts %s of %s" % (parts, total), run)


@case
def grid_beyond_64_bits(bench):
    bench.refused(problem(), "cells", arguments=("--grid", "3000000,3000000,3000000"))


@case
def unwritable_output(bench):
    config, place = bench.config(problem()), bench.path("place")
    with open(place, "w", encoding="ascii") as file:
        file.write("mine\n")
    for output in (place, os.path.join(place, "below")):
        for force in ([], ["--force"]):
            bench.one_line(bench.run(bench.command(config, *force, output=output)), 2, ["output directory", place])
    with open(place, encoding="ascii") as file:
        check(file.read() == "mine\n", "the file was changed")
    if os.geteuid() != 0:
        closed = bench.path("closed")
        os.mkdir(closed, 0o500)
        bench.one_line(bench.run(bench.command(config, output=closed)), 2, ["output directory", closed])


@case
def existing_directory(bench):
    _, output = bench.simp(problem(output="every = 1"))
    with open(os.path.join(output, "notes.txt"), "w", encoding="ascii") as file:
        file.write("mine\n")
    before = content(output)
    config = bench.config(problem(schedule='protocol = "constant"\nsteps = 1'))
    bench.one_line(bench.run(bench.command(config, output=output)), 2, [output, "--force"])
    check(content(output) == before, "a refused run changed the directory")
    # A bad problem must not clear the old results either.
    bad = bench.config(problem(loads=tip(region='plane = {axis = "x", at = 0}')))
    bench.one_line(bench.run(bench.command(bad, "--force", output=output)), 2, ["fixed degrees of freedom"])
    check(content(output) == before, "a refused run with --force changed the directory")
    bad = bench.config(problem(loads=tip(region="point = [2, 1, 1]"), passive=CORNER_VOID))
    bench.one_line(bench.run(bench.command(bad, "--force", output=output)), 2, ["void"])
    check(content(output) == before, "a load on passive void, with --force, changed the directory")
    run = bench.run(bench.command(config, "--force", output=output))
    check(run.code == 0, run)
    after = content(output)
    check(after["notes.txt"] == b"mine\n", "--force touched a file that is not ours")
    frames = [name for name in after if name.endswith(".vtkhdf")]
    check(len(history(output)) == 1 and len(frames) <= 1, "stale results are left: %s" % sorted(after))


@case
def output_files(bench):
    run, output = bench.simp(problem(output="every = 1"))
    files = content(output)
    for name in ("config.toml", "history.csv", "summary.json", "density.vti"):
        check(name in files, "no %s: %s" % (name, sorted(files)))
    check(not any(name.endswith(".part") or name.startswith(".") for name in files), sorted(files))
    rows, record = history(output), summary(output)
    check([row["step"] for row in rows] == ["1", "2", "3"], rows)
    check(record["status"] == "finished" and record["steps"] == 3 and record["cells"] == [8, 4, 4], record)
    check(record["degrees_of_freedom"] == 3 * 9 * 5 * 5, record)
    check(record["iterations_total"] == sum(int(row["iterations"]) for row in rows), record)
    check(record["worst_true_residual"] == max(float(row["true_residual"]) for row in rows) <= 1e-5, record)
    check(same_forces(record["load_resultants"], [[0, -1, 0]]), record)
    for key in ("backend", "kernel", "precision", "device", "seconds_total", "seconds_per_phase", "peak_bytes", "versions"):
        check(record.get(key), "summary.json lacks " + key)
    check("finished after 3 steps" in run.out and output in run.out, run)
    values = density(output)
    check(all(0 <= value <= 1 for value in values), "densities outside [0, 1]")
    check(close(sum(values) / len(values), record["volume"], 1e-6), "volume of density.vti against the summary")


@case
def quiet(bench):
    run, _ = bench.simp(problem(), "--quiet")
    check(len(run.out.strip().splitlines()) == 1 and not run.err, run)


@case
def printed_configuration_repeats_the_run(bench):
    for text in (problem(), 'preset = "cantilever"\n[grid]\ncells = [8, 4, 2]\n[schedule]\nsteps = 4\n'):
        _, first = bench.simp(text, "--set", "solver.tolerance=1e-6")
        printed = bench.run(bench.command(bench.config(text), "--set", "solver.tolerance=1e-6", "--print-config"))
        check(printed.code == 0 and not printed.err, printed)
        _, second = bench.simp(printed.out)
        again = bench.run(bench.command(bench.config(printed.out), "--print-config"))
        check(again.out == printed.out, "--print-config of its own output differs", printed, again)
        # The saved configuration is the printed one but for where the results go.
        third = bench.fresh()
        run = bench.run(bench.command(os.path.join(first, "config.toml"), output=third))
        check(run.code == 0, run)
        for other in (second, third):
            for a, b in zip(history(first), history(other), strict=True):
                for column in a:
                    check(column.startswith("seconds") or a[column] == b[column], "%s: %s and %s" % (column, a, b))


@case
def two_runs_are_bitwise_equal(bench):
    text = problem(cells=(17, 9, 7), schedule='protocol = "A"\nsteps = 4')
    for threads in (1, 2):
        files = []
        for _ in range(2):
            _, output = bench.simp(text, threads=threads)
            files.append(content(output))
        check(files[0]["density.vti"] == files[1]["density.vti"], "%d thread(s): density.vti differs" % threads)


# --------------------------------------------------------------------------------------------------------- solver

@case
def capped_solve(bench):
    output = bench.fresh()
    run = bench.run(bench.command(bench.config(problem()), "--set", "solver.max_iterations=3", output=output))
    check(run.code == 3, run)
    check(summary(output)["status"] == "capped" and summary(output)["capped_solves"] == 3, summary(output))
    rows = history(output)
    check(all(row["capped"] == "1" and row["iterations"] == "3" for row in rows), rows)
    check(all(float(row["true_residual"]) > 1e-5 for row in rows), rows)
    check("3 solve(s) ended above the tolerance" in run.out + run.err, run)


def interrupt(bench, *arguments):
    """Starts a long run, sends Ctrl-C after some steps; returns (run, output directory)."""
    output = bench.fresh()
    command = bench.command(bench.config(problem(cells=(24, 12, 12), schedule='protocol = "constant"\nsteps = 100000',
                                                 output="every = 0")), *arguments, output=output)
    with subprocess.Popen(command, cwd=bench.directory, env=bench.environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        file, end = os.path.join(output, "history.csv"), time.monotonic() + 60
        while time.monotonic() < end and not (os.path.exists(file) and os.path.getsize(file) > 600):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Run(command, process.returncode, out, err), output


@case
def interrupted_run(bench):
    """Ctrl-C after some steps leaves what there is, and says so."""
    run, output = interrupt(bench)
    check(run.code == 1, run)
    check("interrupted after" in run.out, "the message must say that the run was interrupted", run)
    record, rows = summary(output), history(output)
    check(record["status"] == "interrupted" and record["steps"] == len(rows) > 0, record)
    check(len(density(output)) == 24 * 12 * 12, "density.vti")
    check(rows[-1]["seconds"] is not None, "the last row is whole: %s" % rows[-1])


@case
def interrupted_run_with_capped_solves(bench):
    """Exit code 3 means finished; an interrupted run is not, whatever its solves did."""
    run, output = interrupt(bench, "--set", "solver.max_iterations=3")
    check(run.code == 1 and summary(output)["status"] == "interrupted", run)


@case
def precisions_and_kernels_agree(bench):
    values = {}
    for precision in ("fp64", "mixed", "fp32"):
        for kernel in ("parity", "node_gather", "fused_scatter"):
            _, output = bench.simp(problem(solver='precision = "%s"\nkernel = "%s"\ntolerance = 1e-4' % (precision, kernel)), "--steps", "1")
            record = summary(output)
            check(record["kernel"] == kernel and record["precision"] == precision, record)
            values[precision, kernel] = record["compliance"]
    reference = values["fp64", "parity"]
    for name, value in values.items():
        check(close(value, reference, 1e-4), "%s: %.9g, not %.9g" % (name, value, reference))


# ---------------------------------------------------------------------------------------------------------- grids

@case
def odd_grids(bench):
    preset = 'preset = "cantilever"\n[schedule]\nsteps = 2\n'
    for grid in ("1,1,1", "1,7,1", "2,300,1", "3,1,40", "11,7,5"):
        _, output = bench.simp(preset, "--grid", grid)
        cells = [int(n) for n in grid.split(",")]
        check(summary(output)["cells"] == cells and len(density(output)) == math.prod(cells), grid)


@case
def every_preset_runs(bench):
    for name, code in (("cantilever", 0), ("torsion", 0), ("mbb", 2), ("mbb_supported", 0), ("bridge", 0), ("cantilever_b", 0),
                       ("torsion_b", 0), ("bridge_b", 0)):
        output = bench.fresh()
        run = bench.run(bench.command(bench.config('preset = "%s"\n' % name), "--grid", "12,6,6", "--steps", "2", output=output))
        check(run.code == code, name, run)
        if code == 2:
            bench.one_line(run, 2, ["2 rigid mode", "translation along z", "rotation"])


@case
def examples_resolve(bench):
    paths = bench.examples()
    check(len(paths) >= 3, paths)
    for path in paths:
        run = bench.run(bench.command(path, "--print-config"))
        check(run.code == 0 and not run.err, run)


@case
def flat_cells(bench):
    """hx : hy : hz = 1 : 1 : 10, against a fine grid of cubes: the physical stiffness follows the sides."""
    _, output = bench.simp(problem(cells=(8, 4, 2), lengths=(2, 1, 5), loads=tip(region='plane = {axis = "x", at = 2}')))
    check(summary(output)["status"] == "finished", summary(output))
    values = []
    for cells in ((8, 4, 2), (8, 4, 20)):  # tension, far from bending: hardly any dependence on the cells
        _, output = bench.simp(problem(cells=cells, lengths=(2, 1, 5), material="poisson = 0.0",
                                       loads='[[load]]\nplane = {axis = "x", at = 2}\ntraction = [1, 0, 0]\n',
                                       schedule='protocol = "constant"\nsteps = 1',
                                       solver='precision = "fp64"\ntolerance = 1e-10'))
        values.append(float(history(output)[0]["compliance"]))
    # Uniform density 0.4, projected with beta = 1, p = 3: c = force^2 length / (E area), exactly.
    projected = (math.tanh(0.5) + math.tanh(0.4 - 0.5)) / (2 * math.tanh(0.5))
    modulus = 1e-9 + (1 - 1e-9) * projected**3
    check(all(close(value, 25 * 2 / (modulus * 5), 1e-8) for value in values), values)


if __name__ == "__main__":
    sys.exit(main())
