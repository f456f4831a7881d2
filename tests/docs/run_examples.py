#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the `console` blocks of a page, one after another, in an empty folder.

    run_examples.py [--update] CONVOLUME PAGE

Lines that start with "$ " are commands; a backslash at the end continues them. "# exit N" after a
command is its expected exit code (default 0). All other lines of a block are output: the block's
commands must print them, line after line. "..." stands for any text within a line, and a line of
"..." alone for any lines. --update replaces the output in the page by the printed one instead.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Step:
    """A command with the exit code and the output that the page shows for it."""

    def __init__(self, line):
        self.shown = [line]
        self.exit_code = 0
        self.output = []

    def command(self):
        return "\n".join(self.shown)[2:]

    def text(self, output):
        note = [f"# exit {self.exit_code}"] if self.exit_code else []
        return self.shown + output + note


def steps_of(block):
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line))
        elif steps and steps[-1].shown[-1].endswith("\\"):
            steps[-1].shown.append(line)
        elif not steps:
            raise ValueError(f"a console block starts with {line!r}, not with a command")
        elif match := re.fullmatch(r"# exit (\d+)", line):
            steps[-1].exit_code = int(match.group(1))
        else:
            steps[-1].output.append(line)
    return steps


def pattern_of(expected):
    lines = []
    for line in expected:
        pieces = [re.escape(piece) for piece in line.rstrip().split("...")]
        lines.append("(?:.*\n)*" if line == "..." else ".*".join(pieces) + " *\n")
    return re.compile("(?:^|(?<=\n))" + "".join(lines))


def run(step, folder, page):
    """Returns whether the command ended as shown, and the lines that it printed if they differ."""
    done = subprocess.run(["sh", "-c", step.command()], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, encoding="utf-8", check=False)
    print(f"$ {step.command()}\n{done.stdout}", end="")
    right = done.returncode == step.exit_code
    if not right:
        print(f"{page}: exit code {done.returncode} instead of {step.exit_code}: {step.command()}")
    if not step.output or pattern_of(step.output).search(done.stdout):
        return right, None
    print(f"{page}: the output is not what the page shows:\n" + "\n".join(step.output))
    return right, [line.rstrip() for line in done.stdout.splitlines() if line.strip()]


def main():
    update = sys.argv[1] == "--update"
    convolume, page = (Path(argument).resolve() for argument in sys.argv[1 + update:])
    text = page.read_text(encoding="utf-8")
    count = 0
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        commands = Path(folder, "bin")
        commands.mkdir()
        (commands / "convolume").symlink_to(convolume)
        os.environ["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
        work = Path(folder, "work")
        work.mkdir()
        for block in BLOCK.findall(text):
            new = []
            for step in steps_of(block):
                right, printed = run(step, work, page.name)
                count += 1
                failures += not right or (printed is not None and not update)
                new += step.text(step.output if printed is None else printed)
            if update:
                text = text.replace(f"```console\n{block}", "```console\n" + "\n".join(new) + "\n", 1)
    if update:
        page.write_text(text, encoding="utf-8")
    print(f"{page.name}: {count} examples, {failures} failures")
    return failures > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
