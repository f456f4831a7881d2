# SPDX-License-Identifier: Apache-2.0
"""Runs `deconvolve --dump-every`: each file must equal the result of a run with as many iterations.
check_dumped_estimates.py CONVOLUME HDF5.

Ends with 77 (skipped) if a module is missing."""
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
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250622))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, "deconvolve", *arguments, "--device", "cpu"], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


def listed_files(*known):
    return sorted(set(os.listdir()) - set(known))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    psf = np.zeros((5, 9, 9))
    psf[2, 4, 4] = 1
    psf = ndimage.gaussian_filter(psf, (1, 1.5, 1.5)).astype("f4")
    specimen = (rng.random((2, 2, 9, 24, 22)) > 0.98) * 4000.0 + 30
    image = rng.poisson(ndimage.gaussian_filter(specimen, (0, 0, 1, 1.5, 1.5))).astype("u2")  # t, c, z, y, x
    np.save("psf.npy", psf)
    np.save("one.npy", image[0, 0])
    tifffile.imwrite("all.ome.tif", image.swapaxes(1, 2), photometric="minisblack", metadata={
        "axes": "TZCYX", "PhysicalSizeX": 0.1, "PhysicalSizeY": 0.1, "PhysicalSizeZ": 0.3,
        "Channel": {"Name": ["DAPI", "GFP"]}})
    inputs = ["psf.npy", "one.npy", "all.ome.tif"]

    # Every estimate is the result of a shorter run, and the last one is the result of this run.
    for method in ("rl", "rl-tv", "shb", "wiener"):
        options = ["one.npy", "psf.npy", "--method", method, "-q", "--overwrite"]
        if method == "wiener":
            options += ["--stop", "1e-9"]
        run(*options, "-o", "r.npy", "--iterations", "6", "--dump-every", "2")
        names = [f"r.iter00{k}.npy" for k in (2, 4, 6)]
        check(listed_files(*inputs) == sorted([*names, "r.npy"]), method, listed_files(*inputs))
        for k in (2, 4, 6):
            run(*options, "-o", "short.npy", "--iterations", str(k))
            got = np.load(f"r.iter00{k}.npy")
            check(got.dtype == np.float32 and np.array_equal(got, np.load("short.npy")), method, "iteration", k)
        check(not np.array_equal(np.load(names[0]), np.load(names[1])), method, "estimates are all alike")
        for name in [*names, "r.npy", "short.npy"]:
            os.remove(name)

    # Several times and channels; voxel size and the channel's name are kept.
    options = ["all.ome.tif", "psf.npy", "--iterations", "10", "--dump-every", "5", "-q"]
    run(*options, "-o", "r.ome.tif")
    names = [f"r.t{t}.c{c}.iter{k}.ome.tif" for t in (0, 1) for c in (0, 1) for k in ("005", "010")]
    check(listed_files(*inputs) == sorted([*names, "r.ome.tif"]), listed_files(*inputs))
    result = tifffile.imread("r.ome.tif").reshape(2, 2, 9, 24, 22)  # z varies fastest in the file
    for t in (0, 1):
        for c in (0, 1):
            with tifffile.TiffFile(f"r.t{t}.c{c}.iter010.ome.tif") as file:
                check(np.array_equal(file.asarray(), result[t, c]), "time", t, "channel", c)
                pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            check(pixels["Channel"]["Name"] == ["DAPI", "GFP"][c], t, c, pixels["Channel"])
            check((pixels["PhysicalSizeZ"], pixels["PhysicalSizeX"]) == (0.3, 0.1), t, c, "voxel size")

    # ImageJ's lookup tables go with their channels.
    tables = [rng.integers(0, 256, (3, 256), dtype=np.uint8) for _ in range(2)]
    tifffile.imwrite("luts.tif", image.swapaxes(1, 2), imagej=True,
                     metadata={"axes": "TZCYX", "mode": "composite", "LUTs": tables})
    run("luts.tif", "psf.npy", "-o", "l.tif", "--iterations", "1", "--dump-every", "1", "-q")
    for t in (0, 1):
        for c in (0, 1):
            with tifffile.TiffFile(f"l.t{t}.c{c}.iter001.tif") as file:
                got = file.imagej_metadata.get("LUTs")
            check(got is not None and np.array_equal(got, tables[c]), t, c, "lookup table")
            os.remove(f"l.t{t}.c{c}.iter001.tif")
    os.remove("l.tif")
    os.remove("luts.tif")

    # Existing files are kept, or replaced with --overwrite.
    os.remove("r.ome.tif")
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    run(*options, "-o", "r.ome.tif", status=5, names="r.t0.c0.iter005.ome.tif")
    check({name: Path(name).read_bytes() for name in os.listdir()} == before, "files changed")
    run(*options, "-o", "r.ome.tif", "--overwrite")
    for name in [*names, "r.ome.tif"]:
        os.remove(name)
    np.save("r.iter002.npy", psf)
    run("one.npy", "r.iter002.npy", "-o", "r.npy", "--iterations", "2", "--dump-every", "2", "--overwrite", "-q",
        status=2, names="is one of the inputs")
    check(np.array_equal(np.load("r.iter002.npy"), psf), "an input was replaced")
    os.remove("r.iter002.npy")

    # Estimates as integers, in HDF5, and with more digits in the file's name.
    run("one.npy", "psf.npy", "-o", "r.npy", "--iterations", "3", "--dump-every", "3", "--output-type", "uint16", "-q")
    check(np.array_equal(np.load("r.iter003.npy"), np.load("r.npy")) and np.load("r.npy").dtype == np.uint16, "uint16")
    os.remove("r.npy")
    os.remove("r.iter003.npy")
    if sys.argv[2] == "ON":
        run("one.npy", "psf.npy", "-o", "r.h5:/a/b", "--iterations", "1000", "--stop", "0.02", "--dump-every", "1",
            "--scale-output", "-q")
        with h5py.File("r.iter0001.h5") as file:
            check(file["a/b"].dtype == np.float32 and "scale_factor" not in file["a/b"].attrs, "HDF5")
        for name in listed_files(*inputs):
            os.remove(name)

    # A search for the number of iterations is not dumped; no file is written for iterations that are not done.
    said = run("one.npy", "psf.npy", "-o", "r.npy", "--stop", "auto", "--dump-every", "1", "--gain", "1", "--json")
    iterations = int(said.stdout.split('"iterations": ')[2].split(",")[0])
    check(len(listed_files(*inputs)) == iterations + 1, iterations, "iterations, but", listed_files(*inputs))
    check(f"{iterations} estimates" in said.stderr, said.stderr)
    for name in listed_files(*inputs):
        os.remove(name)
    run("one.npy", "psf.npy", "-o", "r.npy", "--iterations", "3", "--dump-every", "4", "-q")
    check(listed_files(*inputs) == ["r.npy"], listed_files(*inputs))
    run("one.npy", "psf.npy", "-o", "s.npy", "--dump-every", "0", status=2, names="--dump-every")
    run("one.npy", "psf.npy", "--dry-run", "--dump-every", "1", "-q")
    check(listed_files(*inputs) == ["r.npy"], listed_files(*inputs))

finish(SEED)
