#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the version of the project, which the project() line of CMakeLists.txt defines.

    scripts/version.py [--check | --set VERSION]

The build, the command, the libraries and the Python package read it from there. Some files have to repeat it: --check
fails if one of them differs, and --set writes VERSION into all of them but the changelogs, which people write.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFINITION = ("CMakeLists.txt", r"^project\(convolume VERSION (\d+\.\d+\.\d+)")
COPIES = [
    ("CITATION.cff", r"^version: (.+)$"),
    ("docs/citing.md", r"version = \{(.+)\}"),
    ("packaging/conda/recipe.yaml", r'^  version: "(.+)"$'),
    ("packaging/spack/package.py", r'^    version\("([\d.]+)"'),
    ("python/napari_convolume/pyproject.toml", r'^version = "(.+)"$'),
]
CHANGELOGS = [
    ("CHANGELOG.md", r"^## (\S+)"),
    ("debian/changelog", r"^convolume \((\S+)-\d+\)"),
]
# Packages of Debian are named after the SONAME, which has major and minor version (docs/library/compatibility.md).
SONAMES = [("debian/control", r"^Package: libconvolume(?:-io)?(\d\S*)$")]


def find(place):
    """Returns what the first match of a place's pattern captures: its text, begin and end."""
    file, pattern = place
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    if not match:
        sys.exit(f"version.py: {file} has no line that matches {pattern}")
    return match[1], match.start(1), match.end(1)


def check(version):
    """Returns a sentence for each file whose version differs."""
    soname = version.rsplit(".", 1)[0]
    wanted = [(place, version) for place in COPIES + CHANGELOGS] + [(place, soname) for place in SONAMES]
    return [f"{place[0]} has version {find(place)[0]} instead of {expected}"
            for place, expected in wanted if find(place)[0] != expected]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="fail if a file has another version")
    action.add_argument("--set", metavar="VERSION", help="the new version, such as 0.2.0")
    arguments = parser.parse_args()
    if arguments.set:
        if not re.fullmatch(r"\d+\.\d+\.\d+", arguments.set):
            parser.error(f"a version has the form 1.2.3, unlike {arguments.set}")
        for place in [DEFINITION, *COPIES]:
            _, begin, end = find(place)
            file = ROOT / place[0]
            text = file.read_text(encoding="utf-8")
            file.write_text(text[:begin] + arguments.set + text[end:], encoding="utf-8")
    version = find(DEFINITION)[0]
    problems = check(version) if arguments.check or arguments.set else []
    for problem in problems:
        print(problem, file=sys.stderr)
    if not arguments.check:
        print(version)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
