# SPDX-License-Identifier: Apache-2.0
"""The command ``convolume-process``, which ``convolume process`` runs."""

import argparse
import dataclasses
import difflib
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO, get_args

from ._deconvolve_options import Method
from ._errors import (
    BadData,
    Cancelled,
    CannotCreate,
    ConvolumeWarning,
    InputNotFound,
    InvalidArgument,
    OutOfMemory,
    OutputExists,
    Unavailable,
)
from ._operations import NOT_IN_BLOCKS
from ._process import DEFAULTS, run_process
from ._process_plan import plan_process
from ._process_report import BlocksFailed, ProcessReport, process_status

_EXIT_CODES: list[tuple[type[BaseException], int]] = [
    (BlocksFailed, 7), (InvalidArgument, 2), (OutOfMemory, 3), (MemoryError, 3), (Unavailable, 4),
    (OutputExists, 5), (BadData, 65), (InputNotFound, 66), (CannotCreate, 73), (OSError, 74), (Cancelled, 130),
    (KeyboardInterrupt, 130)]


_SHORTEST_PREFIX = 4
"""Characters of the beginning of an option that tell which one was meant."""
_LEAST_SIMILARITY = 0.75
"""Least ratio of difflib with which a word is taken for a misspelled option."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"convolume: error: {message}; see convolume process --help\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Refuses words that the command does not take, with the option that was probably meant."""
        typed = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
        if typed is None:
            sentence = f'takes no further argument "{words[0]}"; convolume process --help lists its arguments'
        else:
            names = [name for name in self._option_string_actions if name.startswith("--")]
            meant = [name for name in names if len(typed) >= _SHORTEST_PREFIX and name.startswith(typed)]
            meant = meant or difflib.get_close_matches(typed, names, n=1, cutoff=_LEAST_SIMILARITY)
            question = f" did you mean {' or '.join(meant)}?" if meant else ""
            sentence = f"has no option {typed};{question} convolume process --help lists all options"
        self.exit(2, f"convolume: error: convolume process {sentence}\n")


def _extents(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not Z,Y,X") from None


def _block(text: str) -> tuple[int, ...] | str:
    return text if text == "auto" else _extents(text)


def _number_or_auto(text: str) -> float | str:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is neither a number nor auto") from None


def _parser() -> _Parser:
    parser = _Parser(prog="convolume process", allow_abbrev=False, description=(
        "Convolves or deconvolves an image of any size block by block and writes OME-Zarr. It can be stopped, resumed, "
        "and shared among processes and machines."))
    add = parser.add_argument
    add("source", metavar="SOURCE", nargs="?", help="an image: OME-Zarr (path, https://, s3://), TIFF, HDF5, NPY")
    add("target", metavar="TARGET", help="OME-Zarr: a path or s3://bucket/name.zarr")
    work = parser.add_argument_group("operation")
    work.add_argument("--op", choices=["convolve", "deconvolve"], help="required, but for --status")
    work.add_argument("-p", "--kernel", "--psf", "--psf-for", metavar="[CHANNEL=]FILE", action="append",
                      help="the kernel or PSF; given several times: one for each channel, in their order or by "
                           "number or name, as --psf DAPI=a.tif")
    work.add_argument("--boundary", help="convolve: zero (default), constant, nearest, reflect, mirror, wrap")
    work.add_argument("--cval", type=float, help="convolve: the value outside, for constant")
    work.add_argument("--origin", help="middle (default), scipy, peak, or z,y,x")
    work.add_argument("--normalize", choices=["sum", "peak"], help="convolve: divide the kernel by it")
    first, *others = (method for method in get_args(Method) if method not in NOT_IN_BLOCKS)
    work.add_argument("--method", help=f"deconvolve: {first} (default), {', '.join(others)}")
    work.add_argument("--iterations", type=int, help="deconvolve")
    work.add_argument("--acceleration", choices=["none", "biggs-andrews"], help="deconvolve; default none")
    work.add_argument("--background", type=_number_or_auto, help="deconvolve: a number, or auto: found once")
    work.add_argument("--stop", type=_number_or_auto, help="deconvolve: finds the number of iterations, once")
    work.add_argument("--edges", help="deconvolve: extend (default), zero, nearest, reflect, mirror, wrap")
    work.add_argument("--halo", type=_extents, metavar="Z,Y,X", help="deconvolve: samples around a block; default the "
                                                                    "PSF's extents")
    work.add_argument("--nan", choices=["error", "zero", "propagate"],
                      help="NaN and infinities of the image: error (default), zero; convolve: also propagate")
    work.add_argument("--output-type", dest="dtype", help="pixel type of the result; default float32")
    image = parser.add_argument_group("images")
    image.add_argument("--axes", default="", help="meaning of the source's axes, such as TYX")
    image.add_argument("--image", metavar="N|NAME",
                       help="which image of a source with several: its number from 0 or its name (default: the first)")
    image.add_argument("--level", type=int, help="of the source's pyramid, from 0")
    image.add_argument("--missing", choices=["fill", "error"], default="fill",
                       help="chunks that the source has not stored: the fill value (default), or an error")
    image.add_argument("--threshold", type=float, help="skip blocks without a larger sample")
    image.add_argument("--mask", metavar="IMAGE", help="skip blocks where it is 0")
    image.add_argument("--zarr-format", type=int, choices=[2, 3], default=3)
    image.add_argument("--chunks", type=_extents, metavar="Z,Y,X")
    image.add_argument("--shards", type=_extents, metavar="Z,Y,X")
    image.add_argument("--compression", default="zstd", choices=["zstd", "none", "gzip", "blosc"])
    image.add_argument("--levels", type=int, help="of the target's pyramid")
    run = parser.add_argument_group("run")
    run.add_argument("--block", type=_block, default="auto", metavar="Z,Y,X|auto", help="whole shards")
    run.add_argument("--block-range", metavar="i/n", help="only the i-th of n shares, from 0")
    run.add_argument("--dask", metavar="ADDRESS|local:N", help="compute on a cluster of Dask")
    run.add_argument("--resume", action="store_true", help="go on with a target that was begun, or begin it")
    run.add_argument("--overwrite", action="store_true", help="replace an image that exists")
    run.add_argument("--status", action="store_true", help="only tell how far TARGET is")
    run.add_argument("--dry-run", action="store_true", help="only tell blocks, bytes and predicted time")
    run.add_argument("--device", default="auto", help="auto, cpu, gpu, gpu:0, gpu:0,1")
    run.add_argument("--threads", type=int, dest="workers", help="CPU threads of each process")
    run.add_argument("--fft", default="auto", choices=["auto", "own", "fftw"], help="transforms on the CPU")
    run.add_argument("--max-host-mem", help="of each process, such as 8GiB")
    run.add_argument("--max-gpu-mem")
    run.add_argument("--json", action="store_true", help="one JSON object to standard output")
    run.add_argument("-q", "--quiet", action="store_true", help="no line for each block")
    return parser


_OF_CONVOLVE = ("boundary", "cval", "origin", "normalize", "nan")
_OF_DECONVOLVE = ("method", "iterations", "acceleration", "background", "stop", "edges", "origin", "nan")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    own = _OF_CONVOLVE if arguments.op == "convolve" else _OF_DECONVOLVE
    for name in {*_OF_CONVOLVE, *_OF_DECONVOLVE}:
        if name not in own and getattr(arguments, name) is not None:
            raise InvalidArgument(f"--{name} is no option of {arguments.op}")
    options = {name: getattr(arguments, name) for name in own if getattr(arguments, name) is not None}
    origin = options.get("origin")
    if origin is not None and origin[:1].isdigit():
        options["origin"] = _extents(origin)
    given = {name: getattr(arguments, name) for name in DEFAULTS}
    return {**given, "kernel": _kernel_of(arguments.kernel), "op": arguments.op, "options": options}


def _kernel_of(named: list[str] | None) -> str | list[str] | dict[str, str] | None:
    """Returns the argument `kernel` of :func:`process` for the values of --kernel."""
    if not named:
        return None
    by_channel: dict[str, str] = {}
    for text in named:
        channel, equal, path = text.partition("=")
        if not equal or "/" in channel or os.path.exists(text):
            continue
        if channel in by_channel:
            raise InvalidArgument(f"--kernel names channel {channel} twice: name one kernel for each channel")
        by_channel[channel] = path
    if not by_channel:
        return named[0] if len(named) == 1 else named
    if len(by_channel) < len(named):
        raise InvalidArgument("--kernel names some kernels with their channel and others without: name the channel of "
                              "each, as in --kernel DAPI=a.tif")
    return by_channel


def _status(arguments: argparse.Namespace) -> None:
    status = process_status(arguments.target)
    if arguments.json:
        print(json.dumps(status, indent=1))
        return
    print(f"{status['done']} of {status['blocks']} blocks are done, {status['empty']} of them empty"
          + ("; finished" if status["finished"] else ""))
    for writer in status["writers"]:
        part = f", block range {writer['range']}" if writer["range"] else ""
        print(f"at work: process {writer['pid']} on {writer['host']}{part}: {writer['done']} of {writer['to_do']}")
    if status["seconds_left"] is not None:
        end = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + status["seconds_left"]))
        print(f"{status['blocks_per_second']:.2f} blocks a second, {status['seconds_left']:.0f} s left (until {end})")
    report = ProcessReport(status["blocks"], dtype=status["dtype"], clamped_low=status["clamped_low"],
                           clamped_high=status["clamped_high"], nonfinite_inputs=status["nonfinite_inputs"])
    for sentence in report.sentences("--output-type"):
        print(sentence)
    for line in status["failures"]:
        print(f"failed: {line}")


def _run(arguments: argparse.Namespace) -> None:
    if arguments.status:
        _status(arguments)
        return
    if arguments.source is None:
        raise InvalidArgument("SOURCE and TARGET are needed: convolume process SOURCE TARGET --op convolve …")
    if arguments.op is None:
        raise InvalidArgument("--op is needed: convolve or deconvolve")
    settings = _settings(arguments)
    if arguments.dry_run:
        plain = {name: settings[name] for name in DEFAULTS}
        plan = plan_process(arguments.source, arguments.target, arguments.op, **plain, **settings["options"])
        print(json.dumps(dataclasses.asdict(plan), indent=1) if arguments.json else str(plan))
        return
    report = run_process(
        arguments.source, arguments.target, settings, block_range=arguments.block_range, dask=arguments.dask,
        resume=arguments.resume, overwrite=arguments.overwrite, log=not arguments.quiet)
    for sentence in report.sentences("--output-type"):
        print_warning(sentence)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(report), indent=1))
    elif not arguments.quiet:
        print(f"{report.done} blocks computed ({report.empty} of them empty), {report.complete_before} complete "
              f"before, {report.seconds:.1f} s", file=sys.stderr)


def print_warning(sentence: str) -> None:
    """Prints a warning in the form of all commands."""
    print(f"convolume: warning: {sentence}", file=sys.stderr)


@contextmanager
def warnings_of_the_command() -> Generator[None]:
    """Prints each warning of this package as one line, as all commands do, within a context."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], filename: str, lineno: int,
                 file: TextIO | None = None, line: str | None = None) -> None:
            if issubclass(category, ConvolumeWarning):
                print_warning(str(message))
            else:
                others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("always", ConvolumeWarning)
        yield


@contextmanager
def signals_call(handler: Callable[[int, Any], object], numbers: Sequence[int]) -> Generator[None]:
    """Calls a handler for signals within a context of the main thread. Signals that are ignored, as in nohup and a
    shell's background jobs, stay so."""
    before: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                if signal.getsignal(number) != signal.SIG_IGN:
                    before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def ends_as_by_control_c() -> Generator[None]:
    """Makes the first SIGTERM or SIGHUP raise KeyboardInterrupt, as Ctrl-C does, within a context. Later ones do
    nothing, so that the first one can clean up."""
    received: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        if len(received) == 1:
            raise KeyboardInterrupt

    with signals_call(interrupt, (signal.SIGTERM, signal.SIGHUP)):
        yield


def report_error(error: BaseException, interrupted: str) -> int:
    """Prints an error as one sentence, or `interrupted` if it is an interruption; returns the exit code."""
    code = next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 70)
    text = " ".join(str(error).split())
    if code == 130:
        text = interrupted
    elif code == 70:
        text = f"internal error, please report it with the command you ran: {type(error).__name__}: {text}"
    print(f"convolume: error: {text}", file=sys.stderr)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code, which docs/commands/common.md explains."""
    parser = _parser()
    parsed, others = parser.parse_known_args(arguments)
    if others:
        parser.refuse(others)
    try:
        with ends_as_by_control_c(), warnings_of_the_command():
            _run(parsed)
    except (Exception, KeyboardInterrupt) as error:
        return report_error(error, "interrupted; blocks that are done stay, --resume goes on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
