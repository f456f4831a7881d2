#!/usr/bin/env python3
"""Checks that every C++ block of the documents stands, line by line, in the example that the comment
before it names (`<!-- from examples/NAME.cpp -->`), which is compiled and run as a test of its own.

    check_snippets.py ROOT DOCUMENT…
"""

import re
import sys
import textwrap
from pathlib import Path


def main():
    root = Path(sys.argv[1])
    failures = 0
    for name in sys.argv[2:]:
        text = (root / name).read_text(encoding="utf-8")
        blocks = list(re.finditer(r"(?:<!-- from (\S+) -->\n)?```cpp\n(.*?)```", text, re.DOTALL))
        print(f"{name}: {len(blocks)} C++ blocks")
        for block in blocks:
            example, code = block.groups()
            if example is None:
                print(f"{name}: a C++ block names no example:\n{code}")
                failures += 1
                continue
            lines = [line.strip() for line in (root / example).read_text(encoding="utf-8").splitlines()]
            wanted = [line.strip() for line in textwrap.dedent(code).splitlines()]
            if not any(lines[i:i + len(wanted)] == wanted for i in range(len(lines))):
                print(f"{name}: this block is not in {example}:\n{code}")
                failures += 1
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
