#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times convolume, SciPy and a streaming copy alternately, and prints the tables of docs/performance/cpu.md.
Run it on a quiet machine, from any folder:

    bench/compare.py [--build DIR] [--rounds N] [--scale N] [--json FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import current_peers  # noqa: F401 (comes before NumPy)
import numpy as np
import scipy
import scipy.fft
import scipy.ndimage
import scipy.signal
from hardware import processor_name
from report import report_text
from worker import Worker


def measure_seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def median_seconds_in_turns(rounds, **contestants):
    """Runs contestants alternately; returns the median of the seconds that each returns."""
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            times[name].append(run())
    return {name: statistics.median(values) for name, values in times.items()}


def describe_machine():
    return {"cpu": processor_name(), "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d"),
            "scipy": scipy.__version__,
            "load_before": os.getloadavg()[0]}


def prepare_request(image, kernel, *settings):
    extents = (",".join(map(str, shape)) for shape in (image, kernel))
    return " ".join(["prepare convolve image={} kernel={}".format(*extents), *settings])


def measure_psf_case(build, rounds, scale):
    shape = tuple(extent // scale for extent in (240, 480, 480))
    random = np.random.default_rng(1)
    image = random.random(shape, dtype=np.float32)
    kernel = random.random((31, 61, 61), dtype=np.float32)

    def run_peer():
        with scipy.fft.set_workers(2):
            return measure_seconds(lambda: scipy.signal.fftconvolve(image, kernel, "same"))

    def first_run_seconds():
        with tempfile.TemporaryDirectory() as empty_cache:
            worker = Worker(build, "convolume_worker", empty_cache)
            planned = worker.ask(prepare_request(shape, kernel.shape))
            seconds = planned["plan_seconds"] + worker.ask("run")["seconds"]
            worker.close()
            return seconds

    run_peer()
    worker = Worker(build, "convolume_worker")
    worker.ask(prepare_request(shape, kernel.shape))
    worker.ask("run")
    later = median_seconds_in_turns(rounds, scipy=run_peer, convolume=lambda: worker.ask("run")["seconds"])
    worker.close()
    once = median_seconds_in_turns(max(3, rounds // 2), scipy=run_peer, convolume=first_run_seconds)
    name = "×".join(map(str, shape)) + " * 31×61×61, same, float32"
    return [(name + ", second and later executions", "fftconvolve, 2 workers", later, 3),
            (name + ", first execution, no wisdom", "fftconvolve, 2 workers", once, 2)]


def measure_small_kernel_cases(build, rounds, scale):
    shape = (512 // scale,) * 3
    random = np.random.default_rng(2)
    image = random.random(shape, dtype=np.float32)
    box = random.random((5, 5, 5), dtype=np.float32)
    output = np.empty_like(image)
    rows = []
    for case, label, run_peer in (
            ("box", "ndimage.convolve", lambda: scipy.ndimage.convolve(image, box, output=output, mode="constant")),
            ("gaussian", "ndimage.gaussian_filter",
             lambda: scipy.ndimage.gaussian_filter(image, 1, output=output, mode="constant", truncate=2))):
        worker = Worker(build, "convolume_worker")
        planned = worker.ask(prepare_request(shape, box.shape, f"values={'random' if case == 'box' else case}"))
        worker.ask("run")
        medians = median_seconds_in_turns(max(2, rounds // 3),
                                          scipy=lambda run_peer=run_peer: measure_seconds(run_peer),
                                          convolume=lambda worker=worker: worker.ask("run")["seconds"])
        worker.close()
        chosen = planned["plan"]["chosen"]
        name = f"{'×'.join(map(str, shape))} * 5×5×5 {case} ({chosen['method']}, {chosen['algorithm']} chosen)"
        rows.append((name, label, medians, 2))
    return rows


def measure_memory_case(build, scale):
    """Measures the peak host memory of dif beyond image and output, with the bytes of the padded volume and the
    engines' limit."""
    limit = (160 << 20) // scale**3
    worker = Worker(build, "convolume_worker")
    shape = tuple(extent // scale for extent in (240, 480, 480))
    plan = worker.ask(prepare_request(shape, (31, 61, 61), "method=dif", "parts=8", f"engine-mem={limit}"))["plan"]
    peak = worker.ask("run")["peak_bytes"]
    worker.close()
    padded = 4 * int(np.prod(plan["chosen"]["grid_zyx"]))
    return {"peak_bytes": peak, "padded_bytes": padded, "engine_limit_bytes": limit,
            "ratio": (peak - limit) / padded}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=int, default=1, help="divides the images' extents: for a quick look")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()

    figures = {"machine": describe_machine(), "against_scipy": []}
    context = figures["machine"]
    print(f"{context['cpu']}, {context['cores']} cores, {context['date']}, SciPy {context['scipy']}, "
          f"load {context['load_before']:.1f}; medians of {arguments.rounds} alternating rounds\n")

    print("| work | peer | peer, s | convolume, s | ratio | at least |\n|---|---|---|---|---|---|")
    rows = measure_psf_case(arguments.build, arguments.rounds, arguments.scale)
    rows += measure_small_kernel_cases(arguments.build, arguments.rounds, arguments.scale)
    for name, peer, medians, required in rows:
        ratio = medians["scipy"] / medians["convolume"]
        print(f"| {name} | {peer} | {medians['scipy']:.3f} | {medians['convolume']:.3f} | {ratio:.1f}× | {required}× |")
        figures["against_scipy"].append({"work": name, "peer": peer, "seconds": medians, "ratio": ratio,
                                         "required": required})

    memory = measure_memory_case(arguments.build, arguments.scale)
    figures["memory"] = memory
    print(f"\nPeak host memory of dif (8 parts) beyond image and output, less the engine's limit of "
          f"{memory['engine_limit_bytes'] >> 20} MiB: {memory['ratio']:.2f} × the padded volume (at most 1.1)\n")

    split = [str(Path(arguments.build) / "bench" / "convolume_split_bench")]
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "split.json"
        subprocess.run(split + ["--json", str(results)], check=True)
        figures["split"] = json.loads(results.read_text())
    if arguments.json:
        Path(arguments.json).write_text(report_text(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
