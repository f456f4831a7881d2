# SPDX-License-Identifier: Apache-2.0
"""Checks that the memory of a run stays within --max-host-mem, or that the run is refused with exit code 3.
check_memory_limit.py CONVOLUME.

Ends with 77 (skipped) if a module is missing."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    import tifffile
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command = os.path.abspath(sys.argv[1])
program_mib = 48  # MiB of the program, its libraries, and tables that no plan counts
failures, checked = [], 0


def peak_mib(arguments):
    """Returns exit code, error and the largest resident memory, which is measured in a process of its own."""
    code = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
            "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); "
            "sys.stderr.write(done.stderr)")
    done = subprocess.run([sys.executable, "-c", code, command, *arguments], capture_output=True, text=True)
    exit_code, kib = map(int, done.stdout.split())
    return exit_code, done.stderr, kib / 1024


folder = tempfile.mkdtemp()
os.chdir(folder)
rng = np.random.default_rng(3)
voxels = {"imagej": True, "resolution": (1, 1), "metadata": {"spacing": 1.0, "unit": "um", "axes": "ZYX"}}
tifffile.imwrite("image.tif", rng.integers(1, 100, (64, 256, 256)).astype(np.uint16), **voxels)
tifffile.imwrite("kernel.tif", rng.random((9, 15, 15)).astype(np.float32), **voxels)
# The kernel's voxels are larger than the image's: it is resampled to 8 x 8 x 8 times as many.
voxels = {"imagej": True, "resolution": (1 / 8, 1 / 8), "metadata": {"spacing": 8.0, "unit": "um", "axes": "ZYX"}}
tifffile.imwrite("coarse.tif", rng.random((41, 61, 61)).astype(np.float32), **voxels)
image, kernel = tifffile.imread("image.tif"), tifffile.imread("kernel.tif")
np.save("image.npy", image)
np.save("kernel.npy", kernel)
tifffile.imwrite("coded.tif", image, compression="zlib", rowsperstrip=256, **voxels)
with h5py.File("image.h5", "w") as file:
    file["data"] = image
    file.create_dataset("chunks", data=image, chunks=(16, 64, 64), compression=1)
np.save("signal.npy", rng.random(1 << 23).astype(np.float32))
np.save("taps.npy", rng.random((2, 255)).astype(np.float32))
np.save("long.npy", rng.random((2, 1 << 16)).astype(np.float32))
convolve = ["convolve", "image.npy", "kernel.npy"]
runs = [
    ["convolve", "image.tif", "kernel.tif"], ["convolve", "image.tif", "kernel.tif", "--method", "tiled"],
    ["convolve", "image.tif", "kernel.tif", "--op", "adjoint"],
    ["convolve", "image.tif", "kernel.tif", "--scale-output", "--output-type", "uint16"],
    ["convolve", "image.tif", "kernel.tif", "--compression", "deflate"],
    ["convolve", "image.tif", "coarse.tif"],
    ["deconvolve", "image.tif", "coarse.tif", "--iterations", "1"],
    ["deconvolve", "image.tif", "kernel.tif", "--iterations", "1"],
    ["simulate", "image.tif", "coarse.tif"], ["simulate", "image.tif", "kernel.tif"],
    [*convolve, "-o", "out.npy"], [*convolve, "-o", "out.h5"], [*convolve, "-o", "out.tif"],
    [*convolve, "-o", "out.h5", "--compression", "deflate"],
    [*convolve, "--boundary", "wrap", "--mode", "full", "-o", "out.npy"],
    [*convolve, "--method", "dif", "--parts", "4", "-o", "out.npy"],
    [*convolve, "--method", "direct", "-o", "out.npy"],
    [*convolve, "--precision", "float64", "-o", "out.npy"],
    [*convolve, "--op", "adjoint", "--boundary", "reflect", "-o", "out.npy"],
    ["convolve", "image.h5:/data", "kernel.npy", "-o", "out.npy"],
    ["convolve", "image.h5:/chunks", "kernel.npy", "-o", "out.tif"],
    ["convolve", "coded.tif", "kernel.npy", "--compression", "deflate", "-o", "out.tif"],
    ["deconvolve", "image.npy", "kernel.npy", "--iterations", "1", "-o", "out.npy"],
    ["filter", "signal.npy", "taps.npy", "-o", "out.npy"],
    ["filter", "signal.npy", "long.npy", "-o", "out.npy"],
    ["filter", "signal.npy", "taps.npy", "-o", "out.h5"],
    ["filter", "signal.npy", "taps.npy", "-o", "out.f32"],
]
# Each run has the tightest limit, and then one of two others.
for number, arguments in enumerate(runs):
    for limit in (60, 100 if number % 2 else 200):
        checked += 1
        output = [] if "-o" in arguments else ["-o", "out.ome.tif"]
        arguments_of_run = [*arguments, *output, "--overwrite", "-q", "--max-host-mem", f"{limit}M"]
        code, error, mib = peak_mib(arguments_of_run)
        where = f"{' '.join(arguments)}, {limit} MB"
        if code not in (0, 3):
            failures.append(f"{where}: exit code {code}: {error}")
        if mib > limit + program_mib:
            failures.append(f"{where}: {mib:.0f} MiB")
        print(f"{where}: exit code {code}, {mib:.0f} MiB")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"{checked} runs, {len(failures)} failures")
sys.exit(1 if failures else 0)
