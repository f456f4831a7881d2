# SPDX-License-Identifier: Apache-2.0
"""The errors that convolume raises: each is one of Python's own as well, and one sentence."""

import errno
import os
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
