#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds plans to the truth: the whole command with --method auto against every method and device
that can be forced, and the predicted time against the measured one. Every run starts with an empty
cache. Run it on a quiet machine, from anywhere:

    bench/plans.py [--build DIR] [--rounds N] [--random N] [--seed N] [--json FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

CHOSEN = [
    (shape, kernel)
    for shape in [(1, 512, 512), (1, 2048, 2048), (16, 256, 256), (64, 256, 256), (100, 300, 300), (240, 480, 480)]
    for kernel in [(1, 5, 5), (3, 3, 3), (9, 15, 15), (31, 61, 61), (33, 127, 127)]
]


def random_cases(count, seed):
    random = np.random.default_rng(seed)
    for _ in range(count):
        shape = [int(2 ** random.uniform(0, 8)), *(int(2 ** random.uniform(5, 10)) for _ in range(2))]
        while np.prod(shape) > 6e7:
            shape[0] = max(1, shape[0] // 2)
        kernel = [1 + 2 * int(2 ** random.uniform(-1, high)) for high in (4, 6, 6)]
        yield tuple(shape), tuple(kernel)


def timed(command, folder):
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": cache}, check=False)
        seconds = time.perf_counter() - start
    return (seconds, json.loads(done.stdout)) if done.returncode == 0 else (None, None)


def measure(convolume, devices, shape, kernel, rounds, folder):
    random = np.random.default_rng(1)
    np.save(folder / "image.npy", random.random(shape, dtype=np.float32))
    np.save(folder / "kernel.npy", random.random(kernel, dtype=np.float32))
    base = [convolume, "convolve", folder / "image.npy", folder / "kernel.npy", "-o", folder / "out.npy"]
    base += ["--overwrite", "--json", "-q"]
    ways = {"auto": []}
    for device in devices:
        for method in ("in-core", "dif", "tiled", "direct"):
            if method != "direct" or np.prod(kernel) * np.prod(shape) < 4e10:
                ways[f"{method} {device}"] = ["--method", method, "--device", device]
    best = {}
    for _ in range(rounds):
        for way, options in ways.items():
            seconds, report = timed(base + options, folder)
            if seconds is not None and seconds < best.get(way, (float("inf"),))[0]:
                best[way] = (seconds, report["plan"]["chosen"])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).parent.parent / "build" / "release")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--random", type=int, default=len(CHOSEN))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    convolume = arguments.build / "cli" / "convolume"
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for shape, kernel in [*CHOSEN, *random_cases(arguments.random, arguments.seed)]:
            best = measure(convolume, ["cpu", "gpu"] if has_gpu else ["cpu"], shape, kernel, arguments.rounds,
                           Path(name))
            auto_s, plan = best.pop("auto")
            way, (least_s, _) = min(best.items(), key=lambda item: item[1][0])
            rows.append({"shape": shape, "kernel": kernel, "method": plan["method"], "on_gpu": plan["on_gpu"],
                         "auto_s": auto_s, "predicted_s": plan["seconds"], "best": way, "best_s": least_s})
            print(f"{'×'.join(map(str, shape)):>14} * {'×'.join(map(str, kernel)):<11} {plan['method']:>8} "
                  f"{auto_s:8.3f} s, predicted {plan['seconds']:7.3f} s, best {way:>11} {least_s:8.3f} s", flush=True)
    loss = [row["auto_s"] / row["best_s"] for row in rows]
    error = [max(row["auto_s"] / row["predicted_s"], row["predicted_s"] / row["auto_s"]) for row in rows]
    print(f"auto / best: median {statistics.median(loss):.2f}, largest {max(loss):.2f}, "
          f"{sum(x <= 1.2 for x in loss)} of {len(loss)} within 1.2")
    print(f"predicted / measured or the inverse: median {statistics.median(error):.2f}, largest {max(error):.2f}, "
          f"{sum(x <= 1.5 for x in error)} of {len(error)} within 1.5")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
