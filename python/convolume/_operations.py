# SPDX-License-Identifier: Apache-2.0
"""Operations on blocks: convolution, deconvolution, or a function. Each has a halo and a continuation of the image."""

import hashlib
import inspect
import math
import tokenize
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from . import _core
from ._arrays import clamped_to, is_double, readable, result_type
from ._block_samples import BlockSamples
from ._blocks import Halo, Triple, symmetric_halo
from ._convolver import Convolver
from ._deconvolve import Deconvolver
from ._deconvolve_options import DeconvolverKeywords
from ._errors import BadData, InvalidArgument, option, without_warnings
from ._operation import BlockResult, Operation, PlanCache, check_options, hash_of, plain_values
from ._options import Origin, boundary_name, defaults_of, refuse_unused_cval, whole_numbers, with_keywords

_NOT_IN_BLOCKS = ("rlgc",)
"""Methods of deconvolution that end by themselves, at different iterations in each block."""

_NOT_SEARCHED: Mapping[str, Any] = {"no_data": "off", "hot_pixels": "off", "saturation": None}
"""Options of deconvolution that would find other pixels in neighboring blocks, and their values in blocks."""



def _three_dimensional(kernel: Any, what: str) -> np.ndarray:
    taps = readable(kernel, what)
    if not 1 <= taps.ndim <= 3:
        raise InvalidArgument(f"{what} has {taps.ndim} dimensions where 1 to 3 are convolved")
    if taps.size == 0:
        raise BadData(f"{what} is empty")
    return taps.reshape((1,) * (3 - taps.ndim) + taps.shape)


def options_in_blocks(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options of a deconvolution of blocks, which do not depend on what a block shows."""
    for name in _NOT_SEARCHED.keys() & options.keys():
        if options[name] == "auto":
            raise InvalidArgument(f"neighboring blocks could find other pixels by {option(name, 'auto')}: leave it "
                                  "out, or give a value")
    return {"acceleration": "none", **_NOT_SEARCHED, **options}


def weights_to_find(options: Mapping[str, Any]) -> list[str]:
    """Returns which weights of a method's penalty are to be found once, for all blocks."""
    return [name for name in ("tv_weight", "roughness")
            if _core.uses_option(options.get("method", "rl"), name) and options.get(name, "auto") in ("auto", None)]


def options_of_a_sample(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options for the part of the image that is to tell values for all blocks. It is searched for pixels that
    hold no light, which would be taken for a background."""
    return {name: value for name, value in options.items() if name not in _NOT_SEARCHED or value not in ("off", None)}


class _ContinuationKeywords(TypedDict, total=False):
    boundary: str
    cval: float
    nan: str
    dtype: Any


class _ConvolutionKeywords(_ContinuationKeywords, total=False):
    origin: Origin
    normalize: str | None


class _FunctionKeywords(_ContinuationKeywords, total=False):
    halo: Sequence[int] | None


class Convolution(Operation):
    """Convolution of blocks. It is exact, as the halo holds all samples that a result depends on."""

    name = "convolve"
    voxel_bytes = 16.0

    @with_keywords(_ConvolutionKeywords, defaults_of(_ConvolutionKeywords, "Options", cval=0.0, dtype=None))
    def __init__(self, kernel: Any, image_type: np.dtype[Any], **options: Unpack[_ConvolutionKeywords]) -> None:
        self.kernel = _three_dimensional(kernel, "the kernel")
        boundary, origin, nan = (options.get("boundary", "zero"), options.get("origin", "middle"),
                                 options.get("nan", "error"))
        self.boundary: str | None = boundary_name(boundary)
        if self.boundary not in ("zero", "constant", "nearest", "reflect", "mirror", "wrap"):
            raise InvalidArgument(f"there is no boundary '{boundary}': choose zero, constant, nearest, reflect, mirror "
                                  "or wrap")
        self.cval = _checked_cval(options.get("cval", 0.0), self.boundary)
        self.image_type = readable(np.empty(0, image_type), "the image").dtype
        double = is_double(self.image_type, self.kernel.dtype)
        complex_data = "c" in (self.image_type.kind, self.kernel.dtype.kind)
        natural = _core.sample_type("float64" if double else "float32", complex_data)
        self.dtype = result_type(options.get("dtype"), natural.name)
        self.nan = nan
        self.options: dict[str, Any] = {"normalize": options.get("normalize"), "nan": nan}
        self.origin = origin if isinstance(origin, str) else whole_numbers(origin, "origin")
        center = _center(self.kernel, origin, nan)
        low = [k - 1 - c for k, c in zip(self.kernel.shape, center)]
        self.halo: Halo = ((low[0], center[0]), (low[1], center[1]), (low[2], center[2]))
        self._plans = PlanCache()

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "kernel": hash_of(self.kernel), "kernel_shape": list(self.kernel.shape),
                "boundary": self.boundary, "cval": self.cval, "origin": self.origin, **self.options}

    def device_bytes(self, shape: Triple) -> int:
        plan = self.convolver(shape).plan
        return plan.device_bytes if plan.method == "in-core" else 0

    def seconds(self, shape: Triple) -> float | None:
        return self.convolver(shape).plan.seconds

    def convolver(self, shape: Sequence[int]) -> Convolver:
        """Returns the convolver for blocks of this shape, halo included."""
        made: Convolver = self._plans.plan(tuple(shape), lambda: Convolver(
            shape, self.kernel, dtype=self.image_type, mode="valid", executions=100, **self.options,
            **self._plans.run))
        return made

    def __call__(self, samples: BlockSamples) -> BlockResult:
        convolver = self.convolver(samples.values.shape)
        result = self._plans.array(convolver.output_shape, self.dtype)
        try:
            done = convolver._core.execute(samples.values, result)
        except BadData:
            samples.refuse_nonfinite()
            raise
        # The library's own count includes the halo.
        nonfinite = samples.count_nonfinite_inside() if done.nonfinite_inputs else 0
        return BlockResult(result, done.clamped_low, done.clamped_high, nonfinite)


def _checked_cval(cval: float, boundary: str | None) -> float:
    refuse_unused_cval(cval, boundary)
    if not math.isfinite(cval):
        raise InvalidArgument(f"cval is {cval}: give a finite value outside the image")
    return float(cval)


def _center(kernel: np.ndarray, origin: Origin, nan: str) -> Triple:
    if origin == "corner":
        raise InvalidArgument("the origin 'corner' is not known for blocks: choose middle, scipy, peak, or give its "
                              "index")
    index = origin if isinstance(origin, str) else [0] * (3 - len(origin)) + list(origin)
    found = _core.center_index(_core.Options(origin=index, nan=nan), kernel)
    return found[0], found[1], found[2]


class Deconvolution(Operation):
    """Deconvolution of each block with a halo that is thrown away.

    The background, the start, the number of iterations and the scale of photons are the same in all blocks. No block
    estimates them from its own pixels.
    """

    name = "deconvolve"

    def __init__(self, psf: Any, *, halo: Sequence[int] | None = None, nan: str = "error", dtype: Any = None,
                 **options: Any) -> None:
        self.psf = _three_dimensional(psf, "the PSF")
        _core.check_nan_policy(nan, ("error", "zero"))
        self.nan = nan
        self.dtype = result_type(dtype, "float32")
        self._is_converted = self.dtype.kind in "iu"
        self.voxel_bytes = 48.0 if self._is_converted else 44.0
        if options.get("background") == "smooth":
            raise InvalidArgument("a background that varies is found in the whole image, and not in blocks: give a "
                                  f"number, or take {option('background', 'auto')}")
        self.options = {"background": "auto", "offset": "auto", **options_in_blocks(options)}
        check_options(self.options, DeconvolverKeywords)
        if self.options.get("method") in _NOT_IN_BLOCKS:
            raise InvalidArgument(f"the method {self.options['method']} ends by itself, in each block at another "
                                  "iteration: choose another for images in blocks")
        self.halo = symmetric_halo([0 if k == 1 else k for k in self.psf.shape] if halo is None else halo)
        self._light: float | None = None
        self._plans = PlanCache()

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "psf": hash_of(self.psf), "psf_shape": list(self.psf.shape),
                "halo": [low for low, _ in self.halo], "nan": self.nan,
                **plain_values(self.options)}

    def needs_estimates(self) -> bool:
        return bool(self._levels_to_find()) or self._ends_by_itself() or self._has_start()

    def _has_start(self) -> bool:
        return self.options.get("method") != "wiener"

    def _ends_by_itself(self) -> bool:
        """Tells whether the image decides on the number of iterations."""
        named = {name: self.options[name] for name in ("method", "iterations", "stop") if name in self.options}
        return _core.resolved(_core.DeconvolveOptions(**named), 1).stop is not None

    def _levels_to_find(self) -> list[str]:
        background = self.options["background"]
        has_room = background == "auto" or float(background) > 0  # an offset is at most the background
        return [level for level in ("background", "offset") if self.options[level] == "auto"
                and (level == "background" or has_room)]

    def find_estimates(self, sample_of: Callable[[int], BlockSamples]) -> dict[str, Any]:
        sample = sample_of(0)
        if self.nan == "zero" and sample.may_hold_nonfinite():
            sample = sample.with_zeros()
        options = options_of_a_sample(self.options)
        ends_by_itself = self._ends_by_itself()
        weights = weights_to_find(self.options)
        if not ends_by_itself and not self._levels_to_find() and not weights:
            return {"light": sample.start_above(float(options["background"]))}
        if not ends_by_itself:
            options["iterations"] = 1  # levels are those of the image
        options.setdefault("coarse_start", 0)  # blocks start from an even light, and need as many iterations as that
        with without_warnings():
            deconvolver = Deconvolver(sample.values.shape, self.psf, **options, **self._plans.run)
        self._deconvolved(deconvolver, sample)
        report = deconvolver.report
        found: dict[str, Any] = {}
        for level in self._levels_to_find():
            found[level] = float(report[level])
        if ends_by_itself:
            found["iterations"] = max(1, int(report["iterations"]))
        if self._has_start():
            found["light"] = sample.start_above(float(report["background"]))
        return found | {name: float(report[name]) for name in weights}

    def set_estimates(self, found: Mapping[str, Any]) -> None:
        self._light = found.get("light") or None
        self.options.update({name: value for name, value in found.items() if name != "light"})
        if "iterations" in found:
            self.options.pop("stop", None)

    def device_bytes(self, shape: Triple) -> int:
        facts = self.deconvolver(shape)._cores[0].plan_facts
        return int(facts["device_bytes"]) if facts["on_device"] and not facts["by_walks"] else 0

    def seconds(self, shape: Triple) -> float | None:
        """Each iteration blurs the object and projects back, which are two convolutions."""
        core = self.deconvolver(shape)._cores[0]
        blur = Convolver(core.plan_facts["object"], self.psf, executions=100, **self._plans.run)
        named = {name: self.options[name] for name in ("method", "iterations") if name in self.options}
        iterations: Any = _core.resolved(_core.DeconvolveOptions(**named), 1).iterations
        return None if iterations is None else 2 * int(iterations) * blur.plan.seconds

    def deconvolver(self, shape: Sequence[int]) -> Deconvolver:
        with without_warnings():  # the shape of a block says nothing about the image
            made: Deconvolver = self._plans.plan(
                tuple(shape), lambda: Deconvolver(shape, self.psf, **self.options, **self._plans.run))
        return made

    def __call__(self, samples: BlockSamples) -> BlockResult:
        estimate, had_nonfinite = self._deconvolved(self.deconvolver(samples.values.shape), samples)
        nonfinite = samples.count_nonfinite_inside() if had_nonfinite else 0
        if not self._is_converted:
            return BlockResult(estimate[samples.inside], nonfinite=nonfinite)
        # Clamped values in the halo do not count, as the halo is thrown away.
        return BlockResult(*clamped_to(estimate[samples.inside], self.dtype), nonfinite)

    def _deconvolved(self, deconvolver: Deconvolver, samples: BlockSamples) -> tuple[np.ndarray, bool]:
        """Returns the estimate with the halo, and whether NaN or infinities were read as 0."""
        estimate = self._plans.array(samples.values.shape, np.float32 if self._is_converted else self.dtype)
        # The mean light of a block would be another start than that of its neighbors.
        has_own = self._light is None or bool(self.options.get("coarse_start"))
        start = None if has_own else np.full(samples.values.shape, self._light, np.float32)
        try:
            with without_warnings():  # pixels of halos would count several times
                deconvolver(samples.values, out=estimate, start=start)
            return estimate, False
        except BadData:
            if self.nan == "error":
                samples.refuse_nonfinite()
            if samples.nonfinite_error() is None:
                raise
        with without_warnings():
            deconvolver(samples.with_zeros().values, out=estimate, start=start)
        return estimate, True


def _told_parameters(function: Callable[..., Any]) -> list[str]:
    """Returns which of `channel`, `time` and `place` a function wants to be told: its parameters of these names that
    have no default, or can only be given by name. Values that functools.partial has given stay."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function of another language
        return []
    bound = getattr(function, "keywords", None) or {}
    return [name for name in ("channel", "time", "place") if name in parameters and name not in bound
            and (parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
                 or parameters[name].default is inspect.Parameter.empty)]


class Function(Operation):
    """A function of the caller, whose results depend on the samples within a halo."""

    voxel_bytes = 16.0

    @with_keywords(_FunctionKeywords, {"halo": None, "boundary": "nearest", "cval": 0.0, "nan": "propagate",
                                       "dtype": None})
    def __init__(self, function: Callable[[np.ndarray], Any], image_type: np.dtype[Any],
                 **options: Unpack[_FunctionKeywords]) -> None:
        halo = options.get("halo")
        if halo is None:
            raise InvalidArgument("a function needs its halo: so many samples around a block along z, y and x as its "
                                  "results depend on, such as halo=(0, 2, 2)")
        self.function = function
        self._told = _told_parameters(function)
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.halo = symmetric_halo(halo)
        self.boundary: str | None = boundary_name(options.get("boundary", "nearest"))
        self.cval = _checked_cval(options.get("cval", 0.0), self.boundary)
        self.nan = options.get("nan", "propagate")
        _core.check_nan_policy(self.nan, ("error", "zero", "propagate"))
        natural = "float32" if image_type.kind in "iub" else np.dtype(image_type).name
        self.dtype = result_type(options.get("dtype"), natural)

    def facts(self) -> dict[str, Any]:
        try:
            source = hashlib.sha256(inspect.getsource(self.function).encode()).hexdigest()[:16]
        except (OSError, TypeError, SyntaxError, tokenize.TokenError):  # the function is not in a Python file
            source = "unknown"
        return {"name": f"{getattr(self.function, '__module__', '')}.{self.name}", "source": source,
                "halo": [low for low, _ in self.halo], "boundary": self.boundary, "cval": self.cval,
                "nan": self.nan}

    def _told_of(self, samples: BlockSamples) -> dict[str, Any]:
        place = tuple(int(places[one.start]) for places, one in zip(samples.places, samples.inside))
        known = {"channel": samples.block.c, "time": samples.block.t, "place": place}
        return {name: known[name] for name in self._told}

    def __call__(self, samples: BlockSamples) -> BlockResult:
        nonfinite = 0
        if self.nan != "propagate" and samples.may_hold_nonfinite():
            if self.nan == "error":
                samples.refuse_nonfinite()
            elif samples.nonfinite_error() is not None:
                nonfinite = samples.count_nonfinite_inside()
                samples = samples.with_zeros()
        try:
            result = np.asarray(self.function(samples.values, **self._told_of(samples)))
        except BadData:  # raised by a function of this package, which cannot name the place in the image
            samples.refuse_nonfinite()
            raise
        extents = tuple(one.stop - one.start for one in samples.inside)
        if result.shape == samples.values.shape:
            result = result[samples.inside]
        elif result.shape != extents:
            raise InvalidArgument(f"the function gave an array of {result.shape} for one of {samples.values.shape}: it "
                                  f"must have that shape, or {extents} without the halo")
        if self.dtype.kind in "iu" and not np.can_cast(result.dtype, self.dtype):
            return BlockResult(*clamped_to(result, self.dtype), nonfinite)
        return BlockResult(result.astype(self.dtype, copy=False), nonfinite=nonfinite)
