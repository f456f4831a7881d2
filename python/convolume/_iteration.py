# SPDX-License-Identifier: Apache-2.0
"""The state of a deconvolution after an iteration, which callbacks get."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._errors import InvalidArgument


@dataclass(frozen=True)
class Iteration:
    """State of a deconvolution after an iteration, which callbacks get."""

    number: int
    """Number of the iteration, from 1."""
    of: int
    """Number of iterations that are planned."""
    likelihood: float
    """Logarithm of the Poisson likelihood of the estimate that this iteration started from, relative to a perfect fit:
    at most 0. Methods "nnls" and "wiener" do not compute it."""
    residual: float
    """Relative residual: for method "wiener" of the right-hand side, for "nnls" of the image less its background, for
    "map" what is left of the optimality condition, relative to the light."""
    searching: bool
    """With ``stop="auto"``, if it is given: whether this iteration is one of those that find the number."""
    held_out: float
    """While `searching`: root mean square difference between the estimates of two halves of the photons; 0 while the
    first one is made."""
    consenting: float
    """For method "rlgc": share of the voxels that took the step."""
    index: tuple[int, ...]
    """Place of the image in a batch; empty for one image."""
    _read: Callable[[np.ndarray], object] = field(repr=False)
    _shape: tuple[int, ...] = field(repr=False)

    @property
    def estimate(self) -> np.ndarray:
        """The current estimate, float32, with the image's shape. It is copied at access, within the callback only."""
        values = np.empty(self._shape, np.float32)
        self._read(values)
        return values


Callback = Callable[[Iteration], object]


class _Accepted(Exception):
    """The callback accepts the current estimate and ends the iterations."""

    def __init__(self, iteration: Iteration) -> None:
        super().__init__()
        self.iteration = iteration
        self.estimate = iteration.estimate


def executed(execute: Callable[[Any], Any], store: Callable[[np.ndarray], Mapping[str, int]], callback: Callback | None,
             shape: tuple[int, ...], index: tuple[int, ...], options: Mapping[str, Any]) -> Any:
    """Returns the facts of `execute`, which gets a function of the library that calls `callback`, or None. If the
    callback accepts an estimate, `store` puts it into the result and returns how many values were clamped.

    Iterations of a search, whose estimates cannot be read, are reported with ``stop="auto"``.
    """
    def call(facts: dict[str, Any], read: Any) -> None:
        if callback is None or facts["searching"] and options.get("stop") != "auto":
            return
        iteration = Iteration(**facts, index=index, _read=read, _shape=shape)
        if isinstance(accepted := callback(iteration), bool | np.bool_) and accepted:
            raise _Accepted(iteration)

    try:
        return execute(None if callback is None else call)
    except _Accepted as accepted:
        number = accepted.iteration.number
        if options.get("uncertainty"):
            raise InvalidArgument("a callback that accepts an estimate ends the run before its uncertainty is "
                                  f"estimated: give iterations={number} instead") from None
        return {"iterations": number, "likelihood": accepted.iteration.likelihood, **store(accepted.estimate)}
