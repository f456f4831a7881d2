#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures convolume.process on one GPU and on several, by the deconvolution of an OME-Zarr image.

    bench/process_gpu.py [--gib 8] [--folder FOLDER] [--device gpu|cpu] [--counts 1,2] [--dask] [--out FILE]

For each number of GPUs, it measures the wall time, and the seconds of reading, computing and writing, summed over all
blocks. Results of several GPUs must equal those of one. With `--dask`, each GPU has a process in place of a lane of
one.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import report_text

import convolume
from convolume._zarr_store import Location
from convolume._zarr_target import Layout, TargetFacts, ZarrTarget

ROOT = Path(__file__).parents[1]
GRID = {"chunks": (64, 256, 256), "shards": (256, 512, 512)}
PSF_SIZE = (15, 31, 31)


def make_image(path, shape):
    """Writes an image of a smooth object with photon noise. It repeats a few planes, as making them takes time."""
    random = np.random.default_rng(1)
    planes = random.poisson(100 + 50 * np.sin(np.arange(shape[2]) / 40), (16, 512, shape[2])).astype(np.uint16)
    facts = TargetFacts("ZYX", 1, 1, shape, np.dtype(np.uint16), (0.3, 0.1, 0.1), {}, None, [])
    target = ZarrTarget(Location.of(path), facts, Layout(3, GRID["chunks"], GRID["shards"], "zstd", 1))
    target.begin()
    target.open_arrays()
    for block in target.blocks(0):
        depth, height, width = block.shape
        part = np.tile(planes, (-(-depth // 16), -(-height // 512), 1))[:depth, :height, block.begin[2]:block.end[2]]
        target.write(0, block, np.ascontiguousarray(part + np.uint16(block.number)))
    target.finish()


def make_psf():
    axes = np.ogrid[tuple(slice(-(n // 2), n // 2 + 1) for n in PSF_SIZE)]
    psf = np.exp(-sum((axis / sigma) ** 2 for axis, sigma in zip(axes, (2.5, 4, 4))) / 2)
    return (psf / psf.sum()).astype(np.float32)


def run_deconvolution(source, target, psf, count, arguments, block):
    """Runs a deconvolution; returns its wall time, and the seconds of each step from the log."""
    steps = {"read": 0.0, "compute": 0.0, "write": 0.0}

    def add_step_seconds(line):
        for name in steps:
            mark = f"{name} "
            for part in line.rpartition(": ")[2].split(", "):
                if part.startswith(mark) and part.endswith(" s"):
                    steps[name] += float(part[len(mark):-2])

    where = {"device": "cpu"} if arguments.device == "cpu" else {"device": list(range(count))}
    if arguments.dask:
        where = {"device": "cpu" if arguments.device == "cpu" else "gpu", "dask": f"local:{count}"}
    begin = time.perf_counter()
    report = convolume.process(source, target, "deconvolve", kernel=psf, iterations=10, background=90, levels=1,
                               dtype="uint16", block=block, log=add_step_seconds, **GRID, **where)
    return {"gpus": count, "seconds": time.perf_counter() - begin, "blocks": report.done,
            **{f"{name}_seconds_of_all_blocks": round(value, 2) for name, value in steps.items()},
            "written_gib_per_second": report.bytes_written / 2**30 / (time.perf_counter() - begin)}


def largest_difference(one, other):
    """Returns the largest difference of two images, which are compared in slabs."""
    images, largest = [convolume.open(path) for path in (one, other)], 0
    for z in range(0, images[0].shape[0], 64):
        first, second = (image[z:z + 64].astype(np.int32) for image in images)
        largest = max(largest, int(np.abs(first - second).max()))
    return largest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--folder", help="where images are, and are removed again; memory by default, if it has room")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu")
    parser.add_argument("--counts", default=None, help="numbers of GPUs; default 1, 2, 4, 8 as far as there are")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/process_gpu.json")
    arguments = parser.parse_args()
    if arguments.folder is None and os.path.isdir("/dev/shm"):
        room = shutil.disk_usage("/dev/shm").free
        arguments.folder = "/dev/shm" if room > 4 * arguments.gib * 2**30 else None
    gpus = [gpu for gpu in convolume.gpu_devices() if gpu.usable]
    there = len(gpus) if arguments.device == "gpu" else 2
    counts = [n for n in (1, 2, 4, 8) if n <= there]
    if arguments.counts:
        counts = [int(n) for n in arguments.counts.split(",")]
    if arguments.device == "gpu" and max(counts, default=0) > there or not counts:
        raise SystemExit(f"there are {there} GPUs")
    # There are 32 blocks, so that several GPUs end at about the same time. Images below 1 GiB only test this program.
    depth = int(arguments.gib * 2**30 / 2 / 2048 / 2048) // 256 * 256
    shape, block = ((depth, 2048, 2048), (256, 512, 1024)) if depth else ((64, 256, 512), (64, 128, 256))
    if not depth:
        GRID.update(chunks=(32, 64, 64), shards=(64, 128, 128))
    folder = tempfile.mkdtemp(dir=arguments.folder)
    facts = {"shape": shape, "type": "uint16", "result": "uint16", "block": block, "psf": PSF_SIZE, "iterations": 10,
             **GRID, "folder": arguments.folder, "engine": "dask" if arguments.dask else "local",
             "machine": {"cores": len(os.sched_getaffinity(0)), "gpus": [gpu.name for gpu in gpus],
                         "system": platform.platform(), "date": time.strftime("%Y-%m-%d")},
             "command": "bench/process_gpu.py " + " ".join(sys.argv[1:]), "runs": []}
    try:
        source, psf = os.path.join(folder, "source.zarr"), make_psf()
        begin = time.perf_counter()
        make_image(source, shape)
        facts["making_seconds"] = time.perf_counter() - begin
        # The first use of a GPU takes seconds, which do not matter to a long run.
        for number in range(max(counts) if arguments.device == "gpu" and not arguments.dask else 0):
            convolume.richardson_lucy(np.ones((64, 64, 64), np.float32), psf, 1, device=number)
        first = None
        for count in counts:
            target = os.path.join(folder, f"{count}.zarr")
            one = run_deconvolution(source, target, psf, count, arguments, block)
            if first is None:
                first = target
            else:
                one["speedup"] = facts["runs"][0]["seconds"] / one["seconds"]
                one["largest_difference"] = largest_difference(first, target)
                shutil.rmtree(target)
            print(json.dumps(one), flush=True)
            facts["runs"].append(one)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    arguments.out.write_text(report_text(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
