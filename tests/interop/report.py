# SPDX-License-Identifier: Apache-2.0
"""Writes the verdicts as JSON, and as tables into the page of formats."""
import dataclasses
import json
import re
from pathlib import Path

from judge import NOTE, OK, PIXELS, REFUSED, WRONG
from limits import known_limit_of

BEGIN, END = "<!-- interop: begin -->", "<!-- interop: end -->"
WORDS = {OK: "yes", NOTE: "yes", PIXELS: "pixels", REFUSED: "no", WRONG: "**wrong**"}
GROUPS = {"shape": "Axes and metadata, not compressed", "type": "Pixel types, not compressed",
          "compression": "Compression", "arrays": "HDF5, NPY and MRC",
          "zarr": "OME-Zarr, written by the Python package"}


def word_for(cell):
    return "limit" if cell.verdict == WRONG and known_limit_of(cell) else WORDS[cell.verdict]


def write_json(path, cells, versions, missing):
    about = {"versions": versions, "missing": missing, "cells": [dataclasses.asdict(cell) for cell in cells]}
    Path(path).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_page(path, cells, versions):
    """Replaces the text between the markers of the page."""
    page = Path(path)
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{path} lacks the markers {BEGIN} and {END}")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{page_text(cells, versions)}{END}{after}", encoding="utf-8")


def page_text(cells, versions):
    lines = ["Versions: " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items(), key=by_name)) +
             ".", "", "## Files of other programs", ""]
    lines += read_table([cell for cell in cells if cell.direction == "read"])
    lines += ["## Files of convolume in other programs", ""]
    written = [cell for cell in cells if cell.direction == "written"]
    for group, title in GROUPS.items():
        lines += written_table(title, [cell for cell in written if cell.group == group])
    return "\n".join(lines) + "\n"


def by_name(item):
    return item[0].lower()


class Footnotes:
    """Numbers sentences in the order in which they are first used."""

    def __init__(self):
        self.numbers = {}

    def mark(self, sentence):
        if not sentence:
            return ""
        return f" ({self.numbers.setdefault(sentence, len(self.numbers) + 1)})"

    def lines(self):
        return [f"{number}. {escape_markdown(sentence)}" for sentence, number in self.numbers.items()]


def escape_markdown(text):
    """Returns text for a list or table in Markdown."""
    text = re.sub(r"([*_<>\[\]|`])", r"\\\1", text)
    is_word = re.match(r"[a-z]+ ", text)
    return text[:1].upper() + text[1:] if is_word else text


def read_table(cells):
    """Returns a table with a row for each program, kind of file and verdict, so that equal results stand together."""
    notes = Footnotes()
    rows = {}
    for cell in cells:
        kind, _, contents = cell.contents.partition(", ")
        rows.setdefault((cell.program, kind, cell.verdict, cell.detail), []).append(contents)
    lines = ["| program | kind | files | read |", "|---|---|---|---|"]
    for (program, kind, verdict, detail), contents in rows.items():
        files = "; ".join(group_by_contents(filter(None, contents)))
        lines.append(f"| {program} | {kind} | {files} | {WORDS[verdict]}{notes.mark(detail)} |")
    return [*lines, "", *notes.lines(), ""]


def group_by_contents(contents):
    """Joins descriptions that begin alike: "ZYX, uint8" and "ZYX, uint16" become "ZYX, uint8/uint16"."""
    joined = {}
    for text in contents:
        start, _, end = text.rpartition(", ")
        joined.setdefault(start, []).append(end)
    return [f"{start}, {' / '.join(ends)}" if start else " / ".join(ends) for start, ends in joined.items()]


def written_table(title, cells):
    if not cells:
        return []
    if cells[0].group == "arrays":
        return [f"### {title}", "", *read_table(cells)]
    programs = list(dict.fromkeys(cell.program for cell in cells))
    found = {(cell.contents, cell.program): cell for cell in cells}
    notes = Footnotes()
    lines = [f"### {title}", "", "| file | " + " | ".join(programs) + " |", "|---" * (len(programs) + 1) + "|"]
    for contents in dict.fromkeys(cell.contents for cell in cells):
        row = []
        for program in programs:
            cell = found.get((contents, program))
            row.append("" if cell is None else word_for(cell) + notes.mark(cell.detail))
        lines.append(f"| {contents} | " + " | ".join(row) + " |")
    return [*lines, "", *notes.lines(), ""]
