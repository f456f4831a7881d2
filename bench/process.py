#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures convolume.process: throughput, the time of Dask's client and scheduler for each block, resumption, seams.

    bench/process.py PART... [--gib N] [--blocks N] [--folder DIR] [--out FILE]

PART: throughput, dispatch, memory, resume, seams. The results of each part replace earlier ones in FILE (default
bench/results/process.json). Images are written to the folder of `--folder`, and removed afterwards.
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
from hardware import processor_name
from report import report_text

import convolume
from convolume._block_worker import Job, Source
from convolume._local_engine import run_local
from convolume._operations import Convolution, Function
from convolume._process import ProcessReport, _add_outcomes
from convolume._process_dask import cluster_of, run_dask
from convolume._zarr_store import Location
from convolume._zarr_target import Layout, TargetFacts, ZarrTarget

ROOT = Path(__file__).parents[1]


class StandInTarget:
    """Stands for a writer and its record in a target."""

    def __init__(self):
        self.record = {}


def describe_machine():
    return {"cpu": processor_name(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "python": platform.python_version(), "date": time.strftime("%Y-%m-%d")}


def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def return_unchanged(values):
    return values


def drop_caches(paths):
    """Removes files from the system's page cache, so that they are read from the disk."""
    os.sync()
    for path in paths:
        for file in Path(path).rglob("*"):
            if file.is_file():
                handle = os.open(file, os.O_RDONLY)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(handle)


def measure_throughput(arguments):
    """Times a small kernel on a stored image, its storage alone (the image is copied by the same code), and its engine
    alone (blocks in memory)."""
    folder = tempfile.mkdtemp(dir=arguments.folder)
    shape = (int(arguments.gib * 2**30 / 2 / 1024 / 1024), 1024, 1024)
    kernel = np.random.default_rng(2).random((5, 5, 5)).astype(np.float32)
    grid = {"chunks": (32, 256, 256), "shards": (64, 512, 512), "block": (128, 512, 1024), "levels": 1}
    source, facts = os.path.join(folder, "source.zarr"), {}
    try:
        make_image(source, shape, grid)
        size = int(np.prod(shape)) * 2
        stored = sum(file.stat().st_size for file in Path(source).rglob("*") if file.is_file())
        facts = {"shape": shape, "type": "uint16", "bytes": size, "stored_bytes": stored, "kernel": kernel.shape,
                 "result": "uint16", **grid, "rounds": []}
        block = np.random.default_rng(3).integers(0, 999, [b + 4 for b in grid["block"]], np.uint16)
        convolution = Convolution(kernel, np.dtype(np.uint16), normalize="sum", dtype="uint16")
        convolution.run_on({"device": arguments.device})
        blocks = int(np.prod(shape)) // int(np.prod(grid["block"]))
        for _ in range(arguments.rounds):
            one = {}
            for name, op, options in (
                    ("storage", return_unchanged, {"halo": (2, 2, 2), "dtype": "uint16"}),
                    ("both", "convolve", {"kernel": kernel, "normalize": "sum", "dtype": "uint16"})):
                target = os.path.join(folder, f"{name}.zarr")
                drop_caches([source])
                begin, cpu = time.perf_counter(), time.process_time()
                convolume.process(source, target, op, device=arguments.device, **grid, **options)
                os.sync()
                one[name], one[f"{name}_cpu"] = time.perf_counter() - begin, time.process_time() - cpu
                shutil.rmtree(target)
            convolution(block, (slice(2, -2),) * 3)
            begin, cpu, some = time.perf_counter(), time.process_time(), min(blocks, 16)
            for _ in range(some):
                convolution(block, (slice(2, -2),) * 3)
            one["engine"] = (time.perf_counter() - begin) * blocks / some
            one["engine_cpu"] = (time.process_time() - cpu) * blocks / some
            # Compression and the CPU engine share the cores, so that their overlap saves no time.
            one["least"] = max(one["storage"], one["engine"],
                               (one["storage_cpu"] + one["engine_cpu"]) / len(os.sched_getaffinity(0)))
            one["share_of_the_least"] = one["least"] / one["both"]
            one["share_of_the_slower"] = max(one["storage"], one["engine"]) / one["both"]
            one["bytes_per_second"] = size / one["both"]
            print(json.dumps(one), flush=True)
            facts["rounds"].append(one)
        for name in ("share_of_the_slower", "share_of_the_least"):
            facts[name] = float(np.median([one[name] for one in facts["rounds"]]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return facts


def make_image(path, shape, grid):
    """Makes an image like a recording: a smooth object with photon noise."""
    plane = np.random.default_rng(1).normal(100, 10, (64, *shape[1:])).astype(np.uint16)
    facts = TargetFacts("ZYX", 1, 1, shape, np.dtype(np.uint16), (0.5, 0.1, 0.1), {}, None, [])
    target = ZarrTarget(Location.of(path), facts, Layout(3, grid["chunks"], grid["shards"], "zstd", 1))
    target.begin()
    target.open_arrays()
    for block in target.blocks(0):
        z, y, x = (slice(b, e) for b, e in zip(block.begin, block.end))
        target.write(0, block, np.ascontiguousarray(plane[:z.stop - z.start, y, x]))
    target.finish()


def make_dry_job(count):
    facts = TargetFacts("ZYX", 1, 1, (count, 1, 1), np.dtype(np.float32), (None,) * 3, {}, None, [])
    return Job("bench", Source("none"), Location("/none"), facts, Layout(),
               Function(return_unchanged, np.dtype(np.float32),
               halo=(0, 0, 0)), (1, 1, 1), dry=True)


def measure_dispatch(arguments):
    """Measures the time of Dask's client and scheduler, both in this process, for each block, with blocks that do
    nothing."""
    job = make_dry_job(arguments.blocks)
    with cluster_of("local:1") as (client, _):
        follow_dry_job(run_dask(make_dry_job(200), range(200), client, {}), make_dry_job(200))
        cpu, begin = time.process_time(), time.perf_counter()
        memory_watch = MemoryWatch()
        follow_dry_job(run_dask(job, range(arguments.blocks), client, {}), job, memory_watch)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {"blocks": arguments.blocks, "wall_ms_per_block": 1e3 * seconds / arguments.blocks,
            "cpu_ms_per_block": 1e3 * cpu / arguments.blocks, **memory_watch.summary()}


class MemoryWatch:
    """Measures the resident memory of this process while it follows blocks."""

    def __init__(self):
        self.resident_samples = []

    def sample(self, number):
        if number % 10000 == 0:
            self.resident_samples.append((number, round(resident_mib(), 1)))
            print(f"{time.strftime('%H:%M:%S')} {number} {self.resident_samples[-1][1]} MiB", flush=True)

    def summary(self):
        return {"resident_mib": self.resident_samples[:: max(1, len(self.resident_samples) // 20)],
                "most_mib": max((mib for _, mib in self.resident_samples), default=None)}


def follow_dry_job(engine, job, memory_watch=None):
    report = ProcessReport(len(job.blocks()))

    def watched_reports():
        for number, one in enumerate(engine):
            if memory_watch is not None:
                memory_watch.sample(number)
            yield one

    _add_outcomes(watched_reports(), job.blocks(), report, StandInTarget(), lambda line: None)
    assert report.done == report.blocks


def measure_memory(arguments):
    """Measures the resident memory of a process that follows a million blocks that do nothing. They are computed in
    this process, or by a worker of Dask with client and scheduler in this process."""
    job, facts = make_dry_job(1_000_000), {"blocks": 1_000_000}
    for engine in ("local", "dask"):
        memory_watch, begin = MemoryWatch(), time.perf_counter()
        if engine == "local":
            follow_dry_job(run_local(job, iter(range(1_000_000)), [{}]), job, memory_watch)
        else:
            with cluster_of("local:1") as (client, _):
                follow_dry_job(run_dask(job, range(1_000_000), client, {}), job, memory_watch)
        facts[engine] = {"seconds": time.perf_counter() - begin, **memory_watch.summary()}
    return facts


def time_resume(arguments):
    """Times the resumption of a target of 100,000 complete shards, of one block each."""
    folder = tempfile.mkdtemp(dir=arguments.folder)
    shape, grid = (100, 400, 100), {"chunks": (1, 10, 4), "shards": (1, 10, 4), "block": (1, 10, 4), "levels": 1}
    count = [n // s for n, s in zip(shape, grid["shards"])]
    source, target = os.path.join(folder, "a.zarr"), os.path.join(folder, "b.zarr")
    try:
        convolume.save(source, np.ones(shape, np.uint8), levels=1)
        # The shards are made without computing, as only their listing is timed.
        options = {"halo": (0, 0, 0), "dtype": "uint8", **grid}
        convolume.process(source, target, return_unchanged, block_range="0/100000000", **options)
        for z, y in np.ndindex(*count[:2]):
            where = os.path.join(target, "0", "c", str(z), str(y))
            os.makedirs(where)
            for x in range(count[2]):
                with open(os.path.join(where, str(x)), "wb") as file:
                    file.write(b"\0" * 40)
        seconds = []
        for _ in range(5):
            begin = time.perf_counter()
            report = convolume.process(source, target, return_unchanged, resume=True, **options)
            seconds.append(time.perf_counter() - begin)
            assert report.done == 0
        begin = time.perf_counter()
        status = convolume.process_status(target)
        return {"shards": int(np.prod(count)), "blocks": report.blocks, "seconds": seconds,
                "status_seconds": time.perf_counter() - begin, "status_done": status["done"]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_seams(arguments):
    """Measures the error of Richardson-Lucy near the seam of two blocks, against the whole, for halos and
    accelerations."""
    random = np.random.default_rng(3)
    shape, cut = (24, 160, 160), 80
    light = np.zeros(shape)
    for _ in range(400):
        light[tuple(random.integers(0, n) for n in shape)] += random.uniform(500, 5000)
    axes = np.ogrid[-7:8, -7:8, -7:8]
    psf = np.exp(-(axes[0] ** 2 / 12.5 + (axes[1] ** 2 + axes[2] ** 2) / 6.5))
    psf /= psf.sum()
    light[:, :cut] /= 20  # blocks differ in their light
    image = random.poisson(convolume.convolve(light, psf, boundary="nearest", device="cpu").clip(0) * 20 + 10)
    image = image.astype(np.float32)
    rows = []
    for method, acceleration in (("rl", "none"), ("rl", "biggs-andrews"), ("shb", "none")):
        options = {"method": method, "acceleration": acceleration, "background": 10, "device": "cpu"}
        start = np.full(shape, image.mean() - 10, np.float32)  # that of all blocks, as process has it
        for iterations in (10, 30, 100):
            whole = convolume.Deconvolver(shape, psf, iterations=iterations, **options)(image, start=start)
            for halo in (7, 15, 30):
                parts = np.empty_like(whole)
                for begin, end in ((0, cut), (cut, shape[1])):
                    low, high = max(0, begin - halo), min(shape[1], end + halo)
                    part = convolume.Deconvolver((shape[0], high - low, shape[2]), psf, iterations=iterations,
                                                 **options)(image[:, low:high], start=start[:, low:high])
                    parts[:, begin:end] = part[:, begin - low:end - low]
                error = np.abs(parts - whole)
                near = slice(cut - 4, cut + 4)
                rows.append({"method": method, "acceleration": acceleration, "iterations": iterations, "halo": halo,
                             "largest": float(error[:, near].max() / whole.max()),
                             "rms_near": float(np.sqrt((error[:, near] ** 2).mean() / (whole[:, near] ** 2).mean())),
                             "rms": float(np.sqrt((error ** 2).mean() / (whole ** 2).mean()))})
                print(json.dumps(rows[-1]), flush=True)
    return {"shape": shape, "psf": psf.shape, "rows": rows}


PARTS = {"throughput": measure_throughput, "dispatch": measure_dispatch, "memory": measure_memory,
         "resume": time_resume, "seams": measure_seams}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=list(PARTS), metavar="PART")
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=20000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/process.json")
    arguments = parser.parse_args()
    results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for part in arguments.parts:
        found = PARTS[part](arguments)
        found["machine"] = describe_machine()
        options = {"throughput": f" --gib {arguments.gib:g}", "dispatch": f" --blocks {arguments.blocks}"}
        found["command"] = f"bench/process.py {part}{options.get(part, '')}"
        results[part] = found
        arguments.out.write_text(report_text(results))
        print(part, json.dumps({k: v for k, v in found.items() if k not in ("rows", "machine")}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
