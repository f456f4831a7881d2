# SPDX-License-Identifier: Apache-2.0
"""Convolutions, filters, resampling and forward models for PyTorch, with gradients of every order.

``import convolume.torch`` needs PyTorch 2.4 or newer. All functions work under torch.func.grad and torch.func.vmap, and
under torch.compile, which needs PyTorch 2.11 to take them into one graph. Forward-mode derivatives (torch.func.jvp) are
not offered. Tensors in a GPU's memory stay there: work is enqueued on the current CUDA stream.
"""

import itertools
import math
import weakref
from collections.abc import Sequence
from typing import Any, Unpack

from ._convolve import convolve as _convolve
from ._convolve import correlate as _correlate
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

_torch: Any = optional_module("torch", "convolume.torch needs PyTorch: pip install torch")

__all__ = ["Operator", "convolve"]

_constant_text: Any = _torch.compiler.assume_constant_result(text_of)


@with_keywords(GradientKeywords, gradient_defaults())
def convolve(image: Any, kernel: Any, **options: Unpack[GradientKeywords]) -> Any:
    """Computes the linear convolution of an image, or of each image of a batch, with gradients for image and kernel.

    The result is that of :func:`convolume.convolve`. With its gradient g, the gradient for the image is the adjoint of
    the convolution, applied to g. The gradient for the kernel k is the correlation of the image x, continued by the
    boundary, with g: sample j is the sum of ``g[i] * x[i + c - j]`` over i, where c is the kernel's origin.

    Parameters
    ----------
    image : Tensor
        (…, z, y, x), (…, y, x) or (…, x), of float32 or float64. Axes before those of the kernel are a batch.
    kernel : Tensor
        1 to 3 dimensions. If the types differ, both are converted to float64. To divide it by its sum, write
        ``kernel / kernel.sum()``, which has a gradient, too.
    mode, boundary, cval, method, nan
        See :class:`convolume.Convolver`.
    origin : {"middle", "scipy"} or sequence of ints
        See :class:`convolume.Convolver`.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`. Tensors in a GPU's memory are convolved on that GPU.

    Returns
    -------
    Tensor, with the axes of the batch before those of a result

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, another type, or options that contradict themselves (a ValueError).
    BadData
        NaN or infinities in an image, a kernel or a gradient (a ValueError).
    OutOfMemory, Unavailable
        See :class:`convolume.Convolver`.

    Examples
    --------
    >>> import torch, convolume.torch
    >>> image = torch.tensor([1., 2., 3.], requires_grad=True)
    >>> kernel = torch.tensor([1., 10.], requires_grad=True)
    >>> result = convolume.torch.convolve(image, kernel, mode="full", device="cpu")
    >>> result.tolist()
    [1.0, 12.0, 23.0, 30.0]
    >>> result[1].backward()
    >>> image.grad.tolist(), kernel.grad.tolist()
    ([10.0, 1.0, 0.0], [2.0, 1.0])
    """
    for tensor, what in ((image, "the image"), (kernel, "the kernel")):
        _check(tensor, what)
    if image.device != kernel.device:
        raise InvalidArgument(f"the image is on {image.device} and the kernel on {kernel.device}: move one of them")
    dtype = _torch.promote_types(image.dtype, kernel.dtype)
    form = Form.of(image.shape, kernel.shape, options, _constant_text(options))
    batch = image.shape[:image.ndim - kernel.ndim]
    images = image.to(dtype).reshape(math.prod(batch), *form.image)
    return _Product.apply(images, kernel.to(dtype), "result", form).reshape(*batch, *form.result)


class Operator:
    """A planned linear operator as a function of tensors, whose gradient is its exact adjoint.

    Parameters
    ----------
    operator : Convolver, FilterBank, Resampler or ForwardModel
        Of real numbers. A :class:`convolume.Convolver` has no `cval`, a :class:`convolume.FilterBank` no `post` and no
        peaks.
    samples : int, optional
        Number of samples of a signal, for a :class:`convolume.Resampler`.

    Raises
    ------
    InvalidArgument
        Another object, or an operator that is complex or adds a constant (a ValueError).

    Examples
    --------
    >>> import numpy as np, torch, convolume.torch
    >>> model = convolume.ForwardModel([convolume.View(np.ones((1, 3)))] * 2, [(4, 6)] * 2, device="cpu")
    >>> record = convolume.torch.Operator(model)
    >>> thing = torch.zeros(model.object_shape, requires_grad=True)
    >>> first, second = record(thing)
    >>> ((first - 1)**2 + second).sum().backward()
    >>> float(thing.grad[2, 3])
    -1.0
    """

    def __init__(self, operator: Any, samples: int | None = None) -> None:
        self._map = linear_map_of(operator, samples)
        self._is_single = not isinstance(operator, ForwardModel)
        self._dtype = getattr(_torch, self._map.dtype.name)
        self._number = next(_numbers)
        _maps[self._number] = self._map

    def __call__(self, values: Any) -> Any:
        """Applies the operator.

        Parameters
        ----------
        values : Tensor
            An image of the convolver's `input_shape`, signals of the bank's `shape` or of the resampler, or an object
            of the model's `object_shape`; or a batch of them, with axes before these. It is converted to the operator's
            `dtype`. Tensors in a GPU's memory stay there.

        Returns
        -------
        Tensor of the convolver's `output_shape`, or of results; of a forward model a tuple with the images of each view

        Raises
        ------
        InvalidArgument
            Another shape, or a type other than float32 and float64 (a ValueError).
        """
        _check(values, "the values")
        check_input(values.shape, self._map)
        batch = values.shape[:values.ndim - len(self._map.input_shape)]
        flat = values.to(self._dtype).reshape(*batch, self._map.shape[1])
        images = self._map.separated(_Linear.apply(flat, self._number, False))
        return images[0] if self._is_single else tuple(images)


def _check(tensor: Any, what: str) -> None:
    if not isinstance(tensor, _torch.Tensor):
        raise InvalidArgument(f"{what} is a {type(tensor).__name__}: give a tensor of PyTorch")
    if tensor.dtype not in (_torch.float32, _torch.float64):
        raise InvalidArgument(f"{what} is of type {tensor.dtype}: convert it to {' or '.join(TYPES)}")


def _values(tensor: Any) -> Any:
    return tensor.detach().numpy()


# The three products of an image, a kernel and a result: see _gradients.py.

def _compute_product(first: Any, second: Any, product: str, image: Sequence[int], kernel: Sequence[int],
                     mode: Any, text: str) -> Any:
    form = Form(tuple(image), tuple(kernel), mode, text)
    if first.is_cuda:
        return _computed_on_gpu(product, first, second, form)
    return _torch.from_numpy(computed(product, _values(first), _values(second), form))


_product_op: Any = _torch.library.custom_op(
    "convolume::product", _compute_product, mutates_args=(),
    schema="(Tensor first, Tensor second, str product, SymInt[] image, SymInt[] kernel, str mode, str text) -> Tensor")


@_product_op.register_fake  # type: ignore[untyped-decorator]
def _product_without_values(first: Any, second: Any, product: str, image: Sequence[int], kernel: Sequence[int],
                            mode: Any, text: str) -> Any:
    form = Form(tuple(image), tuple(kernel), mode, text)
    return first.new_empty(form.product_shape(product, first.shape, second.shape))


class _Product(_torch.autograd.Function):  # type: ignore[misc]
    """A product with its gradients. An operator of torch.library has gradients, too, but not for torch.func.grad."""

    @staticmethod
    def forward(first: Any, second: Any, product: str, form: Form) -> Any:
        return _product_op(first, second, product, form.image, form.kernel, form.mode, form.text)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.product, ctx.form = inputs[2:]

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> tuple[Any, ...]:
        gradients = [_Product.apply(*derivative(ctx.product, wanted, ctx.saved_tensors, cotangent, ctx.form))
                     if needed else None for wanted, needed in zip(OPERANDS[ctx.product], ctx.needs_input_grad)]
        return *gradients, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[Any], first: Any, second: Any, product: str, form: Form) -> tuple[Any, int]:
        """Moves the axis that is mapped to the front of both operands."""
        operands = [tensor.expand(info.batch_size, *tensor.shape) if axis is None else tensor.movedim(axis, 0)
                    for tensor, axis in zip((first, second), in_dims)]
        return _Product.apply(*operands, product, form), 0


# Products of tensors in a GPU's memory. The adjoint there does not fold what boundaries continue, so this is done here.

def _computed_on_gpu(product: str, first: Any, second: Any, form: Form) -> Any:
    leading, _ = form.split(product, form.product_shape(product, first.shape, second.shape))
    if not leading:
        return _GPU_PRODUCTS[product](first.detach(), second.detach(), form)
    pair = [tensor.expand(*leading, *form.split(kind, tensor.shape)[1])
            for kind, tensor in zip(OPERANDS[product], (first, second))]
    parts = [_GPU_PRODUCTS[product](pair[0][index].detach(), pair[1][index].detach(), form)
             for index in itertools.product(*map(range, leading))]
    return _torch.stack(parts).reshape(*leading, *parts[0].shape)


def _convolved(images: Any, kernel: Any, form: Form) -> Any:
    return _stack([_convolve(image, kernel, mode=form.mode, **form.options) for image in images], images, form.result)


def _adjoint(results: Any, kernel: Any, form: Form) -> Any:
    indices = form.continuation()
    backs = []
    for result in results:
        back = _correlate(result, kernel, mode="full", **form.resources)
        for axis, along in enumerate(indices or []):
            inside = _torch.from_numpy(along >= 0).to(back.device)
            places = _torch.from_numpy(along[along >= 0]).to(back.device)
            shape = [*back.shape[:axis], form.image[axis], *back.shape[axis + 1:]]
            kept = back.index_select(axis, inside.nonzero().flatten())
            back = back.new_zeros(shape).index_add(axis, places, kept)
        backs.append(back)
    return _stack(backs, results, form.image)


def _kernel_gradient(images: Any, results: Any, form: Form) -> Any:
    total = images.new_zeros(form.kernel)
    for image, result in zip(images, results):
        wide = image
        for axis, along in enumerate(form.continuation() or []):
            wide = wide.index_select(axis, _torch.from_numpy(along.clip(0)).to(image.device))
            outside = _torch.from_numpy((along < 0).nonzero()[0]).to(image.device)
            wide = wide.index_fill(axis, outside, form.options.get("cval", 0))
        total += _correlate(wide, result.contiguous(), mode="valid", **form.resources)
    return total.flip(list(range(total.ndim)))


def _stack(parts: list[Any], like: Any, shape: tuple[int, ...]) -> Any:
    return _torch.stack(parts) if parts else like.new_empty((0, *shape))


_GPU_PRODUCTS = {"result": _convolved, "image": _adjoint, "kernel": _kernel_gradient}


# Planned operators. PyTorch takes no objects of Python in its graphs, so that operators have numbers there.

_maps: "weakref.WeakValueDictionary[int, LinearMap]" = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _map_of(number: int) -> LinearMap:
    if number not in _maps:
        raise InvalidArgument("the Operator of this gradient does not exist any more: keep it as long as the function "
                              "that torch.compile has made of it")
    return _maps[number]


def _compute_linear(values: Any, number: int, is_adjoint: bool) -> Any:
    found = _map_of(number)
    if not values.is_cuda:
        return _torch.from_numpy(applied_to(found, _values(values), is_adjoint))
    apply_one = found.apply_adjoint if is_adjoint else found.apply
    rows = [apply_one(row) for row in values.detach().reshape(-1, values.shape[-1])]
    return _stack(rows, values, (found.shape[is_adjoint],)).reshape(*values.shape[:-1], found.shape[is_adjoint])


_linear_op: Any = _torch.library.custom_op("convolume::linear", _compute_linear, mutates_args=(),
                                        schema="(Tensor values, int number, bool is_adjoint) -> Tensor")


@_linear_op.register_fake  # type: ignore[untyped-decorator]
def _linear_without_values(values: Any, number: int, is_adjoint: bool) -> Any:
    found = _map_of(number)
    return values.new_empty((*values.shape[:-1], found.shape[is_adjoint]))


class _Linear(_torch.autograd.Function):  # type: ignore[misc]
    """The product of a planned operator, or of its adjoint, with vectors."""

    @staticmethod
    def forward(values: Any, number: int, is_adjoint: bool) -> Any:
        return _linear_op(values, number, is_adjoint)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.number, ctx.is_adjoint = inputs
        if not _torch.compiler.is_compiling():
            ctx.map = _map_of(ctx.number)  # which lives as long as the graph

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> tuple[Any, None, None]:
        return _Linear.apply(cotangent, ctx.number, not ctx.is_adjoint), None, None

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[Any], values: Any, number: int, is_adjoint: bool) -> tuple[Any, int]:
        return _Linear.apply(values.movedim(in_dims[0], 0), number, is_adjoint), 0
