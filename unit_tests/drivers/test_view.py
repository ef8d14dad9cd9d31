#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""brickwork-view on small results: pictures, a watertight STL, and axes that are not mixed up.

  test_view.py BIN_DIR SOURCE_DIR [WORD...]

Exit status: 0 right, 1 wrong, 77 where Python has no vtk or there is no display.
"""

import collections
import os
import shutil
import struct
import subprocess
import sys

from driver_support import case, check, main, problem

PYTHON = "/usr/bin/python3"  # where the distribution's VTK is


def view(bench, *arguments):
    return bench.run([PYTHON, os.path.join(bench.binaries, "brickwork-view"), *arguments], timeout=300)


def triangles(path):
    """Corners of a binary STL's triangles, as tuples of single-precision bits' values."""
    with open(path, "rb") as file:
        data = file.read()
    count = struct.unpack_from("<I", data, 80)[0]
    check(len(data) == 84 + 50 * count, "%s: %d bytes for %d triangles" % (path, len(data), count))
    found = []
    for n in range(count):
        v = struct.unpack_from("<9f", data, 84 + 50 * n + 12)
        found.append((v[0:3], v[3:6], v[6:9]))
    return found


def check_watertight(faces):
    """Every edge belongs to exactly two triangles, which run through it in opposite directions."""
    edges = collections.Counter()
    for a, b, c in faces:
        check(a != b and b != c and c != a, "a triangle without area at %s" % (a,))
        edges.update([(a, b), (b, c), (c, a)])
    for (a, b), count in edges.items():
        check(count == 1 and edges.get((b, a), 0) == 1, "the edge %s - %s is used %d and %d times" % (
            a, b, count, edges.get((b, a), 0)))


def volume(faces):
    total = 0.0
    for a, b, c in faces:
        total += (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
                  a[2] * (b[0] * c[1] - b[1] * c[0]))
    return total / 6


def check_png(path, size=None):
    with open(path, "rb") as file:
        head = file.read(24)
    check(head[:8] == b"\x89PNG\r\n\x1a\n" and os.path.getsize(path) > 2000, "%s is no picture" % path)
    check(size is None or struct.unpack(">II", head[16:24]) == size, "%s has the wrong size" % path)


@case
def pictures_and_surface(bench):
    """All four files; the surface is closed, within the box, and holds about the volume of the design."""
    _, output = bench.simp(problem(cells=(24, 12, 6), lengths=(2, 1, 0.5), design="volume_fraction = 0.4",
                                   loads='[[load]]\npoint = [2, 0.5, 0.25]\nforce = [0, -1, 0]\n',
                                   schedule='protocol = "A"\nsteps = 60'))
    run = view(bench, output, "--size", "320x200")
    check(run.code == 0, run)
    for name in ("view_front.png", "view_back.png"):
        check_png(os.path.join(output, name), (320, 200))
    check_png(os.path.join(output, "convergence.png"))
    faces = triangles(os.path.join(output, "density.stl"))
    check(len(faces) > 200, "only %d triangles" % len(faces))
    check_watertight(faces)
    for axis, length in enumerate((2, 1, 0.5)):
        values = [corner[axis] for face in faces for corner in face]
        check(min(values) >= 0 and max(values) <= length * (1 + 1e-6), "axis %d: %g to %g" % (axis, min(values), max(values)))
    # Outward orientation means a positive volume. Grayness and smoothing leave some play.
    check(0.25 < volume(faces) < 0.55, "volume of the surface %g, of the design 0.4" % volume(faces))


@case
def asymmetric_part_keeps_its_place(bench):
    """Three arms of passive solid, of different lengths: each lies where the configuration has it.

    The topmost layer of cells is left to the optimizer, with so little material that it stays below the level.
    """
    passive = ('[[passive]]\nname = "void"\nbox = {lower = [0, 0, 0], upper = [3, 2, 0.875]}\nstate = "void"\n'
               '[[passive]]\nname = "long arm"\nbox = {lower = [0, 0, 0], upper = [3, 0.5, 0.25]}\nstate = "solid"\n'
               '[[passive]]\nname = "post"\nbox = {lower = [0, 0, 0], upper = [0.5, 2, 0.25]}\nstate = "solid"\n'
               '[[passive]]\nname = "peg"\nbox = {lower = [2.5, 0, 0], upper = [3, 0.5, 1]}\nstate = "solid"\n')
    _, output = bench.simp(problem(cells=(24, 16, 8), lengths=(3, 2, 1), passive=passive, design="volume_fraction = 0.13",
                                   loads='[[load]]\npoint = [3, 0.25, 0]\nforce = [0, 0, -1]\n',
                                   schedule='protocol = "constant"\nsteps = 1'))
    run = view(bench, output, "--size", "160x100", "--level", "0.6")
    check(run.code == 0, run)
    faces = triangles(os.path.join(output, "density.stl"))
    check_watertight(faces)
    corners = [corner for face in faces for corner in face]
    reach = [max(corner[axis] for corner in corners) for axis in range(3)]
    check(reach[0] > 2.9 and reach[1] > 1.9 and reach[2] > 0.85, "reaches %s" % reach)
    for x, y, z in corners:
        arms = [y < 0.6 and z < 0.35, x < 0.6 and z < 0.35, x > 2.4 and y < 0.6]
        check(any(arms), "the surface has a point at (%g, %g, %g), where nothing is solid" % (x, y, z))


@case
def pictures_of_a_cell(bench):
    """A tensor run: its cell, the tiling and the directional modulus; without an image, the modulus alone."""
    for image, expected in (("true", ["cell.png", "cell_tiled.png", "young.png"]), ("false", ["young.png"])):
        output = bench.fresh()
        done = bench.run([os.path.join(bench.binaries, "brickwork-homogenize"), "tensor", "--set", "image.surface=gyroid",
                          "--grid", "12,12,12", "--set", "output.vti=" + image, "--output", output, "--threads", "1"])
        check(done.code == 0, done)
        run = view(bench, output, "--size", "160x120")
        check(run.code == 0 and not run.err, run)
        pictures = sorted(name for name in os.listdir(output) if name.endswith(".png"))
        check(pictures == expected, pictures)
        for name in pictures:
            check_png(os.path.join(output, name), None if name == "young.png" else (160, 120))


@case
def messages(bench):
    """One line, exit code 2, for a directory without a result and for a design without a surface."""
    run = view(bench, bench.path("nowhere"))
    check(run.code == 2 and "not a directory" in run.err and len(run.err.strip().splitlines()) == 1, run)
    run = view(bench, bench.directory)
    check(run.code == 2 and "density.vti" in run.err and len(run.err.strip().splitlines()) == 1, run)
    _, output = bench.simp(problem(design="volume_fraction = 0.1", schedule='protocol = "constant"\nsteps = 1'))
    run = view(bench, output)
    check(run.code == 2 and "no density above 0.5" in run.err and len(run.err.strip().splitlines()) == 1, run)


if __name__ == "__main__":
    probe = subprocess.run([PYTHON, "-c", "import numpy, matplotlib, vtk"], stderr=subprocess.DEVNULL, check=False) \
        if os.path.exists(PYTHON) else None
    if probe is None or probe.returncode != 0:
        print("no numpy, matplotlib and vtk for %s: skipped" % PYTHON)
        sys.exit(77)
    if not os.environ.get("DISPLAY") and (shutil.which("xvfb-run") is None or shutil.which("xauth") is None):
        print("no display and no xvfb-run: skipped")
        sys.exit(77)
    sys.exit(main())
