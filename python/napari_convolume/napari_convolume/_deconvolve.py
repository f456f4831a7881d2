# SPDX-License-Identifier: Apache-2.0
"""The widget that deconvolves a layer."""

import inspect
from typing import Any, get_args

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox, SpinBox, create_widget
from napari import Viewer
from napari.layers import Image
from napari.utils.notifications import show_error

import convolume

from ._work import WorkingContainer

_METHODS = get_args(inspect.signature(convolume.Deconvolver).parameters["method"].annotation)


class Deconvolve(WorkingContainer):
    """Deconvolves an image layer with a PSF layer, volume by volume if it has further axes."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.image = create_widget(annotation=Image, label="image")
        self.psf = create_widget(annotation=Image, label="PSF")
        self.method = ComboBox(label="method", choices=_METHODS, value=_METHODS[0])
        self.iterations = SpinBox(label="iterations", min=1, max=10_000, value=20)
        self.automatic = CheckBox(label="find the background", value=True)
        self.background = FloatSpinBox(label="background", min=0, max=1e9, value=0)
        self.device = ComboBox(label="device", choices=["auto", "cpu", "gpu"], value="auto")
        super().__init__([self.image, self.psf, self.method, self.iterations, self.automatic, self.background,
                          self.device], "Deconvolve", can_stop=True)

    def begin(self) -> None:
        layer, psf = self.image.value, self.psf.value
        if layer is None or psf is None or layer is psf:
            show_error("choose an image layer and another one with its PSF")
            return
        if psf.data.ndim > min(layer.data.ndim, 3) or layer.rgb:
            show_error("the PSF must have at most 3 axes, and the image at least as many and no colors")
            return
        axes = psf.data.ndim
        options: dict[str, Any] = {
            "method": self.method.value, "iterations": self.iterations.value, "device": self.device.value,
            "background": "auto" if self.automatic.value else self.background.value,
            "spacing": [float(length) for length in layer.scale[-axes:]]}
        shown = {"name": f"{layer.name}, deconvolved", "scale": layer.scale, "translate": layer.translate,
                 "colormap": layer.colormap.name}
        self.work(lambda: self._deconvolved(layer.data, np.asarray(psf.data), options),
                  lambda result: self._viewer.add_image(result, **shown))

    def _deconvolved(self, data: Any, psf: np.ndarray, options: dict[str, Any]) -> np.ndarray:
        """Deconvolves all volumes of a layer, in the working thread."""
        batch = data.shape[:-psf.ndim]
        volumes = int(np.prod(batch, dtype=int))
        deconvolver = convolume.Deconvolver(data.shape[-psf.ndim:], psf, **options)
        result = np.zeros(data.shape, np.float32)
        for number, index in enumerate(np.ndindex(batch)):
            def report(iteration: convolume.Iteration, number: int = number) -> bool:
                return self.report((number + iteration.number / iteration.of) / volumes)

            deconvolver(np.asarray(data[index]), out=result[index], callback=report)
            if self._ending == "stop":
                break
        return result
