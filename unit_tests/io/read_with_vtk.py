#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files that the unit tests of io wrote with VTK's own readers, and checks values and axis order.

  BRICKWORK_TEST_OUTPUT=DIR brickwork_test_io "a VTKHDF series lists whole frames under their step numbers"
  read_with_vtk.py DIR

Exit status: 0 right, 1 wrong, 77 where Python has no vtk.
"""

import importlib.util
import json
import os
import sys

if importlib.util.find_spec("vtk") is None or importlib.util.find_spec("numpy") is None:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("no vtk for Python: skipped")
    sys.exit(77)

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy

CELLS = (4, 3, 2)
ORIGIN = np.array([1.0, 2.0, 3.0])
SPACING = np.array([0.5, 0.25, 0.1])


def expected(i, j, k):
    """The field of output.cpp: different along every axis, so that no two axes can be swapped unseen."""
    return 0.001 * i + 0.02 * j + 0.1 * k


def check(condition, message):
    if not condition:
        print("wrong: " + message)
        sys.exit(1)


def read(reader, path):
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(path))
    reader.SetFileName(path)
    reader.Update()
    image = reader.GetOutputDataObject(0)
    check(not errors, "%s reports an error on %s" % (reader.GetClassName(), path))
    check(image is not None and image.IsA("vtkImageData"), path + " is not an image")
    return image


def close(a, b, tolerance=1e-6):
    return np.allclose(a, b, rtol=0, atol=tolerance)


def check_samples(image, array, position, shift, tolerance, path):
    """Every sample's value is that of the cell in which VTK places it."""
    values = vtk_to_numpy(array)
    check(len(values) == CELLS[0] * CELLS[1] * CELLS[2], path + ": wrong number of values")
    for n, value in enumerate(values):
        i, j, k = (int(c) for c in np.floor((position(image, n) - ORIGIN) / SPACING))
        check(abs(value - (expected(i, j, k) + shift)) <= tolerance, "%s: cell (%d, %d, %d) holds %g, not %g" % (
            path, i, j, k, value, expected(i, j, k) + shift))


def cell_center(image, n):
    bounds = image.GetCell(n).GetBounds()
    return np.array([(bounds[2 * a] + bounds[2 * a + 1]) / 2 for a in range(3)])


def main(directory):
    print("VTK " + vtk.vtkVersion.GetVTKVersion())
    path = os.path.join(directory, "density.vti")
    image = read(vtk.vtkXMLImageDataReader(), path)
    check(image.GetDimensions() == tuple(n + 1 for n in CELLS), path + ": dimensions")
    check(close(image.GetOrigin(), ORIGIN) and close(image.GetSpacing(), SPACING), path + ": geometry")
    check(image.GetCellData().GetScalars().GetName() == "density", path + ": active scalar")
    check(image.GetCellData().GetArray("density").GetDataType() == vtk.VTK_FLOAT, path + ": type")
    check_samples(image, image.GetCellData().GetArray("density"), cell_center, 0, 1e-6, path)

    with open(os.path.join(directory, "density.vtkhdf.series"), encoding="utf-8") as file:
        series = json.load(file)
    check([frame["time"] for frame in series["files"]] == [1, 10], "times of the series")
    for frame, shift in zip(series["files"], (0, 1)):
        path = os.path.join(directory, frame["name"])
        reader = vtk.vtkHDFReader()
        check(reader.CanReadFile(path) == 1, "vtkHDFReader cannot read " + path)
        image = read(reader, path)
        check(image.GetDimensions() == CELLS, path + ": dimensions")
        check(close(image.GetOrigin(), ORIGIN + SPACING / 2) and close(image.GetSpacing(), SPACING), path + ": geometry")
        data = image.GetPointData()
        check_samples(image, data.GetArray("density"), lambda im, n: np.array(im.GetPoint(n)), shift, 1e-6, path)
        small = vtk_to_numpy(data.GetArray("density_uint8"))
        check(small.dtype == np.uint8, path + ": uint8")
        whole = vtk_to_numpy(data.GetArray("density"))
        check(np.array_equal(small, np.floor((whole - shift) * 255 + 0.5).astype(np.uint8)), path + ": uint8 values")

    path = os.path.join(directory, "line.vtkhdf")
    image = read(vtk.vtkHDFReader(), path)
    check(image.GetDimensions() == (5, 2, 2), path + ": dimensions")
    check(close(image.GetBounds(), (0.5, 4.5, 0, 2, 0, 3)), path + ": bounds")
    values = vtk_to_numpy(image.GetPointData().GetArray("density"))
    check(close(values, np.tile(0.001 * np.arange(5), 4)), path + ": values")
    # Written by slabs: three of them, the last one smaller, plain and compressed; and an only cell along x, twice.
    for name, cells in (("slabs.vtkhdf", (150, 130, 121)), ("deflated.vtkhdf", (150, 130, 121)), ("sheet.vtkhdf", (1, 1200, 1100))):
        path = os.path.join(directory, name)
        image = read(vtk.vtkHDFReader(), path)
        check(image.GetDimensions() == tuple(max(n, 2) for n in cells), path + ": dimensions")
        values = vtk_to_numpy(image.GetPointData().GetArray("density")).reshape([max(n, 2) for n in reversed(cells)])
        k, j, i = np.ogrid[:cells[2], :cells[1], :cells[0]]
        check(close(values, expected(i, j, k), 1e-4), path + ": values")  # FP32, up to 130
    print("all right")


if __name__ == "__main__":
    main(sys.argv[1])
