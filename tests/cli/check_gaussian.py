# SPDX-License-Identifier: Apache-2.0
"""Compares convolve --sigma and --fwhm with scipy.ndimage.gaussian_filter. check_gaussian.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    from scipy.ndimage import gaussian_filter
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250611))
COMMAND = os.path.abspath(sys.argv[1])
image = np.random.default_rng(SEED).random((9, 20, 24), dtype=np.float32)
VOXEL = ["--voxel", "400,100,200nm"]

# Options, and the standard deviations in voxels that they mean.
CASES = [
    (["--sigma", "1.5"], (1.5, 1.5, 1.5)),
    (["--sigma", "1,2,0.5"], (1, 2, 0.5)),
    (["--sigma", "0,2,0"], (0, 2, 0)),
    (["--sigma", "200nm", *VOXEL], (0.5, 2, 1)),
    (["--sigma", "0.2um", *VOXEL], (0.5, 2, 1)),
    (["--sigma", "400,200,300nm", *VOXEL], (1, 2, 1.5)),
    (["--fwhm", "2.3548200450309493"], (1, 1, 1)),
    (["--fwhm", "470.96400900618986nm", *VOXEL], (0.5, 2, 1)),
]

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("image.npy", image)
    np.save("plane.npy", image[:1])
    for file, pixels in (("image.npy", image), ("plane.npy", image[:1])):
        for typed, sigma in CASES:
            if file == "plane.npy" and "," in typed[1]:
                continue  # a width along z blurs a plane with what lies beyond it
            done = subprocess.run([COMMAND, "convolve", file, *typed, "--boundary", "reflect", "-o", "out.npy",
                                   "--overwrite"], capture_output=True, text=True)
            check(done.returncode == 0 and "FWHM" in done.stderr, typed, done.stderr)
            along = sigma if file == "image.npy" else (0, *sigma[1:])
            wanted = gaussian_filter(pixels.astype(np.float64), along, mode="reflect", truncate=4)
            error = np.abs(np.load("out.npy") - wanted).max()
            check(error < 1e-5, file, typed, "differs by", error)

finish(SEED)
