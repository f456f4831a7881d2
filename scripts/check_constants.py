# SPDX-License-Identifier: Apache-2.0
"""Checks that no constant of the C++ sources is written a second time in the Python package. scripts/lint.sh runs it.

A constant is written twice if a module of python/convolume assigns the same number to the same name, whatever its case
and underscores, as a constexpr of C++; or a tuple of the names that an enumeration's values have (names_of). Whole
numbers below 100 do not count, as they may be equal by chance. Types (Literal[...]) do not either: they cannot be made
from a list, and tests compare them.
"""

import ast
import re
import sys
from pathlib import Path

from size import NOT_PRODUCT, repository_files

CPP = (".cpp", ".hpp", ".cu", ".cuh")
CONSTEXPR = re.compile(r"\bconstexpr\s+(?:[\w:]+\s+)+(\w+)\s*=\s*([^;]+);")
NAMES = re.compile(r"names_of<([\w:]+)>\s*=\s*std::to_array<.*?;", re.DOTALL)
CAST, SUFFIX = re.compile(r"\b(?:std::)?\w+_t\{(\w+)\}"), re.compile(r"(?<=[\d.])[fFuUlL]+\b")
ARITHMETIC = re.compile(r"[\d.e+\-*/<() ]+")


def number(text):
    """Returns the value of an expression of numbers, in C++ or Python; None for other expressions."""
    text = SUFFIX.sub("", CAST.sub(r"\1", text.replace("'", "")))
    try:
        return eval(text, {"__builtins__": {}}) if ARITHMETIC.fullmatch(text) else None
    except (SyntaxError, TypeError, ZeroDivisionError):
        return None


def key(name):
    return name.lower().replace("_", "")


def assignments(module):
    """Yields line, name and value of the assignments at the top of a Python module."""
    for node in ast.parse(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.lineno, node.targets[0].id, ast.unparse(node.value)


def main():
    numbers, lists = {}, {}
    files = repository_files()
    for file in files:
        if not file.endswith(CPP) or file.startswith(NOT_PRODUCT):
            continue
        text = Path(file).read_text(encoding="utf-8")
        for name, value in CONSTEXPR.findall(text):
            numbers.setdefault((key(name), number(value)), f"{name} of {file}")
        for match in NAMES.finditer(text):
            lists[frozenset(re.findall(r'\{\s*"([^"]+)"', match[0]))] = f"the names of {match[1]} in {file}"
    failures = 0
    for file in files:
        if not re.fullmatch(r"python/convolume/\w+\.py", file):
            continue
        for line, name, text in assignments(Path(file).read_text(encoding="utf-8")):
            value = number(text)
            is_telling = value is not None and not (isinstance(value, int) and value < 100)
            names = frozenset(re.findall(r"'([^']+)'", text)) if re.fullmatch(r"\(('[^']+'(, )?)+\)", text) else None
            if known := numbers.get((key(name), value)) if is_telling else lists.get(names):
                print(f"{file}:{line}: {name} repeats {known}")
                failures += 1
    print(f"{len(numbers)} numbers and {len(lists)} lists of names in C++, {failures} of them written again in Python")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
