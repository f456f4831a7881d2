#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares figures of `convolume compare` with NumPy and SciPy: check_compare.py CONVOLUME.

`convolve` and `filter` compute the results that `compare` measures again; SciPy computes the
reference in double precision. Ends with 77 (skipped) if a module is missing."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checks import check, finish

try:
    import numpy as np
    from scipy import signal
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

SEED = int(os.environ.get("CONVOLUME_TEST_SEED", 20250311))
rng = np.random.default_rng(SEED)
command = os.path.abspath(sys.argv[1])


def run(*arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    check(done.returncode == 0, arguments, "ended with", done.returncode, done.stderr)


def error_figures(result, reference):
    difference = np.abs(result.astype(reference.dtype) - reference)
    peak = np.abs(reference).max()
    return {
        "delta": difference.max(),
        "relative_linf": difference.max() / peak,
        "relative_l2": np.linalg.norm(difference) / np.linalg.norm(reference),
        "psnr_db": 20 * np.log10(peak / np.sqrt(np.mean(difference**2))),
        "worst_voxel": [int(i) for i in np.unravel_index(difference.argmax(), difference.shape)],
    }


def compare_figures(name, errors, result, reference):
    """Compares measured errors. float32 results err by about 1e-7, references by about 1e-15: at most 1e-6
    of a measured error comes from the difference between SciPy's reference and ours."""
    want = error_figures(result, reference)
    for figure in ("delta", "relative_linf", "relative_l2"):
        check(abs(errors[figure] - want[figure]) <= 1e-6 * want[figure],
              name, figure, errors[figure], "instead of", want[figure])
    check(abs(errors["psnr_db"] - want["psnr_db"]) < 1e-4, name, "PSNR", errors["psnr_db"],
          "instead of", want["psnr_db"])
    z, y, x = errors["worst_voxel"]
    there = abs(float(result[z, y, x]) - reference[z, y, x])
    check(abs(there - want["delta"]) <= 1e-6 * want["delta"], name, "worst voxel", (z, y, x))


def ways_of(file_name):
    with open(file_name, encoding="utf-8") as file:
        report = json.load(file)
    return {way["name"]: way for way in report["problems"][0]["ways"]}, report["problems"][0]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    image = rng.integers(0, 4096, (14, 30, 34)).astype(np.uint16)
    kernel = rng.random((5, 7, 9)).astype(np.float32)
    np.save("image.npy", image)
    np.save("kernel.npy", kernel)
    run("compare", "image.npy", "kernel.npy", "-o", "images.json", "--devices", "cpu", "--methods",
        "in-core,direct", "--repeats", "1", "--threads", "1")
    ways, problem = ways_of("images.json")
    # Mode "same" around the tap k/2; the kernel's sum is 1.
    full = signal.convolve(image.astype(np.float64), kernel.astype(np.float64) / kernel.sum(dtype=np.float64),
                           method="direct")
    reference = full[tuple(slice(k // 2, k // 2 + n) for k, n in zip(kernel.shape, image.shape))]
    results = {}
    for method in ("in-core", "direct"):
        run("convolve", "image.npy", "kernel.npy", "-o", "result.npy", "--device", "cpu", "--method",
            method, "--threads", "1", "--overwrite", "-q")
        results[method] = np.load("result.npy")
        compare_figures(method, ways[f"cpu {method} float32 1 thread"]["errors"], results[method],
                        reference)
    pair = next(p for p in problem["pairs"]
                if {p["a"], p["b"]} == {"cpu in-core float32 1 thread", "cpu direct float32 1 thread"})
    b = results["in-core" if "in-core" in pair["b"] else "direct"].astype(np.float64)
    a = results["direct" if "in-core" in pair["b"] else "in-core"].astype(np.float64)
    want = np.linalg.norm(a - b) / np.linalg.norm(b)
    check(abs(pair["relative_l2"] - want) < 1e-9 * want, "pair", pair, want)

    samples = rng.standard_normal((1, 5000)).astype(np.float32)
    bank = rng.standard_normal((3, 33)).astype(np.float32)
    np.save("signal.npy", samples)
    np.save("bank.npy", bank)
    run("compare", "filter", "signal.npy", "bank.npy", "-o", "signals.json", "--devices", "cpu",
        "--methods", "overlap-save", "--segments", "256", "--repeats", "1", "--threads", "1")
    ways, _ = ways_of("signals.json")
    run("filter", "signal.npy", "bank.npy", "-o", "filtered.npy", "--device", "cpu", "--method",
        "overlap-save", "--segment", "256", "--threads", "1", "-q")
    reference = np.array([[signal.convolve(samples[0].astype(np.float64), taps.astype(np.float64),
                                           mode="same", method="direct") for taps in bank]])
    compare_figures("filter", ways["cpu overlap-save segment 256 float32 1 thread"]["errors"],
                    np.load("filtered.npy").reshape(reference.shape), reference)

finish(SEED)
