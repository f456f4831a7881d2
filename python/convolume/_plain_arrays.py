# SPDX-License-Identifier: Apache-2.0
"""Convolution of NumPy arrays by a plan of the cache. What depends only on shapes, types and options is found once:
it takes longer than a small convolution."""

import functools
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import TYPES, with_whole_strides, writable
from ._errors import Error, warn_of_changed
from ._problem import CommonKeywords, Operation, Problem, result_shape
from ._psf import Kernel
from ._run import check_fork, log, log_absent_gpu, parse_device


class AlikeCalls(NamedTuple):
    """Calls whose arguments differ only in the values of image and kernel."""

    convolution: _core.CachedConvolution
    shape: tuple[int, ...]
    """Shape of the results."""
    dtype: np.dtype[Any]
    device: str
    """Kind of device: "auto", "cpu" or "gpu"."""
    nan: str | None

    def result(self, image: np.ndarray, kernel: np.ndarray, out: Any = None) -> Any:
        """Convolves an image by a plan of the cache; returns None if plans are logged."""
        if log.isEnabledFor(logging.INFO):
            return None
        if self.device != "cpu":
            check_fork(self.device)
            if self.device == "auto":
                log_absent_gpu()
        result = np.empty(self.shape, self.dtype) if out is None else writable(out, self.shape)
        done = self.convolution.execute(with_whole_strides(image), with_whole_strides(kernel), result)
        warn_of_changed(result.dtype, done.clamped_low, done.clamped_high,
                        0 if self.nan == "missing" else done.nonfinite_inputs)
        return result if out is None else out


@functools.lru_cache(maxsize=256, typed=True)
def alike_calls(operation: Operation, image_shape: tuple[int, ...], image_type: np.dtype[Any],
                kernel_shape: tuple[int, ...], kernel_type: np.dtype[Any], **form: Any) -> AlikeCalls | None:
    """Returns what calls with such arrays and options have in common; None if they need more than a plan."""
    if (len(image_shape) != len(kernel_shape) or image_type not in TYPES or kernel_type not in TYPES
            or not CommonKeywords.__annotations__.keys() >= form.keys()
            or (form.get("workers") or 0) < 0):  # that number depends on the processors that the process may use
        return None
    kernel = Kernel(np.broadcast_to(np.zeros((), kernel_type), kernel_shape), form.get("origin", "middle"), None)
    try:
        problem = Problem(image_shape, kernel, image_type, {**form, "operation": operation, "executions": 1})
        shape = tuple(result_shape(image_shape, kernel_shape, form.get("mode", "same")))
    except (Error, KeyError):
        return None
    if min(shape) < 1:
        return None
    device = parse_device(form.get("device", "auto"))[0]
    return AlikeCalls(problem.of_cache(), shape, problem.natural, device, form.get("nan"))


def convolved_plainly(operation: Operation, image: np.ndarray, kernel: np.ndarray, options: Mapping[str, Any]) -> Any:
    """Convolves one image by a plan of the cache, without what other arrays and options need; None if these do."""
    form = {name: value for name, value in options.items() if name != "out"} if "out" in options else options
    try:
        alike = alike_calls(operation, image.shape, image.dtype, kernel.shape, kernel.dtype, **form)
    except (TypeError, ValueError):  # an option without a hash, or of a wrong type
        return None
    return None if alike is None else alike.result(image, kernel, options.get("out"))
