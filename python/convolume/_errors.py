# SPDX-License-Identifier: Apache-2.0
"""The errors that convolume raises, each one of Python's own as well, and its warnings: one sentence each."""

import errno
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Error(Exception):
    """Base of all errors of convolume."""


class InvalidArgument(Error, ValueError):
    """An argument that contradicts itself or the data."""


class BadData(Error, ValueError):
    """Content that cannot be used: a damaged file, a kernel of zeros, NaN where it is refused."""


class OutOfMemory(Error, MemoryError):
    """No plan fits the memory limits, or the system refused memory."""


class Unavailable(Error, RuntimeError):
    """The device, format or package that was asked for is not here."""


class DeviceFailure(Unavailable):
    """A GPU failed while it worked."""


class Cancelled(Error, RuntimeError):
    """The work was stopped."""


_SYSTEM_CODES = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENOSPC,
                 errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENFILE,
                 errno.ENOTEMPTY, errno.EBUSY, errno.ESTALE, errno.ETIMEDOUT, errno.ECONNREFUSED, errno.EIO)


def system_code(sentence: str) -> int | None:
    """Returns the system's number of the reason that a sentence quotes in the system's words."""
    return next((code for code in _SYSTEM_CODES if os.strerror(code) in sentence), None)


class _FileError(Error, OSError):
    """An OSError whose text is its sentence. `strerror` is the sentence as well; `errno` and `filename` are as of other
    OSErrors."""

    _usual_code = errno.EIO
    """The system's number where the sentence quotes no other reason."""

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
    """A file that does not exist or cannot be opened. `errno` says which: ENOENT, EACCES, …"""

    _usual_code = errno.ENOENT


class OutputExists(_FileError, FileExistsError):
    """A file that exists already and may not be replaced. `errno` is EEXIST."""

    _usual_code = errno.EEXIST


class CannotCreate(_FileError):
    """A file that cannot be created. `errno` says why: ENOENT (no such folder), EACCES, …"""

    _usual_code = errno.EACCES


class FileFailure(_FileError):
    """Reading or writing failed half-way: a full disk (`errno` is ENOSPC), a lost file system (EIO), …"""


@contextmanager
def errors_name(filename: str) -> Generator[None]:
    """Gives file errors that name no file the name by which the caller knows it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = filename
        raise


class ConvolumeWarning(UserWarning):
    """What the caller should know of a result that is not an error: values that were clamped to an integer type, and
    what reading a file assumed or left out.

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


def warn(sentence: str) -> None:
    """Issues a ConvolumeWarning that points at the line that called this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, ConvolumeWarning, stacklevel=level)


def clamped_sentence(low: int, high: int, dtype: Any, wider: str = "dtype") -> str:
    """Tells how many values an integer type could not hold. `wider` names the option that chooses the type."""
    return f"{low} values below and {high} above the range of {dtype} were clamped; choose a wider {wider} to keep them"


def warn_of_clamped(low: int, high: int, dtype: Any) -> None:
    """Issues a warning if values were clamped."""
    if low or high:
        warn(clamped_sentence(low, high, dtype))
