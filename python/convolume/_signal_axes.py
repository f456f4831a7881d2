# SPDX-License-Identifier: Apache-2.0
"""Times and frequencies of results of functions on signals, in the form of the caller's signals."""

from typing import Any, NamedTuple

import numpy as np

from . import _xarray
from ._arrays import give_back
from ._signals import Signal


class ResultAxes(NamedTuple):
    """Axes of a result beside those of the signals: result n is at sample ``first + n * step``."""

    axis: int
    """Axis of the signals' samples."""
    first: float = 0.0
    step: float = 1.0
    new: str = ""
    """Name of an axis that the result has before its samples, such as "filter"."""
    frequencies: np.ndarray | None = None
    """Center frequencies along the new axis, in cycles per sample."""
    joins: bool = False
    """Whether the result lacks the axis before the samples: channels that were put together."""
    is_timed: bool = True
    """Whether the samples have times: not if they are numbers of pairs."""


def give_back_signals(result: Any, like: Any, axes: ResultAxes) -> Any:
    """Returns a result in the form of the signals that it was computed of, with its times and frequencies."""
    if isinstance(like, Signal):
        return _signal_of(result, like, axes)
    if _xarray.is_data_array(like):
        return _data_array_of(result, like, axes)
    return give_back(result, like)


def _signal_of(result: np.ndarray, like: Signal, axes: ResultAxes) -> Any:
    if axes.axis != like.ndim - 1 or not axes.is_timed:
        return result
    rate = like.sampling_rate
    frequencies: Any = like.center_frequencies
    if axes.new or axes.joins:
        frequencies = None
    if rate is None:
        return Signal.of_array(result)
    if axes.frequencies is not None:
        frequencies = axes.frequencies * rate
    return Signal.of_array(result, sampling_rate=rate / axes.step, start=like.start + axes.first / rate,
                           center_frequencies=frequencies)


def _data_array_of(result: np.ndarray, like: Any, axes: ResultAxes) -> Any:
    names = list(like.dims)
    samples = names[axes.axis]
    lost = {samples}
    if axes.joins:
        lost.add(names.pop(axes.axis - 1))
    elif axes.new:
        numbered = (f"{axes.new}_{number}" for number in range(2, 99))
        names.insert(axes.axis, next(one for one in (axes.new, *numbered) if one not in names))
    extents = dict(zip(names, result.shape))
    coordinates = {name: one for name, one in like.coords.items() if not lost & set(one.dims)}
    keeps_samples = axes.first == 0 and axes.step == 1 and extents[samples] == like.sizes[samples]
    if keeps_samples:
        coordinates |= {name: one for name, one in like.coords.items()
                        if samples in one.dims and set(one.dims) <= set(names)}
    times = _xarray.EvenCoordinate.of(like, samples) if axes.is_timed else None
    if times is not None and not keeps_samples:
        coordinates[samples] = times.at(axes.first + axes.step * np.arange(extents[samples]), samples)
    if axes.frequencies is not None and axes.is_timed:
        factor, unit = (1.0, "cycles/sample") if times is None else times.frequency_unit()
        name = names[axes.axis]
        coordinates[name] = name, axes.frequencies * factor, {"units": unit} if unit else {}
    return type(like)(result, dims=names, coords=coordinates, attrs=like.attrs, name=like.name)
