# SPDX-License-Identifier: Apache-2.0
"""Measures the size of the product: the C++ and CUDA sources without tests, benchmarks and examples, and the Python
packages without their tests. scripts/size.sh runs it."""

import argparse
import re
import statistics
import subprocess
from pathlib import Path

import lizard

CPP = (".cpp", ".hpp", ".cu", ".cuh", ".h")
NOT_PRODUCT = ("tests/", "bench/", "examples/")
LONG_FUNCTION = 80
MANY_PARAMETERS = 7
# Files whose functions have the signatures of SciPy and scikit-image, with any number of parameters.
OTHERS_SIGNATURES = ("python/convolume/ndimage.py", "python/convolume/restoration.py", "python/convolume/signal.py")


# Folders with a header for each method of deconvolution, which only a list of methods includes.
ONE_FILE_EACH = ("deconvolve/methods/",)
# Headers that only one file includes, with the reason why they are files of their own.
INTERFACES = {
    "cli/filter/live.hpp": "steps of a run, which the options start",
    "cpu/signals/cost.hpp": "the model of time, apart from the engine that it is for",
    "cpu/signals/cpu_filter_engine.hpp": "makes an engine: what engines/ sees of a folder",
    "cpu/signals/resampling.hpp": "what signals/ sees of cpu/ for resampling",
    "cpu/signals/stream_engine.hpp": "what signals/ sees of cpu/ for live signals",
    "cpu/signals/stream_level.hpp": "with its includer it would exceed the longest file",
    "cpu/signals/stream_team.hpp": "threads, apart from what they compute",
    "cpu/volumes/plane_passes.hpp": "what deconvolve/ sees of cpu/",
    "decompose/network.hpp": "compiled for each instruction set",
    "deconvolve/executors/element_passes.hpp": "keeps CUDA kernels of 59 lengths in files of their own",
    "deconvolve/executors/row_loops.hpp": "compiled for each instruction set",
    "deskew/block.hpp": "with its includer it would exceed the longest file",
    "gpu/fft/element_block.hpp": "with its includer it would exceed the longest file",
    "gpu/signals/cufft_kernels.hpp": "keeps CUDA away from C++ sources",
    "gpu/volumes/block_run.hpp": "runs a block that its includer plans",
    "volumes/candidate.hpp": "with its includer it would exceed the longest file",
    "volumes/plan_runner.hpp": "with its includer it would exceed the longest file",
}


def repository_files():
    """Returns the files of the working tree that git tracks or does not ignore."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in names if Path(name).is_file()]


def product_files():
    files = repository_files()
    cpp = [name for name in files if name.endswith(CPP) and not name.startswith(NOT_PRODUCT)]
    python = [name for name in files
              if name.startswith("python/") and name.endswith(".py") and "/tests/" not in name]
    return cpp, python


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[:-1][:2]) if parts[0] in ("io", "gpu", "cpu", "cli", "python", "deconvolve") else parts[0]


def single_includers(cpp, text):
    """Returns the private headers that exactly one file includes, besides the source of the same name, and that file.
    Tests and benchmarks count as files, as a header that is tested is an interface."""
    includers = {name: set() for name in cpp}
    for name in repository_files():
        if not name.endswith(CPP):
            continue
        content = text[name] if name in text else Path(name).read_text(encoding="utf-8")
        for target in re.findall(r'#include [<"]([^">]+)[">]', content):
            if target in includers and Path(target).with_suffix("") != Path(name).with_suffix(""):
                includers[target].add(name)
    return [(header, *includers[header]) for header in cpp
            if header.endswith((".hpp", ".cuh", ".h")) and not header.startswith(("include/", *ONE_FILE_EACH))
            and header not in INTERFACES and len(includers[header]) == 1
            and not next(iter(includers[header])).startswith(NOT_PRODUCT)]


def measured_functions(files):
    """Yields the file and lizard\'s figures of each function in these files."""
    for name in files:
        for function in lizard.analyze_file(name).function_list:
            yield name, function


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    cpp, python = product_files()
    text = {name: Path(name).read_text(encoding="utf-8") for name in cpp + python}
    lines = {name: content.count("\n") for name, content in text.items()}

    print(f"{'folder':24} {'files':>6} {'lines':>7} {'median':>7}")
    for folder in sorted({folder_of(name) for name in lines}):
        own = [lines[name] for name in lines if folder_of(name) == folder]
        print(f"{folder:24} {len(own):6} {sum(own):7} {statistics.median(own):7.0f}")
    median = statistics.median(lines[name] for name in cpp)
    cpp_lines = sum(lines[name] for name in cpp)
    print(f"\nC++: {len(cpp)} files, {cpp_lines} lines, median {median:.0f}, "
          f"longest {max(lines[name] for name in cpp)}")
    all_lines = sum(lines.values())
    print(f"Python: {len(python)} files, {all_lines - cpp_lines} lines\nboth: {all_lines} lines")

    print("\nfiles with more than 400 lines")
    for name in sorted((name for name in lines if lines[name] > 400), key=lines.get, reverse=True):
        print(f"  {lines[name]:5} {name}")

    functions = list(measured_functions(cpp + python))
    long = [(function.length, function.name, name) for name, function in functions if function.length > LONG_FUNCTION]
    print(f"\nfunctions with more than {LONG_FUNCTION} lines: {len(long)}")
    for length, function, name in sorted(long, reverse=True):
        print(f"  {length:5} {function} ({name})")
    many = [(len(function.full_parameters), function.name, name) for name, function in functions
            if len(function.full_parameters) > MANY_PARAMETERS and name not in OTHERS_SIGNATURES]
    print(f"\nfunctions with more than {MANY_PARAMETERS} parameters: {len(many)}")
    for count, function, name in sorted(many, reverse=True):
        print(f"  {count:5} {function} ({name})")

    single = single_includers(cpp, text)
    print(f"\nprivate headers with one includer besides their own source: {len(single)}")
    for header, includer in sorted(single):
        print(f"  {header} <- {includer}")


if __name__ == "__main__":
    main()
