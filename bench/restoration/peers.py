#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Restores scenes (scenes.py) by `convolume deconvolve` with its defaults and by other programs that are installed, and
prints how right and how costly the results are:

    bench/restoration/peers.py [--build DIR] [--kinds membranes,slab] [--microscopes water,sheet] [--seeds 1,2]
                               [--jobs N] [--json FILE]

All get the PSF that `convolume psf` makes of the microscope. Other programs (compare.py names them, with their numbers
of iterations) get the image less the right background. convolume finds the background itself (`default`), or has the
right one, too (`given`). Light is the sum of the result relative to that of the specimen; seconds are those of the
processor, of one thread where a program has an option for it.
"""

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import recordings
import scenes
from compare import Command, restore_by_others

OTHERS = ["deconwolf", "RedLionfish", "scikit-image"]


def restore(kind, microscope, seed, build):
    """Returns the name of a scene, and the figures of each program."""
    scene = scenes.record(kind, microscope, seed)
    results = {"recorded": (scene.image - scene.level, 0.0)}
    with tempfile.TemporaryDirectory() as name:
        command = Command(build, name, "cpu")
        np.save(command.folder / "y.npy", scene.image)
        command.run("psf", "-o", "h.npy", "--like", "y.npy", *scene.microscope.options())
        for program, options in ("default", []), ("given", ["--background", scene.level]):
            results[program] = command.restore(*options)[:2]
        light = np.maximum(scene.image.astype(np.float32) - np.float32(scene.level), 0)
        for program, x, seconds in restore_by_others(command.folder, light, np.load(command.folder / "h.npy"), OTHERS):
            results[program] = x, seconds
    return scene.name, {program: {"psnr": recordings.psnr(scene.truth, x), "seconds": seconds,
                                  "light": float(x.sum(dtype=np.float64) / scene.truth.sum())}
                        for program, (x, seconds) in results.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = Path(__file__).resolve().parents[2] / "build" / "dev"

    def listed(text):
        return text.split(",")

    parser.add_argument("--build", default=os.environ.get("CONVOLUME_BUILD", default_build))
    parser.add_argument("--kinds", type=listed, default=scenes.UNSEEN)
    parser.add_argument("--microscopes", type=listed, default=list(scenes.MICROSCOPES))
    parser.add_argument("--seeds", type=listed, default=["1"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    wanted = [(kind, microscope, int(seed)) for kind in arguments.kinds for microscope in arguments.microscopes
              for seed in arguments.seeds]
    rows = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for name, figures in pool.map(restore, *zip(*wanted), [arguments.build] * len(wanted)):
            if not rows:
                print(f"| scene | {' | '.join(figures)} |\n" + "|---" * (len(figures) + 1) + "|")
            rows[name] = figures
            cells = [f"{one['psnr']:.2f} dB, {one['light']:.2f}" for one in figures.values()]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\n{len(rows)} scenes\n\n| program | PSNR, median | gain, median | smallest | best of a scene | "
          f"light, median | within 25 % | CPU s, {' | '.join(arguments.microscopes)} |\n"
          + "|---" * (7 + len(arguments.microscopes)) + "|")
    programs = [program for program in next(iter(rows.values())) if program != "recorded"]
    for program in programs:
        psnr, light = (np.array([figures[program][of] for figures in rows.values()]) for of in ("psnr", "light"))
        seconds = [np.median([figures[program]["seconds"] for (_, own, _), figures in zip(wanted, rows.values())
                              if own == microscope]) for microscope in arguments.microscopes]
        gain = psnr - [figures["recorded"]["psnr"] for figures in rows.values()]
        best = sum(figures[program]["psnr"] >= max(figures[one]["psnr"] for one in programs)
                   for figures in rows.values())
        print(f"| {program} | {np.median(psnr):.2f} dB | {np.median(gain):+.2f} dB | {gain.min():+.2f} dB | {best} | "
              f"{np.median(light):.2f} | {(np.abs(np.log(light)) < np.log(1.25)).mean():.0%} | "
              f"{' | '.join(f'{one:.1f}' for one in seconds)} |")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
