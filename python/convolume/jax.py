# SPDX-License-Identifier: Apache-2.0
"""Convolutions, filters, resampling and forward models for JAX, with gradients of every order in reverse mode.

``import convolume.jax`` needs JAX 0.4.34 or newer. All functions work under jax.jit, jax.vmap, jax.grad and jax.vjp, to
any depth. Forward mode (jax.jvp, jax.jacfwd, jax.hessian) is not offered: for a product of the Hessian of f with v,
take the gradient of ``vdot(grad(f)(x), v)``. JAX calls convolume back with arrays in host memory: those in a GPU's
memory are copied there, and the results back.
"""

import functools
import math
from typing import Any, Unpack

import numpy as np

from ._arrays import host_numbers
from ._errors import InvalidArgument, optional_module
from ._forward_model import ForwardModel
from ._gradients import (
    OPERANDS,
    TYPES,
    Form,
    GradientKeywords,
    applied_to,
    check_input,
    computed,
    derivative,
    gradient_defaults,
    linear_map_of,
    text_of,
)
from ._linear_map import LinearMap
from ._options import with_keywords

_jax: Any = optional_module("jax", "convolume.jax needs JAX: pip install jax")
_numpy: Any = _jax.numpy

__all__ = ["Operator", "convolve"]


@with_keywords(GradientKeywords, gradient_defaults())
def convolve(image: Any, kernel: Any, **options: Unpack[GradientKeywords]) -> Any:
    """Computes the linear convolution of an image, or of each image of a batch, with gradients for image and kernel.

    The result is that of :func:`convolume.convolve`. With its gradient g, the gradient for the image is the adjoint of
    the convolution, applied to g. The gradient for the kernel k is the correlation of the image x, continued by the
    boundary, with g: sample j is the sum of ``g[i] * x[i + c - j]`` over i, where c is the kernel's origin.

    Parameters
    ----------
    image : array
        (…, z, y, x), (…, y, x) or (…, x), of float32 or float64. Axes before those of the kernel are a batch.
    kernel : array
        1 to 3 dimensions. If the types differ, both are converted to float64. To divide it by its sum, write
        ``kernel / kernel.sum()``, which has a gradient, too.
    mode, boundary, cval, method, nan
        See :class:`convolume.Convolver`.
    origin : {"middle", "scipy"} or sequence of ints
        See :class:`convolume.Convolver`.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`.

    Returns
    -------
    array of JAX, with the axes of the batch before those of a result

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, another type, or options that contradict themselves (a ValueError).
    jax.errors.JaxRuntimeError
        Errors while JAX computes, such as :class:`convolume.BadData` for NaN. The text has the sentence.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, convolume.jax
    >>> def second(image, kernel):
    ...     return convolume.jax.convolve(image, kernel, mode="full", device="cpu")[1]
    >>> image, kernel = jnp.array([1., 2., 3.]), jnp.array([1., 10.])
    >>> float(second(image, kernel))
    12.0
    >>> [one.tolist() for one in jax.grad(second, (0, 1))(image, kernel)]
    [[10.0, 1.0, 0.0], [2.0, 1.0]]
    """
    image, kernel = _real(image, "the image"), _real(kernel, "the kernel")
    dtype = _numpy.promote_types(image.dtype, kernel.dtype)
    form = Form.of(image.shape, kernel.shape, options, text_of(options))
    batch = image.shape[:image.ndim - kernel.ndim]
    images = image.astype(dtype).reshape(math.prod(batch), *form.image)
    return _product(images, kernel.astype(dtype), "result", form).reshape(*batch, *form.result)


class Operator:
    """A planned linear operator as a function of arrays, whose gradient is its exact adjoint.

    Parameters
    ----------
    operator : Convolver, FilterBank, Resampler or ForwardModel
        Of real numbers. A :class:`convolume.Convolver` has no `cval`, a :class:`convolume.FilterBank` no `post` and no
        peaks. One of float64 needs JAX's option ``jax_enable_x64``.
    samples : int, optional
        Number of samples of a signal, for a :class:`convolume.Resampler`.

    Raises
    ------
    InvalidArgument
        Another object, an operator that is complex or adds a constant, or one of float64 without ``jax_enable_x64`` (a
        ValueError).

    Examples
    --------
    >>> import numpy as np, jax, jax.numpy as jnp, convolume.jax
    >>> model = convolume.ForwardModel([convolume.View(np.ones((1, 3)))] * 2, [(4, 6)] * 2, device="cpu")
    >>> record = convolume.jax.Operator(model)
    >>> def misfit(thing):
    ...     first, second = record(thing)
    ...     return ((first - 1)**2 + second).sum()
    >>> float(jax.grad(misfit)(jnp.zeros(model.object_shape))[2, 3])
    -1.0
    """

    def __init__(self, operator: Any, samples: int | None = None) -> None:
        self._map = linear_map_of(operator, samples)
        self._is_single = not isinstance(operator, ForwardModel)
        if _jax.dtypes.canonicalize_dtype(self._map.dtype) != self._map.dtype:
            raise InvalidArgument("the operator computes with float64, which JAX has switched off: set its option "
                                  "jax_enable_x64, or plan the operator with float32")

    def __call__(self, values: Any) -> Any:
        """Applies the operator.

        Parameters
        ----------
        values : array
            An image of the convolver's `input_shape`, signals of the bank's `shape` or of the resampler, or an object
            of the model's `object_shape`; or a batch of them, with axes before these. It is converted to the operator's
            `dtype`.

        Returns
        -------
        array of the convolver's `output_shape`, or of results; of a forward model a tuple with the images of each view

        Raises
        ------
        InvalidArgument
            Another shape, or a type other than float32 and float64 (a ValueError).
        """
        values = _real(values, "the values")
        check_input(values.shape, self._map)
        batch = values.shape[:values.ndim - len(self._map.input_shape)]
        flat = values.astype(self._map.dtype).reshape(*batch, self._map.shape[1])
        images = self._map.separated(_linear(flat, self._map, False))
        return images[0] if self._is_single else tuple(images)


def _real(array: Any, what: str) -> Any:
    found = array if isinstance(array, _jax.Array) else host_numbers(array, what)
    if found.dtype.name not in TYPES:
        raise InvalidArgument(f"{what} is of type {found.dtype}: convert it to {' or '.join(TYPES)}")
    return _numpy.asarray(found)


# The three products of an image, a kernel and a result: see _gradients.py.

@functools.partial(_jax.custom_vjp, nondiff_argnums=(2, 3))
def _product(first: Any, second: Any, product: str, form: Form) -> Any:
    shape = _jax.ShapeDtypeStruct(form.product_shape(product, first.shape, second.shape), first.dtype)
    return _jax.pure_callback(functools.partial(_compute_product, product, form), shape, first, second,
                              vmap_method="expand_dims")


def _compute_product(product: str, form: Form, first: Any, second: Any) -> np.ndarray:
    return computed(product, np.asarray(first), np.asarray(second), form)


def _product_forward(first: Any, second: Any, product: str, form: Form) -> tuple[Any, tuple[Any, Any]]:
    """Returns the product, and what its gradients need: each operand whose partner has a gradient."""
    kept = first.value if second.perturbed else None, second.value if first.perturbed else None
    return _product(first.value, second.value, product, form), kept


def _product_gradients(product: str, form: Form, kept: tuple[Any, Any], cotangent: Any) -> tuple[Any, ...]:
    if isinstance(cotangent, _jax.custom_derivatives.SymbolicZero):
        return None, None
    return tuple(None if partner is None else _product(*derivative(product, wanted, kept, cotangent, form))
                 for wanted, partner in zip(OPERANDS[product], reversed(kept)))


_product.defvjp(_product_forward, _product_gradients, symbolic_zeros=True)


@functools.partial(_jax.custom_vjp, nondiff_argnums=(1, 2))
def _linear(values: Any, applied: LinearMap, is_adjoint: bool) -> Any:
    shape = _jax.ShapeDtypeStruct((*values.shape[:-1], applied.shape[is_adjoint]), applied.dtype)
    return _jax.pure_callback(lambda rows: applied_to(applied, np.asarray(rows), is_adjoint), shape, values,
                              vmap_method="expand_dims")


def _linear_forward(values: Any, applied: LinearMap, is_adjoint: bool) -> tuple[Any, None]:
    return _linear(values, applied, is_adjoint), None


def _linear_gradient(applied: LinearMap, is_adjoint: bool, _: None, cotangent: Any) -> tuple[Any]:
    return (_linear(cotangent, applied, not is_adjoint),)


_linear.defvjp(_linear_forward, _linear_gradient)
