# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings of convolume, one sentence each. Every error is also a usual error of Python."""

import errno
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from . import _core


class Error(Exception):
    """Base of all errors of convolume."""


class InvalidArgument(Error, ValueError):
    """An argument that contradicts itself or the data."""


class WrongType(InvalidArgument, TypeError):
    """An argument of a type that is not taken."""


class BadData(Error, ValueError):
    """Content that cannot be used: a damaged file, a kernel of zeros, NaN where it is refused."""


class OutOfMemory(Error, MemoryError):
    """No plan fits the memory limits, or the system refused memory."""


class Unavailable(Error, RuntimeError):
    """A requested device, format or package that this machine or this build lacks."""


class MissingPackage(Unavailable, ModuleNotFoundError):
    """A package of Python that is not installed. `name` is its module."""

    def __init__(self, sentence: str = "", name: str | None = None) -> None:
        super().__init__(sentence)
        self.name = name


class DeviceFailure(Unavailable):
    """A GPU failed while it worked."""


class Cancelled(Error, RuntimeError):
    """The work was stopped."""


def messages_name_flags() -> bool:
    """Tells whether messages name options as the command does."""
    return str(_core.option_name("nan")).startswith("--")


def option(name: str, value: str | None = None) -> str:
    """Returns an option, with its value, as messages name it: ``resume=True``, or ``--resume`` in the command."""
    text = str(_core.option_name(name))
    is_flag = text.startswith("--")
    if value is None or is_flag and value == "True":
        return text
    return f"{text} {value}" if is_flag else f"{text}={value if value in ('True', '…') else repr(value)}"


def optional_module(name: str, sentence: str) -> Any:
    """Imports a module of a package that may be missing; `sentence` then is the error."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingPackage(sentence, name) from None


_SYSTEM_CODES = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENOSPC,
                 errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENFILE,
                 errno.ENOTEMPTY, errno.EBUSY, errno.ESTALE, errno.ETIMEDOUT, errno.ECONNREFUSED, errno.EIO)


def system_code(sentence: str) -> int | None:
    """Returns the `errno` whose description by the system is part of a sentence, or None."""
    return next((code for code in _SYSTEM_CODES if os.strerror(code) in sentence), None)


class _FileError(Error, OSError):
    """An OSError whose text and `strerror` are its sentence. `errno` and `filename` are those of every OSError."""

    _usual_code = errno.EIO
    """The `errno` of a sentence that quotes no reason of the system."""

    def __init__(self, sentence: str = "", filename: str | None = None, code: int | None = None) -> None:
        if code is None:
            code = system_code(sentence)
        super().__init__(self._usual_code if code is None else code, sentence)
        self.filename = filename

    def __str__(self) -> str:
        return str(self.strerror)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.strerror, self.filename, self.errno)


class InputNotFound(_FileError, FileNotFoundError):
    """A file that does not exist or cannot be opened. `errno` has the reason: ENOENT, EACCES, …"""

    _usual_code = errno.ENOENT


class OutputExists(_FileError, FileExistsError):
    """A file that exists already and may not be replaced. `errno` is EEXIST."""

    _usual_code = errno.EEXIST


class CannotCreate(_FileError):
    """A file that cannot be created. `errno` has the reason: ENOENT (no such folder), EACCES, …"""

    _usual_code = errno.EACCES


class FileFailure(_FileError):
    """A read or write that failed midway: a full disk (`errno` is ENOSPC), a lost file system (EIO), …"""


@contextmanager
def errors_name(filename: str) -> Generator[None]:
    """Gives file errors without a `filename` the caller's name of the file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = filename
        raise


class ConvolumeWarning(UserWarning):
    """A fact about a result that is no error: values that were clamped to an integer type, a doubtful image or PSF
    (saturated or negative pixels, a PSF off its center), or a note of a file's reader on what it assumed or left out.

    Examples
    --------
    >>> import warnings, numpy as np, convolume
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", convolume.ConvolumeWarning)  # makes them errors
    ...     try:
    ...         result = convolume.convolve(np.array([100.0]), [3.0], dtype=np.uint8, device="cpu")
    ...     except convolume.ConvolumeWarning as warning:
    ...         print(warning)
    0 values below and 1 above the range of uint8 were clamped; choose a wider dtype to keep them
    """


_silence = threading.local()


@contextmanager
def without_warnings() -> Generator[None]:
    """Keeps :func:`warn` silent in this thread."""
    before, _silence.is_on = getattr(_silence, "is_on", False), True
    try:
        yield
    finally:
        _silence.is_on = before


def warn(sentence: str) -> None:
    """Issues a ConvolumeWarning with the line of the caller that called this package."""
    if getattr(_silence, "is_on", False):
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, ConvolumeWarning, stacklevel=level)


def warn_of_changed(dtype: Any, low: int, high: int, nonfinite: int = 0, of: str = "image") -> None:
    """Issues a warning if results of type `dtype` were clamped, and one if NaN and infinities were read as 0."""
    if low or high or nonfinite:
        for sentence in _core.changed_samples_warnings(str(dtype), low, high, nonfinite, of):
            warn(sentence)
