#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the Python package and CuPy in turns, with arrays in a GPU's memory.

    PYTHONPATH=BUILD/python bench/python_gpu_peers.py [--rounds N] [--json FILE]

Times include the work on the GPU. They are medians after the first call of a process, which plans and compiles.
"""

import argparse
import platform
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path

from report import report_text

PROGRAM = """
import time, cupy
random = cupy.random.default_rng(1)
image = random.random(IMAGE, dtype=cupy.float32)
kernel = random.random(KERNEL, dtype=cupy.float32)
if WHO == "cupyx":
    import cupyx.scipy.signal
    run = lambda: cupyx.scipy.signal.fftconvolve(image, kernel, "same")
elif WHO == "convolve":
    import convolume
    run = lambda: convolume.convolve(image, kernel)
else:
    import convolume
    out, plan = cupy.empty_like(image), convolume.Convolver(image.shape, cupy.asnumpy(kernel), precision="float32")
    run = lambda: plan(image, out)
for _ in range(ROUNDS + 1):
    begin = time.perf_counter()
    result = run()
    cupy.cuda.Device().synchronize()
    print(time.perf_counter() - begin)
    if WHO != "Convolver":
        del result
name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
print(name, cupy.__version__, sep="; CuPy ")
"""
CASES = {"512×1024×1024 * 64³": ((512, 1024, 1024), (64, 64, 64)),
         "256×512×512 * 31×31×31": ((256, 512, 512), (31, 31, 31)),
         "64×256×256 * 15×15×15": ((64, 256, 256), (15, 15, 15))}


def measure_times(who, image, kernel, rounds):
    """Measures the seconds of the first call and the median of later calls, and describes the machine."""
    text = f"WHO, IMAGE, KERNEL, ROUNDS = {who!r}, {image}, {kernel}, {rounds}\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    *seconds, machine = done.stdout.splitlines()
    return float(seconds[0]), statistics.median(map(float, seconds[1:])), machine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="calls after the first one")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name, (image, kernel) in CASES.items():
        row = {"case": name}
        for who in ("cupyx", "convolve", "Convolver"):
            first, later, machine = measure_times(who, image, kernel, arguments.rounds)
            row |= {f"{who}_first_s": first, f"{who}_s": later}
        rows.append(row)
        peer = row["cupyx_s"]
        print(f"{name:26} cupyx {1e3 * peer:.2f} ms; convolve {1e3 * row['convolve_s']:.2f} "
              f"({peer / row['convolve_s']:.1f}×); planned {1e3 * row['Convolver_s']:.2f} "
              f"({peer / row['Convolver_s']:.1f}×)", flush=True)
        if arguments.json:
            arguments.json.write_text(
                report_text({"date": str(date.today()), "machine": f"{machine}, Python {platform.python_version()}",
                            "rows": rows}), encoding="utf-8")


if __name__ == "__main__":
    main()
