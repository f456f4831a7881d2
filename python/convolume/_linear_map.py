# SPDX-License-Identifier: Apache-2.0
"""Linear operators of this package as matrices on flattened images."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._device import joined
from ._errors import optional_module


class LinearMap:
    """A linear operator and its adjoint on flattened images: y = A x and x = Aᵀ y, or Aᴴ y for complex images.

    Parameters
    ----------
    input_shape : tuple of ints
        Extents of an input.
    output_shapes : sequence of tuples of ints
        Extents of the images of one input. Their samples follow each other in y.
    dtype : numpy.dtype
        Type of the arithmetic.
    forward : function
        Returns the list of images of an input.
    backward : function
        Returns the adjoint of a list of images.
    """

    def __init__(self, input_shape: tuple[int, ...], output_shapes: Sequence[tuple[int, ...]], dtype: np.dtype[Any],
                 forward: Callable[[Any], Sequence[Any]], backward: Callable[[list[Any]], Any]) -> None:
        self.input_shape = input_shape
        self.output_shapes = list(output_shapes)
        self.dtype = dtype
        self._forward, self._backward = forward, backward
        sizes = [math.prod(shape) for shape in self.output_shapes]
        self._ends = np.cumsum(sizes).tolist()
        self.shape = (sum(sizes), math.prod(input_shape))
        """Rows and columns of the matrix."""

    def apply(self, values: Any) -> Any:
        """Returns A x. Arrays in a GPU's memory are taken if the operator takes them."""
        images = self._forward(values.reshape(self.input_shape))
        flat = [image.reshape(-1) for image in images]
        return flat[0] if len(flat) == 1 else joined(flat)

    def apply_adjoint(self, values: Any) -> Any:
        """Returns Aᵀ y, or Aᴴ y."""
        return self._backward(self.separated(values)).reshape(-1)

    def separated(self, values: Any) -> list[Any]:
        """Returns the images whose samples follow each other in the last axis of an array of any library."""
        begins = [0, *self._ends[:-1]]
        return [values[..., begin:end].reshape((*values.shape[:-1], *shape))
                for begin, end, shape in zip(begins, self._ends, self.output_shapes)]


def linear_operator(operator: LinearMap) -> Any:
    """Returns an operator as a scipy.sparse.linalg.LinearOperator."""
    linalg = optional_module("scipy.sparse.linalg", "as_linear_operator() needs SciPy: pip install scipy")

    def product(apply: Callable[[Any], Any], values: Any) -> Any:
        given: Any = np.asarray(values)
        if given.dtype.kind == "c" and operator.dtype.kind != "c":  # solvers try real operators with complex vectors
            return product(apply, given.real) + 1j * product(apply, given.imag)
        return apply(np.ascontiguousarray(given, operator.dtype).reshape(-1))

    return linalg.LinearOperator(operator.shape, dtype=operator.dtype,
                                 matvec=lambda x: product(operator.apply, x),
                                 rmatvec=lambda y: product(operator.apply_adjoint, y))
