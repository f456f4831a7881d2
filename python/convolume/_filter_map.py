# SPDX-License-Identifier: Apache-2.0
"""Banks of filters as linear maps, with their exact adjoints."""

from typing import Any

import numpy as np

from . import _core
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
        self._banks = [self._bank_of(row) for row in problem.rows]

    def _bank_of(self, row: np.ndarray) -> _core.FilterBank:
        arguments, signals = self._problem.arguments, self._problem.signals
        given = {name: arguments[name] for name in ("origin", "method", "nan") if name in arguments}

        def plan(taps: np.ndarray, **options: Any) -> _core.FilterBank:
            known = _core.FilterOptions(precision=arguments["precision"], mode="same", **options)
            return _core.FilterBank(signals, self._extent, [taps], known, engines(arguments), self._dtype)

        back = np.ascontiguousarray(row[::-1].conj())
        return plan(back, **{**given, "origin": len(row) - 1 - plan(row, **given).origin})

    def __call__(self, results: Any) -> np.ndarray:
        if not isinstance(results, np.ndarray):
            raise InvalidArgument("the adjoint of a bank takes no arrays in a GPU's memory: copy them to host memory")
        problem = self._problem
        rows = np.moveaxis(results, problem.axis + (not problem.single), -1)
        if not problem.single:
            rows = np.moveaxis(rows, problem.axis, -2)
        rows = rows.reshape(problem.signals, len(self._banks), rows.shape[-1])
        sums: np.ndarray = np.zeros((problem.signals, self._signal.stop - self._signal.start), self._dtype)
        placed, back = (np.zeros((problem.signals, *other, self._extent), self._dtype) for other in ((), (1,)))
        for number, bank in enumerate(self._banks):
            placed[:, self._results] = rows[:, number]
            bank.execute(placed, back, None, None)
            sums += back[:, 0, self._signal]
        whole = sums.reshape(*problem.batch, sums.shape[-1])
        return np.ascontiguousarray(np.moveaxis(whole, -1, problem.axis))
