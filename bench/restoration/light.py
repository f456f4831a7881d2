#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Restores scenes (scenes.py) by `convolume deconvolve` with its defaults, and prints how right background, light and
result are: for the kinds of specimens that rules were chosen by, and for those that none was chosen by.

    bench/restoration/light.py [--build DIR] [--kinds mesh,slab] [--microscopes water,sheet] [--seeds 1,2] [--levels]
                               [--best] [--method map] [--given] [--slope 0.8] [--options "--stop 1e-4"] [--shape Z,Y,X]
                               [--jobs N] [--json FILE]

Light of the level is the image's light above the background that was found, relative to that above the right one;
light of the result is its sum relative to that of the specimen. A range holds the right level if it is not further
away than the printed error and 2 % of the light. --levels does one iteration, and compares the levels only. --given
gives the right background, so that methods alone differ. --best also finds how far the PSNR is below the best of up to
200 iterations with the right background, with and without a coarse start, and the processor time relative to that of
30 iterations. Seconds are those of the processor. --slope lets the background vary over y and x, for example with
--options "--background smooth".
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import recordings
import scenes
from compare import FIRST_RUN, LATER_DISTANCE, Command, best_of_all

ROUNDING = 0.02  # share of the light
MOST = 200  # iterations


def restore(kind, microscope, seed, arguments):
    scene = scenes.record(kind, microscope, seed, arguments.shape, arguments.slope)
    with tempfile.TemporaryDirectory() as name:
        command = Command(arguments.build, name, "cpu")
        np.save(command.folder / "y.npy", scene.image)
        command.run("psf", "-o", "h.npy", "--like", "y.npy", *scene.microscope.options())
        options = ["--method", arguments.method, "--voxel", ",".join(f"{v}um" for v in scene.microscope.voxel),
                   *shlex.split(arguments.options)]
        options += ["--iterations", 1] if arguments.levels else []
        options += ["--background", scene.level] if arguments.given else []
        seconds, text = command.run("deconvolve", "y.npy", "h.npy", "-o", "x.npy", "--device", "cpu", "--threads", 1,
                                    "--json", *options)
        x = np.load(command.folder / "x.npy").astype(np.float64)
        beside = {}
        if arguments.best:
            plain = command.restore("--iterations", 30)[1]
            best, _ = best_of_all(command, scene, [FIRST_RUN, (MOST, LATER_DISTANCE)], ["--background", scene.level])
            beside = {"loss": best - recordings.psnr(scene.truth, x), "times_plain": seconds / plain}
    found = json.loads(text)["report"]["volumes"][0]
    light = scene.image.mean() - scene.level
    error = abs(found["background"] - scene.level)
    row = {"scene": scene.name, "is_unseen": kind in scenes.UNSEEN, "seconds": seconds,
           "light_of_level": float((scene.image.mean() - found["background"]) / light),
           "range": (found["background_error"] or 0) / max(scene.image.mean() - found["background"], 1e-9),
           "is_held": bool(error <= (found["background_error"] or 0) + ROUNDING * light)} | beside
    if not arguments.levels:
        row |= {"light": float(x.sum() / scene.truth.sum()), "psnr": recordings.psnr(scene.truth, x),
                "recorded": recordings.psnr(scene.truth, scene.image.astype(np.float64)),
                "iterations": found["iterations"]}
    return row


def summary_of(rows, of):
    """Returns the line of the summary for `of`, the name of a ratio."""
    ratio = np.abs(np.log(np.maximum([row[of] for row in rows], 1e-3)))
    narrow = np.array([row["range"] < 0.25 for row in rows])
    within = ratio < np.log(1.25)
    return (f"| {len(rows)} | {(ratio < np.log(1.1)).mean():.0%} | {within.mean():.0%} | "
            f"{within[narrow].mean():.0%} of {narrow.sum()} | {(ratio > np.log(1.5)).sum()} | "
            f"{np.mean([row['is_held'] for row in rows]):.0%} | {ratio.mean() / np.log(2):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = Path(__file__).resolve().parents[2] / "build" / "dev"

    def listed(text):
        return text.split(",")

    parser.add_argument("--build", default=os.environ.get("CONVOLUME_BUILD", default_build))
    parser.add_argument("--kinds", type=listed, default=[*scenes.SEEN, *scenes.UNSEEN])
    parser.add_argument("--microscopes", type=listed, default=list(scenes.MICROSCOPES))
    parser.add_argument("--seeds", type=listed, default=["1"])
    parser.add_argument("--levels", action="store_true")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--method", default="rl")
    parser.add_argument("--given", action="store_true")
    parser.add_argument("--slope", type=float, default=0.0, help="largest share by which a background differs from its "
                                                                 "mean, along a ramp")
    parser.add_argument("--options", default="", help="further options of deconvolve")
    parser.add_argument("--shape", type=lambda text: tuple(map(int, text.split(","))), default=scenes.SHAPE)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    wanted = [(kind, microscope, int(seed)) for microscope in arguments.microscopes for kind in arguments.kinds
              for seed in arguments.seeds]
    rows = []
    print("| scene | light of the level | range | holds | light | PSNR, dB | recorded | iterations | CPU s |\n"
          + "|---" * 9 + "|")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(restore, *zip(*wanted), [arguments] * len(wanted)):
            rows.append(row)
            result = ("– | – | – | –" if arguments.levels else
                      f"{row['light']:.2f} | {row['psnr']:.1f} | {row['recorded']:.1f} | {row['iterations']}")
            print(f"| {row['scene']} | {row['light_of_level']:.2f} | ± {row['range']:.0%} | "
                  f"{'yes' if row['is_held'] else 'no'} | {result} | {row['seconds']:.1f} |", flush=True)
    print("\n| kinds | scenes | within 10 % | within 25 % | of ranges below 25 % | beyond 1.5 | ranges that hold | "
          "mean octaves |\n" + "|---" * 8 + "|")
    for name, is_unseen in ("seen", False), ("unseen", True):
        some = [row for row in rows if row["is_unseen"] == is_unseen]
        for of in ("light_of_level", *(() if arguments.levels else ("light",))) if some else ():
            print(f"| {name}, {of.replace('_', ' ')} {summary_of(some, of)}")
        if some and not arguments.levels:
            print(f"{name}: PSNR {np.mean([row['psnr'] for row in some]):.2f} dB in the mean")
    if arguments.best:
        print("\n| kinds | median loss, dB | largest | of | below its recording | times 30 iterations | largest |\n"
              + "|---" * 7 + "|")
        for name, is_unseen in ("seen", False), ("unseen", True):
            some = [row for row in rows if row["is_unseen"] == is_unseen]
            if not some:
                continue
            worst, times = max(some, key=lambda row: row["loss"]), [row["times_plain"] for row in some]
            below = sum(row["psnr"] < row["recorded"] for row in some)
            print(f"| {name} | {np.median([row['loss'] for row in some]):.2f} | {worst['loss']:.2f} | {worst['scene']} "
                  f"| {below} | {np.median(times):.1f} | {max(times):.1f} |")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"rows": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
