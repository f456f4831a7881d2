#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole commands of two builds, or of one build with different options, in turns.

  bench/commands.py COMMAND PEER [--rounds N] [--threads N] [--only WORD] [--json FILE]

COMMAND and PEER are programs, with options that are added to every run:

  bench/commands.py build/test-without-fftw/cli/convolume build/test-release/cli/convolume
  bench/commands.py "build/dev/cli/convolume --fft own" "build/dev/cli/convolume --fft fftw"

Each case runs once unmeasured, then both in turns, and the first of a round is the second of the next one. Prints a
Markdown table: processor time (user and system) of COMMAND and PEER in milliseconds, the least of all rounds, and the
ratios COMMAND / PEER of the least times, and of the rounds in the median. With one thread, processor time does not
depend on what else runs on the machine, but for caches and clocks. Each command has a cache folder of its own.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from hardware import processor_name
from report import report_text

DECONVOLVE = ["--iterations", "10", "--background", "0"]

# Name, subcommand, shape of the image or signal, shape of the kernel, PSF or filters, type, further options.
CASES = [
    ("convolve 3D, float", "convolve", (96, 256, 256), (31, 61, 61), "f4", []),
    ("convolve 3D, float, primes", "convolve", (97, 251, 257), (29, 59, 61), "f4", []),
    ("convolve 3D, double", "convolve", (64, 192, 192), (31, 61, 61), "f8", ["--precision", "float64"]),
    ("convolve 2D, float", "convolve", (1, 2048, 2048), (1, 127, 127), "f4", []),
    ("convolve 2D, double, primes", "convolve", (1, 1511, 1523), (1, 127, 131), "f8", ["--precision", "float64"]),
    ("filter, float", "filter", (4, 1 << 21), (16, 4097), "f4", []),
    ("filter, complex, primes", "filter", (1, 2097143), (8, 1499), "c8", []),
    ("filter, double", "filter", (1, 1 << 21), (8, 4097), "f8", ["--precision", "float64"]),
    ("filter, one long filter", "filter", (1, 1 << 22), (1, 300007), "f4", []),
    ("deconvolve 3D", "deconvolve", (48, 192, 192), (31, 63, 63), "f4", DECONVOLVE),
    ("deconvolve 3D, primes", "deconvolve", (47, 181, 193), (29, 61, 61), "f4", DECONVOLVE),
    ("deconvolve 2D", "deconvolve", (1, 1024, 1024), (1, 65, 65), "f4", DECONVOLVE),
]


def write_inputs(folder: Path, number: int) -> list[str]:
    """Writes the image and the kernel of a case, and returns the arguments that name them."""
    _, subcommand, shape, kernel_shape, dtype, options = CASES[number]
    random = np.random.default_rng(number)
    image = random.random(shape, np.float64) + (subcommand != "filter")
    kernel = random.random(kernel_shape, np.float64)
    if subcommand == "deconvolve":  # a PSF fades towards its edges
        for axis, length in enumerate(kernel_shape):
            fading = np.exp(-0.5 * (np.linspace(-4, 4, length) if length > 1 else np.zeros(1)) ** 2)
            kernel *= np.expand_dims(fading, tuple(other for other in range(3) if other != axis))
    if dtype == "c8":
        image, kernel = image + 1j * random.random(shape), kernel + 1j * random.random(kernel_shape)
    names = [str(folder / f"{number}-{name}.npy") for name in ("image", "kernel")]
    np.save(names[0], image.astype(dtype))
    np.save(names[1], kernel.astype(dtype))
    return [subcommand, *names, "-o", str(folder / "result.npy"), "--overwrite", "-q", *options]


def processor_seconds(command: list[str], cache: Path, arguments: list[str]) -> float:
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    run = subprocess.Popen([command[0], *arguments, *command[1:]], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode != 0:
        raise SystemExit(f"commands.py: {shlex.join([command[0], *arguments, *command[1:]])} failed")
    return usage.ru_utime + usage.ru_stime


def time_case(commands: list[list[str]], folder: Path, number: int, rounds: int, threads: int) -> dict:
    arguments = [*write_inputs(folder, number), "--device", "cpu", "--threads", str(threads)]
    times: list[list[float]] = [[], []]
    for round_number in range(rounds + 1):
        for i in (0, 1) if round_number % 2 else (1, 0):
            seconds = processor_seconds(commands[i], folder / f"cache-{i}", arguments)
            if round_number:
                times[i].append(seconds)
    ratios = [own / peer for own, peer in zip(*times)]
    least = [min(of_command) for of_command in times]
    return {"case": CASES[number][0], "least_s": least, "ratio_of_least": least[0] / least[1],
            "median_ratio": statistics.median(ratios)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs=2, metavar="COMMAND")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="only cases whose names have this word")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    commands = [shlex.split(command) for command in arguments.commands]
    numbers = [i for i, case in enumerate(CASES) if arguments.only in case[0]]
    begin = time.monotonic()
    print("| case | image, kernel | ms | peer, ms | ratio | median of rounds |\n|---|---|---|---|---|---|")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            result = time_case(commands, Path(folder), number, arguments.rounds, arguments.threads)
            results.append(result)
            sizes = ", ".join("×".join(map(str, shape)) for shape in CASES[number][2:4])
            own, peer = (1e3 * seconds for seconds in result["least_s"])
            print(f"| {result['case']} | {sizes} | {own:.0f} | {peer:.0f} | {result['ratio_of_least']:.2f} "
                  f"| {result['median_ratio']:.2f} |", flush=True)
    ratios = [result["ratio_of_least"] for result in results]
    print(f"\nratio: median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}; {arguments.rounds} rounds, "
          f"{arguments.threads} threads, {time.monotonic() - begin:.0f} s, load {os.getloadavg()[0]:.1f}")
    if arguments.json:
        arguments.json.write_text(report_text({
            "processor": processor_name(), "commands": arguments.commands, "rounds": arguments.rounds,
            "threads": arguments.threads, "results": results}))


if __name__ == "__main__":
    main()
