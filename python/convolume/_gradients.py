# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions, without a library that differentiates.

A convolution of an image x with a kernel k, times a result y, summed up, is linear in each of the three:

    T(x, k, y) = sum over i and j of y[i] * k[j] * x[i + c - j]

c is the kernel's origin, and x is continued beyond its border. The gradient of T for one of them is a product of the
other two: for y the convolution, for x its adjoint, for k a correlation of image and result, cropped to the kernel. A
gradient of one product is thus another one of the three, to any order.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Literal, get_args

import numpy as np

from . import _core
from ._argument_types import check_types
from ._convolve import convolve, correlate
from ._convolver import CachedConvolver
from ._errors import InvalidArgument
from ._linear_map import LinearMap
from ._options import (
    Boundary,
    Mode,
    Nan,
    Origin,
    Precision,
    boundary_name,
    center_of,
    continued_indices,
    defaults_of,
    refuse_unused_cval,
    triple_of,
    whole_numbers,
)
from ._problem import Method, result_shape
from ._resample import Resampler
from ._run import Resources, parse_device

Kind = Literal["image", "kernel", "result"]

#: Operands of the product that yields an array of each kind.
OPERANDS: dict[str, tuple[Kind, Kind]] = {"result": ("image", "kernel"), "image": ("result", "kernel"),
                                          "kernel": ("image", "result")}
TYPES = get_args(Precision)


class GradientKeywords(Resources, total=False):
    """Keywords of convolutions that are differentiated."""

    mode: Mode
    boundary: Boundary
    cval: float
    origin: Origin
    method: Method
    nan: Nan


def gradient_defaults() -> dict[str, Any]:
    return defaults_of(GradientKeywords, "Options", cval=0.0)


def text_of(options: Mapping[str, Any]) -> str:
    """Returns options except the mode as JSON, which libraries that trace functions take as a constant."""
    given = dict(options)
    check_types({**given, "boundary": "zero"}, GradientKeywords)
    if given.get("nan") == "missing":
        raise InvalidArgument("nan='missing' divides by the kernel's part on finite values, for which there is no "
                              "gradient: choose 'error', 'zero' or 'propagate'")
    name = boundary_name(given.get("boundary", "zero"))
    cval = float(given.get("cval", 0))
    refuse_unused_cval(cval, name)
    known: Any = _core.Options(boundary=f"constant:{cval!r}" if name == "constant" else name,
                               **{one: given[one] for one in ("mode", "method", "nan") if one in given})
    given["boundary"], _, constant = known.boundary.partition(":")  # the library's word
    if constant and name != "constant":
        raise InvalidArgument(f"boundary is '{name}': give 'constant', and the value as cval")
    origin = given.get("origin", "middle")
    if isinstance(origin, str) and origin not in ("middle", "scipy"):
        raise InvalidArgument(f"origin='{origin}' depends on the kernel's values or order, and has no gradient: give "
                              "'middle', 'scipy' or an index")
    if not isinstance(origin, str):
        given["origin"] = whole_numbers(origin, "origin")
    if not isinstance(given.get("device", "auto"), str):
        given["device"] = parse_device(given["device"])[1]
    return json.dumps({one: given[one] for one in sorted(given) if one != "mode"}, default=index)


@functools.lru_cache(maxsize=256)
def _options_of(text: str) -> dict[str, Any]:
    return dict(json.loads(text))


@dataclass(frozen=True)
class Form:
    """A convolution without its values: extents of an image and the kernel, the mode, and all other options as JSON.

    Arrays of images and results have an axis for a batch before these extents. All arrays may have further leading
    axes, which are broadcast: for each index along them there is one product.
    """

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    mode: Mode
    text: str

    @classmethod
    def of(cls, image: Sequence[int], kernel: Sequence[int], options: Mapping[str, Any], text: str) -> "Form":
        """Returns the form of the convolution of an image, which may be a batch, with a kernel. `text` has the options
        as JSON. Refuses extents that do not fit each other."""
        dimensions = len(kernel)
        if not 1 <= dimensions <= 3:
            raise InvalidArgument(f"a kernel of {dimensions} dimensions: give 1 to 3")
        if dimensions > len(image):
            raise InvalidArgument(f"the kernel has {dimensions} dimensions and the image only {len(image)}")
        form = cls(tuple(image)[-dimensions:], tuple(kernel), options.get("mode", "same"), text)
        if min(*form.image, *form.kernel) < 1 or min(form.result) < 1:
            raise InvalidArgument(f"an image of shape {form.image} and a kernel of shape {form.kernel} leave no "
                                  f"samples in mode '{form.mode}': give other shapes, or another mode")
        return form

    @property
    def options(self) -> dict[str, Any]:
        """All options but the mode."""
        return _options_of(self.text)

    @property
    def resources(self) -> dict[str, Any]:
        """Options for devices, threads and memory limits, and for NaN."""
        return {name: value for name, value in self.options.items() if name in (*Resources.__annotations__, "nan")}

    @property
    def result(self) -> tuple[int, ...]:
        """Extents of a result."""
        return tuple(result_shape(self.image, self.kernel, self.mode))

    def without_constant(self) -> "Form":
        """Returns the form whose image is 0 outside if this one continues it by a constant."""
        if self.options.get("boundary") != "constant":
            return self
        options = {name: value for name, value in self.options.items() if name not in ("boundary", "cval")}
        return Form(self.image, self.kernel, self.mode, json.dumps(options))

    def shape_of(self, kind: str) -> tuple[int, ...]:
        """Returns the extents of an array of a kind, without those of a batch."""
        return {"image": self.image, "kernel": self.kernel, "result": self.result}[kind]

    def product_shape(self, product: str, first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
        """Returns the whole shape of a product of arrays with these shapes."""
        shapes = {kind: tuple(shape) for kind, shape in zip(OPERANDS[product], (first, second))}
        leading = [shape[:len(shape) - self._axes(kind)] for kind, shape in shapes.items()]
        whole = tuple(np.broadcast_shapes(*leading)) if any(leading) else ()
        if product == "kernel":
            return whole + self.kernel
        batch = next(shape[-self._axes(kind)] for kind, shape in shapes.items() if kind != "kernel")
        return (*whole, batch, *self.shape_of(product))

    def _axes(self, kind: str) -> int:
        """Returns the number of axes of an array, the batch included."""
        return len(self.image) + (kind != "kernel")

    def split(self, kind: str, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the leading extents of an array, and the others."""
        count = len(shape) - self._axes(kind)
        return tuple(shape[:count]), tuple(shape[count:])

    def continuation(self) -> list[np.ndarray] | None:
        """Returns the indices of an image along each axis that make it so large that mode "valid" gives this form's
        result: -1 for samples of the constant. None if it is so large already."""
        if self.mode == "valid":
            return None
        margins = [(extent - 1, extent - 1) for extent in self.kernel]
        if self.mode == "same":
            solid = np.broadcast_to(np.zeros(()), triple_of(self.kernel))
            options = _core.Options(origin=center_of(self.options.get("origin", "middle"), len(self.kernel)))
            centers = list(_core.center_index(options, solid))[3 - len(self.kernel):]
            margins = [(extent - 1 - center, center) for extent, center in zip(self.kernel, centers)]
        return [continued_indices(extent, before, after, self.options.get("boundary", "zero"))
                for extent, (before, after) in zip(self.image, margins)]


def derivative(product: str, wanted: Kind, operands: Sequence[Any], cotangent: Any, form: Form) -> tuple[Any, ...]:
    """Returns the product that is the gradient of another one for an operand: its operands, its name, its form.

    `cotangent` is the gradient of a scalar for the values of `product`, whose operands are `operands`.
    """
    known = {**dict(zip(OPERANDS[product], operands)), product: cotangent}
    first, second = (known[kind] for kind in OPERANDS[wanted])
    # The adjoint is linear, so that the cotangent of its values is continued by 0.
    return first, second, wanted, form.without_constant() if product == "image" else form


def computed(product: str, first: np.ndarray, second: np.ndarray, form: Form) -> np.ndarray:
    """Returns a product of arrays in host memory, with their type."""
    shape = form.product_shape(product, first.shape, second.shape)
    leading, _ = form.split(product, shape)
    if not leading:
        return _PRODUCTS[product](first, second, form)
    result = np.empty(shape, first.dtype)
    pair = [np.broadcast_to(array, (*leading, *form.split(kind, array.shape)[1]))
            for kind, array in zip(OPERANDS[product], (first, second))]
    for place in np.ndindex(leading):
        result[place] = _PRODUCTS[product](pair[0][place], pair[1][place], form)
    return result


def _convolved(images: np.ndarray, kernel: np.ndarray, form: Form) -> np.ndarray:
    if not kernel.any() or not len(images):  # a kernel of zeros is an error elsewhere
        return np.zeros((len(images), *form.result), images.dtype)
    options: Any = {**form.options, "mode": form.mode, "precision": images.dtype.name}
    if len(images) == 1:
        return np.asarray(convolve(images[0], kernel, **options))[np.newaxis]
    return np.asarray(convolve(images, kernel, **options))


def _adjoint(results: np.ndarray, kernel: np.ndarray, form: Form) -> np.ndarray:
    if not kernel.any() or not len(results):
        return np.zeros((len(results), *form.image), results.dtype)
    options: Any = {**form.without_constant().options, "mode": form.mode, "precision": results.dtype.name}
    back = CachedConvolver(form.image, kernel, dtype=results.dtype, operation="adjoint", executions=len(results),
                           **options)
    return np.stack([back(one) for one in results])


def _kernel_gradient(images: np.ndarray, results: np.ndarray, form: Form) -> np.ndarray:
    indices = form.continuation()
    total: np.ndarray = np.zeros(form.kernel, images.dtype)
    for image, result in zip(images, results):
        if result.any():
            wide = image if indices is None else _continued(image, indices, form)
            options: Any = {**form.resources, "precision": images.dtype.name}
            total += correlate(wide, np.ascontiguousarray(result), mode="valid", **options)
    return np.ascontiguousarray(np.flip(total))


def _continued(image: np.ndarray, indices: list[np.ndarray], form: Form) -> np.ndarray:
    wide: np.ndarray = image[np.ix_(*indices)]
    for axis, along in enumerate(indices):
        np.moveaxis(wide, axis, 0)[along < 0] = form.options.get("cval", 0)
    return wide


_PRODUCTS = {"result": _convolved, "image": _adjoint, "kernel": _kernel_gradient}


def linear_map_of(operator: Any, samples: int | None) -> LinearMap:
    """Returns an operator as a map of flattened arrays that is differentiated by its adjoint."""
    if not hasattr(operator, "_as_linear_map"):
        raise InvalidArgument(f"operator is a {type(operator).__name__}: give a Convolver, a FilterBank, a Resampler "
                              "or a ForwardModel")
    if (samples is not None) != isinstance(operator, Resampler):
        raise InvalidArgument("samples is the number of samples of a Resampler's signals: give both, or neither")
    found: LinearMap = operator._as_linear_map(*([] if samples is None else [samples]))
    if found.dtype.name not in TYPES:
        raise InvalidArgument(f"operator is one of {found.dtype}: gradients are those of real arrays, so give one "
                              "of float32 or float64")
    return found


def check_input(shape: Sequence[int], found: LinearMap) -> None:
    """Refuses arrays whose last axes are not those of an operator's input."""
    if tuple(shape[len(shape) - len(found.input_shape):]) != found.input_shape:
        raise InvalidArgument(f"an array of shape {tuple(shape)} where the operator takes {found.input_shape}, or a "
                              "batch of such arrays")


def applied_to(found: LinearMap, values: np.ndarray, is_adjoint: bool) -> np.ndarray:
    """Returns A x or Aᵀ y of vectors in the last axis of an array in host memory."""
    apply = found.apply_adjoint if is_adjoint else found.apply
    rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    result = np.empty((len(rows), found.shape[is_adjoint]), found.dtype)
    for row, target in zip(rows, result):
        target[:] = apply(np.ascontiguousarray(row))
    return result.reshape((*values.shape[:-1], result.shape[-1]))
