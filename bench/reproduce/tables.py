# SPDX-License-Identifier: Apache-2.0
"""Markdown tables with notes on the reasons of empty cells."""

from collections import Counter


def machine_line(machine, date):
    names = Counter(gpu["name"] for gpu in machine["gpus"])
    gpus = ", ".join(f"{count} × {name}" for name, count in names.items()) or "no GPU"
    libraries = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "python")
    return f"{gpus}; {machine['cpu']}, {machine['cores']} cores; {libraries}; {date}"


def machines(results):
    if not results.machines:
        return "Not measured yet."
    return "Ours: " + "; ".join(results.machines) + "."


def number(value):
    if value is None:
        return None
    if value == 0:
        return "0"
    if abs(value) >= 1000 or abs(value) < 1e-3:
        return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.1e}"
    return f"{value:#.3g}".rstrip(".")


def times(value):
    return None if value is None else f"{number(value)}×"


def ratio(numerator, denominator):
    return numerator / denominator if numerator and denominator else None


def figure(row, key="seconds"):
    return row.get(key) if row else None


class Table:
    """A table of columns and rows, with notes below that give the reasons of cells without a figure."""

    def __init__(self, *columns):
        self.columns = columns
        self.rows = []
        self.reasons = []

    def note(self, reason):
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"– ({self.reasons.index(reason) + 1})"

    def cell(self, row, key="seconds", show=number, otherwise="not in the results yet"):
        """Returns the figure of a measurement, or a dash with a note of the reason."""
        value = figure(row, key)
        if value is not None:
            return show(value)
        return self.note(row["not_measured"] if row and "not_measured" in row else otherwise)

    def add(self, *cells):
        self.rows.append(["–" if cell is None else str(cell) for cell in cells])

    def __str__(self):
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        if self.reasons:
            lines.append("\n" + " ".join(f"({index + 1}) {reason.rstrip('.')}." for index, reason in
                                         enumerate(self.reasons)))
        return "\n".join(lines)
