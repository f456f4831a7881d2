#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how deconvolution bears disturbances of real recordings: planes, boxes, rows and margins of zeros, hot
pixels, and saturation. The recordings are files of public repositories, which bench/everyday_stacks.json names.

    bench/everyday_stacks.py FOLDER [--build DIR] [--stacks NAME[,NAME…]] [--json FILE]

FOLDER holds clones of the repositories, each at FOLDER/OWNER/NAME and at the commit of the JSON file:

    git clone https://github.com/OWNER/NAME FOLDER/OWNER/NAME && git -C FOLDER/OWNER/NAME checkout COMMIT

Each stack is restored as it is and with each disturbance. A row of the table compares the two: the number of
iterations, with that of the undisturbed stack; the light away from the disturbance, relative to the same voxels of the
undisturbed result; and the number of pixels that the command left out (or found saturated), with the number disturbed.
A run agrees if its iterations differ by at most 20 % and its light by at most 5 %.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import tifffile
from report import report_text
from scipy import ndimage


def read_stack(stack, file):
    """Returns the channel and the box of a stack, with axes ZYX. Integers stored as floating-point numbers become
    uint16."""
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            file = io.BytesIO(archive.read(archive.namelist()[0]))
    image = tifffile.imread(file)
    if "channel" in stack:
        image = image[:, stack["channel"]]
    image = image.reshape(-1, *image.shape[-2:])
    if "crop" in stack:
        z0, z1, y0, y1, x0, x1 = stack["crop"]
        image = image[z0:z1, y0:y1, x0:x1]
    return image.astype(np.uint16) if image.dtype.kind == "f" else image.astype(image.dtype.newbyteorder("="))


def box_mask(image, generator):
    """Returns a box of 1.5 % of the image, about a voxel where the smoothed image is near its 90th percentile."""
    share = 0.015 ** (1 / sum(length > 1 for length in image.shape))
    edges = [max(1, round(length * share)) if length > 1 else 1 for length in image.shape]
    smooth = ndimage.uniform_filter(image.astype(float), 3)
    distance = np.abs(smooth - np.percentile(smooth, 90))
    candidates = np.argwhere(distance <= 0.05 * np.ptp(np.percentile(smooth, [1, 99])) + 1e-9)
    center = candidates[generator.integers(len(candidates))]
    mask = np.zeros(image.shape, bool)
    begins = [int(np.clip(c - edge // 2, 0, length - edge)) for c, edge, length in zip(center, edges, image.shape)]
    mask[tuple(slice(begin, begin + edge) for begin, edge in zip(begins, edges))] = True
    return mask


def masks_of_disturbances(image):
    """Yields the name and the voxels of each disturbance, except saturation."""
    generator = np.random.default_rng(7)
    planes, rows, margins, camera_pixels, voxels = (np.zeros(image.shape, bool) for _ in range(5))
    if len(image) > 1:
        planes[0] = True
        yield "first plane", planes
    yield "box", box_mask(image, generator)
    rows[:, [int(image.shape[1] * share) for share in (0.3, 0.5, 0.7)]] = True
    yield "three rows", rows
    margins[:, :8] = margins[:, :, -8:] = True
    yield "margins", margins
    camera_pixels.reshape(len(image), -1)[:, generator.choice(image[0].size, 12, replace=False)] = True
    yield "hot camera pixels", camera_pixels
    voxels.reshape(-1)[generator.choice(image.size, 20, replace=False)] = True
    yield "hot voxels", voxels


def disturbances(image):
    """Yields the name of each disturbance, the disturbed image, the disturbed voxels, and options of the command."""
    for name, mask in masks_of_disturbances(image):
        hot = np.minimum((image.astype(float) + 4 * np.percentile(image, 99.9)).round(), np.iinfo(image.dtype).max)
        disturbed = np.where(mask, hot if name.startswith("hot") else 0, image)
        yield name, disturbed.astype(image.dtype), mask, []
    level = int(np.percentile(image, 99.5))
    yield "saturation", np.minimum(image, level).astype(image.dtype), image >= level, ["--saturation", str(level)]


def restore(command, image, options):
    """Returns the restored image, the command's report of it, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        tifffile.imwrite(f"{folder}/image.tif", image, photometric="minisblack", metadata={"axes": "ZYX"})
        begin = time.perf_counter()
        done = subprocess.run([command, "deconvolve", "image.tif", "-o", "sharp.tif", "--axes", "ZYX", "--json",
                               *options], cwd=folder, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{done.args} failed: {done.stderr}")
        report = json.loads(done.stdout)["report"]["volumes"][0]
        return tifffile.imread(f"{folder}/sharp.tif").reshape(image.shape).astype(float), report, seconds


def measure_stack(command, stack, image):
    """Yields the figures of the undisturbed stack, and of each disturbance."""
    reference, report, seconds = restore(command, image, stack["options"])
    iterations = report["iterations"]
    yield {"stack": stack["name"], "case": "undisturbed", "iterations": iterations,
           "left_out": report["missing_pixels"], "disturbed": 0, "seconds": seconds}
    for case, disturbed, mask, options in disturbances(image):
        sharp, report, seconds = restore(command, disturbed, [*stack["options"], *options])
        is_saturated = case == "saturation"
        reach = (min(len(image), 3), 7, 7) if is_saturated else (min(len(image), 5), 13, 13)
        away = ~ndimage.binary_dilation(mask, np.ones(reach))
        light = float(sharp[away].sum() / reference[away].sum())
        yield {"stack": stack["name"], "case": case, "iterations": report["iterations"],
               "undisturbed_iterations": iterations, "light": light,
               "left_out": report["saturated_pixels" if is_saturated else "missing_pixels"],
               "disturbed": int(mask.sum()), "seconds": seconds,
               "agrees": abs(report["iterations"] / iterations - 1) <= 0.2 and abs(light - 1) <= 0.05}


def table_row(run):
    iterations, light, verdict = run["iterations"], "", ""
    if "agrees" in run:
        iterations, light = f"{iterations} ({run['undisturbed_iterations']})", f"{run['light']:.3f}"
        verdict = "yes" if run["agrees"] else "no"
    return (f"| {run['stack']} | {run['case']} | {iterations} | {light} | {run['left_out']} / {run['disturbed']} | "
            f"{run['seconds']:.1f} | {verdict} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    script = Path(__file__).resolve()
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the clones are")
    parser.add_argument("--build", type=Path, default=script.parent.parent / "build" / "release")
    parser.add_argument("--stacks", help="only these stacks, by their names")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    command = str((given.build / "cli" / "convolume").resolve())
    stacks = json.loads(script.with_suffix(".json").read_text(encoding="utf-8"))
    names = given.stacks.split(",") if given.stacks else [stack["name"] for stack in stacks]
    print("| stack | case | iterations (undisturbed) | light | left out / disturbed | seconds | agrees |\n"
          "|---|---|---|---|---|---|---|")
    runs, skipped = [], []
    for stack in (stack for stack in stacks if stack["name"] in names):
        file = given.folder / stack["repository"] / stack["path"]
        if not file.is_file():
            skipped.append(f"skipped {stack['name']}: there is no file {file}")
            continue
        for run in measure_stack(command, stack, read_stack(stack, file)):
            runs.append(run)
            print(table_row(run), flush=True)
    verdicts = [run["agrees"] for run in runs if "agrees" in run]
    print("", *skipped, f"{sum(verdicts)} of {len(verdicts)} disturbed runs agree", sep="\n")
    if given.json:
        given.json.write_text(report_text(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
