# SPDX-License-Identifier: Apache-2.0
"""Checks of the name of an output against the names of the inputs, before anything is written."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._errors import InvalidArgument
from ._image import Image
from ._zarr_nodes import is_zarr

_NO_IMAGES = [".png", ".wav", ".json"]


def check_target(source: Any, target: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
    """Raises InvalidArgument if the target of a run names a file of another format, or would replace an input."""
    name = os.fspath(target)
    extension = os.path.splitext(name.rstrip("/").partition(":/")[0])[1]
    if "://" not in name and extension.lower() in _core.image_endings() + _NO_IMAGES and not is_zarr(name):
        raise InvalidArgument(f'process writes OME-Zarr, but "{name}" names a file of another format; name a target '
                              "that ends in .zarr, and convert it afterwards with convolume convert")
    refuse_input_as_output(name, _input_names(source, settings))


def refuse_input_as_output(output: str, inputs: Iterable[str]) -> None:
    """Raises InvalidArgument if writing `output` would replace an input or a part of one: if it is an input, contains
    one, or lies inside an OME-Zarr image that is one."""
    for name in inputs:
        _core.check_not_input(output, name, lambda path: path == output or is_zarr(path))


def _input_names(source: Any, settings: Mapping[str, Any]) -> list[str]:
    """Returns the names of the files of a run: those of its source, kernels, mask and views. Arrays have none."""
    views = settings["options"].get("views")
    inputs = [source, settings["mask"]]
    for kernel in (settings["kernel"], *(getattr(view, "psf", None) for view in _several(views))):
        inputs += kernel.values() if isinstance(kernel, Mapping) else _several(kernel) or [kernel]
    inputs += [getattr(view, "mask", None) for view in _several(views)]
    names = []
    for one in inputs:
        if isinstance(one, Image):
            one = one._name
        if isinstance(one, (str, os.PathLike)) and os.fspath(one):
            names.append(os.fspath(one))
    return names


def _several(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else []
