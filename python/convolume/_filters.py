# SPDX-License-Identifier: Apache-2.0
"""Banks of filters over long 1D signals."""

from typing import Any, Literal

import numpy as np

from . import _core
from ._arrays import give_back, is_double, readable
from ._convolve import Mode, Nan, Precision
from ._errors import InvalidArgument
from ._run import Device, Progress, engines, progress_bar

FilterMethod = Literal["auto", "direct", "overlap-save", "overlap-add", "partitioned"]


def _bank(filters: Any) -> list[np.ndarray]:
    """One row each."""
    if isinstance(filters, (list, tuple)) and filters and not np.isscalar(filters[0]):
        rows = [readable(one, "a filter") for one in filters]
    else:
        whole = readable(filters, "the filters")
        rows = [whole] if whole.ndim == 1 else list(whole) if whole.ndim == 2 else []
    if not rows or any(row.ndim != 1 or row.size == 0 for row in rows):
        raise InvalidArgument("filters are one array of taps, an array of filters × taps, or a list of arrays")
    return rows


def filter_bank(signals: Any, filters: Any, *, axis: int = -1, mode: Mode = "same",
                span: tuple[int, int] | None = None, origin: Literal["center", "causal", "anticausal"] | int = "center",
                post: Literal["power", "derivative"] | None = None,
                window: tuple[Literal["decimate", "peak"], int] | None = None, positions: bool = False,
                method: FilterMethod = "auto", nan: Nan = "error", precision: Precision | None = None,
                device: Device = "auto", workers: int | None = None, max_gpu_mem: int | str | None = None,
                progress: Progress = None) -> Any:
    """Filters signals of any length with every filter of a bank.

    Parameters
    ----------
    signals : array
        Samples lie along `axis`; all other axes are a batch.
    filters : array of taps, array of filters × taps, or a list of arrays of any lengths
    axis : int
    mode : {"same", "full", "valid"}
        With N samples and M taps N, N + M - 1 or N - M + 1 results.
    span : (begin, end), optional
        Samples of the full result, instead of a mode.
    origin : {"center", "causal", "anticausal"} or int
        The tap that meets sample i in result i of mode "same". "causal" is tap 0.
    post : {None, "power", "derivative"}
        What takes the place of each result y: its power abs(y)**2, or (y[n+1] - y[n-1]) / 2.
    window : ("decimate", n) or ("peak", n), optional
        Of each n results only the first, or only the largest.
    positions : bool
        With peaks: also return where they are.
    method, nan, precision, device, workers, max_gpu_mem, progress
        As of :class:`convolume.Run` and :func:`convolume.convolve`.

    Returns
    -------
    results : array
        Where `filters` is one array of taps, of the signals' shape with results along `axis`; else with an axis of
        filters before `axis`.
    positions : int64 array of the same shape, where asked for
        Indices in the signal: result i of mode "same" is at i.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.filter_bank([1., 2., 3., 4.], [1., 1.], origin="causal", device="cpu")
    array([1., 3., 5., 7.])
    """
    samples = readable(signals, "the signals")
    rows = _bank(filters)
    single = isinstance(filters, np.ndarray) and filters.ndim == 1 or np.isscalar(filters[0])
    if samples.ndim == 0:
        raise InvalidArgument("a single number is no signal")
    moved = np.moveaxis(samples, axis, -1)
    batch = moved.shape[:-1]
    flat = moved.reshape(-1, moved.shape[-1])
    if precision is None:
        precision = "float64" if is_double(samples.dtype, *(row.dtype for row in rows)) else "float32"
    if positions and (window is None or window[0] != "peak"):
        raise InvalidArgument("positions are those of peaks: pass window=('peak', n)")
    options = _core.FilterOptions(
        mode=mode, span=None if span is None else (int(span[0]), int(span[1])), origin=str(origin), precision=precision,
        nan=nan, post=post or "none", window="none" if window is None else f"{window[0]}:{window[1]}", method=method)
    bank = _core.FilterBank(flat.shape[0], flat.shape[1], rows, options, engines(device, workers, max_gpu_mem),
                            samples.dtype.name)
    shape = (flat.shape[0], len(rows), bank.result_samples)
    results = np.empty(shape, bank.result_type)
    where = np.empty(shape, np.int64) if positions else None
    with progress_bar(progress) as report:
        bank.execute(flat, results, where, report)

    def shaped(array: np.ndarray) -> np.ndarray:
        whole = array.reshape(*batch, *array.shape[1:])
        last = whole[..., 0, :] if single else whole
        place = axis if axis >= 0 else axis + samples.ndim
        if single:
            return np.moveaxis(last, -1, place)
        return np.moveaxis(last, (-2, -1), (place, place + 1))

    shaped_results = shaped(results)
    if samples is not signals:
        shaped_results = give_back(shaped_results, signals)
    if where is None:
        return shaped_results
    where -= bank.origin  # indices in the full result: sample i of the signal is at i + origin
    return shaped_results, shaped(where)
