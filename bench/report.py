#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes measurements in the form of bench/results: JSON with one case a line, and numbers of six digits.

    bench/report.py FILE...     rewrites the reports of programs in this form
"""

import json
import sys
from pathlib import Path


def rounded(value):
    """Returns a value with all floats rounded to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, (list, tuple)) else value


def holds_cases(value):
    """Tells whether a value contains a list of objects, at any depth. Such values take several lines."""
    if isinstance(value, dict):
        return any(holds_cases(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(isinstance(item, dict) for item in value)


def format_value(value, indent=""):
    if not holds_cases(value):
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key, ensure_ascii=False)}: {format_value(item, deeper)}" for key, item in value.items()]
        opening, closing = "{}"
    else:
        items = [format_value(item, deeper) for item in value]
        opening, closing = "[]"
    return f"{opening}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{indent}{closing}"


def report_text(report):
    return format_value(rounded(report)) + "\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in map(Path, sys.argv[1:]):
        path.write_text(report_text(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
