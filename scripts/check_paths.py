# SPDX-License-Identifier: Apache-2.0
"""Checks that every file and folder of the project that a comment, a docstring or a page names exists. scripts/lint.sh
runs it.

Two kinds of words name files of the project: words that end as sources and pages do (`engine.hpp`, `core/engine.hpp`),
and paths below a top folder of the project (`tests/io`, `bench/results/gpu.json`). The first folders of a path may be
left out, and the ending of a path below a top folder (`bench/gpu` is built from `bench/gpu.cpp`). A public header that
names another header without its folder means a public one.

These are no names of project files: words with a placeholder (`<name>.hpp`, `*.cpp`, `passes_…`), absolute paths,
addresses, options and variables; and files that programs write, which a string literal of the sources names.

It also finds files that examples or patches have left behind.
"""

import io
import re
import sys
import tokenize
from pathlib import Path

from size import repository_files

CPP = re.compile(r"\.(?:cpp|hpp|cu|cuh)(?:\.in)?$")
SCRIPT = re.compile(r"\.(?:sh|cmake|yml|toml|in|nf)$|(?:^|/)(?:CMakeLists\.txt|Snakefile)$|^\.ci/run$")
SOURCE_OR_PAGE = re.compile(r"(?:\.(?:cpp|hpp|cu|cuh|py|sh|cmake|md)|(?:^|/)CMakeLists\.txt)$")
WORD = re.compile(r"[^\s`()\[\]\"',;|]+")
NOT_OF_THE_PROJECT = re.compile(r"[*<>{}…$%@:~=^]|\.\.|^[-/.]")
PUBLIC_HEADERS = "include/convolume/"
IN_THE_ROOT = re.compile(r"^\.|\.(?:md|toml|yml|cff|json)$|^(?:CMakeLists\.txt|Doxyfile|LICENSE)$")


def comments(file, text):
    """Yields the number and the text of each line that readers read as prose: comments, docstrings, whole pages."""
    if file.endswith(".md"):
        yield from enumerate(text.splitlines(), 1)
    elif file.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_docstring = token.type == tokenize.STRING and token.string.lstrip("rf").startswith('"""')
            if token.type == tokenize.COMMENT or is_docstring:
                yield from enumerate(token.string.splitlines(), token.start[0])
    elif CPP.search(file) or SCRIPT.search(file):
        mark = r"(?:^|\s)//[/!]?<?(.*)" if CPP.search(file) else r"(?:^|\s)#(.*)"
        for number, line in enumerate(text.splitlines(), 1):
            if match := re.search(mark, line):
                yield number, match[1]


def paths_and_endings(files):
    """Returns the paths of all files and folders, whole and without their first folders; and those of files without
    their endings."""
    paths = set()
    for file in files:
        parts = file.split("/")
        paths.update("/".join(parts[begin:end]) for end in range(1, len(parts) + 1) for begin in range(end))
    paths.update({path.removesuffix(".in") for path in paths})
    return paths, {path[:path.rfind(".")] for path in paths if "." in Path(path).name}


def main():
    files = repository_files()
    texts = {}
    for file in files:
        if file.endswith((".md", ".py")) or CPP.search(file) or SCRIPT.search(file):
            texts[file] = Path(file).read_text(encoding="utf-8")
    paths, without_ending = paths_and_endings(files)
    top_folders = {file.split("/")[0] for file in files if "/" in file}
    literals = set(re.findall(r'"([\w.-]+\.\w+)"', "\n".join(text for file, text in texts.items() if CPP.search(file))))
    left_behind = [file for file in files
                   if file.endswith((".orig", ".rej")) or "/" not in file and not IN_THE_ROOT.search(file)]
    for file in left_behind:
        print(f"{file} is no file of the project: remove it, or name its kind here")
    failures = 0
    for file, text in texts.items():
        for number, line in comments(file, text):
            for word in WORD.findall(line):
                path = word.partition("#")[0].rstrip(".:").strip("/")
                is_path = "/" in path and path.split("/")[0] in top_folders
                if NOT_OF_THE_PROJECT.search(path) or not (is_path or SOURCE_OR_PAGE.search(path)) or path in literals:
                    continue
                exists = path in paths or (is_path and path in without_ending)
                if file.startswith(PUBLIC_HEADERS) and "/" not in path and path.endswith((".hpp", ".cuh")):
                    exists = any(known.startswith(PUBLIC_HEADERS) and known.endswith(f"/{path}") for known in texts)
                if not exists:
                    print(f"{file}:{number}: there is no {path}")
                    failures += 1
    print(f"{len(texts)} sources and pages, {failures} names of files that do not exist")
    return 1 if failures or left_behind else 0


if __name__ == "__main__":
    sys.exit(main())
