# SPDX-License-Identifier: Apache-2.0
"""Checks of the name of an output against the names of the inputs, before anything is written."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._errors import InvalidArgument
from ._image import Image
from ._zarr_nodes import is_zarr
from ._zarr_store import Location

_NO_IMAGES = [".png", ".wav", ".json"]


def check_target(source: Any, target: str | os.PathLike[str], kernel: Any, mask: Any) -> None:
    """Raises InvalidArgument if the target of a run names a file of another format, or would replace an input."""
    name = os.fspath(target)
    extension = os.path.splitext(name.rstrip("/").partition(":/")[0])[1]
    if "://" not in name and extension.lower() in _core.image_endings() + _NO_IMAGES and not is_zarr(name):
        raise InvalidArgument(f'process writes OME-Zarr, but "{name}" names a file of another format; name a target '
                              "that ends in .zarr, and convert it afterwards with convolume convert")
    refuse_input_as_output(name, _input_names(source, kernel, mask))


def _real_place(name: str) -> str:
    """Returns a path without symbolic links, or a URL, without a slash at its end. For "file.h5:/dataset" it is the
    file."""
    location = Location.of(name) if "://" in name else None
    if location is not None and location.local_path is None:
        return location.url
    path = name if location is None else location.url
    if not os.path.lexists(path):
        path = path.partition(":/")[0]
    return os.path.realpath(path)


def refuse_input_as_output(output: str, inputs: Iterable[str]) -> None:
    """Raises InvalidArgument if writing `output` would replace an input or a part of one: if it is an input, contains
    one, or lies inside an OME-Zarr image that is one."""
    target = _real_place(output)
    for name in inputs:
        place = _real_place(name)
        if place == target or _are_one_file(place, target):
            raise InvalidArgument(f'the output "{output}" is one of the inputs; name another file')
        if place.startswith(f"{target}/"):
            raise InvalidArgument(f'the output "{output}" contains the input "{name}"; name another file')
        if target.startswith(f"{place}/") and is_zarr(name):
            raise InvalidArgument(f'the output "{output}" lies inside the input "{name}"; name another file')


def _are_one_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _input_names(source: Any, kernel: Any, mask: Any) -> list[str]:
    """Returns the names of the files of a run: those of its source, its kernels and its mask. Arrays have none."""
    kernels = [kernel]
    if isinstance(kernel, Mapping):
        kernels = list(kernel.values())
    elif isinstance(kernel, (list, tuple)):
        kernels = list(kernel)
    names = []
    for one in (source, *kernels, mask):
        if isinstance(one, Image):
            one = one._name
        if isinstance(one, (str, os.PathLike)) and os.fspath(one):
            names.append(os.fspath(one))
    return names
