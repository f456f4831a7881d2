# SPDX-License-Identifier: Apache-2.0
"""The command ``convolume-process``, which ``convolume process`` runs."""

import dataclasses
import functools
import json
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from . import _core
from ._errors import (
    Cancelled,
    ConvolumeWarning,
    InvalidArgument,
)
from ._process import RunKeywords, run_process, settings_of
from ._process_plan import plan_process
from ._process_report import ProcessReport, process_status
from ._view_files import take_views


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _or_auto(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: text if text == "auto" else read(text)


def _origin(text: str) -> str | tuple[int, ...]:
    return _extents(text) if text[:1].isdigit() else text


_VALUES: dict[str, tuple[Callable[[str], Any], str]] = {
    **dict.fromkeys(("halo", "chunks", "shards"), (_extents, "Z,Y,X")), "block": (_or_auto(_extents), "Z,Y,X or auto"),
    **dict.fromkeys(("iterations", "level", "levels", "zarr_format", "workers", "border"), (int, "a whole number")),
    **dict.fromkeys(("background", "stop"), (_or_auto(float), "a number or auto")),
    **dict.fromkeys(("cval", "threshold", "angle", "fill", "light"), (float, "a number")),
    "origin": (_origin, "Z,Y,X or a name"),
    "output_spacing": (functools.partial(_core.parse_lengths_um, "--output-voxel"), "Z,Y,X"),
    **dict.fromkeys(("resume", "overwrite", "json", "quiet", "status", "dry_run", "opposite", "rotate"),
                    (bool, "nothing"))}
"""Functions that read the values of options, and what these values are. All others are texts."""
_KEYWORDS = {"threads": "workers", "output_type": "dtype", "opposite_scan": "opposite",
             "output_voxel": "output_spacing"}
"""Keywords of :func:`process` for options with another name."""


_LISTS = ("view", "transform", "light", "view_mask")
"""Options that are given once for each of several views."""


def _kernel_of(texts: list[str]) -> str | list[str] | dict[str, str]:
    """Returns the argument `kernel` of :func:`process` for the values of --kernel."""
    named = _core.parse_channel_kernels("--kernel", texts)
    if any(channel for channel, _ in named):
        return dict(named)
    paths = [path for _, path in named]
    return paths[0] if len(paths) == 1 else paths


def _value(name: str, keyword: str, text: str) -> Any:
    """Returns the value of an option from its text."""
    read, what = _VALUES.get(keyword, (str, "a text"))
    try:
        return read(text)
    except InvalidArgument:
        raise
    except ValueError:
        raise InvalidArgument(f"--{name} is '{text}': give {what}") from None


def _given(words: Sequence[str]) -> dict[str, Any]:
    """Returns the options that are given, by the keywords of :func:`process`, and the arguments SOURCE and TARGET."""
    found: dict[str, Any] = {}
    parsed = _core.parse_process(list(words))
    fuses = parsed.get("op", [""])[-1] == "fuse"
    for name, texts in parsed.items():
        option = name.replace("-", "_")
        keyword = _KEYWORDS.get(option, option)
        is_list = keyword in _LISTS or keyword == "background" and fuses
        if len(texts) > 1 and keyword != "kernel" and not is_list:
            raise InvalidArgument(f"--{name} is given {len(texts)} times: give it once")
        if keyword == "kernel":
            found[keyword] = _kernel_of(texts)
            continue
        values = [_value(name, keyword, text) for text in texts]
        found[keyword] = values if is_list else values[-1]
    return found


def _status(target: str, as_json: bool) -> None:
    status = process_status(target)
    if as_json:
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


def _run(given: Mapping[str, Any]) -> None:
    given = dict(given)
    images = [given.pop(name) for name in ("SOURCE", "TARGET") if name in given]
    as_json, is_quiet, is_status, is_dry = (given.pop(name, False) for name in ("json", "quiet", "status", "dry_run"))
    if is_status and images:
        _status(images[-1], as_json)
        return
    if len(images) < 2:
        raise InvalidArgument("SOURCE and TARGET are needed: convolume process SOURCE TARGET --op convolve …")
    if "op" not in given:
        raise InvalidArgument("--op is needed: convolve, deconvolve, deskew or fuse")
    (source, target), op = images, given.pop("op")
    if op == "fuse":
        source = take_views(source, target, given)
    run = {name: given.pop(name) for name in RunKeywords.__annotations__ if name in given}
    if is_dry:
        plan = plan_process(source, target, op, **given)
        print(json.dumps(dataclasses.asdict(plan), indent=1) if as_json else str(plan))
        return
    report = run_process(source, target, settings_of(op, given), **run, log=not is_quiet)
    for sentence in report.sentences("--output-type"):
        print_warning(sentence)
    if as_json:
        print(json.dumps(dataclasses.asdict(report), indent=1))
    elif not is_quiet:
        print(f"{report.done} blocks computed ({report.empty} of them empty), {report.complete_before} complete "
              f"before, {report.seconds:.1f} s", file=sys.stderr)


def print_warning(sentence: str) -> None:
    """Prints a warning in the form of all commands."""
    print(f"convolume: warning: {sentence}", file=sys.stderr)


@contextmanager
def flags_in_messages() -> Generator[None]:
    """Names options in messages as the command does, within a context."""
    _core.name_options_as_command(True)
    try:
        yield
    finally:
        _core.name_options_as_command(False)


@contextmanager
def warnings_of_the_command() -> Generator[None]:
    """Prints each warning of this package as one line, as all commands do, within a context. Messages name options as
    the command does."""
    with flags_in_messages(), warnings.catch_warnings():
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
    kind = next(kind for kind in type(error).__mro__ if kind.__name__ in _core.exit_codes)
    code = int(_core.exit_codes[kind.__name__])
    text = " ".join(str(error).split())
    if kind in (Cancelled, KeyboardInterrupt):
        text = interrupted
    elif kind is Exception:
        text = f"{_core.internal_error}{type(error).__name__}: {text}"
    print(f"convolume: error: {text}", file=sys.stderr)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code, which docs/commands/common.md explains."""
    try:
        with ends_as_by_control_c(), warnings_of_the_command():
            _run(_given(sys.argv[1:] if arguments is None else arguments))
    except (Exception, KeyboardInterrupt) as error:
        return report_error(error, "interrupted; blocks that are done stay, --resume goes on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
