#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats the published experiments on which this library builds, and appends the measurements to a JSON file.

    bench/reproduce/run.py [--parts 2011,2011two,2011cpu,2020,overlap,direct] [--build DIR] [--quick] --json OUT

Parts: 2011 has 3D images by decimation in frequency; 2011two and 2011cpu have these on two GPUs and on CPU threads;
2020 has filters by overlap-save in shared memory; overlap has overlap methods and convolution in parts (CPU); direct
has the four forms of direct sums in CUDA. Rows that this machine cannot run, or that exceed the time limit of a part
(--minutes), are in the JSON with the reason.
bench/reproduce/page.py makes pages of the file.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

from context import Context, describe_machine
from report import report_text

MINUTES = {"2011": 6, "2011two": 4, "2011cpu": 6, "2020": 4, "overlap": 3, "direct": 2}
SAVE_EVERY_S = 10


class Report:
    """Runs in a JSON file. The current run is written from time to time."""

    def __init__(self, path):
        self.path = path
        self.content = {"runs": []}
        if path.exists():
            try:
                self.content = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                sys.exit(f"{path}: not a JSON file ({error}); name another by --json")
            if not isinstance(self.content, dict) or not isinstance(self.content.get("runs"), list):
                sys.exit(f"{path}: not a report of this script; name another by --json")
        self.last_save_s = time.monotonic()

    def begin_run(self, part, quick, scale):
        run = {"part": part, "date": time.strftime("%Y-%m-%d"), "machine": describe_machine(), "quick": quick,
               "scale": scale,
               "results": []}
        self.content["runs"].append(run)
        return run

    def save(self):
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(report_text(self.content), encoding="utf-8")
        beside.replace(self.path)
        self.last_save_s = time.monotonic()

    def add_row(self, run, row):
        run["results"].append(row)
        if time.monotonic() - self.last_save_s > SAVE_EVERY_S:
            self.save()


def measure_function(part):
    """Returns the function that yields the rows of a part: measure, measure_two or measure_cpu of measure_YEAR."""
    for variant in ("two", "cpu"):
        if part.endswith(variant):
            return getattr(importlib.import_module(f"measure_{part.removesuffix(variant)}"), f"measure_{variant}")
    return importlib.import_module(f"measure_{part}").measure


def parse_parts(text):
    """Returns the parts that a comma-separated list names, or raises an error for unknown ones."""
    parts = text.split(",")
    for part in parts:
        if part not in MINUTES:
            raise argparse.ArgumentTypeError(f"there is no part '{part}': choose from {', '.join(MINUTES)}")
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=parse_parts, default=list(MINUTES), metavar="LIST")
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build")
    parser.add_argument("--quick", action="store_true", help="leave out rows that would take more than a minute")
    parser.add_argument("--minutes", type=float, help="time limit of each part (default: "
                        + ", ".join(f"{part} {minutes}" for part, minutes in MINUTES.items()) + ")")
    parser.add_argument("--scale", type=int, default=1, help="divides extents, to try this script")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", help="the run is appended to it")
    arguments = parser.parse_args()
    if arguments.scale < 1:
        parser.error("--scale is at least 1")

    report = Report(arguments.json)
    for part in arguments.parts:
        began = time.monotonic()
        deadline = began + 60 * (arguments.minutes or MINUTES[part])
        context = Context(arguments.build, arguments.quick, arguments.scale, deadline)
        run = report.begin_run(part, arguments.quick, arguments.scale)
        try:
            for row in measure_function(part)(context):
                report.add_row(run, row)
        finally:  # keeps the rows that were measured before an error
            run["seconds"] = time.monotonic() - began
            report.save()
        reasons = [row["not_measured"] for row in run["results"] if "not_measured" in row]
        print(f"{part}: {len(run['results']) - len(reasons)} rows in {run['seconds']:.0f} s, {len(reasons)} not "
              "measured", file=sys.stderr)
        for reason in dict.fromkeys(reasons):
            print(f"  {reasons.count(reason)} rows: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
