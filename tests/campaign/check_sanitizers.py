#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every test case of a program under the tools of compute-sanitizer, several at once, each for a limited time.

    check_sanitizers.py PROGRAM FOLDER [--tools TOOL,...] [--seconds S] [--total S] [--launches N]
                        [--jobs N] [--cases PATTERN]

PROGRAM: such as build/gpu/tests/gpu/test_gpu. FOLDER gets the output of each tool, a file for each case. The default of
CONVOLUME_TEST_CASES is 8: the tools slow CUDA kernels down a hundredfold, racecheck a thousandfold. Therefore racecheck
and synccheck can be limited to the first launches of CUDA kernels in each case (--launches). Prints a line for each
case that was not clean, and a table: for each tool the number of cases that were clean, had findings, failed by
themselves, took too long, were skipped, ran nothing on a GPU, or were not begun because the time for all of them
(--total) was over. Ends with 1 if there were findings or failures."""

import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FINDINGS = 9
SKIPPED = 77
TOOLS = "memcheck,racecheck,synccheck,initcheck"


def cases_of(program, pattern):
    # Version 2 of Catch2 breaks long names into lines unless only names are requested, and ends with their number;
    # version 3 does not know that option.
    def list_tests(*options):
        return subprocess.run([program, *pattern, *options], check=False, capture_output=True, text=True).stdout

    names = list_tests("--list-test-names-only")
    if "Unrecognised" in names or not names.strip():
        names = list_tests("--list-tests", "--verbosity", "quiet")
    return [line.strip() for line in names.splitlines()
            if line.strip() and not re.search(r"test cases:?$", line)]


def run(job, arguments):
    """Runs a case under a tool, and returns the outcome."""
    tool, case = job
    left = arguments.end - time.monotonic()
    if left <= 0:
        return "not begun", "-"
    written = arguments.folder / f"{tool}-{re.sub('[^a-zA-Z0-9]+', '-', case)[:80]}.log"
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(FINDINGS)]
    # memcheck is fast enough, and initcheck must see everything that is written.
    if arguments.launches and tool in ("racecheck", "synccheck"):
        command += ["--launch-count", str(arguments.launches)]
    command += [arguments.program, case.replace(",", "\\,")]  # Catch2 separates names by commas
    with (open(written, "w", encoding="utf-8") as log,
          subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True) as process):
        try:
            code = process.wait(timeout=min(left, arguments.seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the tool and the program that it started
            return "unfinished", written
    text = written.read_text(encoding="utf-8", errors="replace")
    if code == FINDINGS:
        return "findings", written
    if code == 0:
        return "clean", written
    if code == SKIPPED or "SKIPPED: 1 of 1 test cases: " in text:
        return "skipped", written
    # The tools end with an error if a program has not used a GPU.
    return ("no GPU work" if "All tests passed" in text and " SUMMARY:" not in text else "failed"), written


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tools", default=TOOLS)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--total", type=float, default=float("inf"), help="seconds for all cases together")
    parser.add_argument("--launches", type=int, help="kernels that a tool looks at in a case, the first ones")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    parser.add_argument("--cases", default="", help="a pattern of Catch2")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.end = time.monotonic() + arguments.total
    os.environ.setdefault("CONVOLUME_TEST_CASES", "8")
    cases = cases_of(arguments.program, [arguments.cases] if arguments.cases else [])
    if not cases:
        sys.exit(f"{arguments.program} has no test cases of that name")
    jobs = [(tool, case) for tool in arguments.tools.split(",") for case in cases]
    counts = collections.Counter()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for (tool, case), (became, written) in zip(jobs, pool.map(lambda job: run(job, arguments), jobs)):
            counts[tool, became] += 1
            if became in ("findings", "failed", "unfinished", "not begun"):
                print(f"{tool}: {became}: {case}: {written}", flush=True)
    kinds = ("clean", "findings", "failed", "unfinished", "skipped", "no GPU work", "not begun")
    print("| tool | " + " | ".join(kinds) + " |")
    print("|---" * (len(kinds) + 1) + "|")
    for tool in arguments.tools.split(","):
        print(f"| {tool} | " + " | ".join(str(counts[tool, kind]) for kind in kinds) + " |")
    sys.exit(any(count for (_, kind), count in counts.items() if kind in ("findings", "failed")))


if __name__ == "__main__":
    main()
