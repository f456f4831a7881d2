# SPDX-License-Identifier: Apache-2.0
"""Convolution of images with 1 to 3 dimensions, and of batches of them, in one call."""

import functools
import math
from typing import Any, Unpack

import numpy as np

from ._arrays import ArrayForm, give_back, readable, result_type, type_of, writable
from ._convolver import CachedConvolver, convolve_batch, convolve_on_gpu
from ._device import DeviceArray, is_on_gpu, on_stream
from ._errors import InvalidArgument
from ._labels import chosen_axes, letters_of, spacing_for, voxels_of
from ._options import Origin, with_keywords
from ._plain_arrays import convolved_plainly
from ._problem import CommonKeywords, ConvolveKeywords, Operation, Problem, convolution_defaults
from ._psf import Kernel, prepared_kernel, warn_of_unknown_voxels
from ._slabs import SlabConvolvers, are_slabs, shape_of_slabs


@functools.lru_cache(maxsize=256, typed=True)
def problem_on_gpu(image: ArrayForm, kernel: ArrayForm, origin: Origin, **form: Any) -> Problem:
    """Returns the convolution of an image with a kernel that both are in a GPU's memory. What depends only on shapes,
    types and options is found once: it takes as long as a small convolution."""
    known_by_shape = Kernel(np.broadcast_to(np.zeros((), kernel.dtype), kernel.shape), origin, None)
    return Problem(image.shape, known_by_shape, image.dtype, {**form, "executions": 1})


def _apply(operation: Operation, image: Any, kernel: Any, options: ConvolveKeywords) -> Any:
    if type(image) is np.ndarray and type(kernel) is np.ndarray:
        found = convolved_plainly(operation, image, kernel, options)
        if found is not None:
            return found
    form: Any = {name: value for name, value in options.items() if name in CommonKeywords.__annotations__}
    form["operation"] = operation
    if are_slabs(image):
        return _apply_to_slabs(image, kernel, form, options)
    if is_on_gpu(image, options.get("stream")):
        with on_stream(image, options.get("stream")):
            return _apply_on_gpu(image, kernel, form, options)
    pixels = readable(image, "the image")
    prepared, chosen = _adapted(kernel, image, pixels.shape, options)
    last = list(range(-len(chosen), 0))
    moved = np.moveaxis(pixels, chosen, last)
    batch, shape = moved.shape[:-len(chosen)], moved.shape[-len(chosen):]
    convolver = CachedConvolver(shape, prepared, dtype=pixels.dtype, executions=max(1, math.prod(batch)), **form)
    target_type = result_type(options.get("dtype"), convolver.dtype.name)
    out = options.get("out")
    if out is not None and options.get("dtype") is not None and getattr(out, "dtype", target_type) != target_type:
        raise InvalidArgument(f"out receives the result as {out.dtype}, not as {target_type}: leave dtype out")
    target_shape = list(pixels.shape)
    for axis, extent in zip(chosen, convolver.output_shape):
        target_shape[axis] = extent
    result = np.empty(target_shape, target_type) if out is None else writable(out, tuple(target_shape))
    targets = np.moveaxis(result, chosen, last)
    convolve_batch(convolver._core, moved, targets, batch, options.get("progress"), form.get("nan"))
    if out is not None:
        return out
    return result if pixels is image else give_back(result, image)


def _adapted(kernel: Any, image: Any, shape: tuple[int, ...], options: ConvolveKeywords) -> tuple[Kernel, list[int]]:
    """Returns the kernel in the voxels of the image, and the axes that are convolved."""
    origin: Origin = options.get("origin", "middle")
    plain = prepared_kernel(kernel, "the kernel", len(shape), origin)
    chosen = chosen_axes(options.get("axes"), image, len(shape), plain.taps.ndim)
    warn_of_unknown_voxels([shape[axis] for axis in chosen], spacing_for(image, chosen), kernel, "the kernel")
    known, letters = voxels_of(image), letters_of(image) or "ZYX"
    if known is None or plain.voxels is None:
        return plain, chosen
    along = {axis: known[letters[number]] for axis, number in zip("ZYX"[3 - len(chosen):], chosen)
             if letters[number] in known}
    return prepared_kernel(kernel, "the kernel", len(shape), origin, along), chosen


def _taps_on_gpu(kernel: Any, image: DeviceArray, form: dict[str, Any]) -> DeviceArray | None:
    """Returns a kernel that is prepared on the GPU of the image; None if options need its samples on the host."""
    origin = form.get("origin", "middle")
    if (form.get("normalize") is not None or (isinstance(origin, str) and origin not in ("middle", "scipy"))
            or (form.get("boundary") == "constant" and float(form.get("cval", 0)) != 0)
            or not is_on_gpu(kernel)):
        return None
    taps = DeviceArray.of(kernel, "the kernel")
    conjugated = taps.dtype.kind == "c" and form["operation"] != "convolve"
    return None if conjugated or taps.device != image.device else taps


def _apply_on_gpu(image: Any, kernel: Any, form: dict[str, Any], options: ConvolveKeywords) -> Any:
    source, dtype = DeviceArray.of(image, "the image"), options.get("dtype")
    taps = _taps_on_gpu(kernel, source, form)
    origin: Origin = options.get("origin", "middle")
    dimensions = len(source.shape)
    kernel_dimensions = np.ndim(kernel) if taps is None else len(taps.shape)
    if chosen_axes(options.get("axes"), None, dimensions, kernel_dimensions) != list(range(dimensions)):
        raise InvalidArgument("of an array in a GPU's memory all axes are convolved, in their order: give a batch to a "
                              "Convolver")
    if taps is None:
        prepared = prepared_kernel(kernel, "the kernel", len(source.shape), origin)
        problem = Problem(source.shape, prepared, source.dtype, {**form, "executions": 1})
    else:
        forms = ArrayForm(source.shape, source.dtype), ArrayForm(taps.shape, taps.dtype)
        fixed = {name: value for name, value in form.items() if name != "origin"}
        try:
            problem = problem_on_gpu(*forms, origin, **fixed)
        except TypeError:  # an option without a hash
            problem = problem_on_gpu.__wrapped__(*forms, origin, **fixed)
    if dtype is not None and type_of(dtype) != problem.natural:
        raise InvalidArgument(f"results in a GPU's memory are of type {problem.natural}: convert them there")
    convolver = (problem.cached_for_arrays_on(source.device, source.dtype) if taps is None
                 else problem.for_kernels_on(source.device, source.dtype))
    return convolve_on_gpu(convolver, source, options.get("out"), options.get("stream"), taps)


def _apply_to_slabs(image: Any, kernel: Any, form: dict[str, Any], options: ConvolveKeywords) -> list[Any]:
    shape = shape_of_slabs(image)
    if chosen_axes(options.get("axes"), None, len(shape), np.ndim(kernel)) != list(range(len(shape))):
        raise InvalidArgument("of an image in slabs all axes are convolved, in their order: leave out axes")
    prepared = prepared_kernel(kernel, "the kernel", len(shape), options.get("origin", "middle"))
    dtype: np.dtype[Any] = DeviceArray.of(image[0], "a slab of the image").dtype
    problem = Problem(shape, prepared, dtype, {**form, "executions": 1})
    wanted = options.get("dtype")
    if wanted is not None and type_of(wanted) != problem.natural:
        raise InvalidArgument(f"results in a GPU's memory are of type {problem.natural}: convert them there")
    return SlabConvolvers(problem, shape, from_cache=True)(image, options.get("out"), options.get("stream"))


@with_keywords(ConvolveKeywords, convolution_defaults(ConvolveKeywords, None))
def convolve(image: Any, kernel: Any, **options: Unpack[ConvolveKeywords]) -> Any:
    """Computes the linear convolution of an image, or of each image of a batch, with a kernel.

    Parameters
    ----------
    image : array, or list of arrays
        Any shape and strides. A list of arrays in GPUs' memory has the slabs of one image: see
        :meth:`Convolver.__call__`.
    kernel : array
        1 to 3 dimensions. It is resampled if image and kernel know their voxel sizes, and these differ.
    axes : sequence of ints, optional
        The image's axes that are convolved, one for each of the kernel's. All others are a batch. None takes z, y, x of
        an Image or an xarray.DataArray, else the last ones.
    out : array, optional
        Receives the result.
    dtype : type, optional
        Type of the result: by default float32, float64 or their complex types, by the precision. Integers are rounded
        and clamped, and a :class:`ConvolumeWarning` tells how many were clamped.
    stream : stream of CuPy or PyTorch, or int, optional
        For arrays in a GPU's memory: see :meth:`Convolver.__call__`.
    mode, boundary, cval, origin, normalize, method, nan, precision
        See :class:`Convolver`.
    device, workers, max_host_mem, max_gpu_mem, fft, progress
        See :class:`Run`.

    Returns
    -------
    array, of the library that `image` comes from

    Raises
    ------
    InvalidArgument, BadData, OutOfMemory, Unavailable
        See :class:`Convolver`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.convolve([1., 2., 3.], [1., 1.], mode="full", device="cpu")
    array([1., 3., 5., 3.])
    """
    return _apply("convolve", image, kernel, options)


@with_keywords(ConvolveKeywords, convolution_defaults(ConvolveKeywords, None))
def correlate(image: Any, kernel: Any, **options: Unpack[ConvolveKeywords]) -> Any:
    """Computes the correlation: the convolution with the flipped and conjugated kernel.

    In mode "same" sample i is the sum of ``conj(kernel[j]) * image[i + j - c]`` over j, where c is the kernel's origin.
    Parameters and errors are those of :func:`convolve`.

    Examples
    --------
    >>> import numpy as np, convolume
    >>> convolume.correlate([1., 2., 3.], [0., 0., 1.], device="cpu")
    array([2., 3., 0.])
    """
    return _apply("correlate", image, kernel, options)
