# SPDX-License-Identifier: Apache-2.0
"""Convolutions that are planned once and called often."""

import functools
import itertools
import json
import math
import threading
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._arrays import give_back, is_double, readable, writable
from ._batch import progress_of_one_image
from ._device import DeviceArray, is_on_gpu, on_stream, storage_of
from ._errors import InvalidArgument, warn_of_changed
from ._linear_map import LinearMap, linear_operator
from ._options import with_keywords
from ._problem import ConvolverKeywords, Plan, Problem, convolution_defaults
from ._psf import Kernel, check_voxels, prepared_kernel
from ._run import Progress, log_plan, progress_bar
from ._slabs import SlabConvolvers, are_slabs


def convolve_on_gpu(convolver: _core.DeviceConvolver, image: DeviceArray, out: Any = None, stream: Any = None,
                    kernel: DeviceArray | None = None, batch: tuple[int, ...] = (),
                    takes_short_floats: bool = False) -> Any:
    """Convolves the images of a batch, whose axes come first in `image` and in the result."""
    own = image.shape[len(batch):]
    shape = tuple(convolver.output_shape[3 - len(own):])
    kind: np.dtype[Any] = convolver.output_type
    whole = batch + shape
    result = (image.empty(whole, kind) if out is None
              else DeviceArray.target(out, whole, kind, image.device, takes_short_floats))
    convolver.execute(image.address, result.address, image.stream(stream), kernel.address if kernel else 0,
                      math.prod(batch))
    return image.give_back(result.array) if out is None else out


def convolve_batch(core: _core.Convolver, sources: np.ndarray, targets: np.ndarray, batch: tuple[int, ...],
                    progress: Progress, nan: str | None) -> None:
    """Convolves the images of a batch, whose axes come first in `sources` and `targets`, one by one with one plan."""
    if not batch and progress is None:  # a small image takes half as long without a loop
        done = core.execute(sources, targets)
        warn_of_changed(targets.dtype, done.clamped_low, done.clamped_high,
                        0 if nan == "missing" else done.nonfinite_inputs)
        return
    if batch and np.shares_memory(sources, targets):
        raise InvalidArgument("the images of the batch and their results overlap: give out memory of its own")
    low = high = nonfinite = 0
    images = math.prod(batch)
    with progress_bar(progress) as report:
        for number, index in enumerate(itertools.product(*map(range, batch))):
            step = None if report is None else progress_of_one_image(report, number, images)
            done = core.execute(sources[index], targets[index], step)
            low, high = low + done.clamped_low, high + done.clamped_high
            nonfinite += done.nonfinite_inputs
    warn_of_changed(targets.dtype, low, high, 0 if nan == "missing" else nonfinite)


class Convolver:
    """Convolves images of one shape with one kernel. It is planned once and may be called often.

    Parameters
    ----------
    image_shape : sequence of 1 to 3 ints
        Extents of an image, slowest axis first: (z, y, x), (y, x) or (x,).
    kernel : array
        The kernel, which is copied. One of fewer dimensions than the image is for its last axes: a kernel (y, x)
        convolves each plane of an image (z, y, x).
    dtype : type, optional
        Type of the images that will come. It sets the precision and enters the memory estimate. By default the plan is
        for float32, and the first image of a type that float32 would round makes a second plan, of float64.
    mode : {"same", "full", "valid"}
        Size of the result, as in scipy.signal. With extents n of the image and k of the kernel, its extents are n,
        n + k - 1, or n - k + 1.
    boundary : {"zero", "constant", "nearest", "reflect", "mirror", "wrap"}
        Continuation of the image beyond its border, in the words of scipy.ndimage. Every mode uses it.
    cval : float
        Value of samples outside the image, for "constant".
    origin : {"middle", "scipy", "peak", "centroid", "corner"} or sequence of ints
        The kernel's sample that stands for no shift, for mode "same". "middle" is k // 2, as in scipy.ndimage and ITK,
        "scipy" is (k - 1) // 2, as in scipy.signal. "corner" is sample 0 of a kernel in FFT order, which is unwrapped
        first, as by numpy.fft.fftshift.
    normalize : {None, "sum", "peak"}
        Divide the kernel by its sum, or by its largest magnitude.
    operation : {"convolve", "correlate", "adjoint"}
        "correlate" flips and conjugates the kernel; "adjoint" is the adjoint of the convolution with these options.
    method : {"auto", "in-core", "dif", "tiled", "direct"}
        Method of computation. "auto" takes the one that is predicted to be fastest within the memory limits.
    nan : {"error", "zero", "propagate", "missing"}
        Handling of NaN and infinities in images: an error, read as 0, or computed with. "missing" leaves them out by
        normalized convolution (Knutsson and Westin, CVPR 1993): results are sums over the finite values, divided by the
        part of the kernel's sum that is on these, and NaN where there is none, as by
        `astropy.convolution.convolve(…, boundary="fill")`. Values outside of the image are those of `boundary`. Images
        and kernels are real, and in host memory.
    precision : {None, "float32", "float64"}
        None is float64 if `dtype`, the kernel or, without a `dtype`, the image holds numbers that float32 would round,
        else float32.
    device, workers, max_host_mem, max_gpu_mem, fft
        See :class:`convolume.Run`.
    executions : int, optional
        Number of images that will come. By default the preparation of the kernel does not count in predictions.

    Raises
    ------
    InvalidArgument
        Options that contradict themselves or the shapes (a ValueError).
    BadData
        A kernel of zeros, or with NaN (a ValueError).
    OutOfMemory
        No plan fits the memory limits (a MemoryError).
    Unavailable
        A GPU is requested and there is none (a RuntimeError).

    Examples
    --------
    >>> import numpy as np, convolume
    >>> blur = convolume.Convolver((4, 5), np.ones((3, 3)) / 9, device="cpu")
    >>> blur(np.eye(4, 5)).shape
    (4, 5)
    """

    _from_cache = False  # whether the plan is taken from the cache, and left there

    @with_keywords(ConvolverKeywords, convolution_defaults(ConvolverKeywords, None))
    def __init__(self, image_shape: Sequence[int], kernel: Any, **options: Unpack[ConvolverKeywords]) -> None:
        dtype = options.pop("dtype", None)
        self._problem = Problem(image_shape, kernel, np.float32 if dtype is None else dtype, dict(options))
        # Whether images choose the precision, and the plan for those that float32 would round.
        self._follows_images = (dtype is None and options.get("precision") is None
                                and self._problem.arguments["precision"] == "float32")
        self._of_double: Convolver | None = None
        # Held while the kernel is replaced and while further plans of it are made, which then have the newest kernel.
        self._lock = threading.RLock()
        self._core = self._problem.for_host_arrays(self._from_cache)
        # By device, and by the image's type, its storage and that of the result.
        self._on_gpus: dict[tuple[int, np.dtype[Any], str, str], _core.DeviceConvolver] = {}
        first = 3 - len(self._problem.shape)
        self.input_shape: tuple[int, ...] = tuple(self._core.input_shape[first:])
        self.output_shape: tuple[int, ...] = tuple(self._core.output_shape[first:])
        self._natural = self._problem.natural
        self._of_slabs = SlabConvolvers(self._problem, self.input_shape, self._from_cache)
        self._back: Convolver | None = None  # the adjoint, once a linear operator needs it
        log_plan(lambda: self.plan, options)

    @property
    def plan(self) -> Plan:
        """The plan in use now."""
        return Plan(self._core.plan_text, json.loads(self._core.plan_json))

    @property
    def dtype(self) -> np.dtype:
        """The type that results have where `out` does not say. If `dtype` was not given, those of images that float32
        would round are of float64."""
        return self._natural

    @names_wrong_types
    def __call__(self, image: Any, out: Any = None, *, stream: Any = None, progress: Progress = None) -> Any:
        """Convolves one image of `input_shape`, or each image of a batch, with any type and strides.

        Parameters
        ----------
        image : array, or list of arrays
            Axes before those of `input_shape` are a batch. An image in the memory of several GPUs is a list of arrays
            there: slabs of its planes along z. Arrays in the memory of one GPU may be of float16 or bfloat16, which are
            computed with as float32 and not copied.
        out : array of `output_shape`, after the axes of a batch, optional
            Receives the result in its own type, and must not overlap the image. Integers are rounded and clamped, and a
            :class:`ConvolumeWarning` tells how many were clamped. For an image in a GPU's memory, a contiguous array
            there with the type :attr:`Convolver.dtype`, or float16 or bfloat16 where that is float32; for slabs, a list
            of arrays with that type on the same GPUs.
        stream : stream of CuPy or PyTorch, or int, optional
            For an image in a GPU's memory: the CUDA stream on which the work is enqueued, or its address. None takes
            the library's current one. For slabs, a list of streams. The call returns before the work is done.
        progress
            See :class:`convolume.Run`.

        Returns
        -------
        array of `output_shape`, after the axes of a batch, of the library that `image` comes from; for slabs, a list of
        arrays

        Examples
        --------
        >>> import numpy as np, convolume
        >>> blur = convolume.Convolver((4, 5), np.ones((3, 3)) / 9, device="cpu")
        >>> blur(np.ones((7, 2, 4, 5))).shape           # times, channels, y, x
        (7, 2, 4, 5)
        """
        if are_slabs(image):
            if self._follows_images and self._is_too_narrow(DeviceArray.of(image[0], "a slab of the image").dtype):
                return self._for_double()(image, out, stream=stream)
            return self._of_slabs(image, out, stream)
        if is_on_gpu(image, stream):
            with on_stream(image, stream):
                return self._call_on_gpu(DeviceArray.of(image, "the image", takes_short_floats=True), out, stream)
        pixels = readable(image, "the image")
        batch = self._batch_of(pixels.shape)
        if self._is_too_narrow(pixels.dtype):
            return self._for_double()(image, out, progress=progress)
        check_voxels(image, self._problem.prepared, "the kernel", "resample the kernel by convolume.resample_kernel")
        shape = batch + self.output_shape
        result = np.empty(shape, self._natural) if out is None else writable(out, shape)
        convolve_batch(self._core, pixels, result, batch, progress, self._problem.arguments.get("nan"))
        if out is not None:
            return out
        return result if pixels is image else give_back(result, image)

    @names_wrong_types
    def replace_kernel(self, kernel: Any) -> None:
        """Replaces the kernel by one of the same shape and type, without a new plan.

        For loops that change the kernel and not its size, such as the estimation of a PSF. Results are those of a new
        convolver with that kernel. Calls of other threads that have begun end with the kernel that they began with.
        Linear operators of this convolver have the new kernel, and adjoints that were made before have the old one.
        For arrays in a GPU's memory, the next call makes a new plan; :func:`convolve` makes none there if the kernel is
        in the same memory.

        Parameters
        ----------
        kernel : array
            The kernel, which is copied.

        Raises
        ------
        InvalidArgument
            Another shape or type, or an `origin` by the samples, "peak" or "centroid", that moved (a ValueError).
        BadData
            A kernel of zeros, or with NaN (a ValueError). The kernel is then as before.

        Examples
        --------
        A PSF is estimated from a specimen and its image, by Richardson and Lucy's iterations:

        >>> import numpy as np, convolume
        >>> specimen = np.random.default_rng(1).random((32, 32))
        >>> psf = np.outer([1., 2., 1.], [1., 3., 1.]) / 20
        >>> image = convolume.convolve(specimen, psf, boundary="wrap", device="cpu")
        >>> found = np.full((3, 3), 1 / 9)
        >>> blur = convolume.Convolver(image.shape, found, boundary="wrap", device="cpu")
        >>> windows = np.lib.stride_tricks.sliding_window_view(np.pad(specimen, 1, "wrap"), (32, 32))[::-1, ::-1]
        >>> for _ in range(150):
        ...     ratio = image / blur(specimen)
        ...     found *= (windows * ratio).sum(axis=(2, 3)) / specimen.sum()
        ...     blur.replace_kernel(found)
        >>> bool(np.abs(found - psf).max() < 0.01)
        True
        """
        origin = self._origin_for(np.ndim(kernel))
        self._replace(prepared_kernel(kernel, "the kernel", len(self._problem.shape), origin))

    def _origin_for(self, dimensions: int) -> Any:
        """Returns the origin of kernels of that number of dimensions, without those that were filled in."""
        origin = self._problem.arguments["origin"]
        return origin if isinstance(origin, str) else list(origin)[-dimensions:]

    def _replace(self, kernel: Kernel) -> None:
        with self._lock:
            problem = Problem(self._problem.shape, kernel, self._problem.dtype, dict(self._problem.arguments))
            self._core.replace_kernel(problem.filled_kernel())
            self._problem = problem
            self._on_gpus.clear()
            self._of_slabs = SlabConvolvers(problem, self.input_shape, self._from_cache)
            double, back = self._of_double, self._back
            self._of_double = self._back = None  # if a replacement fails, these plans are made anew
            for other in (double, back):
                if other is not None:
                    other._replace(kernel)
            self._of_double, self._back = double, back

    def _batch_of(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the extents of the batch of an array of images."""
        first = len(shape) - len(self.input_shape)
        if first < 0 or shape[first:] != self.input_shape:
            raise InvalidArgument(f"an image of shape {shape} where this convolver was planned for {self.input_shape}")
        return shape[:first]

    def _is_too_narrow(self, dtype: np.dtype[Any]) -> bool:
        """Tells whether the images, which choose the precision, have numbers that this plan would round."""
        return self._follows_images and is_double(dtype)

    def _for_double(self) -> "Convolver":
        with self._lock:
            if self._of_double is None:
                self._of_double = self._planned_again(dtype=np.float64)
            return self._of_double

    def _planned_again(self, **changes: Any) -> "Convolver":
        """Plans the same convolution with other options."""
        return Convolver(self._problem.shape, self._problem.prepared, **{**self._options(), **changes})

    def _options(self) -> dict[str, Any]:
        """Returns the options of this convolver."""
        options = {**self._problem.arguments, "dtype": self._problem.dtype.name}
        return options | ({"dtype": None, "precision": None} if self._follows_images else {})

    def _call_on_gpu(self, image: DeviceArray, out: Any, stream: Any) -> Any:
        batch = self._batch_of(image.shape)
        if self._is_too_narrow(image.dtype):
            return self._for_double()._call_on_gpu(image, out, stream)
        stored = "plain" if out is None or not is_on_gpu(out) else storage_of(out)
        if stored != "plain" and self._natural != np.float32:
            raise InvalidArgument(f"out is of {stored}, and results are of {self._natural} here: plan the convolver "
                                  "with precision='float32'")
        key = image.device, image.dtype, image.storage, stored
        with self._lock:
            if key not in self._on_gpus:
                self._on_gpus[key] = self._problem.for_arrays_on(*key)
            planned = self._on_gpus[key]
        return convolve_on_gpu(planned, image, out, stream, batch=batch, takes_short_floats=True)

    def adjoint(self) -> "Convolver":
        """Returns the exact adjoint, which maps images of `output_shape` to images of `input_shape`.

        Examples
        --------
        >>> import numpy as np, convolume
        >>> blur = convolume.Convolver((5,), [1., 2.], mode="valid", device="cpu")
        >>> blur.adjoint()(np.ones(4))
        array([2., 3., 3., 3., 1.])
        """
        turned = {"convolve": "adjoint", "adjoint": "convolve"}.get(
            self._problem.arguments.get("operation", "convolve"))
        if turned is None:
            raise InvalidArgument("the adjoint of a correlation is not offered: plan a convolution with the flipped "
                                  "kernel")
        return self._planned_again(operation=turned)

    def as_linear_operator(self) -> Any:
        """Returns the convolution as a scipy.sparse.linalg.LinearOperator, for solvers of SciPy and PyLops.

        Its matrix A has the shape (samples of a result, samples of an image), and :attr:`Convolver.dtype`. It is not
        stored: A x is the convolution of the flattened image x, Aᴴ y the adjoint of the flattened result y.

        Raises
        ------
        InvalidArgument
            The convolver adds a constant, by its `cval`, or is a correlation (a ValueError).
        Unavailable
            SciPy is not installed (a RuntimeError).

        Examples
        --------
        >>> import numpy as np, convolume
        >>> from scipy.sparse.linalg import lsqr
        >>> blur = convolume.Convolver((8,), [1., 3., 1.], dtype="float64", device="cpu")
        >>> image = blur(np.array([0., 0., 1., 0., 0., 2., 0., 0.]))
        >>> np.abs(lsqr(blur.as_linear_operator(), image)[0].round(3))
        array([0., 0., 1., 0., 0., 2., 0., 0.])
        """
        return linear_operator(self._as_linear_map())

    def _as_linear_map(self) -> LinearMap:
        if self._problem.arguments.get("cval"):
            raise InvalidArgument("a convolution with a cval adds a constant, and is not linear: plan it with cval=0, "
                                  "and add the constant to its results")
        with self._lock:
            back = self._back = self._back or self.adjoint()
        return LinearMap(self.input_shape, [self.output_shape], self._natural, lambda image: [self(image)],
                         lambda images: back(images[0]))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy makes a plan of its own
        return functools.partial(Convolver, self._problem.shape, self._problem.prepared, **self._options()), ()

    def __repr__(self) -> str:
        return f"<Convolver {self.input_shape} -> {self.output_shape}, {self.plan!r}>"


class CachedConvolver(Convolver):
    """A convolver of a function that plans and computes in one call. Its plan stays in the cache."""

    _from_cache = True
