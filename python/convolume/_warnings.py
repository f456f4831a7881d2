# SPDX-License-Identifier: Apache-2.0
"""The warnings of convolume, one sentence each."""

import sys
import warnings
from typing import Any


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
