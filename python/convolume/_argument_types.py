# SPDX-License-Identifier: Apache-2.0
"""Sentences on arguments of wrong types. The types in a function's signature are the rule."""

import collections.abc
import functools
import inspect
import itertools
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np

from ._errors import Error, OutOfMemory, WrongType

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LONGEST = 60  # characters of an argument that a sentence quotes
_LOOKED_AT = 1000  # elements of a sequence whose types are compared
_WORDS: dict[Any, str] = {Any: "an array of numbers", int: "a whole number", float: "a number", complex: "a number",
                          bool: "True or False", str: "a text", bytes: "bytes", types.NoneType: "None"}
_PLURALS: dict[Any, str] = {int: "whole numbers", float: "numbers", str: "texts"}


def names_wrong_types(function: _Function) -> _Function:
    """Decorates a public function: if it fails because of an argument whose type does not suit the signature, the error
    names that argument. Errors of the package, and errors without such an argument, pass through."""

    @functools.wraps(function)
    def answering(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except Error:
            raise
        except Exception as error:
            sentence = _sentence(function, arguments, options, isinstance(error, TypeError))
            if sentence is not None:
                raise WrongType(sentence) from None
            if isinstance(error, MemoryError):  # of NumPy, or of Python itself
                raise OutOfMemory("the arguments ask for an array that does not fit in memory: give smaller numbers "
                                  "or arrays") from None
            raise

    return cast(_Function, answering)


def _sentence(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any],
              is_refused: bool) -> str | None:
    """Returns a sentence on the first argument that does not have the type in the signature.

    `is_refused`: an argument was refused by its type, perhaps a number that is too large or that is not whole.
    """
    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **options).arguments
    except TypeError:
        return None  # a missing or unknown argument, of which Python tells
    for name, value, annotation, default in _annotated(signature, given):
        if name == "dtype" or name.endswith("_dtype"):
            if not _is_dtype(value):
                return f"{name} is {shown(value)}: give a type of NumPy, such as \"float32\""
        elif not fits(value, annotation) and value is not default:
            return f"{name} is {shown(value)}: give {words_of(annotation)}"
    for name, value, annotation, _ in _annotated(signature, given) if is_refused else ():
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if is_whole and not -2**31 <= int(value) < 2**31:
            return f"{name} is {shown(value)}: that number is too large, give a smaller one"
        takes_whole = fits(1, annotation) and not fits(0.5, annotation)
        if takes_whole and not is_whole and isinstance(value, numbers.Real | np.bool_ | np.ndarray):
            return f"{name} is {shown(value)}: give {words_of(annotation)}"
    return None


def _annotated(signature: inspect.Signature, given: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yields the arguments of a call: their names, values, annotations and defaults. Keywords that the signature does
    not name have the annotation of ``**options``."""
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            yield from ((other, one, parameter.annotation, inspect.Parameter.empty) for other, one in value.items())
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            yield name, value, parameter.annotation, parameter.default


def check_types(options: Mapping[str, Any], keywords: Any) -> None:
    """Refuses options whose values do not have the types that a TypedDict gives their names."""
    for name, value in options.items():
        annotation = keywords.__annotations__.get(name, Any)
        if not fits(value, annotation):
            raise WrongType(f"{name} is {shown(value)}: give {words_of(annotation)}")


def elements_of(values: Iterable[Any], name: str) -> Iterator[Any]:
    """Returns an iterator over the elements of an argument."""
    try:
        if not isinstance(values, memoryview):
            if getattr(values, "ndim", 1) == 0:
                raise TypeError("an array of no dimensions")
            return iter(values)
        return iter(np.asarray(values))
    except Exception:
        raise WrongType(f"{name} is {shown(values)}: give a sequence or a generator of arrays") from None


def given_flag(value: Any, name: str) -> bool:
    """Returns an argument that is True or False."""
    try:
        return bool(value)
    except Exception:
        raise WrongType(f"{name} is {shown(value)}: give True or False") from None


def shown(value: Any) -> str:
    """Returns an argument as a sentence quotes it."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"a {type(value).__name__}"


def _is_dtype(value: Any) -> bool:
    try:
        np.dtype(value)
    except Exception:
        return False
    return not isinstance(value, Sequence) or isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real | np.bool_) or (isinstance(value, np.ndarray) and value.ndim == 0
                                                          and value.dtype.kind in "biuf")


def fits(value: Any, annotation: Any) -> bool:
    """Tells whether a value has a type that an annotation describes. Annotations that it does not know fit all."""
    try:
        return _fits(value, annotation)
    except Exception:  # objects of others may raise anything where they are looked at
        return False


def _fits(value: Any, annotation: Any) -> bool:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is inspect.Parameter.empty:
        return True
    if annotation is Any:
        if isinstance(value, str):
            return _is_writable(value)
        return not isinstance(value, type) and _may_hold_numbers(getattr(value, "dtype", None))
    if annotation is None or annotation is types.NoneType:
        return value is None
    if origin is Literal:
        return any(type(value) is type(one) for one in inner) and (not isinstance(value, str) or _is_writable(value))
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if annotation is int:
        return _is_number(value) and float(value).is_integer() and abs(int(value)) < 2**63
    if annotation is float:
        return _is_number(value) and _has_double(value)
    if annotation is complex:
        return _is_number(value) or isinstance(value, numbers.Complex)
    if annotation is bool:
        return isinstance(value, bool | np.bool_)
    if annotation is str:
        return isinstance(value, str) and _is_writable(value)
    kind = origin or annotation
    if kind is collections.abc.Callable:
        return callable(value) and not isinstance(value, type)
    if kind is tuple:
        return _is_series(value) and (not inner or inner[-1] is Ellipsis or len(value) == len(inner)) and all(
            fits(one, kind) for one, kind in zip(value, itertools.cycle(t for t in inner if t is not Ellipsis)))
    if kind in (collections.abc.Sequence, list):
        if inner and inner[0] in (int, float) and getattr(value, "ndim", 1) != 1:
            return False
        return _is_series(value) and all(fits(one, inner[0]) for one in itertools.islice(value, _LOOKED_AT) if inner)
    if kind is os.PathLike:
        return isinstance(value, os.PathLike) and fits(os.fspath(value), str)
    if kind is collections.abc.Iterable:
        return hasattr(value, "__iter__") and not (isinstance(value, np.ndarray) and value.ndim == 0)
    return not isinstance(kind, type) or isinstance(value, kind)


def _may_hold_numbers(dtype: Any) -> bool:
    """Tells whether an array of a type may hold numbers. Types of other libraries than NumPy may."""
    return not isinstance(dtype, np.dtype) or dtype.kind in "buifc"


def _is_writable(text: str) -> bool:
    """Tells whether a text can be written to files, and name one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _has_double(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_series(value: Any) -> bool:
    """Tells whether a value has a length and elements, as lists and arrays do."""
    if isinstance(value, str | bytes | memoryview | Mapping | set | type):
        return False
    try:
        return len(value) >= 0 and iter(value) is not None
    except Exception:
        return False


def words_of(annotation: Any) -> str:
    """Describes the values that an annotation allows."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return " or ".join(f'"{one}"' if isinstance(one, str) else repr(one) for one in inner)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(words_of(one) for one in inner))
    kind = origin or annotation
    if kind is collections.abc.Callable:
        return "a function"
    if kind in (collections.abc.Sequence, collections.abc.Iterable, list):
        return "a sequence of " + _PLURALS.get(inner[0] if inner else None, "values")
    if kind is tuple:
        each = _PLURALS.get(inner[0] if inner else None, "values")
        return f"a tuple of {each}" if not inner or Ellipsis in inner else f"{len(inner)} {each}"
    if kind is os.PathLike:
        return "a path"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a dict"
    return _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")
