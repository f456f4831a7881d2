# SPDX-License-Identifier: Apache-2.0
"""Fields for a layer, its axes and its voxel size. They show what the layer says, and ask for what it does not say."""

import re
import weakref
from collections.abc import Callable
from typing import Any

from magicgui.widgets import LineEdit, create_widget
from napari.layers import Image

import convolume

from ._layers import Voxels, are_letters, data_of, letters_of, spacing_of, voxels_of


class LayerFields:
    """Fields of a widget for an image layer."""

    def __init__(self, label: str) -> None:
        self.layer = create_widget(annotation=Image, label=label)
        self.axes = LineEdit(label="axes", tooltip="A letter of T, C, Z, Y, X for each axis of the layer.")
        self.voxels = LineEdit(label="voxel size, µm", tooltip="Edge lengths of a voxel along z, y, x, in µm.")
        self.layer.changed.connect(self._show_axes)
        self._shown: Callable[[], Any] = lambda: None  # a weak reference to the layer whose axes are shown
        self.axes.changed.connect(self._show_voxels)

    def all(self) -> list[Any]:
        return [self.layer, self.axes, self.voxels]

    def refresh(self) -> None:
        """Shows the axes of the layer, unless they are shown already, perhaps as the user corrected them."""
        if self.layer.value is not self._shown():
            self._show_axes()

    def _show_axes(self) -> None:
        layer = self.layer.value
        self._shown = (lambda: None) if layer is None else weakref.ref(layer)
        self.axes.value = "" if layer is None else letters_of(layer) or "?" * (data_of(layer).ndim - 2) + "YX"
        self._show_voxels()

    def _show_voxels(self) -> None:
        layer, letters = self.layer.value, self.axes.value.strip().upper()
        if layer is None or not are_letters(letters, layer):
            self.voxels.value = ""
            return
        voxels = voxels_of(layer, letters)
        self.voxels.value = ", ".join("?" if length is None else f"{length:.6g}"
                                      for length in spacing_of(voxels, letters)) if voxels else ""

    def letters(self) -> str:
        """Returns the letters of the layer's axes, or raises InvalidArgument if nothing tells them."""
        layer, typed = self.layer.value, self.axes.value.strip().upper()
        if layer is None or layer.rgb:
            raise convolume.InvalidArgument("choose an image layer without colors (RGB)")
        if not are_letters(typed, layer):
            raise convolume.InvalidArgument(
                f"the axes of layer '{layer.name}', of shape {tuple(data_of(layer).shape)}, are not known: write a "
                f"letter of T, C, Z, Y, X for each into 'axes', such as {'TCZYX'[-data_of(layer).ndim:]}, or set its "
                "axis_labels")
        return typed

    def voxel_sizes(self) -> Voxels:
        """Returns the voxel sizes that the field holds."""
        spatial = [axis for axis in "ZYX" if axis in self.letters()]
        typed = self.voxels.value.strip()
        if not typed:
            return {}
        parts = [part.strip() for part in typed.split(",")]
        if len(parts) != len(spatial) or not all(re.fullmatch(r"\?|[\d.]+(e[-+]?\d+)?", part) for part in parts):
            raise convolume.InvalidArgument(f"voxel size '{typed}': write {len(spatial)} lengths in µm, along "
                                            f"{', '.join(spatial).lower()}, such as "
                                            f"{', '.join(['0.3', '0.1', '0.1'][-len(spatial):])}; ? is unknown")
        return {axis: float(part) for axis, part in zip(spatial, parts) if part != "?"}
