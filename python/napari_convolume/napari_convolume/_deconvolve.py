# SPDX-License-Identifier: Apache-2.0
"""The widget that deconvolves a layer."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox, PushButton, SpinBox, create_widget
from napari import Viewer
from napari.layers import Image
from napari.utils.notifications import show_error, show_warning

import convolume

from ._fields import LayerFields
from ._layers import data_of, image_of, letters_of, region_in_view, shown_like, spacing_of, voxels_of
from ._work import WorkingContainer

_METHODS = get_args(inspect.signature(convolume.Deconvolver).parameters["method"].annotation)
_PREVIEW_ITERATIONS = 10  # largest number in a preview


class _Stopped(Exception):
    """The user stopped the work: images that are not begun stay 0."""


class Deconvolve(WorkingContainer):
    """Deconvolves an image layer with a PSF layer: each volume, if it has further axes."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._fields = LayerFields("image")
        self.image, self.axes, self.voxels = self._fields.all()
        self.psf = create_widget(annotation=Image, label="PSF")
        self.method = ComboBox(label="method", choices=_METHODS, value=_METHODS[0])
        self.iterations = SpinBox(label="iterations", min=1, max=10_000, value=20)
        self.automatic = CheckBox(label="find the background", value=True)
        self.background = FloatSpinBox(label="background", min=0, max=1e9, value=0)
        self.device = ComboBox(label="device", choices=["auto", "cpu", "gpu"], value="auto")
        self.preview = PushButton(text="Preview")
        super().__init__(self._fields, [self.psf, self.method, self.iterations, self.automatic, self.background,
                                        self.device], "Deconvolve", can_stop=True, others=[self.preview])
        self.preview.changed.connect(self.begin_preview)

    def begin(self) -> None:
        self._begin(is_preview=False)

    def begin_preview(self) -> None:
        """Begins a few iterations of the region in view, when the button is pressed."""
        self._begin(is_preview=True)

    def _begin(self, is_preview: bool) -> None:
        layer = self.image.value
        try:
            letters, voxels = self._fields.letters(), self._fields.voxel_sizes()
            psf = self._psf(letters)
        except convolume.Error as error:
            show_error(str(error))
            return
        if bool(voxels) != any(psf.spacing):
            show_warning(f"the {'PSF' if voxels else 'image'} does not say its voxel size: it is taken to have that of "
                         f"the {'image' if voxels else 'PSF'}")
        axes = [letters.index(axis) for axis in psf.axes if axis != "C"]
        channel = letters.index("C") if "C" in psf.axes else None
        part: tuple[slice, ...] = (slice(None),) * len(letters)
        if is_preview:
            part = region_in_view(layer, letters, layer.world_to_data(self._viewer.dims.point))
            if channel is not None:
                psf = convolume.Image.of_array(psf[part[channel]], axes=psf.axes, spacing=psf.spacing)
        options: dict[str, Any] = {
            "method": self.method.value, "device": self.device.value,
            "iterations": min(self.iterations.value, _PREVIEW_ITERATIONS) if is_preview else self.iterations.value,
            "background": "auto" if self.automatic.value else self.background.value,
            "spacing": spacing_of(voxels, psf.axes) if voxels else None}
        start = [one.start for one in part] if is_preview else None
        shown = {"name": f"{layer.name}, {'preview' if is_preview else 'deconvolved'}",
                 **shown_like(layer, letters, voxels, start)}
        self.work(lambda: self._deconvolved(data_of(layer)[part], psf, (axes, channel), options),
                  self._show_preview(shown) if is_preview else lambda result: self._viewer.add_image(result, **shown))

    def _psf(self, image_letters: str) -> convolume.Image:
        """Returns the PSF, or raises InvalidArgument if it does not fit an image with these axes."""
        layer = self.psf.value
        if layer is None or layer is self.image.value or layer.rgb:
            raise convolume.InvalidArgument("choose an image layer, and another one with its PSF")
        letters = letters_of(layer) or "ZYX"[-data_of(layer).ndim:]
        if len(letters) != data_of(layer).ndim or "T" in letters:
            raise convolume.InvalidArgument(f"the PSF '{layer.name}' has {data_of(layer).ndim} axes: name them by its "
                                            "axis_labels, (y, x) or (z, y, x), and c for a PSF of each channel")
        missing = set(letters) - set(image_letters)
        if missing:
            raise convolume.InvalidArgument(
                f"the PSF has the axes {letters}, but the image, {image_letters}, has no {', '.join(missing)}: correct "
                "the axes, or choose another PSF")
        return image_of(layer, letters, voxels_of(layer, letters))

    def _show_preview(self, shown: dict[str, Any]) -> Callable[[np.ndarray], None]:
        def show(result: np.ndarray) -> None:
            if shown["name"] in self._viewer.layers:
                self._viewer.layers.remove(shown["name"])
            self._viewer.add_image(result, **shown)

        return show

    def _deconvolved(self, data: Any, psf: convolume.Image, places: tuple[list[int], int | None],
                     options: dict[str, Any]) -> np.ndarray:
        """Deconvolves all volumes of an array, in the working thread. `places` are the axes that are deconvolved, and
        that of the channels if each has a PSF."""
        axes, channel = places
        samples = np.asarray(data)
        batch = [extent for axis, extent in enumerate(samples.shape) if axis not in axes]
        result = np.zeros(samples.shape, np.float32)
        stopped: list[tuple[int, ...]] = []

        def report(iteration: convolume.Iteration) -> bool:
            number = int(np.ravel_multi_index(iteration.index, batch)) if batch else 0
            if stopped and stopped[0] != iteration.index:
                raise _Stopped
            if self.report((number + iteration.number / iteration.of) / int(np.prod(batch, dtype=int))):
                stopped.append(iteration.index)
            return bool(stopped)

        deconvolver = convolume.Deconvolver([samples.shape[axis] for axis in axes], psf, **options)
        with suppress(_Stopped):
            deconvolver(samples, result, axes=axes, channel_axis=channel, callback=report)
        return result
