# SPDX-License-Identifier: Apache-2.0
"""Checks that no message of the C++ sources is written a second time in the Python package. scripts/lint.sh runs it.

Messages are compared by clauses: what a text has between its punctuation marks and the values that it inserts. A clause
of Python with at least WORDS words must not be part of a clause of C++.
"""

import ast
import re
import sys
from pathlib import Path

from size import CPP, NOT_PRODUCT, repository_files

WORDS = 6


def clauses(text):
    """Yields the clauses of a text that have enough words, with one space between words."""
    for clause in re.split(r"[^\w\s'/-]", text):
        words = re.findall(r"\S*\w\S*", clause)
        if len(words) >= WORDS:
            yield " ".join(words)


def texts_of_cpp(source):
    code = re.sub(r"(?m)^\s*//.*|\s//[^\"\n]*$", "", source)
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", code))


def texts_of_python(source):
    """Yields line and text of the strings of a module that are no docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def main():
    files = repository_files()
    known = [(f" {clause} ", file) for file in files if file.endswith(CPP) and not file.startswith(NOT_PRODUCT)
             for text in texts_of_cpp(Path(file).read_text(encoding="utf-8")) for clause in clauses(text)]
    together = "\n".join(clause for clause, _ in known)
    failures = 0
    for file in files:
        for line, text in texts_of_python(Path(file).read_text(encoding="utf-8")) if re.fullmatch(
                r"python/convolume/\w+\.py", file) else ():
            for clause in clauses(text):
                if f" {clause} " in together:
                    where = next(one for words, one in known if f" {clause} " in words)
                    print(f'{file}:{line}: "{clause}" is also a message of {where}: have one of them')
                    failures += 1
    print(f"{len(known)} clauses of messages in C++, {failures} of them written again in Python")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
