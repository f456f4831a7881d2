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
    """Returns the clauses of a text that have enough words, with one space around each word."""
    found = [re.findall(r"\S*\w\S*", clause) for clause in re.split(r"[^\w\s'/-]", text)]
    return [f" {' '.join(words)} " for words in found if len(words) >= WORDS]


def main():
    is_read = re.compile(r"python/convolume/\w+\.py|.*\.(cpp|hpp|cu|cuh|h)").fullmatch
    files = [(name, Path(name).read_text(encoding="utf-8")) for name in repository_files()
             if is_read(name) and not name.startswith(NOT_PRODUCT)]
    known, failures = {}, 0
    for name, source in files:
        code = re.sub(r'"\s*\n\s*"', "", re.sub(r"(?m)^\s*//.*|\s//[^\"\n]*$", "", source))
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code) if name.endswith(CPP) else ():
            known |= dict.fromkeys(clauses(text), name)
    for name, source in files:
        tree = ast.parse("" if name.endswith(CPP) else source)
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
            for clause in clauses(node.value) if is_text else ():
                if where := next((known[one] for one in known if clause in one), None):
                    print(f'{name}:{node.lineno}: "{clause.strip()}" is also a message of {where}: have one of them')
                    failures += 1
    print(f"{len(known)} clauses of messages in C++, {failures} of them written again in Python")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
