# SPDX-License-Identifier: Apache-2.0
"""Checks that no two types of the product have the same name, nested types included. scripts/lint.sh runs it.

The product is the C++ and CUDA sources without tests, benchmarks and examples. Types are structs, classes, unions and
enumerations with a body: forward declarations, aliases and specializations of templates do not count.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from size import NOT_PRODUCT, repository_files

SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".cpp.in", ".hpp.in", ".cu.in")
# Names that several types in one folder may have: (name, folder), with the reason.
EXCEPTIONS = {
    ("Impl", ""): "always nested in a class, whose private members it holds behind a pointer",
    ("Kind", "include/convolume/"): "always nested in a public type, whose kinds the enumeration lists",
    ("State", "deconvolve/methods/"): "always nested in a method, which keeps scalars of its own between iterations",
}
COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/
                                    |R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL | re.VERBOSE)
TYPE = re.compile(r"""\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+
                      (?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*|[A-Z][A-Z_]+\s+)*  # attributes and macros
                      (?:\w+::)*(\w+)(?:\s+final)?\s*
                      (?::(?!:)[^;{}()]*)?\{                                      # base classes""", re.VERBOSE)


def types_of(text):
    """Yields the name and the line of each type that a source defines."""
    code = COMMENT_OR_LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in TYPE.finditer(code):
        yield match[1], code.count("\n", 0, match.start()) + 1


def main():
    places = defaultdict(list)
    for file in repository_files():
        if not file.endswith(SOURCES) or file.startswith(NOT_PRODUCT):
            continue
        for name, line in types_of(Path(file).read_text(encoding="utf-8")):
            if not any(name == excepted and file.startswith(folder) for excepted, folder in EXCEPTIONS):
                places[name].append(f"{file}:{line}")
    shared = {name: where for name, where in places.items() if len(where) > 1}
    for name, where in sorted(shared.items()):
        print(f"{name} is the name of {len(where)} types: {', '.join(where)}")
    print(f"{len(places)} names of types, {len(shared)} of them shared")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main())
