# SPDX-License-Identifier: Apache-2.0
"""The errors that convolume raises: each is one of Python's own as well, and one sentence."""


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


class InputNotFound(Error, FileNotFoundError):
    """A file that does not exist or cannot be opened."""


class OutputExists(Error, FileExistsError):
    """A file that exists already and may not be replaced."""


class CannotCreate(Error, OSError):
    """A file that cannot be created."""


class FileFailure(Error, OSError):
    """Reading or writing failed half-way: a full disk, a lost file system."""
