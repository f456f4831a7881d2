# SPDX-License-Identifier: Apache-2.0
"""Wrong verdicts that are expected: limits of other programs, and faults of convolume that are known."""
import re
from pathlib import Path

# (program, pattern of the file, reason): limits of programs that read our files, or files of any other program.
LIMITS = (
    ("Pillow", r"int8$", "reads int8 as uint8"),
    ("Pillow", r"uint32$", "reads uint32 as int32"),
    ("ImageJ", r"int8$", "reads int8 as uint8"),
    ("ImageJ", r"u?int32$", "holds integers of 32 bits as float32"),
)
KNOWN_FAULTS = Path(__file__).with_name("known_faults.txt")


def known_limit_of(cell):
    """Returns the reason why a program reads our file wrongly if the limit is its own."""
    for program, pattern, reason in LIMITS:
        if cell.direction == "written" and cell.program == program and re.search(rf"\b{pattern}", cell.contents):
            return reason
    return None


def table_key_of(cell):
    return f"{cell.direction} | {cell.program} | {cell.contents}"


def known_faults():
    """Returns the cells that are wrong today. A line is removed when its fault is repaired."""
    lines = KNOWN_FAULTS.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}
