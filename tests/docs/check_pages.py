#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the quotations, tables, messages and links of the pages, without building the site.

    check_pages.py ROOT

- A block that follows a comment `<!-- from FILE -->` must stand, line by line, in FILE. C++ and CMake
  blocks need such a comment, because FILE is compiled and run as a test of its own.
- Every row of a table has as many cells as its header, and no code with an escaped pipe: MkDocs shows the backslash.
  `<code>a &#124; b</code>` is right everywhere.
- Every message in a table of messages must stand in the sources ("…" stands for inserted values).
- Every relative link leads to a file, and every anchor to a heading.
"""

import re
import sys
import textwrap
from pathlib import Path

BLOCK = re.compile(r"(?:<!-- from (\S+) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NEEDS_SOURCE = {"cpp", "cmake"}
GENERATED = {"api/files.html", "changelog.md"}  # made by scripts/docs.sh


def stripped_lines(text):
    return [line.strip() for line in textwrap.dedent(text).splitlines()]


def check_quotes(root, text):
    for example, language, code in BLOCK.findall(text):
        if not example:
            if language in NEEDS_SOURCE:
                yield f"a {language} block names no file that it is from:\n{code}"
            continue
        lines = stripped_lines((root / example).read_text(encoding="utf-8"))
        wanted = stripped_lines(code)
        if not any(lines[i:i + len(wanted)] == wanted for i in range(len(lines))):
            yield f"this block is not in {example}:\n{code}"


def table_cells(row):
    return len(re.findall(r"(?<!\\)\|", row.strip())) - 1


def check_tables(text):
    header = None
    for line in BLOCK.sub("", text).splitlines():
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = line
        elif table_cells(line) != table_cells(header):
            yield f"{table_cells(header)} cells in the header and {table_cells(line)} here: {line}"
        elif any("\\|" in code for code in line.split("`")[1::2]):
            yield f"code with an escaped pipe in a table: {line}"


def source_text(root):
    """Returns the text of all sources, with adjacent string literals joined."""
    files = [file for pattern in ("*.cpp", "*.hpp", "*.cu") for file in root.rglob(pattern)
             if file.relative_to(root).parts[0] not in ("build", "tests", "bench", "examples")]
    return "\n".join(re.sub(r'"\s*\n\s*"', "", file.read_text(encoding="utf-8")) for file in files)


def check_messages(text, sources):
    for table in re.findall(r"^\| message \|.*\n(?:\|.*\n)*", text, re.MULTILINE):
        for row in table.splitlines()[2:]:
            for piece in row.split("|")[1].split("…"):
                if len(piece.strip()) > 3 and piece.strip(" ;:(),") not in sources:
                    yield f"no source writes {piece.strip()!r}"


def anchors(text):
    """Returns the anchors that MkDocs and GitHub give to headings of plain words."""
    for heading in re.findall(r"^#+ +(.+)$", BLOCK.sub("", text), re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).strip().lower()
        yield words.replace(" ", "-")


def check_links(page, text):
    for target in LINK.findall(BLOCK.sub("", text)):
        if re.match(r"[a-z]+:", target) or target.removeprefix("../") in GENERATED:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"a link leads nowhere: {target}"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"a link names no heading: {target}"


def main():
    root = Path(sys.argv[1])
    pages = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]
    sources = source_text(root)
    failures = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = [*check_quotes(root, text), *check_tables(text), *check_messages(text, sources),
                 *check_links(page, text)]
        for failure in found:
            print(f"{page.relative_to(root)}: {failure}")
        failures += len(found)
    print(f"{len(pages)} pages, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
