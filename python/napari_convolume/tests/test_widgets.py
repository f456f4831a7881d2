# SPDX-License-Identifier: Apache-2.0
"""Tests of the widgets, which need no screen with QT_QPA_PLATFORM=offscreen."""

import numpy as np
import pytest
from napari.components import ViewerModel
from napari_convolume import Deconvolve, MakePsf
from npe2 import PluginManifest

import convolume

SPACING = (0.2, 0.1, 0.1)


@pytest.fixture
def viewer():
    viewer = ViewerModel()
    psf = convolume.make_psf(na=1.2, ni=1.33, wavelength=0.52, spacing=SPACING, shape=(7, 15, 15))
    specimen = np.asarray(convolume.Phantom((8, 40, 40), SPACING, kind="beads", count=5, brightness=20000))
    image = convolume.Camera().expose(convolume.convolve(specimen, psf))
    viewer.add_image(np.stack([image, image]), name="image", scale=(1, *SPACING))
    viewer.add_image(np.asarray(psf), name="psf", scale=SPACING)
    return viewer


def choose(field, *layers):
    field.choices = layers
    field.value = layers[0]


@pytest.fixture
def deconvolve(qtbot, viewer):
    widget = Deconvolve(viewer)
    choose(widget.image, viewer.layers["image"])
    choose(widget.psf, viewer.layers["psf"])
    widget.device.value = "cpu"
    return widget


def test_deconvolves_each_volume(qtbot, viewer, deconvolve):
    deconvolve.iterations.value = 5
    shown = []
    deconvolve.bar.changed.connect(shown.append)
    deconvolve.start.changed.emit(True)
    assert deconvolve.cancel.enabled and not deconvolve.start.enabled
    qtbot.waitUntil(lambda: len(viewer.layers) == 3, timeout=20000)
    qtbot.waitUntil(lambda: deconvolve.start.enabled, timeout=5000)
    layer = viewer.layers["image, deconvolved"]
    assert layer.data.shape == (2, 8, 40, 40) and tuple(layer.scale) == (1, *SPACING)
    want = convolume.Deconvolver((8, 40, 40), viewer.layers["psf"].data, iterations=5, background="auto", device="cpu")
    np.testing.assert_allclose(layer.data[1], want(viewer.layers["image"].data[1]), rtol=1e-3, atol=1)
    assert max(shown) == 100 and len(set(shown)) > 3


@pytest.mark.parametrize("how", ["cancel", "stop"])
def test_ends_early(qtbot, viewer, deconvolve, how):
    deconvolve.iterations.value = 10_000
    deconvolve.start.changed.emit(True)
    qtbot.wait(300)
    getattr(deconvolve, how).changed.emit(True)
    qtbot.waitUntil(lambda: deconvolve.start.enabled, timeout=5000)
    assert len(viewer.layers) == (2 if how == "cancel" else 3)


def test_layers_that_do_not_fit(viewer, deconvolve, monkeypatch):
    said = []
    monkeypatch.setattr("napari_convolume._deconvolve.show_error", said.append)
    choose(deconvolve.psf, viewer.layers["image"])
    deconvolve.start.changed.emit(True)
    assert "another" in said[0] and deconvolve.worker is None


def test_makes_a_psf(qtbot, viewer):
    widget = MakePsf(viewer)
    choose(widget.like, viewer.layers["image"])
    widget.start.changed.emit(True)
    qtbot.waitUntil(lambda: len(viewer.layers) == 3, timeout=20000)
    psf = viewer.layers["PSF"]
    assert psf.data.sum() == pytest.approx(1, abs=1e-3) and tuple(psf.scale) == SPACING
    assert np.unravel_index(psf.data.argmax(), psf.data.shape) == tuple(n // 2 for n in psf.data.shape)


def test_manifest():
    manifest = PluginManifest.from_distribution("napari-convolume")
    assert {widget.display_name for widget in manifest.contributions.widgets} == {"Deconvolve", "Make a PSF"}
    for command in manifest.contributions.commands:
        assert command.python_name.split(":")[1] in ("Deconvolve", "MakePsf")
