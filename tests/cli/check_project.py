# SPDX-License-Identifier: Apache-2.0
"""Compares projections of every type and format with NumPy, and checks the metadata of the files.
check_project.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import h5py
    import numpy as np
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

from png_oracle import read_png

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250611))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])
with_hdf5 = sys.argv[2] == "ON"
REDUCE = {"max": np.max, "mean": np.mean, "sum": np.sum}


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, "project", *arguments], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    if status:
        check(done.stderr.count("\n") == 1, arguments, done.stderr)
    return done


def expected_projection(image, axis, by):
    """Returns the projection along an axis counted from the end: 3 is z of (…, z, y, x)."""
    if by == "max":
        return image.max(axis=axis)
    return REDUCE[by](image, axis=axis, dtype=np.float64).astype(np.float32)


def check_equal(got, want, *what):
    check(got.shape == want.shape, *what, "shape", got.shape, "not", want.shape)
    check(got.dtype == want.dtype, *what, "type", got.dtype, "not", want.dtype)
    if got.shape == want.shape:
        # Sums in double precision differ in their last bits only, which matter when they are rounded to float32.
        near = np.allclose(got, want, rtol=2e-7, atol=0, equal_nan=True)
        check(np.array_equal(got, want, equal_nan=True) if np.issubdtype(want.dtype, np.integer) else near,
              *what, "values")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)

    # Projects every type along every axis by every rule. NPY keeps the type of NumPy's result.
    for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"):
        if kind[0] == "f":
            image = rng.normal(-3, 2, (5, 6, 7)).astype(kind)
        else:
            limits = np.iinfo(kind)
            image = rng.integers(limits.min, limits.max, (5, 6, 7), dtype=kind, endpoint=True)
        np.save("a.npy", image)
        for number, axis in enumerate("zyx"):
            for by in REDUCE:
                run("a.npy", "-o", "p.npy", "--axis", axis, "--by", by, "--overwrite", "-q")
                check_equal(np.load("p.npy"), expected_projection(image, number, by), kind, axis, by)
    image[1, 2, 3], image[4, 5, 6] = np.nan, np.inf
    np.save("a.npy", image)
    for number, axis in enumerate("zyx"):
        for by in REDUCE:
            run("a.npy", "-o", "p.npy", "--axis", axis, "--by", by, "--overwrite", "-q")
            check_equal(np.load("p.npy"), expected_projection(image, number, by), "NaN", axis, by)

    # Images larger than what is held at a time: by groups of planes, and by rows of a plane.
    for shape in ((70, 400, 500), (3, 3000, 3001)):
        image = rng.integers(0, 256, shape, dtype=np.uint8)
        tifffile.imwrite("large.tif", image, rowsperstrip=16, photometric="minisblack")
        for number, axis in enumerate("zyx"):
            for by in ("max", "sum"):
                run("large.tif", "-o", "p.npy", "--axis", axis, "--by", by, "--overwrite", "-q")
                check_equal(np.load("p.npy"), expected_projection(image, number, by), shape, axis, by)
    report = json.loads(run("large.tif", "-o", "p.npy", "--overwrite", "-q", "--json").stdout)["report"]
    peak = report["peak_buffer_bytes"]
    check(peak < 40 << 20, "held", peak, "bytes")

    # Channels and times stay, and so do the metadata of the remaining axes.
    stack = rng.integers(0, 60000, (2, 4, 3, 9, 11), dtype=np.uint16)  # t, z, c, y, x
    tifffile.imwrite("stack.ome.tif", stack, photometric="minisblack", metadata={
        "axes": "TZCYX", "PhysicalSizeX": 0.1, "PhysicalSizeY": 0.2, "PhysicalSizeZ": 0.5,
        "TimeIncrement": 3.0, "Channel": {"Name": ["DAPI", "GFP", "Cy5"]}})
    ordered = np.swapaxes(stack, 1, 2)  # t, c, z, y, x
    sizes = {"z": (0.2, 0.1), "y": (0.5, 0.1), "x": (0.5, 0.2)}
    for number, axis in enumerate("zyx"):
        for by in REDUCE:
            want = expected_projection(ordered, 2 + number, by)
            run("stack.ome.tif", "-o", "p.ome.tif", "--axis", axis, "--by", by, "--overwrite", "-q")
            with tifffile.TiffFile("p.ome.tif") as file:
                check(file.series[0].axes == "TCYX", axis, by, "axes", file.series[0].axes)
                check_equal(file.asarray(), want, "OME", axis, by)
                pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            got = pixels["PhysicalSizeY"], pixels["PhysicalSizeX"]
            check(np.allclose(got, sizes[axis]) and "PhysicalSizeZ" not in pixels, axis, "voxel", got)
            check([c["Name"] for c in pixels["Channel"]] == ["DAPI", "GFP", "Cy5"], axis, "channels")
            check(pixels["TimeIncrement"] == 3.0, axis, "interval")
            run("stack.ome.tif", "-o", "p.tif", "--axis", axis, "--by", by, "--overwrite", "-q")
            with tifffile.TiffFile("p.tif") as file:
                check_equal(file.asarray(), want, "ImageJ", axis, by)
                across = file.pages[0].tags["XResolution"].value
                unit = file.imagej_metadata["unit"]
            check(unit in ("um", "µm", "micron", "\\u00B5m"), axis, "unit", unit)
            check(np.isclose(across[1] / across[0], sizes[axis][1]), axis, "resolution", across)
            if with_hdf5:
                run("stack.ome.tif", "-o", "p.h5", "--axis", axis, "--by", by, "--overwrite", "-q", "--compression",
                    "deflate")
                with h5py.File("p.h5") as file:
                    check_equal(file["data"][()], want[:, :, None], "HDF5", axis, by)
                    check(np.allclose(file["data"].attrs["element_size_um"], (0, *sizes[axis])), axis, "HDF5 voxel")
    run("stack.ome.tif", "-o", "p.npy", "--channel", "2", "--frame", "1", "--crop", "1:4,:,2:9", "--overwrite", "-q")
    check_equal(np.load("p.npy"), ordered[1, 2, 1:4, :, 2:9].max(axis=0), "selection")

    # ImageJ's lookup tables are kept. Their bright ends become OME's colors, and OME's colors become tables.
    def tables_of(name):
        with tifffile.TiffFile(name) as file:
            return file.imagej_metadata.get("LUTs", [])

    def ome_colors(name):
        with tifffile.TiffFile(name) as file:
            channels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]["Channel"]
        return [c.get("Color") for c in (channels if isinstance(channels, list) else [channels])]

    def ome_number(rgb):
        number = int(rgb[0]) << 24 | int(rgb[1]) << 16 | int(rgb[2]) << 8 | 255
        return number - (1 << 32) if number >= 1 << 31 else number

    tables = [rng.integers(0, 256, (3, 256), dtype=np.uint8) for _ in range(3)]
    bright = [ome_number(t[:, -1]) for t in tables]
    for order in "<>":
        tifffile.imwrite("ij.tif", stack, imagej=True, byteorder=order, metadata={
            "axes": "TZCYX", "mode": "composite", "LUTs": tables, "Labels": ["label"] * 24, "Info": "notes"})
        for options, wanted_tables in (([], [0, 1, 2]), (["--channel", "2,0"], [2, 0]), (["--frame", "1"], [0, 1, 2]),
                                       (["--axis", "x", "--by", "sum", "--crop", ":,1:8,:"], [0, 1, 2])):
            run("ij.tif", "-o", "p.tif", "--overwrite", "-q", *options)
            got = tables_of("p.tif")
            check(len(got) == len(wanted_tables) and all(np.array_equal(t, tables[c]) for t, c in
                                                         zip(got, wanted_tables)), order, options, "tables")
            with tifffile.TiffFile("p.tif") as file:
                check(file.imagej_metadata["mode"] == "composite", options, "mode")
                check("Labels" not in file.imagej_metadata, options, "labels of planes that are gone")
            run("ij.tif", "-o", "p.ome.tif", "--overwrite", "-q", *options)
            got = ome_colors("p.ome.tif")
            check(got == [bright[c] for c in wanted_tables], order, options, got)
    colors = [(12, 200, 77), (250, 3, 128), (255, 255, 255)]
    tifffile.imwrite("colors.ome.tif", stack, photometric="minisblack", metadata={
        "axes": "TZCYX", "Channel": {"Name": ["a", "b", "c"], "Color": [ome_number(c) for c in colors]}})
    run("colors.ome.tif", "-o", "p.tif", "--overwrite", "-q")
    ramps = [np.rint(np.outer(c, np.arange(256)) / 255) for c in colors]
    check(np.array_equal(tables_of("p.tif"), ramps), "tables of OME's colors")
    run("colors.ome.tif", "-o", "p.ome.tif", "--channel", "1,0", "--overwrite", "-q")
    check(ome_colors("p.ome.tif") == [ome_number(colors[1]), ome_number(colors[0])], "OME", ome_colors("p.ome.tif"))
    run("stack.ome.tif", "-o", "p.tif", "--overwrite", "-q")
    check(len(tables_of("p.tif")) == 0, "tables of no colors")

    # Pictures: they hold the values themselves if these fit, or else the range from the least to the largest.
    one = ["--channel", "0", "--frame", "0", "--overwrite", "-q"]
    for number, axis in enumerate("zyx"):
        run("stack.ome.tif", "-o", "p.PNG", "--axis", axis, *one)
        check_equal(read_png("p.PNG"), ordered[0, 0].max(axis=number), "PNG", axis)
    run("stack.ome.tif", "-o", "p.png", "--by", "sum", *one)
    sums = ordered[0, 0].sum(axis=0, dtype=float)
    gray = np.rint((sums - sums.min()) / (sums.max() - sums.min()) * 65535)
    check(np.abs(read_png("p.png") - gray).max() <= 1, "PNG of sums")
    np.save("b.npy", (stack[:, :, 0, 0] >> 8).astype(np.uint8))
    run("b.npy", "-o", "b.png", "-q")
    check_equal(read_png("b.png"), np.load("b.npy").max(axis=0), "PNG of bytes")
    said = run("stack.ome.tif", "-o", "p.png", "--by", "sum", *one[:-1]).stderr
    check(f"black {sums.min():.6g}, white {sums.max():.6g}" in said, said)

    # Existing files are kept, and mistakes have their exit codes.
    np.save("complex.npy", np.ones((2, 3, 4), np.complex64))
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    run("stack.ome.tif", "-o", "p.tif", status=5, names="--overwrite")
    run("stack.ome.tif", "-o", "new.png", status=2, names="--channel")
    run("stack.ome.tif", "-o", "stack.ome.tif", "--overwrite", status=2, names="is one of the inputs")
    run("stack.ome.tif", "-o", "new.jpg", "-q", status=2, names="jpg")
    run("stack.ome.tif", "-o", "new.png", "--compression", "deflate", status=2, names="--compression")
    run("stack.ome.tif", status=2, names="-o")
    run("stack.ome.tif", "-o", "new.tif", "--axis", "c", status=2, names="--axis")
    run("stack.ome.tif", "-o", "new.tif", "--by", "median", status=2, names="median")
    run("stack.ome.tif", "-o", "no/new.tif", status=73, names="no")
    run("none.tif", "-o", "new.tif", status=66, names="none.tif")
    run("complex.npy", "-o", "new.npy", status=65, names="complex")
    run("stack.ome.tif", "--dry-run", "-q")
    check({name: Path(name).read_bytes() for name in os.listdir()} == before, "files changed")

finish(SEED)
