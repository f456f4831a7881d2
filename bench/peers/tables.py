#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the programs of this folder measured as tables in Markdown.

    bench/peers/tables.py [--json FILE] LINES…      LINES: files with one JSON object a line; other lines are skipped

Each row has the least and the median time of the rounds, the part of the rate of a copy of the same bytes within the
device, and the relative L2 error.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hardware import gpu_properties  # noqa: E402 (a module of bench/)
from report import report_text  # noqa: E402 (a module of bench/)


def measurements(path):
    """Returns the objects of a file that have a table."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "table" in value:
            found.append(value)
    return found


def three_digits(value):
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def rows_of(case):
    copy_ms = next((way["ms"] for way in case["ways"] if way["way"] == "copy" and "ms" in way), None)
    for way in case["ways"]:
        start = f"| {case['case']} | {way['way']} "
        if "failure" in way:
            yield f"{start}| failed | | | | {' '.join(way['failure'].split())[:200]} |"
            continue
        share = f"{100 * copy_ms / way['ms']:.0f} %" if copy_ms else ""
        error = "NaN" if way["error"] is None else f"{way['error']:.1e}" if way["error"] else ""
        if way.get("wrong"):
            error += ", **wrong**"
        note = f"{case['bytes'] / way['ms'] / 1e9:.2f} TB/s" if way["way"] == "copy" else way.get("note", "")
        yield (f"{start}| {three_digits(way['ms'])} | {three_digits(way['median_ms'])} | {share} | {error} "
               f"| {note} |")


def print_tables(cases):
    for table in dict.fromkeys(case["table"] for case in cases):
        print(f"\n{table}, least and median of the rounds:\n")
        print("| case | way | least, ms | median, ms | share of a copy | error | |\n|---|---|---|---|---|---|---|")
        for case in cases:
            if case["table"] == table:
                print(*rows_of(case), sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", nargs="+", type=Path, metavar="LINES")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a report")
    arguments = parser.parse_args()
    cases = [case for path in arguments.lines for case in measurements(path)]
    if arguments.json:
        arguments.json.write_text(report_text({"date": datetime.date.today().isoformat(), "machine": gpu_properties(),
                                               "cases": cases}), encoding="utf-8")
    print_tables(cases)
    return 0 if cases else "tables.py: the files hold no measurements"


if __name__ == "__main__":
    sys.exit(main())
