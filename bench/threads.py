#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times loops and convolutions with both backends of threads, in turns, quietly and beside busy programs.

  bench/threads.py --build BUILD [--turns N] [--rounds N] [--seconds S] [--only SETTING] [--json FILE]

BUILD has convolume_busy_bench and the same program with the other backend (a build with benchmarks and OpenMP).
Prints a Markdown table: the medians of all turns, in milliseconds.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from report import report_text

SETTINGS = {
    "pool": ("pool", {}),
    "openmp": ("openmp", {}),
    "openmp, places": ("openmp", {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}),
    "openmp, passive": ("openmp", {"OMP_WAIT_POLICY": "passive"}),
}


def programs(build: Path) -> dict[str, Path]:
    """Returns the benchmark of each backend. The one without a suffix has the backend of the build."""
    own = build / "bench/convolume_busy_bench"
    for name, other in (("pool", "openmp"), ("openmp", "pool")):
        other_program = own.with_name(f"{own.name}_{other}")
        if other_program.exists():
            return {name: own, other: other_program}
    raise SystemExit(f"threads.py: {build} has only one backend: build it with CONVOLUME_BUILD_BENCH=ON and OpenMP")


def run(program: Path, settings: dict[str, str], arguments: list[str]) -> list[dict]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    if "OMP_NUM_THREADS" in os.environ:
        environment["OMP_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"]
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, *arguments, "--json", file.name], env=environment | settings, check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(Path(file.name).read_text())["cases"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=5, help="times that each setting runs")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each case in a turn")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="no turn but the first begins that would end later, if it took as long as the longest")
    parser.add_argument("--only", choices=SETTINGS, action="append", help="settings to compare")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    program = programs(arguments.build)
    processors = len(os.sched_getaffinity(0))
    times: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    chosen = arguments.only or list(SETTINGS)
    begin, turns, longest = time.monotonic(), 0, 0.0
    while turns < arguments.turns and (turns == 0 or time.monotonic() - begin + longest < arguments.seconds):
        turns += 1
        turn_begin = time.monotonic()
        for setting in chosen:
            backend, environment = SETTINGS[setting]
            for kind in ([], ["--loops"]):
                for case in run(program[backend], environment, [*kind, "--rounds", str(arguments.rounds),
                                                                "--neighbors", str(processors)]):
                    times[case["name"], "quiet"][setting].append(case["quiet_ms"])
                    times[case["name"], "busy"][setting].append(case["busy_ms"])
        longest = max(longest, time.monotonic() - turn_begin)
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1
    print(f"{processors} processors, {nodes} NUMA nodes, {turns} turns of {arguments.rounds} rounds, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print("| work | | " + " | ".join(chosen) + " |")
    print("|---|---|" + "---|" * len(chosen))
    table = []
    for (name, load), of_setting in times.items():
        medians = {setting: statistics.median(of_setting[setting]) for setting in chosen}
        print(f"| {name} | {load} | " + " | ".join(f"{medians[setting]:.1f}" for setting in chosen) + " |")
        table.append({"case": f"{name}, {load}", **medians})
    if arguments.json:
        arguments.json.write_text(report_text({"processors": processors, "numa_nodes": nodes, "median_ms": table}))


if __name__ == "__main__":
    main()
