# SPDX-License-Identifier: Apache-2.0
"""Compares the tests' oracle with SciPy: check_oracle.py ORACLE_DUMP. Exit code 77: SciPy is missing."""
import json
import subprocess
import sys

try:
    import numpy as np
    from scipy import ndimage, signal
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)


def array(record):
    values = np.array(record["real"]) + 1j * np.array(record["imag"])
    if not np.any(values.imag):
        values = values.real
    return values.reshape(record["shape"])


def expected(case, image, kernel):
    if case["boundary"] == "zero":
        return signal.convolve(image, kernel, mode=case["mode"], method="direct")
    center = case["center"]
    # ndimage's center is k//2. Its origins have opposite signs for convolve and correlate.
    shift = [c - k // 2 for c, k in zip(center, kernel.shape)]
    options = {"mode": case["boundary"], "cval": case["constant"]}
    if case["operation"] == "convolve":
        return ndimage.convolve(image, kernel, origin=shift, **options)
    return ndimage.correlate(image, kernel, origin=shift, **options)


def main():
    worst = 0.0
    count = 0
    for line in subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines():
        case = json.loads(line)
        image, kernel = array(case["image"]), array(case["kernel"])
        want, got = expected(case, image, kernel), array(case["result"])
        error = np.linalg.norm(want - got) / max(np.linalg.norm(want), 1e-3)
        if want.shape != got.shape or not error < 1e-12:
            print(f"differs from SciPy by {error}:", {k: case[k] for k in ("mode", "boundary", "operation", "center")},
                  "image", image.shape, "kernel", kernel.shape,
                  "complex", np.iscomplexobj(image), np.iscomplexobj(kernel))
            sys.exit(1)
        worst = max(worst, error)
        count += 1
    print(f"{count} cases agree with SciPy, worst relative error {worst:.1e}")
    sys.exit(0 if count else 1)


main()
