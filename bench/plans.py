#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks plans against measurements. It times the whole command with --method auto and with every method and device
that can be forced, and compares predicted with measured times. Every run starts with an empty cache folder, or, with
--calibrated, with the measurements of `convolume doctor --calibrate` only, or, with --kept, with what runs of each way
have measured before, as a person's second run does.

Forced choices take turns, in another order in every round, and the least time of each counts. Choices with equal plans
count as one. Before a run the script waits a moment until other programs leave the processors idle. It reports the
share of the processors that they took during the runs that count, also while the command waited for the disk. With
--prefer, as root, the scheduler prefers these runs to other programs.

    bench/plans.py [--build DIR] [--rounds N] [--chosen N] [--random N] [--seed N] [--calibrated | --kept]
                   [--patience SECONDS] [--prefer] [--minutes N] [--without-gpus] [--json FILE]

Chosen and random cases are mixed, and the file is written after each: a run that ends early has some of both.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from report import report_text

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


def processor_seconds():
    """Returns the busy and idle seconds of all processors since the system's start. Time of a hypervisor is busy."""
    user, nice, system, idle, waiting, *others = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + sum(others)) / tick, (idle + waiting) / tick


def prefer_this_session():
    """Prefers this process to others. Linux shares the processors among sessions first, then within them."""
    if os.getsid(0) != os.getpid():
        if os.fork():
            os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
        os.setsid()
    autogroup = Path("/proc/self/autogroup")
    if autogroup.exists():
        autogroup.write_text("-20")
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def busy_share(seconds=0.1):
    before = processor_seconds()
    time.sleep(seconds)
    busy, idle = (after - start for after, start in zip(processor_seconds(), before))
    return busy / max(busy + idle, 1e-9)


class Runner:
    """Runs the command, and measures how busy other programs kept the machine."""

    def __init__(self, folder, rates, kept, patience_s):
        self.folder, self.rates, self.patience_s = folder, rates, patience_s
        self.kept = folder / "kept" if kept else None

    def wait_for_quiet(self):
        end = time.perf_counter() + self.patience_s
        while busy_share() > 0.15 and time.perf_counter() < end:
            pass

    def run(self, command):
        """Runs the command; returns its seconds, the share of the processors that others took, and its report."""
        self.wait_for_quiet()
        with tempfile.TemporaryDirectory(dir=self.folder) as empty:
            cache = self.kept or empty
            if self.rates:
                (Path(cache) / "convolume").mkdir()
                shutil.copy(self.rates, Path(cache) / "convolume")
            environment = {**os.environ, "XDG_CACHE_HOME": cache}
            with open(self.folder / "report.json", "w+b") as out:
                busy, idle = processor_seconds()
                start = time.perf_counter()
                child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
                _, status, used = os.wait4(child.pid, 0)
                seconds = time.perf_counter() - start
                child.returncode = os.waitstatus_to_exitcode(status)
                busy_after, idle_after = processor_seconds()
                out.seek(0)
                report = json.load(out) if child.returncode == 0 else None
        own = used.ru_utime + used.ru_stime
        all_s = busy_after - busy + idle_after - idle
        others = max(0, busy_after - busy - own) / all_s if all_s > 0 else 0
        return seconds, others, report


def execution_settings(plan):
    names = ("method", "algorithm", "on_gpu", "parts", "tiles_zyx", "slab_planes", "grid_zyx")
    plan = dict(plan, method="in-core") if plan["method"] == "dif" and plan["parts"] == 1 else plan
    if plan["method"] == "tiled" and plan["tiles_zyx"] == [1, 1, 1] and plan["slab_planes"] == 0:
        plan = dict(plan, method="in-core")
    return json.dumps([plan[name] for name in names])


def measure_choices(convolume, devices, shape, kernel, rounds, runner):
    """Returns the forced choices by name, and auto, each with the least time of its plan."""
    values = np.random.default_rng(1)
    folder = runner.folder
    np.save(folder / "image.npy", values.random(shape, dtype=np.float32))
    np.save(folder / "kernel.npy", values.random(kernel, dtype=np.float32))
    base = [convolume, "convolve", folder / "image.npy", folder / "kernel.npy", "-o", folder / "out.npy"]
    base += ["--overwrite", "--json", "-q"]
    ways = {"auto": []}
    for device in devices:
        for method in ("in-core", "dif", "tiled", "direct"):
            if method != "direct" or np.prod(kernel) * np.prod(shape) < 4e10:
                ways[f"{method} {device}"] = ["--method", method, "--device", device]
    plans, runs = {}, {}
    for _ in range(rounds):
        order = list(ways)
        random.shuffle(order)
        for way in order:
            if way in plans and plans[way] is None:
                continue  # this machine could not run the forced choice before
            seconds, others, report = runner.run(base + ways[way])
            plans[way] = report and report["plan"]["chosen"]
            if report:
                runs.setdefault(execution_settings(plans[way]),
                                []).append((seconds, others, report["report"]["seconds"]))
    return {way: (min(runs[execution_settings(plan)], key=lambda run: run[0]), plan) for way, plan in plans.items()
            if plan}


def auto_and_best_row(shape, kernel, ways):
    (auto_s, others, phases), plan = ways.pop("auto")
    best, ((best_s, _, _), _) = min(ways.items(), key=lambda item: item[1][0][0])
    return {"shape": shape, "kernel": kernel, "method": plan["method"], "on_gpu": plan["on_gpu"], "auto_s": auto_s,
            "predicted_s": plan["seconds"], "best": best, "best_s": best_s, "others": others,
            "stages": {name: stage["seconds"] for name, stage in plan["stages"].items()},
            "phases": {name: seconds for name, seconds in phases.items() if seconds > 0},
            "ways": {way: {"seconds": run[0], "predicted_s": chosen["seconds"]} for way, (run, chosen) in ways.items()}}


def print_row(row):
    print(f"{'×'.join(map(str, row['shape'])):>14} * {'×'.join(map(str, row['kernel'])):<11} {row['method']:>8} "
          f"{row['auto_s']:8.3f} s, predicted {row['predicted_s']:7.3f} s, best {row['best']:>11} "
          f"{row['best_s']:8.3f} s, others {row['others']:4.0%}", flush=True)


def errors(choices):
    """Returns by which factor predicted and measured seconds differ."""
    return [max(measured / predicted, predicted / measured) for measured, predicted in choices]


def summarize(name, rows):
    loss = [row["auto_s"] / row["best_s"] for row in rows]
    chosen = errors((row["auto_s"], row["predicted_s"]) for row in rows)
    forced = errors((way["seconds"], way["predicted_s"]) for row in rows for way in row["ways"].values())
    for what, values, limits in (("auto / best", loss, (1.1, 1.2)), ("predicted / measured", chosen, (1.25, 1.5)),
                                 ("forced choices, predicted / measured", forced, (1.25, 1.5))):
        within = ", ".join(f"{sum(x <= limit for x in values)} within {limit}" for limit in limits)
        print(f"{name}: {what} or the inverse: median {statistics.median(values):.2f}, largest {max(values):.2f}; "
              f"of {len(values)} {within}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path(__file__).parent.parent / "build" / "release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chosen", type=int, default=len(CHOSEN), help="only so many of the chosen cases")
    parser.add_argument("--random", type=int, default=len(CHOSEN))
    parser.add_argument("--seed", type=int, default=1)
    cache = parser.add_mutually_exclusive_group()
    cache.add_argument("--calibrated", action="store_true")
    cache.add_argument("--kept", action="store_true")
    parser.add_argument("--patience", type=float, default=0.5, help="seconds to wait for a quiet moment before a run")
    parser.add_argument("--prefer", action="store_true")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no other case after so long")
    parser.add_argument("--without-gpus", action="store_true", help="as on a machine that has none")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.without_gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    end = time.perf_counter() + 60 * arguments.minutes
    if arguments.prefer:
        prefer_this_session()
    convolume = arguments.build / "cli" / "convolume"
    has_gpu = not arguments.without_gpus and any(Path("/dev").glob("nvidia[0-9]*"))
    groups = {"chosen": CHOSEN[:: max(1, len(CHOSEN) // max(arguments.chosen, 1))][: arguments.chosen],
              "random": list(random_cases(arguments.random, arguments.seed))}
    cases = [(group, *case) for group, of_group in groups.items() for case in of_group]
    random.Random(arguments.seed).shuffle(cases)
    rows = []
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rates = None
        if arguments.calibrated:
            subprocess.run([convolume, "doctor", "--calibrate"], check=True,
                           env={**os.environ, "XDG_CACHE_HOME": name})
            rates = folder / "convolume" / "machine-rates.json"
        runner = Runner(folder, rates, arguments.kept, arguments.patience)
        if arguments.kept:  # the first run measures
            measure_choices(convolume, ["cpu", "gpu"] if has_gpu else ["cpu"], (4, 64, 64), (3, 3, 3), 1, runner)
        for group, shape, kernel in cases:
            if time.perf_counter() > end:
                print(f"time is up: {len(cases) - len(rows)} cases left out")
                break
            ways = measure_choices(convolume, ["cpu", "gpu"] if has_gpu else ["cpu"], shape, kernel, arguments.rounds,
                                   runner)
            rows.append({"group": group, **auto_and_best_row(shape, kernel, ways)})
            print_row(rows[-1])
            if arguments.json:
                figures = {"load": load, "rounds": arguments.rounds, "seed": arguments.seed,
                           "calibrated": arguments.calibrated, "kept": arguments.kept, "prefer": arguments.prefer,
                           "cases": rows}
                arguments.json.write_text(report_text(figures), encoding="utf-8")
    load.append(os.getloadavg()[0])
    for group in groups:
        if members := [row for row in rows if row["group"] == group]:
            summarize(group, members)
    summarize("all", rows)
    others = statistics.median(row["others"] for row in rows)
    print(f"others took {others:.0%} of the processors during these runs (median); load {load[0]:.1f} before, "
          f"{load[1]:.1f} after, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
