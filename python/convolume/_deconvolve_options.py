# SPDX-License-Identifier: Apache-2.0
"""Keywords of deconvolution."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from . import _core
from ._arrays import type_of
from ._errors import InvalidArgument
from ._iteration import Callback
from ._missing_pixels import MISSING_OPTIONS
from ._options import Boundary, Origin, boundary_name, center_of, defaults_of
from ._run import Devices, Progress, Resources, byte_size

Acceleration = Literal["biggs-andrews", "none"]
Edges = Literal["extend"] | Boundary
Method = Literal["rl", "rl-tv", "shb", "wb", "rlgc", "nnls", "wiener", "map"]


class _ModelKeywords(Resources, total=False):
    """Keywords of all methods."""

    edges: Edges
    origin: Origin
    background: float | Literal["auto", "smooth"]


class PhotonKeywords(Resources, total=False):
    """Keywords of methods that have a likelihood, for one image or several views."""

    edges: Edges
    acceleration: Acceleration
    tv_weight: float | Literal["auto"]
    spacing: Sequence[float | None] | None
    stop: float | Literal["auto"] | None
    saturation: float | Literal["auto"] | None
    no_data: float | Literal["auto", "off"]
    hot_pixels: Literal["auto", "off"]


class _LikelihoodKeywords(_ModelKeywords, PhotonKeywords, total=False):
    """Keywords of methods that have a likelihood."""

    coarse_start: int | None


class DeconvolverKeywords(_LikelihoodKeywords, total=False):
    """Keywords of :class:`Deconvolver` that also apply to an image in blocks."""

    method: Method
    iterations: int | None
    balance: float
    unmatched: int
    consensus: float
    roughness: float | Literal["auto"]
    gain: float | None
    offset: float | Literal["auto"]
    read_noise: float
    image_dtype: Any


class UncertaintyKeywords(TypedDict, total=False):
    """Keywords of images that are deconvolved as a whole: the standard deviation of the result."""

    uncertainty: bool | int
    seed: int


class _WholeKeywords(UncertaintyKeywords, total=False):
    """Keywords of images that are deconvolved as a whole: a PSF that varies with depth, and NaN."""

    depths: Sequence[float] | None
    nan: Literal["error", "missing"]


class PlanKeywords(DeconvolverKeywords, _WholeKeywords, total=False):
    """Keywords of :class:`Deconvolver`."""


class _BatchKeywords(TypedDict, total=False):
    """Keywords of calls that take a batch of images."""

    axes: Sequence[int] | int | None
    channel_axis: int | None
    dtype: Any
    progress: Progress


class CallKeywords(_BatchKeywords, total=False):
    """Keywords of :meth:`Deconvolver.__call__`."""

    start: Any
    mask: Any
    weights: Any
    callback: Callback | None
    stream: Any


class RichardsonLucyKeywords(_LikelihoodKeywords, _WholeKeywords, _BatchKeywords, total=False):
    """Keywords of :func:`richardson_lucy`."""

    out: Any
    mask: Any
    weights: Any
    callback: Callback | None


class WienerKeywords(_ModelKeywords, UncertaintyKeywords, _BatchKeywords, total=False):
    """Keywords of :func:`wiener`."""

    iterations: int
    spacing: Sequence[float | None] | None
    stop: float | None
    out: Any


def deconvolution_defaults(keywords: Any, **others: Any) -> dict[str, Any]:
    return defaults_of(keywords, "DeconvolveOptions", "MissingPixelOptions", spacing=None, uncertainty=False,
                       saturation="auto", **others)


def require_used(options: Mapping[str, Any]) -> None:
    """Raises InvalidArgument if a keyword is given that the method does not use, and asks for something."""
    _core.require_used(options.get("method", "rl"), options.get("view_updates", "simultaneous"), dict(options))


def core_keywords(options: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    """Returns the keywords of the library's DeconvolveOptions that the caller gives."""
    own = {name: value for name, value in options.items()
           if name not in Devices.__annotations__ and name not in ("depths", *MISSING_OPTIONS)}
    if isinstance(own.get("saturation"), str):
        if own["saturation"] != "auto":
            raise InvalidArgument(f"saturation is a number, 'auto' or None, not '{own['saturation']}'")
        del own["saturation"]
    if own.get("uncertainty") is True:
        own["uncertainty"] = _core.usual_splits
    spacing = [1.0] * dimensions if own.get("spacing") is None else own["spacing"]
    if len(spacing) != dimensions:
        raise InvalidArgument(f"spacing has {len(spacing)} numbers for {dimensions} dimensions")
    own["spacing"] = [1.0] * (3 - dimensions) + [1.0 if s is None else float(s) for s in spacing]
    own["max_host_mem"] = byte_size(own.get("max_host_mem"))
    if "edges" in own:
        own["edges"] = boundary_name(own["edges"])
    if "origin" in own:
        own["origin"] = center_of(own["origin"], dimensions)
    if own.get("image_dtype") is not None:
        own["image_dtype"] = type_of(own["image_dtype"]).name
    return own
