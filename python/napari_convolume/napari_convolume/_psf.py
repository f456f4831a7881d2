# SPDX-License-Identifier: Apache-2.0
"""The widget that computes a point spread function."""

from typing import Any

import numpy as np
from magicgui.widgets import ComboBox, FloatSpinBox
from napari import Viewer
from napari.utils.notifications import show_error

import convolume

from ._fields import LayerFields
from ._layers import supported
from ._work import WorkingContainer

_WITH_LAYERS = ("vectorial", "gibson-lanni")  # models that the sample and the depth change


class MakePsf(WorkingContainer):
    """Computes the PSF of an objective with the voxel size of an image layer."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._fields = LayerFields("voxels of")
        self.like, self.axes, self.voxels = self._fields.all()
        self.na = FloatSpinBox(label="numerical aperture", min=0.05, max=1.7, step=0.05, value=1.2)
        self.ni = FloatSpinBox(label="index of immersion", min=1, max=2, step=0.005, value=1.33)
        self.ns = FloatSpinBox(label="index of the sample", min=1, max=2, step=0.005, value=1.33)
        self.wavelength = FloatSpinBox(label="emission, nm", min=200, max=2000, step=1, value=520)
        self.model = ComboBox(label="model", choices=["vectorial", "gibson-lanni", "born-wolf", "gaussian"])
        self.depth = FloatSpinBox(label="depth, µm", min=0, max=1000, value=0)
        super().__init__(self._fields, [self.na, self.ni, self.ns, self.wavelength, self.model, self.depth],
                         "Make a PSF", can_stop=False)

    def begin(self) -> None:
        try:
            spacing = self._spacing()
        except convolume.Error as error:
            show_error(str(error))
            return
        options: dict[str, Any] = {
            "na": self.na.value, "ni": self.ni.value, "wavelength": self.wavelength.value / 1000,
            "model": self.model.value, "spacing": spacing}
        if self.model.value in _WITH_LAYERS:
            options |= {"ns": self.ns.value, "depth": self.depth.value}
        shown = supported({"name": "PSF", "scale": spacing, "axis_labels": list("zyx"), "units": ["micrometer"] * 3,
                           "colormap": "magma", "gamma": 0.5})
        self.work(lambda: np.asarray(convolume.make_psf(**options, progress=self.report)),
                  lambda psf: self._viewer.add_image(psf, **shown))

    def _spacing(self) -> list[float]:
        letters, voxels = self._fields.letters(), self._fields.voxel_sizes()
        layer = self.like.value
        if "Z" not in letters:
            raise convolume.InvalidArgument(f"layer '{layer.name}' has no z axis ({letters}): a PSF of one plane is "
                                            "made by the command convolume psf --like")
        if len(voxels) < 3:
            units = ", ".join(dict.fromkeys(str(unit) for axis, unit in zip(letters, getattr(layer, "units", ()))
                                            if axis in "ZYX" and axis not in voxels)) or "pixel"
            raise convolume.InvalidArgument(
                f"the voxel size of layer '{layer.name}' in µm is not known, as its scale has the unit {units}: write "
                "it into 'voxel size', such as 0.3, 0.1, 0.1, or set the layer's scale and units")
        return [voxels[axis] for axis in "ZYX"]
