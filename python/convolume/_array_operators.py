# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and sums for classes that NumPy can convert to arrays."""

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class ArrayOperators(NDArrayOperatorsMixin):
    """Base of classes with ``__array__``: operators, functions of NumPy, and sums work as with the array."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Computes with the arrays; the result is an array."""
        for one in options.get("out", ()):
            if isinstance(one, ArrayOperators):
                raise TypeError(f"a {type(one).__name__} receives no results: give an array of NumPy as out")
        arrays = [np.asarray(one) if isinstance(one, ArrayOperators) else one for one in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __dlpack__(self, **options: Any) -> Any:
        return np.asarray(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # host memory

    def sum(self, *args: Any, **options: Any) -> Any:
        """Returns the sum of the samples, as numpy.ndarray.sum does."""
        return np.asarray(self).sum(*args, **options)

    def mean(self, *args: Any, **options: Any) -> Any:
        """Returns the mean of the samples, as numpy.ndarray.mean does."""
        return np.asarray(self).mean(*args, **options)

    def std(self, *args: Any, **options: Any) -> Any:
        """Returns the standard deviation of the samples, as numpy.ndarray.std does."""
        return np.asarray(self).std(*args, **options)

    def min(self, *args: Any, **options: Any) -> Any:
        """Returns the smallest sample, as numpy.ndarray.min does."""
        return np.asarray(self).min(*args, **options)

    def max(self, *args: Any, **options: Any) -> Any:
        """Returns the largest sample, as numpy.ndarray.max does."""
        return np.asarray(self).max(*args, **options)

    def astype(self, dtype: Any, **options: Any) -> np.ndarray:
        """Returns an array of that type, as numpy.ndarray.astype does."""
        return np.asarray(self).astype(dtype, **options)


def _not_in_place(self: ArrayOperators, other: Any) -> Any:
    return NotImplemented  # so that `image += 1` is `image = image + 1`


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "xor", "or",
              "matmul"):
    setattr(ArrayOperators, f"__i{_name}__", _not_in_place)


def array_for_numpy(values: np.ndarray, is_new: bool, dtype: Any, copy: bool | None) -> np.ndarray:
    """Returns what ``__array__`` returns for these values. `is_new`: no one else has them.

    Raises ValueError if ``copy=False`` cannot be met, as NumPy 2 demands.
    """
    converts = dtype is not None and np.dtype(dtype) != values.dtype
    if copy is False and (is_new or converts):
        raise ValueError("these samples are read, drawn or converted into a new array: copy=False cannot be met")
    if converts:
        return values.astype(dtype)
    return values.copy() if copy and not is_new else values
