# SPDX-License-Identifier: Apache-2.0
"""The widget that computes a point spread function."""

from typing import Any

import numpy as np
from magicgui.widgets import ComboBox, FloatSpinBox, create_widget
from napari import Viewer
from napari.layers import Image
from napari.utils.notifications import show_error

import convolume

from ._work import WorkingContainer


class MakePsf(WorkingContainer):
    """Computes the PSF of an objective with the voxel size of an image layer: its scale, in µm."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.like = create_widget(annotation=Image, label="voxels of")
        self.na = FloatSpinBox(label="numerical aperture", min=0.05, max=1.7, step=0.05, value=1.2)
        self.ni = FloatSpinBox(label="index of immersion", min=1, max=2, step=0.005, value=1.33)
        self.ns = FloatSpinBox(label="index of the sample", min=1, max=2, step=0.005, value=1.33)
        self.wavelength = FloatSpinBox(label="emission, nm", min=200, max=2000, step=1, value=520)
        self.model = ComboBox(label="model", choices=["vectorial", "gibson-lanni", "born-wolf", "gaussian"])
        self.depth = FloatSpinBox(label="depth, µm", min=0, max=1000, value=0)
        super().__init__([self.like, self.na, self.ni, self.ns, self.wavelength, self.model, self.depth], "Make a PSF",
                         can_stop=False)

    def begin(self) -> None:
        layer = self.like.value
        if layer is None or layer.data.ndim < 3:
            show_error("choose an image layer of 3 axes or more, whose scale is its voxel size in µm")
            return
        spacing = [float(length) for length in layer.scale[-3:]]
        options: dict[str, Any] = {
            "na": self.na.value, "ni": self.ni.value, "ns": self.ns.value, "wavelength": self.wavelength.value / 1000,
            "model": self.model.value, "depth": self.depth.value, "spacing": spacing}
        self.work(lambda: np.asarray(convolume.make_psf(**options, progress=self.report)),
                  lambda psf: self._viewer.add_image(psf, name="PSF", scale=spacing, colormap="magma", gamma=0.5))
