# SPDX-License-Identifier: Apache-2.0
"""Banks of filters over long 1D signals."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import is_double, readable, type_of, writable
from ._device import DeviceArray, address_of, is_on_gpu, on_stream, stream_address, to_host
from ._errors import InvalidArgument, warn_of_changed
from ._filter_map import map_of_bank
from ._filter_storage import SampleStorage, is_short_float, signals_of, words_of
from ._linear_map import LinearMap, linear_operator
from ._options import Mode, Nan, Precision, axis_among, defaults_of, extents_of, with_keywords
from ._run import Devices, Progress, engines, progress_bar
from ._signal_axes import ResultAxes, give_back_signals

FilterMethod = Literal["auto", "direct", "overlap-save", "overlap-add", "partitioned"]
FilterOrigin = Literal["center", "causal", "anticausal"] | int
Post = Literal["power", "derivative"] | None
Window = tuple[Literal["decimate", "peak"], int] | None


class _CommonKeywords(Devices, total=False):
    """Keywords of both :class:`FilterBank` and :func:`filter_bank`."""

    axis: int
    mode: Mode
    span: tuple[int, int] | None
    origin: FilterOrigin
    post: Post
    window: Window
    positions: bool
    method: FilterMethod
    nan: Nan
    precision: Precision | None
    output_dtype: Any
    scale: float | None
    output_scale: float


class BankKeywords(_CommonKeywords, total=False):
    """Keywords of :class:`FilterBank`."""

    dtype: Any


class FilterKeywords(_CommonKeywords, total=False):
    """Keywords of :func:`filter_bank`."""

    out: Any
    stream: Any
    progress: Progress


def _defaults(keywords: Any) -> dict[str, Any]:
    return defaults_of(keywords, "FilterOptions", axis=-1, dtype=np.float32, post=None, window=None, positions=False,
                       precision=None, output_dtype=None, scale=None, output_scale=1.0)


@dataclass(frozen=True)
class FilterPlan:
    """The plan of a filter bank. ``print(plan)`` shows it in words.

    Attributes
    ----------
    method : str
        "direct", "overlap-save", "overlap-add" or "partitioned".
    segment : int
        Number of samples of one transform; 0 for method "direct".
    engine : str
        Name of the engine that computes, such as "cpu:0" or "gpu:1".
    seconds : float
        Predicted seconds for one call.
    """

    method: str
    segment: int
    engine: str
    seconds: float
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text


def _bank(filters: Any) -> list[np.ndarray]:
    """Returns the taps of each filter, as 1D arrays."""
    if isinstance(filters, (list, tuple)) and filters and not np.isscalar(filters[0]):
        rows = [_taps(one, "a filter") for one in filters]
    else:
        whole = _taps(filters, "the filters")
        rows = [whole] if whole.ndim == 1 else list(whole) if whole.ndim == 2 else []
    if not rows or any(row.ndim != 1 or row.size == 0 for row in rows):
        raise InvalidArgument("filters are one array of taps, an array of filters × taps, or a list of arrays")
    return rows


def _taps(array: Any, what: str) -> np.ndarray:
    return to_host(array, what) if is_on_gpu(array) else readable(array, what)


class _Problem:
    """A filter problem before it is planned: shape and type of the signals, filters and options."""

    rows_name = "filter"
    """Name of the axis of filters in results of xarray."""

    def __init__(self, shape: Sequence[int], filters: Any, dtype: Any, arguments: dict[str, Any]) -> None:
        self.shape = extents_of(shape)
        if not self.shape:
            raise InvalidArgument("a single number is no signal")
        self.axis = axis_among(int(arguments.get("axis", -1)), len(self.shape))
        if arguments.get("span") is not None and "mode" in arguments:
            raise InvalidArgument("mode and span both say which results are computed; leave one of them out")
        self.rows = _bank(filters)
        self.single = bool(getattr(filters, "ndim", 0) == 1
                           or isinstance(filters, (list, tuple)) and np.isscalar(filters[0]))
        self.given_arguments = {**arguments, "dtype": getattr(dtype, "name", dtype)}
        kind = type_of(dtype)
        complex_data = any(one.kind == "c" for one in (kind, *(row.dtype for row in self.rows)))
        self.storage = SampleStorage(kind, complex_data, arguments)
        self.dtype = np.dtype(np.float32) if is_short_float(kind) else readable(np.empty(0, kind), "dtype").dtype
        if self.storage.options and arguments.get("precision") is None:
            arguments["precision"] = "float32"
        if arguments.get("precision") is None:
            double = is_double(self.dtype, *(row.dtype for row in self.rows))
            arguments["precision"] = "float64" if double else "float32"
        self.arguments = arguments
        self.positions = bool(arguments.get("positions", False))
        window = arguments.get("window")
        if self.positions and (window is None or window[0] != "peak"):
            raise InvalidArgument("positions are those of peaks: pass window=('peak', n)")
        self.options = _core.FilterOptions(**{
            name: value for name, value in arguments.items()
            if name not in Devices.__annotations__ and name not in ("axis", "positions")}, **self.storage.options)
        batch = self.shape[:self.axis] + self.shape[self.axis + 1:]
        self.signals = int(np.prod(batch, dtype=np.int64))
        self.batch = batch

    def result_shape(self, samples: int) -> tuple[int, ...]:
        filters = () if self.single else (len(self.rows),)
        return (*self.shape[:self.axis], *filters, samples, *self.shape[self.axis + 1:])

    def shaped(self, array: Any, module: Any = np) -> Any:
        """Returns results, whose samples lie along the last axis, with the axes of the caller's signals. `module` is
        the library of the array."""
        whole = array.reshape(self.straight_shape(array.shape[-1]))
        if self.single:
            return module.moveaxis(whole, -1, self.axis)
        return module.moveaxis(whole, (-2, -1), (self.axis, self.axis + 1))

    def straight_shape(self, samples: int) -> tuple[int, ...]:
        """Returns the shape of results with their samples along the last axis."""
        return (*self.batch, *(() if self.single else (len(self.rows),)), samples)

    def for_host_arrays(self) -> _core.FilterBank:
        return _core.FilterBank(self.signals, self.shape[self.axis], self.rows, self.options, engines(self.arguments),
                                self.dtype)

    def for_arrays_on(self, device: int, dtype: np.dtype[Any]) -> _core.DeviceFilterBank:
        if is_short_float(dtype):
            dtype = np.dtype(np.float32)
        return _core.DeviceFilterBank(self.signals, self.shape[self.axis], self.rows, self.options, device, dtype)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            raise InvalidArgument(f"signals of shape {shape} where this bank was planned for {self.shape}")


def _filter_on_host(bank: _core.FilterBank, problem: _Problem, signals: Any, samples: np.ndarray, out: Any,
                    progress: Progress) -> Any:
    problem.storage.check(samples.dtype)
    window = problem.arguments.get("window")
    axes = ResultAxes(problem.axis, bank.first_sample, 1 if window is None else window[1],
                      "" if problem.single else problem.rows_name)
    if problem.storage.signals is None and is_short_float(samples.dtype):
        samples = samples.astype(np.float32)
    flat = np.moveaxis(samples, problem.axis, -1).reshape(problem.signals, problem.shape[problem.axis])
    shape = (problem.signals, len(problem.rows), bank.result_samples)
    kind = problem.storage.result_type(bank.result_type)
    target = None if out is None else writable(out, problem.result_shape(bank.result_samples), kind)
    if target is not None and target.dtype != kind:
        raise InvalidArgument(f"out is of type {target.dtype} where the results are {kind}")
    straight = (target is not None and target.flags.c_contiguous and problem.axis == len(problem.shape) - 1
                and not np.may_share_memory(target, samples))
    results = target.reshape(shape) if target is not None and straight else np.empty(shape, kind)
    where = np.empty(shape, np.int64) if problem.positions else None
    with progress_bar(progress) as report:
        low, high, nonfinite = bank.execute(words_of(flat), words_of(results), where, report)
    warn_of_changed(kind, low, high, nonfinite, "signal")
    if target is None:
        given: Any = give_back_signals(problem.shaped(results), signals, axes)
    else:
        if not straight:
            target[...] = problem.shaped(results)
        given = target
    if where is None:
        return given
    where -= bank.origin  # from indices in the full result, in which sample i of the signal is at i + origin
    return given, give_back_signals(problem.shaped(where), signals, axes)


def _filter_on_gpu(bank: _core.DeviceFilterBank, problem: _Problem, signals: DeviceArray, out: Any,
                   stream: Any) -> Any:
    problem.storage.check(signals.dtype)
    kind, is_last = problem.storage.result_type(bank.result_type), problem.axis == len(problem.shape) - 1
    straight, module = problem.straight_shape(bank.result_samples), signals.module
    samples = signals.along_last(problem.axis)
    if problem.storage.signals is None:
        samples = samples.of_type(bank.sample_type)
    target = (None if out is None
              else DeviceArray.target(out, problem.result_shape(bank.result_samples), kind, signals.device))
    results = target if target is not None and is_last else signals.empty(straight, kind)
    where = signals.empty_of_any(straight, np.dtype(np.int64)) if problem.positions else None
    bank.execute(samples.address, results.address, 0 if where is None else address_of(where), signals.stream(stream))
    if target is not None and not is_last:
        target.array[...] = problem.shaped(results.array, module)
    given = signals.give_back(problem.shaped(results.array, module)) if out is None else out
    if where is None:
        return given
    where -= bank.origin
    return given, signals.give_back(problem.shaped(where, module))


class FilterBank:
    """Filters signals of one shape with a bank of filters. It is planned once and may be called often.

    Parameters
    ----------
    shape : sequence of ints
        Shape of the signals. All axes but `axis` are a batch.
    filters : array of taps, array of filters × taps, or a list of arrays of any lengths
        The filters, which are copied.
    axis : int
        Axis of the samples.
    dtype : type, optional
        Type of the signals that will come. It sets the precision, and whether they are complex. Signals must have it
        if it is float16 or bfloat16, or int16 with a `scale`.
    mode, span, origin, post, window, positions, method, output_dtype, scale, output_scale
        See :func:`filter_bank`.
    nan, precision
        See :class:`Convolver`.
    device, workers, max_gpu_mem, fft
        See :class:`convolume.Run`; for signals in host memory.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves or the shapes (a ValueError).
    BadData
        A filter with NaN (a ValueError).
    OutOfMemory
        No plan fits the memory limits (a MemoryError).
    Unavailable
        No device has the method, or a GPU is requested and there is none (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> bank = convolume.FilterBank((2, 100), np.ones((3, 5)), device="cpu")
    >>> bank(np.ones((2, 100))).shape, bank.result_shape
    ((2, 3, 100), (2, 3, 100))
    >>> bank.plan.engine
    'cpu:0'
    """

    @with_keywords(BankKeywords, _defaults(BankKeywords))
    def __init__(self, shape: Sequence[int], filters: Any, **options: Unpack[BankKeywords]) -> None:
        dtype = options.pop("dtype", np.float32)
        self._problem = _Problem(shape, filters, dtype, dict(options))
        self._core = self._problem.for_host_arrays()
        self._on_gpus: dict[tuple[int, bool], _core.DeviceFilterBank] = {}
        self.shape: tuple[int, ...] = self._problem.shape
        self.result_shape: tuple[int, ...] = self._problem.result_shape(self._core.result_samples)

    @property
    def plan(self) -> FilterPlan:
        """The plan for signals in host memory."""
        return FilterPlan(*self._core.plan)

    @property
    def dtype(self) -> np.dtype:
        """The type of results."""
        return self._problem.storage.result_type(self._core.result_type)

    @names_wrong_types
    def clamped(self, stream: Any = None) -> tuple[int, int]:
        """Returns how many int16 results for signals in a GPU's memory, of all calls, were below and above its range.

        It waits for the work on `stream`, None for CUDA's default stream. For signals in host memory, calls warn.
        """
        counts = [bank.clamped(0 if stream is None else stream_address(stream)) for bank in self._on_gpus.values()]
        return sum(low for low, _ in counts), sum(high for _, high in counts)

    @names_wrong_types
    def __call__(self, signals: Any, out: Any = None, *, stream: Any = None, progress: Progress = None) -> Any:
        """Filters signals of `shape`, with any type and strides.

        Parameters
        ----------
        signals : array
            Arrays of CuPy, PyTorch and JAX in a GPU's memory stay there, and so do the results. The first of them makes
            a plan for that GPU. They are not searched for NaN.
        out : array of `result_shape` and :attr:`FilterBank.dtype`, optional
            Receives the results, in the same memory as `signals`. In a GPU's memory it must be contiguous and must not
            overlap the signals.
        stream : stream of CuPy or PyTorch, or int, optional
            For signals in a GPU's memory: the CUDA stream on which the work is enqueued, or its address. None takes the
            library's current one. The call returns before the work is done.
        progress
            See :class:`convolume.Run`.

        Returns
        -------
        results, or (results, positions)
            See :func:`filter_bank`.
        """
        problem = self._problem
        if is_on_gpu(signals, stream):
            with on_stream(signals, stream):
                there = DeviceArray.of(signals, "the signals", np.dtype(np.float16))
                problem.check_shape(there.shape)
                key = there.device, there.dtype.kind == "c"
                if key not in self._on_gpus:
                    self._on_gpus[key] = problem.for_arrays_on(there.device, there.dtype)
                return _filter_on_gpu(self._on_gpus[key], problem, there, out, stream)
        samples = signals_of(signals)
        problem.check_shape(samples.shape)
        return _filter_on_host(self._core, problem, signals, samples, out, progress)

    def as_linear_operator(self) -> Any:
        """Returns the bank as a scipy.sparse.linalg.LinearOperator, for solvers of SciPy and PyLops.

        Its matrix A has the shape (samples of all results, samples of all signals). It is not stored: A x has the
        flattened results of the flattened signals x, and Aᴴ y is the exact adjoint. Results may be decimated.

        Raises
        ------
        InvalidArgument
            A bank with `post`, with peaks or with 16 bits, or one of complex filters and real signals (a ValueError).
        Unavailable
            SciPy is not installed (a RuntimeError).

        Examples
        --------
        >>> import numpy as np, convolume
        >>> bank = convolume.FilterBank((6,), [[1., 2.], [1., -1.]], origin="causal", device="cpu")
        >>> bank.as_linear_operator().matvec(np.array([1, 0, 0, 0, 0, 0])).reshape(2, 6)[:, :3]
        array([[ 1.,  2.,  0.],
               [ 1., -1.,  0.]])
        """
        return linear_operator(self._as_linear_map())

    def _as_linear_map(self) -> LinearMap:
        return map_of_bank(self, self._problem, self._core)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy makes a plan of its own
        problem = self._problem
        filters = problem.rows[0] if problem.single else problem.rows
        return functools.partial(FilterBank, problem.shape, filters, **problem.given_arguments), ()

    def __repr__(self) -> str:
        plan = self.plan
        return f"<FilterBank {self.shape} -> {self.result_shape}, {plan.method} on {plan.engine}>"


@with_keywords(FilterKeywords, _defaults(FilterKeywords))
def filter_bank(signals: Any, filters: Any, **options: Unpack[FilterKeywords]) -> Any:
    """Filters signals of any length with every filter of a bank.

    Parameters
    ----------
    signals : array
        Samples lie along `axis`; all other axes are a batch. Arrays of CuPy, PyTorch and JAX in a GPU's memory stay
        there.
    filters : array of taps, array of filters × taps, or a list of arrays of any lengths
    axis : int
        Axis of the samples.
    mode : {"same", "full", "valid"}
        Number of results. With N samples and M taps it is N, N + M - 1 or N - M + 1.
    span : (begin, end), optional
        Range of the full result that is computed, in place of a mode.
    origin : {"center", "causal", "anticausal"} or int
        The tap that meets sample i in result i of mode "same". "causal" is tap 0.
    post : {None, "power", "derivative"}
        Function of the results y: "power" is abs(y)**2, "derivative" is (y[n+1] - y[n-1]) / 2.
    window : ("decimate", n) or ("peak", n), optional
        Keep one of n consecutive results: the first, or the largest.
    positions : bool
        With peaks: also return their positions.
    output_dtype : type, optional
        float16, int16, or bfloat16 of the package ml_dtypes: store real results in 16 bits, which are less to move.
        Signals of these types are read as they are. Sums are computed in float32. int16 results are rounded and
        clamped, and a :class:`ConvolumeWarning` tells how many were clamped.
    scale, output_scale : float
        Value of one step of int16 signals and of int16 results.
    out : array, optional
        Receives the results, in their shape and type.
    stream : stream of CuPy or PyTorch, or int, optional
        For arrays in a GPU's memory: see :meth:`FilterBank.__call__`.
    method, nan, precision, device, workers, max_gpu_mem, fft, progress
        See :class:`convolume.Run` and :func:`convolume.convolve`.

    Returns
    -------
    results : array
        Results along `axis`, with the signals' other axes. If `filters` is not one array of taps, an axis of filters
        comes before `axis`.
    positions : int64 array of the same shape, if requested
        Indices in the signal: result i of mode "same" is at i.

    Raises
    ------
    InvalidArgument, BadData, OutOfMemory, Unavailable
        See :class:`FilterBank`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.filter_bank([1., 2., 3., 4.], [1., 1.], origin="causal", device="cpu")
    array([1., 3., 5., 7.])
    >>> halves = np.array([1, 2, 3, 4], np.float16)
    >>> convolume.filter_bank(halves, [1., 1.], origin="causal", output_dtype="float16", device="cpu")
    array([1., 3., 5., 7.], dtype=float16)
    """
    arguments: dict[str, Any] = {name: value for name, value in options.items()
                                 if name in _CommonKeywords.__annotations__}
    out, stream = options.get("out"), options.get("stream")
    if is_on_gpu(signals, stream):
        with on_stream(signals, stream):
            there = DeviceArray.of(signals, "the signals", np.dtype(np.float16))
            problem = _Problem(there.shape, filters, there.dtype, arguments)
            return _filter_on_gpu(problem.for_arrays_on(there.device, there.dtype), problem, there, out, stream)
    samples = signals_of(signals)
    problem = _Problem(samples.shape, filters, samples.dtype, arguments)
    return _filter_on_host(problem.for_host_arrays(), problem, signals, samples, out, options.get("progress"))
