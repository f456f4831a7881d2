# SPDX-License-Identifier: Apache-2.0
"""Runs `deconvolve --uncertainty`: files, metadata, seeds, and what is refused.
check_uncertainty.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    import tifffile
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20261126))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])


def run(*arguments, status=0, names=""):
    done = subprocess.run([command, "deconvolve", *arguments, "--device", "cpu"], capture_output=True, text=True)
    check(done.returncode == status and names in done.stderr, arguments, "exit code", done.returncode, done.stderr)
    return done


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    psf = np.zeros((5, 9, 9))
    psf[2, 4, 4] = 1
    psf = ndimage.gaussian_filter(psf, (1, 1.5, 1.5)).astype("f4")
    specimen = ndimage.gaussian_filter((rng.random((2, 2, 9, 34, 32)) > 0.97) * 8000.0, (0, 0, 1, 2, 2)) + 30
    image = rng.poisson(ndimage.gaussian_filter(specimen, (0, 0, 1, 1.5, 1.5))).astype("u2")  # t, c, z, y, x
    np.save("psf.npy", psf)
    np.save("one.npy", image[0, 0])
    tifffile.imwrite("all.ome.tif", image.swapaxes(1, 2), photometric="minisblack", metadata={
        "axes": "TZCYX", "PhysicalSizeX": 0.1, "PhysicalSizeY": 0.1, "PhysicalSizeZ": 0.3,
        "Channel": {"Name": ["DAPI", "GFP"]}})
    plain = ["one.npy", "psf.npy", "--offset", "0", "--iterations", "5", "-o", "r.npy", "--overwrite"]
    known = ["--gain", "1", "--offset", "0", "--iterations", "5"]
    one = [*plain, "--gain", "1"]

    # The result is that of a run without it. Seeds and threads make it again.
    run(*plain)
    result = np.load("r.npy")
    done = run(*one, "--uncertainty", "sd.npy", "--json")
    check("16 further runs" in done.stderr and "from 8 splits" in done.stderr, done.stderr)
    facts = json.loads(done.stdout)
    check(facts["output"]["uncertainty"] == "sd.npy" and facts["plan"]["further_runs"] == 16, done.stdout)
    check(np.array_equal(np.load("r.npy"), result), "the result differs with an uncertainty")
    deviation = np.load("sd.npy")
    check(deviation.dtype == np.float32 and deviation.shape == result.shape and (deviation > 0).mean() > 0.8,
          deviation.dtype, deviation.shape, (deviation > 0).mean())
    run(*one, "--uncertainty", "again.npy", "--threads", "1", "--seed", "1")
    check(np.allclose(np.load("again.npy"), deviation, rtol=1e-3), "one thread makes another uncertainty")
    run(*one, "--uncertainty", "other.npy", "--seed", "2")
    check(not np.allclose(np.load("other.npy"), deviation, rtol=0.05), "another seed makes the same uncertainty")
    done = run(*one, "--uncertainty", "sd.npy", "--splits", "3", "--dry-run")
    check("6 further runs" in done.stderr, done.stderr)

    # Every channel and time has its own, with the image's metadata.
    run("all.ome.tif", "psf.npy", *known, "-o", "all_r.ome.tif", "--uncertainty", "all_sd.ome.tif", "--splits", "2",
        "--output-type", "uint16")
    with tifffile.TiffFile("all_r.ome.tif") as r, tifffile.TiffFile("all_sd.ome.tif") as sd:
        check(r.series[0].dtype == np.uint16 and sd.series[0].dtype == np.float32, sd.series[0].dtype)
        check(r.series[0].axes == sd.series[0].axes and r.series[0].shape == sd.series[0].shape, sd.series[0].axes)
        for text in ('PhysicalSizeZ="0.3"', "DAPI", "GFP"):
            check(text in sd.ome_metadata, text, "is not in", sd.ome_metadata)
        several = np.moveaxis(sd.asarray(), [sd.series[0].axes.index(axis) for axis in "TCZYX"], range(5))
    run(*one, "--uncertainty", "sd.npy", "--splits", "2", "--overwrite")
    check(np.array_equal(several[0, 0], np.load("sd.npy")), "a volume of several has another uncertainty")
    check(len({several[t, c].tobytes() for t in range(2) for c in range(2)}) == 4, "volumes share an uncertainty")

    # Many files.
    Path("more").mkdir()
    np.save("more/a.npy", image[0, 1])
    np.save("more/b.npy", image[1, 0])
    run("more/a.npy", "more/b.npy", "psf.npy", *known, "--output-dir", "results", "--splits", "2",
        "--uncertainty", "{stem}_sd")
    check(sorted(os.listdir("results")) == ["a.npy", "a_sd.npy", "b.npy", "b_sd.npy"], os.listdir("results"))

    # What is refused leaves all files as they are.
    before = {name: Path(name).stat().st_mtime_ns for name in os.listdir()}
    refused = ["one.npy", "psf.npy", *known]
    run(*refused, "-o", "new.npy", "--uncertainty", "sd.npy", status=5, names="exists already")
    run(*refused, "-o", "new.npy", "--uncertainty", "new.npy", status=2, names="two outputs")
    run(*refused, "-o", "new.npy", "--uncertainty", "one.npy", status=2, names="one of the inputs")
    run(*refused, "-o", "new.npy", "--uncertainty", "u.npy", "--splits", "65", status=2, names="2 to 64")
    run("one.npy", "psf.npy", "-o", "new.npy", "--splits", "4", status=2, names="--splits is of --uncertainty")
    check(before == {name: Path(name).stat().st_mtime_ns for name in os.listdir()}, "a refused run left", os.listdir())

    # Noise that tells no photons, and a run that is stopped.
    np.save("smooth.npy", ndimage.gaussian_filter(specimen[0, 0], 1).astype("f4") * 0 + 7)
    run("smooth.npy", "psf.npy", "--iterations", "2", "-o", "s.npy", "--uncertainty", "s_sd.npy",
        names="give --gain")
    program = subprocess.Popen([command, "deconvolve", "one.npy", "psf.npy", "--iterations", "2000", "--splits", "64",
                                "-o", "long.npy", "--uncertainty", "long_sd.npy", "--device", "cpu"],
                               stderr=subprocess.DEVNULL)
    time.sleep(1)
    program.send_signal(signal.SIGINT)
    check(program.wait(60) == 130, "exit code", program.returncode)
    check(not [name for name in os.listdir() if "long" in name], "an interrupted run left", os.listdir())

finish(SEED)
