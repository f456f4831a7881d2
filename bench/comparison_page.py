#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/performance/comparison.md from reports of `convolume compare --sizes`.

    bench/comparison_page.py bench/results/compare_*.json -o docs/performance/comparison.md

REPORTS are those of several machines, or of one machine with one GPU and with several.
"""

import argparse
import json
from pathlib import Path

HEAD = """# CPU and GPU beside each other

convolume's own methods and devices compared with each other; the other pages compare with other programs. Every way of
convolving the same random image, from host memory to host memory, measured by `convolume compare`. Times are medians
of executions after the first, for `float32`; the last columns are the errors of the largest size in both precisions,
relative to a convolution in `float64` on the CPU (relative L2). A kernel has a quarter of the image's edges. An error
of 0 is that of the reference itself. Each execution is the second of its plan: on a GPU it still takes page-locked
memory for its transfers, which later ones have.
"""

END = """
This page is written by `bench/comparison_page.py bench/results/compare_*.json -o docs/performance/comparison.md`.
"""


def format_seconds(value):
    if value >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"


def describe_machine(machine):
    names = [device["name"] for device in machine.get("gpus", {}).get("devices") or []]
    processor = f"{machine['processor']}, {machine['threads']} threads"
    return f"{processor}; {' and '.join(names) or 'no GPU'}; {machine['compiler']}"


def format_error(error):
    return "–" if error is None else f"{error:.1e}" if error > 0 else "0"


def format_size(problem):
    return "×".join([str(problem["size"])] * 3)


def way_label(way):
    return way["name"].replace(f" {way['precision']}", "")


def comparison_section(report):
    problems = report["problems"]
    times, errors = {}, {}  # by a way's label: seconds by size, errors by precision
    for problem in problems:
        for way in problem["ways"]:
            if not way["finished"]:
                continue
            if way["precision"] == "float32":
                times.setdefault(way_label(way), {})[problem["size"]] = way["median_s"]
            if problem is problems[-1]:
                errors.setdefault(way_label(way), {})[way["precision"]] = way["errors"]["relative_l2"]
    fastest = {problem["size"]: min(row.get(problem["size"], float("inf")) for row in times.values())
               for problem in problems}
    lines = [f"## {describe_machine(report['machine'])}", "", f"`{report['command']}`, {report['date'][:10]}.", "",
             "| way | " + " | ".join(map(format_size, problems)) + " | error, float32 | error, float64 |",
             "|---|" + "---|" * (len(problems) + 2)]
    for name, row in times.items():
        cells = []
        for problem in problems:
            value = row.get(problem["size"])
            text = "–" if value is None else format_seconds(value)
            cells.append(f"**{text}**" if value == fastest[problem["size"]] else text)
        cells += [format_error(errors.get(name, {}).get(precision))
                  for precision in ("float32", "float64")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    left_out = sorted({f"{item['name']} of {format_size(problem)} ({item['reason']})"
                       for problem in problems for item in problem["left_out"]})
    if left_out:
        lines += ["", "A dash: left out. " + "; ".join(left_out) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+", metavar="REPORTS")
    parser.add_argument("-o", dest="page", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    sections = [comparison_section(json.loads(path.read_text(encoding="utf-8"))) for path in arguments.reports]
    arguments.page.write_text("\n".join([HEAD, *sections]) + END, encoding="utf-8")


if __name__ == "__main__":
    main()
