# SPDX-License-Identifier: Apache-2.0
"""Interrupts runs with long preparations (large kernels and filters, FFTW's measurements, folds) at many moments: each
must end soon after.
check_cancel.py CONVOLUME INTERRUPTS [SECONDS]: INTERRUPTS interruptions of each run. It must end within SECONDS,
default 3 (an idle machine needs less than 1), and within an eighth of the time of the whole run and a quarter of a
second.

Ends with 77 (skipped) if a module is missing."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

command = os.path.abspath(sys.argv[1])
count = int(sys.argv[2])
allowed_s = float(sys.argv[3]) if len(sys.argv) > 3 else 3
folder = tempfile.mkdtemp()
os.chdir(folder)
rng = np.random.default_rng(11)


def progress_line(length):
    return np.exp(-np.linspace(-2, 2, length) ** 2).astype(np.float32)


np.save("small.npy", rng.random((16, 16, 16)).astype(np.float32))
np.save("image.npy", rng.random((120, 160, 160)).astype(np.float32))
# A kernel that is the product of three lines, which is separated, and one that is not.
np.save("product.npy", progress_line(400)[:, None, None] * progress_line(400)[:, None] * progress_line(400))
np.save("psf.npy", rng.random((100, 130, 130)).astype(np.float32))
np.save("signal.npy", rng.random(1 << 22).astype(np.float32))
np.save("filters.npy", rng.random((24, 1 << 19)).astype(np.float32))
# Builds with FFTW plan the large kernel by it.
features = json.loads(subprocess.run([command, "doctor", "--json"], capture_output=True, check=True).stdout)["features"]
by_fftw = ["--fft", "fftw"] if "fftw-" in features["FFT"]["state"] else []
runs = {
    "kernel that is a product": ["convolve", "small.npy", "product.npy", "--mode", "full"],
    "large kernel": ["convolve", "image.npy", "psf.npy", "--boundary", "reflect", *by_fftw],
    "fold": ["convolve", "image.npy", "psf.npy", "--operation", "adjoint", "--boundary", "reflect"],
    "parts": ["convolve", "image.npy", "psf.npy", "--method", "dif", "--parts", "4"],
    "double precision": ["convolve", "image.npy", "psf.npy", "--precision", "float64"],
    "deconvolution": ["deconvolve", "image.npy", "psf.npy", "--iterations", "3"],
    "long filters": ["filter", "signal.npy", "filters.npy"],
}
failures, latest = [], {}
for name, arguments in runs.items():

    def start(arguments=arguments):
        # Removes FFTW's measurements of earlier runs.
        shutil.rmtree("cache", ignore_errors=True)
        return subprocess.Popen([command, *arguments, "-o", "out.npy", "--overwrite", "-q", "--device", "cpu"],
                                stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "XDG_CACHE_HOME": os.path.join(folder, "cache")})

    begin = time.monotonic()
    process = start()
    _, error = process.communicate()
    whole_s = time.monotonic() - begin
    if process.returncode != 0:
        failures.append(f"{name}: exit code {process.returncode}: {error}")
    ends = []
    for number in range(count):
        process = start()
        time.sleep((number + 0.5) / count * whole_s)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        _, error = process.communicate()
        took_s = time.monotonic() - sent
        if process.returncode == 0:
            continue
        ends.append(took_s)
        if process.returncode not in (130, -signal.SIGINT):
            failures.append(f"{name}: exit code {process.returncode}: {error}")
        if took_s > min(allowed_s, 0.25 + 0.125 * whole_s):
            failures.append(f"{name}: interrupted after {(number + 0.5) / count * whole_s:.2f} s of {whole_s:.2f} s, "
                            f"it went on for {took_s:.2f} s")
    latest[name] = max(ends, default=0)
    print(f"{name}: {whole_s:.2f} s; of {len(ends)} interruptions the slowest took {latest[name]:.2f} s")
os.chdir("/")
shutil.rmtree(folder)
for failure in failures:
    print("FAILED:", failure)
print(f"{len(latest) * count} interruptions, the slowest took {max(latest.values()):.2f} s, {len(failures)} failures")
sys.exit(1 if failures else 0)
