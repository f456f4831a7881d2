# SPDX-License-Identifier: Apache-2.0
"""Banks of filters as linear maps, with their exact adjoints."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._device import DeviceArray, address_of, is_on_gpu
from ._errors import InvalidArgument
from ._linear_map import LinearMap
from ._run import engines


def map_of_bank(bank: Any, problem: Any, planned: _core.FilterBank) -> LinearMap:
    """Returns a :class:`convolume.FilterBank` as a linear map. Raises :class:`InvalidArgument` for one that is not."""
    arguments, dtype = problem.arguments, bank.dtype
    kind, step = arguments.get("window") or ("decimate", 1)
    if arguments.get("post") or kind == "peak":
        raise InvalidArgument("a bank with post, or with peaks, is no linear operator: plan it without, and compute "
                              "these from its results")
    if problem.storage.options:
        raise InvalidArgument("a bank of signals or results in 16 bits rounds: plan it with float32")
    if dtype.kind == "c" and problem.dtype.kind != "c":
        raise InvalidArgument(f"the filters are complex and the signals {problem.dtype}: plan the bank with "
                              f"dtype={dtype}")
    adjoint = _BankAdjoint(problem, planned, step, dtype)
    return LinearMap(problem.shape, [bank.result_shape], dtype, lambda signals: [bank(signals)],
                     lambda results: adjoint(results[0]))


class _BankAdjoint:
    """Correlates the results of each filter with its taps, and adds these up.

    Result i of a filter h is the sum of h[m] x[b + d i + c - m]: c is its origin, b the sample of result 0, and d the
    distance of results. Sample k of the adjoint is the sum of conj(h[n - k + c]) y[n] over n = b + d i.
    """

    def __init__(self, problem: Any, planned: _core.FilterBank, step: int, dtype: np.dtype[Any]) -> None:
        self._problem, self._dtype = problem, dtype
        first, count, samples = planned.first_sample, planned.result_samples, problem.shape[problem.axis]
        begin, end = min(first, 0), max(samples, first + (count - 1) * step + 1)
        self._extent = end - begin
        self._results = slice(first - begin, first - begin + (count - 1) * step + 1, step)
        self._signal = slice(-begin, samples - begin)
        self._form = problem.signals, self._extent
        self._turned = [self._turn(row) for row in problem.rows]
        self._banks = [_core.FilterBank(*self._form, [taps], options, engines(problem.arguments), dtype)
                       for taps, options in self._turned]
        self._on_gpus: dict[int, list[_core.DeviceFilterBank]] = {}
        self._lock = threading.Lock()

    def _turn(self, row: np.ndarray) -> tuple[np.ndarray, _core.FilterOptions]:
        """Returns the taps that correlate with a filter's, and how to filter with them."""
        arguments = self._problem.arguments
        given = {name: arguments[name] for name in ("origin", "method", "nan") if name in arguments}

        def options(**others: Any) -> _core.FilterOptions:
            return _core.FilterOptions(precision=arguments["precision"], mode="same", **{**given, **others})

        origin = _core.FilterBank(*self._form, [row], options(), engines(arguments), self._dtype).origin
        return np.ascontiguousarray(row[::-1].conj()), options(origin=len(row) - 1 - origin)

    def __call__(self, results: Any) -> Any:
        if not is_on_gpu(results):
            def execute(number: int, placed: np.ndarray, back: np.ndarray) -> None:
                self._banks[number].execute(placed, back, None, None)

            return np.ascontiguousarray(self._sum_up(results, np, lambda shape: np.zeros(shape, self._dtype), execute))
        there = DeviceArray.of(results, "the results").of_type(self._dtype)
        with self._lock:
            if there.device not in self._on_gpus:
                self._on_gpus[there.device] = [_core.DeviceFilterBank(*self._form, [taps], options, there.device,
                                                                      self._dtype) for taps, options in self._turned]
            banks, stream = self._on_gpus[there.device], there.stream(None)

        def enqueue(number: int, placed: Any, back: Any) -> None:
            banks[number].execute(address_of(placed), address_of(back), 0, stream)

        sums = self._sum_up(there.array, there.module, lambda shape: there.zeros(shape, self._dtype).array, enqueue)
        return there.give_back(DeviceArray.of(sums, "the sums").array)

    def _sum_up(self, results: Any, module: Any, zeros: Callable[[tuple[int, ...]], Any],
                filter_by: Callable[[int, Any, Any], None]) -> Any:
        """Returns the adjoint of arrays of a library, by functions that make arrays and apply a turned filter."""
        problem = self._problem
        rows = module.moveaxis(results, problem.axis + (not problem.single), -1)
        if not problem.single:
            rows = module.moveaxis(rows, problem.axis, -2)
        rows = rows.reshape(problem.signals, len(self._turned), rows.shape[-1])
        sums = zeros((problem.signals, self._signal.stop - self._signal.start))
        placed, back = (zeros((problem.signals, *other, self._extent)) for other in ((), (1,)))
        for number in range(len(self._turned)):
            placed[:, self._results] = rows[:, number]
            filter_by(number, placed, back)
            sums += back[:, 0, self._signal]
        return module.moveaxis(sums.reshape(*problem.batch, sums.shape[-1]), -1, problem.axis)
