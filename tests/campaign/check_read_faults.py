# SPDX-License-Identifier: Apache-2.0
"""Makes reads of files fail or end early: the command must end with an error, or give the right result.
check_read_faults.py CONVOLUME PRELOAD_LIBRARY HDF5 TIFF.

Ends with 77 (skipped) if a module is missing."""
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    from scipy import ndimage
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command, library = map(os.path.abspath, sys.argv[1:3])
rng = np.random.default_rng(int(os.environ.get("CONVOLUME_TEST_SEED", 20241122)))
failures, checks, refused = [], 0, 0


def make_files():
    """Writes uncompressed, compressed and converted samples, each of which is read by other code."""
    image = rng.integers(1, 1000, (24, 96, 96)).astype(np.uint16)
    np.save("image.npy", image)
    files = ["image.npy"]
    if sys.argv[3] == "ON":
        layouts = {"contiguous": {}, "chunks": {"chunks": (8, 32, 32)},
                   "deflated": {"chunks": (8, 32, 32), "compression": 1},
                   "swapped": {"chunks": (8, 32, 32), "dtype": ">u2"},
                   "scaled": {"chunks": (8, 32, 32), "scaleoffset": 0}}
        for name, layout in layouts.items():
            with h5py.File(f"{name}.h5", "w") as file:
                file.create_dataset("d", data=image, **layout)
            files.append(f"{name}.h5")
    if sys.argv[4] == "ON":
        subprocess.run([command, "convolve", "image.npy", "one.npy", "-o", "image.tif", "--output-type", "same", "-q"],
                       check=True)
        files.append("image.tif")
    return image, files


def run(arguments, file, after, fault):
    faults = {"LD_PRELOAD": library, "CONVOLUME_FAULT_FILE": file, "CONVOLUME_FAULT_AFTER": str(after),
              "CONVOLUME_FAULT": fault}
    return subprocess.run([command, *arguments, "-q", "--overwrite"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **faults})


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    kernel = rng.random((3, 3, 3)).astype(np.float32)
    np.save("kernel.npy", kernel)
    np.save("one.npy", np.ones((1, 1, 1), np.float32))
    image, files = make_files()
    wanted = ndimage.convolve(image.astype(np.float64), kernel / kernel.sum(dtype=np.float64), mode="constant")
    for file in files:
        for fault in ("short", "error"):
            for after in (0, 1, 3, 6, 10, 15, 20, 26, 40, 70):
                checks += 1
                where = f"{file}, {fault} after {after} reads"
                done = run(["convolve", file, "kernel.npy", "-o", "out.npy"], file, after, fault)
                if done.returncode == 0:
                    if not np.allclose(np.load("out.npy"), wanted, rtol=1e-4):
                        failures.append(f"{where}: wrong pixels with exit code 0")
                    os.remove("out.npy")
                    continue
                refused += 1
                # A short read may look like damage if metadata end in it, but an error must be reported as such.
                if done.returncode not in ((74,) if fault == "error" else (65, 74)):
                    failures.append(f"{where}: exit code {done.returncode}: {done.stderr}")
                if done.stderr.count("\n") != 1:
                    failures.append(f"{where}: not one sentence: {done.stderr}")
                if os.path.exists("out.npy") or [name for name in os.listdir(".") if "partial" in name]:
                    failures.append(f"{where}: something was left")
    if refused < checks / 4:
        failures.append(f"only {refused} of {checks} reads were made to fail: is the library loaded?")

for failure in failures:
    print("FAILED:", failure)
print(f"{checks} runs, {refused} refused, {len(failures)} failures")
sys.exit(1 if failures else 0)
