# SPDX-License-Identifier: Apache-2.0
"""Options as keywords. A TypedDict has the names and types of a function's keywords. Their defaults come from the
library's tables of options."""

import difflib
import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np

from . import _core
from ._argument_types import names_wrong_types, shown
from ._errors import InvalidArgument, WrongType, option

Mode = Literal["full", "same", "valid"]
Boundary = Literal["zero", "constant", "nearest", "reflect", "mirror", "wrap"]
Origin = Literal["middle", "scipy", "peak", "centroid", "corner"] | Sequence[int]
Nan = Literal["error", "zero", "propagate"]
ImageNan = Literal["error", "zero", "propagate", "missing"]
Precision = Literal["float32", "float64"]

# Words of other libraries for boundaries, with those of this library.
_BOUNDARIES: dict[str, str] = _core.boundary_aliases()

_MOST_DIMENSIONS = 64  # as NumPy's arrays have at most
# Keywords at the end of signatures
_LAST = ("device", "workers", "max_host_mem", "max_gpu_mem", "fft", "progress")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def defaults_of(keywords: Any, *tables: str, **others: Any) -> dict[str, Any]:
    """Returns the default of each keyword of a TypedDict.

    It is the value in `others`, else the one in the tables of the structs of options that `tables` names, else None.
    """
    described = {one["keyword"]: one["default"] for table in (*tables, "Engines")
                 for one in _core.describe_options(table)} | {"workers": None} | others
    return {name: described.get(name) for name in keywords.__annotations__}


def with_keywords(keywords: Any, defaults: Mapping[str, Any],
                  takes_others: bool = False) -> Callable[[_Function], _Function]:
    """Decorates a function with ``**options: Unpack[keywords]``: its signature shows each keyword with its default.

    Unless `takes_others` is set, other keywords raise a TypeError, as in every function of Python.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *shown, others = signature.parameters.values()
        names = sorted(keywords.__annotations__, key=lambda name: _LAST.index(name) if name in _LAST else -1)
        known = frozenset([*names, *(one.name for one in shown)])
        shown += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name],
                                    annotation=keywords.__annotations__[name]) for name in names]
        if takes_others:
            vars(function)["__signature__"] = signature.replace(parameters=[*shown, others.replace(annotation=Any)])
            return names_wrong_types(function)

        @functools.wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            if not known.issuperset(options):
                name = next(name for name in options if name not in known)
                close = [*_core.keywords_meant_by(name), *difflib.get_close_matches(name, sorted(known), 1)]
                hint = next((f"; did you mean '{one}'?" for one in close if one in known), "")
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument '{name}'{hint}")
            return function(*arguments, **options)

        vars(checked)["__signature__"] = signature.replace(parameters=shown)
        return cast(_Function, names_wrong_types(checked))

    return decorate


def boundary_name(boundary: str) -> str:
    """Returns the library's word for a boundary."""
    return _BOUNDARIES.get(boundary, boundary)


def refuse_unused_cval(cval: float, boundary: str | None) -> None:
    """Refuses a value outside the image that a boundary does not use."""
    if cval != 0 and boundary != "constant":
        raise InvalidArgument(f"{option('cval')} is for the boundary 'constant', not '{boundary}': leave it out")


# NumPy's words for boundaries.
_PADDINGS: dict[str, Any] = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}


def continued_indices(extent: int, before: int, after: int, boundary: str) -> np.ndarray:
    """Returns the indices 0 to `extent` - 1 of an axis, with those that a boundary puts before and after them; -1 for
    samples outside the image."""
    inside = np.arange(extent)
    if boundary in _PADDINGS:
        return np.pad(inside, (before, after), mode=_PADDINGS[boundary])
    return np.pad(inside, (before, after), constant_values=-1)


def _is_whole_float(number: object) -> bool:
    return isinstance(number, float | np.floating) and float(number).is_integer()


def _whole(number: Any) -> int:
    """Returns a whole number, which may be a floating-point one. Raises TypeError for other values."""
    try:
        return int(number) if _is_whole_float(number) else operator.index(number)
    except ValueError:  # of lazy arrays that hold other than one number
        raise TypeError from None


def whole_numbers(values: Any, name: str) -> list[int]:
    """Returns a sequence of whole numbers, which may be floating-point ones: one for each dimension of an array."""
    try:
        if isinstance(values, bytes):  # whose elements are numbers
            raise TypeError
        if len(values) > _MOST_DIMENSIONS:
            raise InvalidArgument(f"{name} has {len(values)} numbers: give one for each dimension")
        return [_whole(one) for one in values]
    except (TypeError, NotImplementedError):  # the second one of views of memory
        # SciPy's words, in which programs may look for the cause.
        reason = "cannot be interpreted as an integer"
        raise WrongType(f"{name} is {shown(values)}, which {reason}: give a sequence of whole numbers") from None


def axes_of(axes: Any) -> list[int]:
    """Returns axes that are given as one number or as several."""
    if np.iterable(axes):
        return whole_numbers(axes, "axes")
    try:
        return [_whole(axes)]
    except TypeError:
        raise WrongType(f"axes is {shown(axes)}: give a whole number for each axis") from None


def axis_among(axis: int, dimensions: int, what: str = "signals") -> int:
    """Returns the number of an axis, counted from the first one."""
    if not -dimensions <= axis < dimensions:
        raise InvalidArgument(f"axis {axis} is none of {what} with {dimensions} dimensions")
    return int(axis) % dimensions


def extents_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the extents of an array."""
    return tuple(whole_numbers(shape, "shape"))


def triple_of(shape: Sequence[int]) -> tuple[int, int, int]:
    """Returns 1 to 3 extents as three along z, y and x, with 1 for missing ones."""
    extents = extents_of(shape)
    if len(extents) > 3:
        raise InvalidArgument(f"shape has {len(extents)} numbers: give 1 to 3 extents")
    padded = (1,) * (3 - len(extents)) + extents
    return padded[0], padded[1], padded[2]


def center_of(origin: Origin, dimensions: int) -> str | list[int]:
    """Returns an origin in the library's form: a name, or an index along z, y and x."""
    if isinstance(origin, str):
        if not origin.isascii():
            raise InvalidArgument(f"origin is {origin!a}: give 'middle', 'scipy', 'peak', 'centroid', 'corner' or an "
                                  "index")
        return origin
    index = whole_numbers(origin, "origin")
    if len(index) != dimensions:
        raise InvalidArgument(f"origin has {len(index)} numbers where the kernel has {dimensions} dimensions")
    return [0] * (3 - dimensions) + index
