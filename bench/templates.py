#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times normalized cross-correlation beside scikit-image's, and with masks beside SimpleITK's if that is installed.

    PYTHONPATH=BUILD/python bench/templates.py [--json FILE]

All take turns. Figures are medians of 5 calls after the first one, which plans.
"""

import argparse
import functools
import importlib
import os
import statistics
import time
from pathlib import Path

from hardware import processor_name
from report import report_text

# Shapes of image and template, and type of both.
TEMPLATES = [((2048, 2048), (64, 64), "uint16"), ((1024, 1024), (200, 200), "float32"),
             ((128, 128, 128), (16, 16, 16), "float64")]
MASKED = [((512, 512), (512, 512)), ((64, 64, 64), (48, 48, 48))]


def medians(functions):
    """Returns the median time of a call of each function, in seconds, and the largest difference of their results."""
    times = [[] for _ in functions]
    results = [None] * len(functions)
    for turn in range(6):
        for number, function in enumerate(functions):
            begin = time.perf_counter()
            results[number] = function()
            if turn > 0:
                times[number].append(time.perf_counter() - begin)
    return [statistics.median(one) for one in times], max(float(abs(one - results[-1]).max()) for one in results[:-1])


def template_functions(numpy, image, template, dtype):
    random = numpy.random.default_rng(1)
    pixels = (60000 * random.random(image)).astype(dtype)
    cut = pixels[tuple(slice(m, 2 * m) for m in template)].copy()
    return {"skimage.feature.match_template": functools.partial(
                importlib.import_module("skimage.feature").match_template, pixels, cut),
            "convolume.match_template": functools.partial(
                importlib.import_module("convolume").match_template, pixels, cut, device="cpu")}


def masked_functions(numpy, fixed, moving):
    random = numpy.random.default_rng(2)
    a, b = random.random(fixed), random.random(moving)
    of_a, of_b = random.random(fixed) < 0.8, random.random(moving) < 0.8
    of_skimage = importlib.import_module("skimage.registration._masked_phase_cross_correlation").cross_correlate_masked
    functions = {"skimage.registration": functools.partial(of_skimage, a, b, of_a, of_b, "full",
                                                           tuple(range(a.ndim)), 0)}
    try:
        itk = importlib.import_module("SimpleITK")
    except ModuleNotFoundError:
        pass
    else:
        images = [itk.GetImageFromArray(one.astype(float)) for one in (a, b, of_a, of_b)]
        functions["SimpleITK"] = lambda: itk.GetArrayFromImage(itk.MaskedFFTNormalizedCorrelation(*images))
    functions["convolume.masked_correlation"] = functools.partial(
        importlib.import_module("convolume").masked_correlation, a, b, fixed_mask=of_a, moving_mask=of_b,
        overlap_ratio=0, device="cpu")
    return functions


def rows():
    numpy = importlib.import_module("numpy")
    cases = ([(image, template, dtype, template_functions(numpy, image, template, dtype))
              for image, template, dtype in TEMPLATES]
             + [(fixed, moving, "float64, masks", masked_functions(numpy, fixed, moving)) for fixed, moving in MASKED])
    for image, template, dtype, functions in cases:
        seconds, difference = medians(list(functions.values()))
        work = " with ".join("×".join(map(str, shape)) for shape in (image, template)) + f", {dtype}"
        for name, peer in list(zip(functions, seconds))[:-1]:
            print(f"| {work} | `{name}` | {peer:.3f} | {seconds[-1]:.3f} | {peer / seconds[-1]:.1f}× |", flush=True)
            yield {"work": work, "peer": name, "peer_s": peer, "convolume_s": seconds[-1], "difference": difference}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    importlib.import_module("current_peers")
    versions = {"processor": processor_name(), "cores": os.cpu_count(),
                "skimage": importlib.import_module("skimage").__version__, "date": time.strftime("%Y-%m-%d")}
    print(versions)
    print("| work | peer | peer, s | convolume, s | faster |\n|---|---|---|---|---|")
    figures = {**versions, "rows": list(rows())}
    if arguments.json:
        arguments.json.write_text(report_text(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
