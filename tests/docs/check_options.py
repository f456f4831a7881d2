#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the pages of commands with the commands' --help.

    check_options.py CONVOLUME ROOT

- Every option that `convolume COMMAND --help` lists is named on the command's page or on one that explains it.
- common.md names all aliases of operations/option_aliases.hpp and cli/text/typed_words.cpp.
- The tables of options have the defaults of the help, and these pages name all values from which an option chooses.
"""

import re
import subprocess
import sys
from pathlib import Path

COMMANDS = ("convolve", "deconvolve", "deskew", "fuse", "filter", "correlate", "resample", "channelize", "phantom",
            "preview", "project", "psf", "simulate", "convert", "diff", "compare", "info", "doctor")
# The pages that explain options of several commands.
SHARED = ("common", "convolve", "deconvolve", "psf")
OPTION = re.compile(r"^  ((?:-\w, ?)?--[\w-]+(?:, ?--[\w-]+)*)(?: (\S+))?(?: (?:Excludes|Needs): .*)?(?:  +(.*))?$")
DEFAULT = re.compile(r"\(default ([^\s:;()]+)")


def options_of(text):
    """Returns (names, type, help) of each option in a --help text."""
    found = []
    for line in text.splitlines():
        if match := OPTION.match(line):
            names, kind, words = match.groups()
            found.append([re.findall(r"-[\w-]+", names), kind or "", words or ""])
        elif found and line.startswith(" " * 10):
            found[-1][2] += " " + line.strip()
    return found


def rows_of(page):
    """Returns the names and the default of each option in the page's tables."""
    is_table = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        is_table = len(cells) == 3 and (is_table or cells[2] == "default")
        if is_table and cells[0].startswith("`-"):
            yield re.findall(r"`(--?[\w-]+)", cells[0]), cells[2]


def without_markup(text):
    return text.replace("`", "").replace(" µm", "um").split(";")[0].split(",")[0].strip()


def check(help_text, page, shared):
    options = options_of(help_text)
    if not options:
        yield "the help lists no options"
    for names, kind, words in options:
        if names[-1] in ("--help", "--version"):
            continue
        if not any(re.search(rf"(?<![\w-]){name}(?![\w-])", page + shared) for name in names):
            yield f"no page names {names[-1]}"
        preset = DEFAULT.search(words)
        for row, written in rows_of(page):
            if not set(row) <= set(names):
                continue
            if preset and written and not without_markup(written).startswith(without_markup(preset[1])):
                yield f"{row[0]} has the default {preset[1]}, and the page says {written!r}"
            missing = [value for value in kind.split("|")[1:] if re.fullmatch(r"[a-z][a-z0-9-]+", value)
                       and f"`{value}" not in page + shared]
            if missing:
                yield f"{row[0]} also takes {', '.join(missing)}"


def main():
    convolume, root = sys.argv[1], Path(sys.argv[2])
    pages = root / "docs" / "commands"
    shared = "".join((pages / f"{page}.md").read_text(encoding="utf-8") for page in SHARED)
    failures = 0
    for command in COMMANDS:
        told = subprocess.run([convolume, command, "--help"], capture_output=True, text=True, check=True).stdout
        for failure in check(told, (pages / f"{command}.md").read_text(encoding="utf-8"), shared):
            print(f"docs/commands/{command}.md: {failure}")
            failures += 1
    of_options = (root / "operations" / "option_aliases.hpp").read_text(encoding="utf-8")
    of_commands = (root / "cli" / "text" / "typed_words.cpp").read_text(encoding="utf-8")
    of_commands = of_commands.split("struct CommandAlias")[1]
    common = (pages / "common.md").read_text(encoding="utf-8")
    for typed in re.findall(r'^    \{"([\w-]+)", "[\w-]+"(?:, "\w+")?\},$', of_options + of_commands, re.MULTILINE):
        if f"`{typed}`" not in common:
            print(f"docs/commands/common.md: no line names {typed}")
            failures += 1
    print(f"{len(COMMANDS)} commands, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
