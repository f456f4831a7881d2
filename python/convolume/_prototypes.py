# SPDX-License-Identifier: Apache-2.0
"""Prototypes of polyphase filter banks."""

from typing import Any

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import readable
from ._errors import InvalidArgument


def taps_of(taps: Any, what: str) -> list[float]:
    """Returns an array of taps as numbers; none of them for None. `what` names the array in errors."""
    if taps is None:
        return []
    row = readable(taps, what)
    if row.ndim != 1 or row.size == 0 or row.dtype.kind == "c":
        raise InvalidArgument(f"{what} is one array of real taps, not an array of shape {row.shape} and type "
                              f"{row.dtype}")
    numbers: list[float] = row.astype(np.float64).tolist()
    return numbers


@names_wrong_types
def prototype_filter(channels: int, taps_per_channel: int, window: str = "hamming") -> np.ndarray:
    """Returns the taps of a lowpass for `channels` channels: a sinc times a window, divided by its sum.

    Its response falls to one half at the edges of a channel. The taps are those of
    ``scipy.signal.firwin(channels * taps_per_channel, 1 / channels, window=…)``.

    Parameters
    ----------
    channels, taps_per_channel : int
    window : {"hamming", "hann", "kaiser:BETA", "rectangular"}
    """
    return np.asarray(_core.prototype_filter(channels, taps_per_channel, window))


@names_wrong_types
def dual_prototype(prototype: Any, channels: int, step: int | None = None) -> tuple[np.ndarray, float]:
    """Returns the taps with which :class:`Synthesizer` reconstructs a signal best, and the error of a reconstruction.

    Parameters
    ----------
    prototype : array of taps
        The prototype of the :class:`Channelizer`.
    channels : int
    step : int, optional
        Samples from frame to frame. None stands for `channels`.

    Returns
    -------
    taps : array
    error : float
        RMS error of the reconstruction of white noise, relative to the noise.
    """
    taps, error = _core.dual_prototype(taps_of(prototype, "the prototype"), channels, step or channels)
    return np.asarray(taps), error
