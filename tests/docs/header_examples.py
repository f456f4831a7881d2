#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a program that runs the examples of the public headers.

    header_examples.py SOURCE HEADER…

Every block from `/// @code{.cpp}` to `/// @endcode` in a header of include/ becomes a function of SOURCE. A class or
struct at the begin of a block is defined before the function. The program includes the headers that are named, the
library's other headers through convolume.hpp, and headers of the standard library. Compilers name lines of the headers
in their messages.

The program ends with the first exception or failed assertion. With examples of a header that is called device_… or
of a .cuh header, it ends with exit code 77, which ctest shows as skipped, if there is no GPU.
"""

import re
import sys
from pathlib import Path

BEGIN = "/// @code{.cpp}"
END = "/// @endcode"
NEED_GPU = re.compile(r"/device_\w+\.hpp$|\.cuh$")
STANDARD = ("algorithm", "cmath", "cstdint", "fstream", "iostream", "mutex", "sstream", "stdexcept", "string", "thread",
            "vector", "unistd.h")


def blocks(header):
    """The number of the first line of each block, and its lines without comment signs."""
    lines = [line.strip() for line in header.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines, 1):
        if line == BEGIN:
            end = lines.index(END, number)
            yield number + 1, [re.sub("^/// ?", "", line) for line in lines[number:end]]


def namespace_of(name, header, number, code):
    classes = code.index("};") + 1 if code[0].startswith(("class ", "struct ")) else 0
    return "\n".join([f"namespace {name} {{", f'#line {number} "{header}"', *code[:classes], "void run() {",
                      f'#line {number + classes} "{header}"', *code[classes:], "}", "}"])


def main():
    source, *headers = map(Path, sys.argv[1:])
    examples = {f"{header.stem}_{number}": (header, number, code)
                for header in headers for number, code in blocks(header)}
    text = ["#undef NDEBUG", "#include <cassert>", *(f"#include <{name}>" for name in STANDARD),
            '#include "convolume/convolume.hpp"',
            *(f'#include "{str(header).rpartition("include/")[2]}"' for header in headers),
            "using namespace convolume;",
            *(namespace_of(name, *example) for name, example in examples.items()),
            "int main() {"]
    if any(NEED_GPU.search(str(header)) for header in headers):
        text.append('    if (!gpu_unavailable().empty()) return std::cout << gpu_unavailable() << "\\n", 77;')
    for name in examples:
        text += [f'    std::cout << "{name}" << std::endl;', f"    {name}::run();"]
    source.write_text("\n".join([*text, "}", ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
