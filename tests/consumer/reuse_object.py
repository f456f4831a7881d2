#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches a compiler, or copies the object that another build has made with the same command of the same source.

    reuse_object.py BUILD OTHER_BUILD COMPILER ARGUMENT...

CMake prefixes the commands of BUILD with this launcher. Two commands are the same if they differ only in the folder of
the build, and two generated sources if their texts do. Other objects of C++ are compiled without optimization. Each
object adds a line to reused.txt or compiled.txt in the folder BUILD.
"""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def comparable(command, build):
    """Returns the arguments that decide what is compiled, with BUILD for the folder of the build."""
    kept, rest = [], iter(command)
    for argument in rest:
        if argument in ("-MT", "-MF"):
            next(rest)
        elif argument == "-isystem":
            folder = next(rest)
            # Static libraries bring the headers of CUDA to the command, which does not use them.
            kept += [] if "/cuda" in folder else [argument, folder]
        elif argument != "-MD":
            kept.append(argument.replace(str(build), "BUILD"))
    return kept


def argument_after(command, option):
    return command[command.index(option) + 1] if option in command else None


def same_source(source, build, other):
    """Compares a source in the folder of the build, which CMake generated, with that of the other build."""
    if not source.is_relative_to(build):
        return True
    counterpart = other / source.relative_to(build)
    return counterpart.is_file() and source.read_text(encoding="utf-8").replace(
        str(build), str(other)
    ) == counterpart.read_text(encoding="utf-8")


def object_to_reuse(command, build, other):
    """Returns the object of the other build that equals what the command makes, or None."""
    output, source = argument_after(command, "-o"), argument_after(command, "-c")
    if output is None or source is None:
        return None
    built = (Path.cwd() / output).resolve()
    if not built.is_relative_to(build):
        return None
    relative = str(built.relative_to(build))
    counterpart = other / relative
    wanted = comparable(command, build)
    wanted[wanted.index("-o") + 1] = relative
    for entry in json.loads((other / "compile_commands.json").read_text(encoding="utf-8")):
        if f" -o {relative} " in entry["command"] + " ":
            found = shlex.split(entry["command"])
            same = comparable(found, other) == wanted and same_source(Path(source), build, other)
            return counterpart if same and counterpart.is_file() else None
    return None


def note(build, name, output):
    with open(build / name, "a", encoding="utf-8") as file:
        file.write(f"{output}\n")


def main():
    build, other = (Path(folder).resolve() for folder in sys.argv[1:3])
    command = sys.argv[3:]
    output = argument_after(command, "-o")
    reused = object_to_reuse(command, build, other)
    if reused is None:
        note(build, "compiled.txt", output)
        return subprocess.call(command if command[-1].endswith(".cu") else [*command, "-O0"])
    note(build, "reused.txt", output)
    shutil.copyfile(reused, output)
    dependencies = argument_after(command, "-MF")
    if dependencies:
        Path(dependencies).write_text(f"{output}:\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
