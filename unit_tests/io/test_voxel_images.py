#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""VTK and NumPy write images that our reader must read; they open what our writers leave.

  test_voxel_images.py BIN_DIR SOURCE_DIR

Exit status: 0 right, 1 wrong, 77 where Python has no vtk or numpy.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

if importlib.util.find_spec("vtk") is None or importlib.util.find_spec("numpy") is None:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("no vtk for Python: skipped")
    sys.exit(77)

import numpy as np
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

CASE = "images that VTK and NumPy wrote"
CELLS = (4, 3, 2)
ORIGIN = (1.0, -2.0, 0.5)
SPACING = (0.5, 0.25, 0.125)


def check(condition, message):
    if not condition:
        print("wrong: " + message)
        sys.exit(1)


def field(cells, dtype, shift):
    """array[k, j, i] of voxel_image.cpp's field."""
    k, j, i = np.meshgrid(*[np.arange(n) for n in reversed(cells)], indexing="ij")
    return (i + 5 * j + 20 * k + shift).astype(dtype)


class Files:
    def __init__(self, directory):
        self.directory = directory
        self.lines = []

    def add(self, name, cells=CELLS, origin=ORIGIN, spacing=SPACING, shift=0.0, wanted="-"):
        numbers = " ".join(repr(float(x)) for x in (*origin, *spacing, shift))
        self.lines.append("%s %s %d %d %d %s" % (name, wanted, *cells, numbers))
        return os.path.join(self.directory, name)

    def write_vti(self, name, dtype=np.float32, points=False, mode="appended", encode=True, zlib=False, words=64, big=False,
                  first=(0, 0, 0), cells=CELLS, other=False, pieces=1, shift=None):
        if shift is None:
            shift = 0.25 if np.issubdtype(dtype, np.floating) else 0
        image = vtk.vtkImageData()
        ends = [n - 1 if points else n for n in cells]
        image.SetExtent(*[x for f, n in zip(first, ends) for x in (f, f + n)])
        image.SetOrigin(ORIGIN)
        image.SetSpacing(SPACING)
        data = image.GetPointData() if points else image.GetCellData()
        array = numpy_to_vtk(field(cells, dtype, shift).ravel(), deep=1)
        array.SetName("density & more")
        if other:
            ones = numpy_to_vtk(np.ones(np.prod(cells), dtype=np.float64), deep=1)
            ones.SetName("ones")
            data.AddArray(ones)
            vectors = numpy_to_vtk(np.ones((np.prod(cells), 3), dtype=np.float64), deep=1)
            vectors.SetName("vectors")
            data.AddArray(vectors)
            array.GetInformation().Set(vtk.vtkDataArray.UNITS_LABEL(), "1")
            step = numpy_to_vtk(np.array([7.0]), deep=1)
            step.SetName("step")
            image.GetFieldData().AddArray(step)
        if other:
            data.SetScalars(array)
        else:
            data.AddArray(array)
        origin = [o + h * (f - (0.5 if points else 0)) for o, h, f in zip(ORIGIN, SPACING, first)]
        writer = vtk.vtkXMLImageDataWriter()
        writer.SetInputData(image)
        writer.SetFileName(self.add(name, cells=cells, origin=origin, shift=shift))
        {"ascii": writer.SetDataModeToAscii, "binary": writer.SetDataModeToBinary,
         "appended": writer.SetDataModeToAppended}[mode]()
        writer.SetEncodeAppendedData(encode)
        if zlib:
            writer.SetCompressorTypeToZLib()
            writer.SetBlockSize(64)
        else:
            writer.SetCompressorTypeToNone()
        (writer.SetHeaderTypeToUInt64 if words == 64 else writer.SetHeaderTypeToUInt32)()
        (writer.SetByteOrderToBigEndian if big else writer.SetByteOrderToLittleEndian)()
        if pieces > 1:
            writer.SetNumberOfPieces(pieces)
        check(writer.Write() == 1, "VTK cannot write " + name)


def write_images(directory):
    files = Files(directory)
    integers = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
    for dtype in (*integers, np.float32, np.float64):
        for mode in ("ascii", "binary", "appended"):
            files.write_vti("%s_%s.vti" % (np.dtype(dtype).name, mode), dtype=dtype, mode=mode)
    for mode, encode in (("binary", True), ("appended", True), ("appended", False)):
        for zlib in (False, True):
            for words in (32, 64):
                for big in (False, True):
                    name = "%s%s_%s_%d_%s.vti" % (mode, "64" if encode else "raw", "zlib" if zlib else "plain", words,
                                                  "big" if big else "little")
                    files.write_vti(name, dtype=np.float64, mode=mode, encode=encode, zlib=zlib, words=words, big=big,
                                    other=True)
    files.write_vti("points.vti", points=True)
    files.write_vti("points_first_zlib.vti", points=True, first=(2, -3, 5), zlib=True)
    files.write_vti("first.vti", first=(2, -3, 5))
    files.write_vti("thin.vti", cells=(1, 7, 1), points=True)
    files.write_vti("sheet_zlib.vti", cells=(9, 1, 11), zlib=True)
    files.write_vti("larger_zlib.vti", cells=(70, 50, 31), dtype=np.int32, zlib=True)
    files.write_vti("other.vti", mode="ascii", other=True)
    files.write_vti("pieces.vti", pieces=2, cells=(6, 5, 4))
    for dtype in (*integers, np.float32, np.float64):
        for order in "CF":
            shift = 0.25 if np.issubdtype(dtype, np.floating) else 0
            name = "%s_%s.npy" % (np.dtype(dtype).name, order)
            np.save(files.add(name, shift=shift), np.asarray(field(CELLS, dtype, shift), order=order))
    np.save(files.add("big.npy"), field(CELLS, ">i4", 0))
    with open(files.add("version3.npy"), "wb") as file:
        np.lib.format.write_array(file, field(CELLS, np.float32, 0), version=(3, 0))
    with open(os.path.join(directory, "list.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(files.lines) + "\n")
    return len(files.lines)


def read_stl(path):
    reader = vtk.vtkSTLReader()
    errors = []
    reader.AddObserver("ErrorEvent", lambda *_: errors.append(path))
    reader.SetFileName(path)
    reader.Update()
    check(not errors, "vtkSTLReader reports an error on " + path)
    surface = reader.GetOutput()
    edges = vtk.vtkFeatureEdges()
    edges.SetInputData(surface)
    edges.FeatureEdgesOff()
    edges.ManifoldEdgesOff()
    edges.Update()
    mass = vtk.vtkMassProperties()
    mass.SetInputData(surface)
    return surface, edges.GetOutput().GetNumberOfCells(), mass.GetVolume()


def main(binaries):
    print("VTK %s, NumPy %s" % (vtk.vtkVersion.GetVTKVersion(), np.__version__))
    with tempfile.TemporaryDirectory(prefix="brickwork-test-") as directory:
        count = write_images(directory)
        environment = dict(os.environ, BRICKWORK_TEST_INPUT=directory)
        program = subprocess.run([os.path.join(binaries, "brickwork_test_io"), CASE], env=environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        check(program.returncode == 0 and "All tests passed" in program.stdout, program.stdout)
        written = os.path.join(directory, "written")
        for dtype in (np.float32, np.uint8):
            name = np.dtype(dtype).name + ".npy"
            array = np.load(os.path.join(written, name), mmap_mode="r")
            check(array.dtype == dtype and array.flags.c_contiguous and array.shape == tuple(reversed(CELLS)), name)
            check(np.array_equal(array, field(CELLS, dtype, 0.25)), name + ": values")
        surface, loose, volume = read_stl(os.path.join(written, "closed.stl"))
        check(surface.GetNumberOfCells() > 0 and loose == 0, "closed.stl: %d open or branching edges" % loose)
        box = 4 * 0.5 * 2 * 3 * 0.25 * 3 * 2 * 0.1
        check(np.allclose(surface.GetBounds(), (1, 3, 2, 3.5, 3, 3.6), atol=1e-6), "closed.stl: bounds")
        # Layer k holds 20 k + 0.25 to 20 k + 13.25: the level 20 cuts between the layers, so about half is solid.
        check(0.3 * box < volume < 0.7 * box, "closed.stl: volume %g of %g" % (volume, box))
        surface, loose, _ = read_stl(os.path.join(written, "open.stl"))
        check(surface.GetNumberOfCells() > 0 and loose > 0, "open.stl is closed")
    print("all right: %d images" % count)


if __name__ == "__main__":
    main(sys.argv[1])
