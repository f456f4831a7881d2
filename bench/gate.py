#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of two versions, and fails if the new one is slower.

    bench/gate.py OLD NEW [--cases TEXT] [--blocks N] [--micro] [--loss PERCENT] [--json FILE]

OLD and NEW are build folders, or revisions of the repository, which are then built in a temporary folder. Both run the
same table of cases, each in one process, in blocks old, new, new, old, so that slow changes of the machine affect both.
The change of a case is the median over its blocks of (new + new) / (old + old). Its noise band is the 99 % confidence
interval of that median, by order statistics. A case fails if it is slower by more than --loss (5 %) and its whole band
is above 1. Cases that fail are measured once more with twice as many blocks, and must fail again. On a machine with a
GPU, the cases of the GPU are run, too. --micro compares convolume_micro_bench (Google Benchmark).

Exit status: 0, or 1 if a case fails.
"""

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from report import report_text
from worker import Worker

ROOT = Path(__file__).resolve().parent.parent

CPU = {
    "in-core": "convolve image=96,256,256 kernel=17,31,31 method=in-core",
    "in-core, double": "convolve image=64,200,200 kernel=17,31,31 method=in-core precision=float64 type=float64 "
                       "output=float64",
    "in-core, complex": "convolve image=64,160,160 kernel=9,15,15 method=in-core type=complex64 output=complex64",
    "wrap, uint16": "convolve image=96,256,256 kernel=17,31,31 boundary=wrap type=uint16 output=uint16",
    "dif, 4 parts": "convolve image=96,256,256 kernel=17,31,31 method=dif parts=4",
    "dif, 16 parts": "convolve image=128,256,256 kernel=17,31,31 method=dif parts=16",
    "tiled": "convolve image=96,256,256 kernel=9,15,15 method=tiled",
    "direct": "convolve image=96,256,256 kernel=5,5,5 method=direct",
    "separable": "convolve image=128,256,256 kernel=7,7,7 values=gaussian method=direct",
    "one plane": "convolve image=1,2048,2048 kernel=1,31,31",
    "deconvolve": "deconvolve image=48,128,128 kernel=17,17,17 iterations=4",
    "deconvolve, rl-tv": "deconvolve image=48,128,128 kernel=17,17,17 iterations=4 method=rl-tv",
    "deconvolve, rlgc": "deconvolve image=48,128,128 kernel=17,17,17 iterations=2 method=rlgc",
    "deconvolve, wiener": "deconvolve image=48,128,128 kernel=17,17,17 iterations=4 method=wiener",
    "filter, direct": "filter samples=2000000 filters=4 taps=16 method=direct",
    "filter, overlap-save": "filter samples=2000000 filters=4 taps=500 method=overlap-save",
    "filter, partitioned": "filter samples=2000000 taps=60000 method=partitioned",
}
GPU = {
    "GPU tiled": "convolve image=256,1024,1024 kernel=33,65,65 method=tiled device=gpu",
    "GPU in-core": "convolve image=256,512,512 kernel=33,65,65 method=in-core device=gpu",
    "GPU dif": "convolve image=256,1024,1024 kernel=33,65,65 method=dif parts=4 device=gpu",
    "GPU uint16": "convolve image=256,1024,1024 kernel=33,65,65 type=uint16 output=uint16 device=gpu",
    "GPU direct": "convolve image=256,1024,1024 kernel=3,3,3 method=direct device=gpu",
    "GPU deconvolve": "deconvolve image=128,512,512 kernel=33,33,33 iterations=10 device=gpu",
    **{f"GPU deconvolve, {method}":
       f"deconvolve image=128,512,512 kernel=33,33,33 iterations=10 device=gpu method={method}"
       for method in ("rl-tv", "shb", "wb", "rlgc", "wiener")},
    **{f"GPU deconvolve, {method}, walks":
       f"deconvolve image=256,512,512 kernel=17,33,33 iterations=4 device=gpu method={method} gpu-mem=600M"
       for method in ("rl", "shb", "rlgc", "wiener")},
    "GPU filter": "filter samples=16777216 filters=16 taps=500 device=gpu",
}


def find_or_build(version, folder, name, micro):
    """Returns the build folder of a version: the given folder, or a new one in which a revision is built."""
    if (Path(version) / "bench" / "convolume_worker").exists():
        return Path(version)
    source, built = folder / name, folder / f"{name}-build"
    print(f"building {version}", flush=True)
    source.mkdir()
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", version], capture_output=True, check=False)
    if archive.returncode != 0:
        sys.exit(f"{version} is neither a build with bench/convolume_worker nor a revision")
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
    # Both versions build this version's worker, which uses public headers only. convolume_micro_bench uses private
    # ones, which the other version may lack.
    shutil.rmtree(source / "bench")
    shutil.copytree(ROOT / "bench", source / "bench")
    log = folder / f"{name}.log"
    with log.open("w") as output:
        for command in (
                ["cmake", "-S", source, "-B", built, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DCONVOLUME_BUILD_BENCH=ON", "-DCONVOLUME_BUILD_TESTS=OFF", "-DCONVOLUME_BUILD_EXAMPLES=OFF"],
                ["cmake", "--build", built, "--target", "convolume_worker", *(["convolume_micro_bench"] * micro)]):
            if subprocess.run(list(map(str, command)), stdout=output, stderr=output, check=False).returncode != 0:
                sys.exit(f"{version} does not build:\n" + "\n".join(log.read_text().splitlines()[-20:]))
    return built


def median_confidence_interval(values):
    """Returns the 99 % confidence interval of the median, by order statistics of a binomial distribution."""
    values = sorted(values)
    count = len(values)
    cut, below = 0, 0.0
    while cut < count // 2:
        below += math.comb(count, cut) / 2**count
        if below > 0.005:
            break
        cut += 1
    # With `cut` values left out at each end, the interval misses the median with a probability of at most 1 %.
    first = max(cut - 1, 0)
    return values[first], values[count - 1 - first]


def measure_blocks(workers, blocks):
    """Measures the seconds of the old and the new version in each block."""
    def run_seconds(worker):
        return worker.ask("run")["seconds"]
    old, new = workers
    for worker in (old, new, new, old):  # in the first runs, plans are measured and memory is touched
        run_seconds(worker)
    pairs = []
    for _ in range(blocks):
        first, *middle, last = run_seconds(old), run_seconds(new), run_seconds(new), run_seconds(old)
        pairs.append((first + last, sum(middle)))
    return pairs


def compare_builds(builds, caches, case, blocks):
    workers = [Worker(build, "convolume_worker", cache) for build, cache in zip(builds, caches, strict=True)]
    try:
        for worker in workers:
            worker.ask(f"prepare {case}")
        pairs = measure_blocks(workers, blocks)
    finally:
        for worker in workers:
            worker.close()
    ratios = [new / old for old, new in pairs]
    low, high = median_confidence_interval(ratios)
    return {"old_s": statistics.median(old / 2 for old, _ in pairs), "change": statistics.median(ratios),
            "low": low, "high": high}


def micro_times(build, filter_text):
    command = [build / "bench" / "convolume_micro_bench", "--benchmark_format=json", "--benchmark_min_time=0.05"]
    if filter_text:
        command.append(f"--benchmark_filter={filter_text}")
    done = subprocess.run(list(map(str, command)), capture_output=True, check=True)
    return {row["name"]: row["cpu_time"] for row in json.loads(done.stdout)["benchmarks"]}


def compare_micro(builds, blocks):
    """Compares Google Benchmark's cases, with whole runs in turns; returns rows of the same table."""
    ratios, old_ns = {}, {}
    for _ in range(blocks):
        old, new, new2, old2 = (micro_times(builds[i], None) for i in (0, 1, 1, 0))
        for name in old.keys() & new.keys():
            ratios.setdefault(name, []).append((new[name] + new2[name]) / (old[name] + old2[name]))
            old_ns.setdefault(name, []).append(old[name])
    rows = {}
    for name, values in ratios.items():
        low, high = median_confidence_interval(values)
        rows[name] = {"old_s": statistics.median(old_ns[name]) * 1e-9, "change": statistics.median(values),
                      "low": low, "high": high}
    return rows


def is_slower(row, loss):
    return row["change"] > 1 + loss / 100 and row["low"] > 1


def print_comparison(name, row, verdict=""):
    print(f"{name:32} {row['old_s'] * 1e3:10.3f} ms  {100 * (row['change'] - 1):+6.1f} %  "
          f"({100 * (row['low'] - 1):+.1f} … {100 * (row['high'] - 1):+.1f} %)  {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--cases", default="", help="only cases whose name has this in it")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--loss", type=float, default=5, help="percent")
    parser.add_argument("--micro", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.blocks < 9:
        parser.error("--blocks must be at least 9: fewer have no 99 % interval")
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    with tempfile.TemporaryDirectory() as name:
        # Each version has its own wisdom of FFTW.
        caches = [str(Path(name) / "old-cache"), str(Path(name) / "new-cache")]
        builds = [find_or_build(arguments.old, Path(name), "old", arguments.micro),
                  find_or_build(arguments.new, Path(name), "new", arguments.micro)]
        rows, failed = {}, []
        print(f"{'case':32} {'old':>10}     {'change':>8}    99 % band")
        for case, request in ({**CPU, **GPU} if has_gpu else CPU).items():
            if arguments.cases not in case:
                continue
            request += "" if case in GPU else " device=cpu"
            row = compare_builds(builds, caches, request, arguments.blocks)
            if is_slower(row, arguments.loss):
                print_comparison(case, row, "slower: once more")
                row = compare_builds(builds, caches, request, 2 * arguments.blocks)
            rows[case] = row
            if is_slower(row, arguments.loss):
                failed.append(case)
            print_comparison(case, row, "SLOWER" if case in failed else "")
        if arguments.micro:
            for case, row in compare_micro(builds, arguments.blocks).items():
                rows[case] = row
                if is_slower(row, arguments.loss):
                    failed.append(case)
                print_comparison(case, row, "SLOWER" if case in failed else "")
    if arguments.json:
        arguments.json.write_text(report_text(rows), encoding="utf-8")
    print(f"slower: {', '.join(failed)}" if failed else "no case is slower")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
