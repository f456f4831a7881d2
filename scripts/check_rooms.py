# SPDX-License-Identifier: Apache-2.0
"""Checks that folders include only what docs/architecture.md lets them use. scripts/lint.sh runs it.

The page has a table of the folders. Each row names a folder, the public headers that it defines, and what it uses:
folders with their public headers, single headers, or patterns of headers. No folder may use itself by way of others,
and no header may include itself by way of others. Headers that only collect others (COLLECTIONS) belong to no folder.
"""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from size import repository_files

PAGE = "docs/architecture.md"
PUBLIC = "include/convolume/"
COLLECTIONS = {PUBLIC + "convolume.hpp", PUBLIC + "device.hpp"}
SOURCES = (".cpp", ".hpp", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include ["<]([^">]+)[">]', re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")


def rooms_of_page():
    """Returns patterns of public headers with the folder that defines them, and what each folder uses."""
    owners, uses = [], {}
    table = re.search(r"^\| folder \|.*\n\|[-|]+\n((?:\|.*\n)+)", Path(PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    for row in table[1].splitlines():
        folder, _, headers, used = (cell.strip() for cell in row.strip("|").split("|"))
        folder = folder.strip("`")
        uses[folder] = QUOTED.findall(used)
        owners += [(PUBLIC + pattern, folder) for pattern in QUOTED.findall(headers)]
    return owners, uses


def included_files(files):
    """Returns the files of the project that each source includes, by their paths from the root."""
    graph = {}
    for file in files:
        names = INCLUDE.findall(Path(file).read_text(encoding="utf-8"))
        graph[file] = [path for name in names for path in (name, f"include/{name}") if path in files]
    return graph


def circle(graph):
    """Returns the nodes of one circle of a graph, in order, or nothing."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return [*path[path.index(node):], node]
        if node in done:
            return None
        path.append(node)
        found = next(filter(None, map(visit, graph.get(node, ()))), None)
        path.pop()
        done.add(node)
        return found

    return next(filter(None, map(visit, graph)), None)


def main():
    owners, uses = rooms_of_page()
    files = {file for file in repository_files() if file.endswith(SOURCES)}
    graph = included_files(files)

    def room(file):
        if not file.startswith(PUBLIC):
            return file.split("/")[0]
        return next((folder for pattern, folder in owners if fnmatch(file, pattern)), "")

    failures = [f"{PAGE} does not say which folder defines {file}"
                for file in sorted(files) if file.startswith(PUBLIC) and not room(file) and file not in COLLECTIONS]
    for file in sorted(files - COLLECTIONS):
        used = uses.get(room(file))
        if used is None:
            continue
        for header in graph[file]:
            path = header.removeprefix("include/")
            if room(header) not in (room(file), *used) and not any(fnmatch(path, pattern) for pattern in used):
                failures.append(f"{file} includes {path}: {room(file)} does not use {room(header) or 'collections'}")
    for name, nodes in (("folders", uses), ("headers", graph)):
        if found := circle(nodes):
            failures.append(f"circle of {name}: {' -> '.join(found)}")
    print(*failures, f"{len(files)} sources in {len(uses)} folders, {len(failures)} wrong includes", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
