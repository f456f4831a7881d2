#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a build costs, in processor seconds (user and system), which other work on the machine changes little.

    bench/build_time.py [--target NAME] [--top N] [-- CMAKE_OPTION...]

builds everything, or the target, in a new folder without a compiler cache. It prints the seconds of each target, of the
sources that take longest, and the headers with the most text, over all sources that include them.

    bench/build_time.py --run NAME [--record] -- COMMAND...

runs a build and prints its processor seconds. It warns if they are more than 10 % above those that
bench/results/build_time.json has for NAME on a processor of the same name. --record writes the seconds there. Builds
that find their results in a cache, or in the folder of an earlier build, take less.
"""

import argparse
import collections
import datetime
import fcntl
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hardware import processor_name

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results/build_time.json"
GROWTH = 1.1  # above this ratio to the recorded seconds, a build is reported


def seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def launch(log, command):
    """Runs a compiler, and appends its processor seconds and its output file to the log."""
    code = subprocess.call(command)
    output = command[command.index("-o") + 1] if "-o" in command else command[-1]
    with open(log, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{seconds_of_children():.2f}\t{output}\n")
    return code


def target_of(output):
    found = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
    return found[1] if found else output


def print_table(title, rows, total):
    print(f"\n{title}")
    for name, seconds in rows:
        print(f"  {seconds:8.1f} s {100 * seconds / total:5.1f} %  {name}")


def heaviest_headers(build):
    """Returns (header, megabytes, sources) by the text that compilers read of each header, in all sources together."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    sources = collections.Counter(line.strip() for line in listed.splitlines() if line.startswith(" "))
    folder = Path(build)
    sized = [
        (header, count * (folder / header).stat().st_size / 1e6, count)
        for header, count in sources.items()
        if (folder / header).is_file() and Path(header).suffix not in (".cpp", ".cu", ".c", ".gch")
    ]
    return sorted(sized, key=lambda header: -header[1])


def report_build(options):
    with tempfile.TemporaryDirectory() as build:
        log = Path(build) / "seconds.txt"
        launcher = ";".join([sys.executable, str(Path(__file__).resolve()), "--launch", str(log)])
        environment = {**os.environ, "CCACHE_DISABLE": "1"}
        subprocess.run(
            [
                "cmake",
                "-S",
                ROOT,
                "-B",
                build,
                "-G",
                "Ninja",
                f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
                f"-DCMAKE_CUDA_COMPILER_LAUNCHER={launcher}",
                *options.command,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        log.unlink(missing_ok=True)
        command = ["cmake", "--build", build, *(["--target", options.target] if options.target else [])]
        before, begin = seconds_of_children(), time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        total, elapsed = seconds_of_children() - before, time.monotonic() - begin

        steps = []
        for line in log.read_text(encoding="utf-8").splitlines():
            seconds, output = line.split("\t")
            steps.append((output, float(seconds)))
        targets = collections.Counter()
        for output, seconds in steps:
            targets[target_of(output)] += seconds
        targets["links and generators"] = total - sum(targets.values())
        print(
            f"{total:.0f} processor seconds, {elapsed:.0f} s with {os.cpu_count()} cores: {processor_name()}, "
            f"{datetime.date.today()}, {shlex.join(options.command) or 'no options'}"
        )
        print_table("targets", targets.most_common(options.top), total)
        print_table("sources", sorted(steps, key=lambda step: -step[1])[: options.top], total)
        print("\nheaders, by the text that compilers read in all sources")
        for header, megabytes, count in heaviest_headers(build)[: options.top]:
            print(f"  {megabytes:8.1f} MB in {count:3} sources  {header}")


def run_recorded(options):
    name, *command = [options.run, *options.command]
    before = seconds_of_children()
    code = subprocess.call(command)
    seconds = seconds_of_children() - before
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known = results.get(name)
    print(
        f"build: {seconds:.0f} processor seconds"
        + (f", recorded on {known['date']}: {known['seconds']}" if known else "")
    )
    if known and known["processor"] == processor_name() and seconds > GROWTH * known["seconds"]:
        print(
            f"build_time.py: warning: this build takes more than the {known['seconds']} processor seconds that are "
            "recorded; find what grew with bench/build_time.py, or record the new figure with --record",
            file=sys.stderr,
        )
    if options.record and code == 0:
        results[name] = {
            "seconds": round(seconds),
            "processor": processor_name(),
            "cores": os.cpu_count(),
            "date": str(datetime.date.today()),
            "command": shlex.join(command),
        }
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return code


def main():
    if sys.argv[1:2] == ["--launch"]:
        return launch(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", help="target to build instead of all")
    parser.add_argument("--top", type=int, default=20, help="number of rows of each table")
    parser.add_argument("--run", metavar="NAME", help="run a build, and compare its seconds with the recorded ones")
    parser.add_argument("--record", action="store_true", help="record the seconds of --run")
    parser.add_argument("command", nargs="*", help="options of CMake, or the command of --run, after --")
    options = parser.parse_args()
    if options.run:
        return run_recorded(options)
    report_build(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
