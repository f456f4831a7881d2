# SPDX-License-Identifier: Apache-2.0
"""Markdown tables with notes on the reasons of empty cells."""

from collections import Counter


def describe_machine_and_date(machine, date):
    names = Counter(gpu["name"] for gpu in machine["gpus"])
    gpus = ", ".join(f"{count} × {name}" for name, count in names.items()) or "no GPU"
    libraries = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if name != "python")
    return f"{gpus}; {machine['cpu']}, {machine['cores']} cores; {libraries}; {date}"


def describe_machines(results):
    if not results.machines:
        return "Not measured yet."
    return "Ours: " + "; ".join(results.machines) + "."


def format_number(value):
    if value is None:
        return None
    if value == 0:
        return "0"
    if abs(value) >= 1000 or abs(value) < 1e-3:
        return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.1e}"
    return f"{value:#.3g}".rstrip(".")


def format_factor(value):
    return None if value is None else f"{format_number(value)}×"


def ratio_or_none(numerator, denominator):
    return numerator / denominator if numerator and denominator else None


def value_or_none(row, key="seconds"):
    return row.get(key) if row else None


class Table:
    """A table of columns and rows, with notes below that give the reasons of cells without a figure."""

    def __init__(self, *columns):
        self.columns = columns
        self.rows = []
        self.reasons = []

    def footnote_mark(self, reason):
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"– ({self.reasons.index(reason) + 1})"

    def format_cell(self, row, key="seconds", show=format_number, otherwise="not in the results yet"):
        """Returns the figure of a measurement, or a dash with a note of the reason."""
        value = value_or_none(row, key)
        if value is not None:
            return show(value)
        return self.footnote_mark(row["not_measured"] if row and "not_measured" in row else otherwise)

    def add_row(self, *cells):
        self.rows.append(["–" if cell is None else str(cell) for cell in cells])

    def __str__(self):
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        if self.reasons:
            lines.append("\n" + " ".join(f"({index + 1}) {reason.rstrip('.')}." for index, reason in
                                         enumerate(self.reasons)))
        return "\n".join(lines)
