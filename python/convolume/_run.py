# SPDX-License-Identifier: Apache-2.0
"""Keywords that every computing function takes: devices, threads, memory limits, progress. And the GPUs and the memory
of this machine."""

import functools
import logging
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np

from . import _core
from ._argument_types import shown
from ._errors import InvalidArgument, Unavailable, WrongType, optional_module

Progress = Callable[[float], object] | bool | None
Device = str | int | Sequence[int]
Fft = Literal["auto", "own", "fftw"]


class Devices(TypedDict, total=False):
    """Keywords for the devices and threads that compute."""

    device: Device
    workers: int | None
    max_gpu_mem: int | str | None
    fft: Fft


class Resources(Devices, total=False):
    """Keywords for devices, threads and memory limits."""

    max_host_mem: int | str | None


class Run(Resources, total=False):
    """Keywords of all functions that compute.

    Attributes
    ----------
    device : str, int or sequence of ints
        "auto" (the default) takes the devices that are predicted to be fastest, "cpu" the CPU, "gpu" all GPUs. Further
        the number of a GPU, or several numbers; "gpu:1", "gpu:0,1" and "gpu:0+1" work as well.
    workers : int, optional
        Number of CPU threads. None takes all processors that this process may run on.
    max_host_mem, max_gpu_mem : int or str, optional
        Limits of all host memory, and of each GPU's memory, in bytes or as text such as "8GiB".
    fft : {"auto", "own", "fftw"}
        Library of Fourier transforms on the CPU: convolume's own, FFTW (not in wheels), or for each transform the
        faster one.
    progress : callable or bool, optional
        A function that is called with the fraction done, or True for a bar drawn by tqdm.
    """

    progress: Progress


log = logging.getLogger("convolume")
"""Gets plans, devices and resampled PSFs at level INFO, fall-backs and shallow PSFs at WARNING."""
log.addHandler(logging.NullHandler())

_MOST_THREADS = 2**16

_gpu_process: int | None = None  # id of the process that has used a GPU


def engines(options: Mapping[str, Any]) -> _core.Engines:
    """Returns the devices, threads, memory limit of GPUs and transforms in `options`. Other options are ignored."""
    kind, gpus = parse_device(options.get("device", "auto"))
    check_fork(kind)
    return _core.Engines(device=kind, gpus=gpus, workers=thread_count(options.get("workers")),
                         max_gpu_mem=byte_size(options.get("max_gpu_mem")), fft=options.get("fft", "auto"))


def log_plan(plan: Callable[[], object], options: Mapping[str, Any]) -> None:
    """Logs a plan, and why GPUs take no part in it if the caller left the choice."""
    if options.get("device", "auto") == "auto":
        log_absent_gpu()
    if log.isEnabledFor(logging.INFO):
        log.info("%s", str(plan()).rstrip())


def log_absent_gpu() -> None:
    """Logs why GPUs take no part in work whose device the caller left open."""
    if log.isEnabledFor(logging.WARNING):
        why_not = _core.gpu_unavailable()
        if why_not:
            log.log(logging.WARNING if _has_gpu_driver() else logging.INFO, "computing on the CPU, since %s", why_not)


@functools.cache
def _has_gpu_driver() -> bool:
    return os.path.exists("/proc/driver/nvidia/version")


def parse_device(device: Device) -> tuple[str, list[int]]:
    """Returns "auto", "cpu" or "gpu", and the numbers of GPUs if some are named."""
    if isinstance(device, str):
        kind, numbers = _core.parse_devices(device)
        return kind, numbers
    try:
        if isinstance(device, bool | np.bool_):
            raise TypeError
        numbers = [operator.index(number) for number in np.atleast_1d(np.asarray(device, "O"))]
        if not numbers:
            raise TypeError
    except (TypeError, ValueError, MemoryError):
        raise WrongType(f"device is {shown(device)}: choose 'auto', 'cpu', 'gpu', a number, or several") from None
    return "gpu", numbers


def check_fork(kind: str) -> None:
    """Refuses GPUs in a process that was forked after CUDA was used, as calls of CUDA would fail with unclear
    errors."""
    global _gpu_process
    if kind == "cpu":
        return
    process = os.getpid()
    if _gpu_process is not None and _gpu_process != process:
        if kind == "auto":
            raise Unavailable("this process was forked from one that had looked for GPUs, and CUDA does not work in "
                              "it: pass device='cpu', or start processes by multiprocessing.get_context('spawn')")
        raise Unavailable("this process was forked from one that had used a GPU, and CUDA does not work in it: start "
                          "processes by multiprocessing.get_context('spawn')")
    if kind == "gpu" or not _core.gpu_unavailable():
        _gpu_process = process


def thread_count(workers: int | None) -> int:
    if workers is None:
        return 0
    if not isinstance(workers, (int, np.integer)):
        raise InvalidArgument(f"workers is {workers!r}: give a whole number, or None for all processors")
    workers = int(workers)
    if workers < 0:  # -1 is all processors, -2 all but one, as in scipy.fft
        workers += len(os.sched_getaffinity(0)) + 1
    if workers < 1:
        raise InvalidArgument("workers is 1 at least, or None for all processors")
    if workers > _MOST_THREADS:
        raise InvalidArgument(f"workers is {workers}: give at most {_MOST_THREADS}, or None for all processors")
    return workers


def byte_size(size: int | str | None) -> int | None:
    if isinstance(size, str):
        return _core.parse_byte_size(size)
    return int(size) if isinstance(size, float) and size.is_integer() else size


class progress_bar:
    """Context that turns the argument `progress` into a function for the library's progress reports, or None."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.bar: Any = None

    def __enter__(self) -> Callable[[float], object] | None:
        if self.progress is None or (isinstance(self.progress, bool | np.bool_) and not self.progress):
            return None
        if not isinstance(self.progress, bool | np.bool_):
            return self.progress
        tqdm = optional_module("tqdm.auto", "progress=True draws a bar by tqdm, which is missing: pip install tqdm")
        self.bar = tqdm.tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}<{remaining}")
        return self._show

    def _show(self, fraction: float) -> None:
        self.bar.update(100 * fraction - self.bar.n)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


@dataclass(frozen=True)
class GpuDevice:
    """A GPU of this machine."""

    number: int
    """Number of the GPU, for the argument `device`."""
    name: str
    usable: bool
    """Whether convolume can use the GPU: its compute capability is at least 7.5, and the build has code for it."""
    memory_bytes: int
    free_bytes: int
    """Bytes that were free when :func:`gpu_devices` was called."""


def gpu_devices() -> list[GpuDevice]:
    """Returns the GPUs of this machine. The list is empty without GPUs, and if the package was built without CUDA.

    Examples
    --------
    >>> import convolume
    >>> best = max(convolume.gpu_devices(), key=lambda gpu: gpu.memory_bytes, default=None)
    """
    return [GpuDevice(gpu.number, gpu.name, gpu.usable, gpu.memory_bytes, gpu.free_bytes)
            for gpu in _core.gpu_devices()]
