# SPDX-License-Identifier: Apache-2.0
"""Tests of the widgets. They need no screen."""

import numpy as np
import pytest
import tifffile
from napari.components import ViewerModel
from napari.plugins import _initialize_plugins
from napari_convolume import Deconvolve, MakePsf
from npe2 import PluginManifest

import convolume

SPACING = (0.3, 0.1, 0.1)
LABELS = ["t", "z", "y", "x"]
UNITS = ["pixel", "um", "um", "um"]


@pytest.fixture(scope="module")
def psf():
    return convolume.make_psf(na=1.2, ni=1.33, wavelength=0.52, spacing=SPACING, shape=(7, 15, 15))


@pytest.fixture(scope="module")
def channels(psf):
    """Recordings of two specimens."""
    return [convolume.Camera(seed=seed).expose(convolume.convolve(np.asarray(
        convolume.Phantom((8, 40, 42), SPACING, kind="beads", count=5, seed=seed, brightness=20000)), psf))
        for seed in (1, 2)]


@pytest.fixture
def viewer(psf, channels):
    viewer = ViewerModel()
    viewer.add_image(np.stack(channels), name="image", scale=(1, *SPACING), units=UNITS, axis_labels=LABELS)
    viewer.add_image(np.asarray(psf), name="psf", scale=SPACING, units=UNITS[1:], axis_labels=LABELS[1:])
    return viewer


@pytest.fixture
def errors(monkeypatch):
    said = []
    for module in ("_deconvolve", "_psf"):
        monkeypatch.setattr(f"napari_convolume.{module}.show_error", said.append)
    return said


def choose(field, *layers):
    field.choices = layers
    field.value = layers[0]


def deconvolve_with(viewer, image, psf):
    widget = Deconvolve(viewer)
    choose(widget.image, image)
    choose(widget.psf, psf)
    widget.device.value = "cpu"
    widget.iterations.value = 5
    return widget


@pytest.fixture
def deconvolve(qtbot, viewer):
    return deconvolve_with(viewer, viewer.layers["image"], viewer.layers["psf"])


def finish(qtbot, widget, button):
    """Presses a button and waits for the end of the work; returns the newest layer."""
    button.changed.emit(True)
    assert widget.cancel.enabled and not widget.start.enabled
    qtbot.waitUntil(lambda: widget.start.enabled, timeout=120000)
    return widget._viewer.layers[-1]


def expected(image, psf, iterations=5):
    return convolume.Deconvolver(image.shape, psf, iterations=iterations, background="auto", device="cpu")(image)


def test_deconvolves_each_volume(qtbot, viewer, deconvolve, psf, channels):
    shown = []
    deconvolve.bar.changed.connect(shown.append)
    layer = finish(qtbot, deconvolve, deconvolve.start)
    assert layer.name == "image, deconvolved" and layer.data.shape == (2, 8, 40, 42)
    assert tuple(layer.scale) == (1, *SPACING) and layer.axis_labels == tuple(LABELS)
    assert layer.units == viewer.layers["image"].units
    np.testing.assert_array_equal(layer.data, [expected(image, psf) for image in channels])
    assert max(shown) == 100 and len(set(shown)) > 3


@pytest.mark.parametrize("how", ["cancel", "stop"])
def test_ends_early(qtbot, viewer, deconvolve, how):
    deconvolve.iterations.value = 10_000
    deconvolve.start.changed.emit(True)
    qtbot.wait(300)
    getattr(deconvolve, how).changed.emit(True)
    qtbot.waitUntil(lambda: deconvolve.start.enabled, timeout=60000)
    assert len(viewer.layers) == (2 if how == "cancel" else 3)
    if how == "stop":
        assert viewer.layers[-1].data[0].any() and not viewer.layers[-1].data[1].any()


@pytest.mark.parametrize("axes", ["ZCYX", "CZYX"])
def test_a_hyperstack_that_napari_read(qtbot, tmp_path, psf, channels, axes):
    """napari keeps no names of axes and no units of a file. They are taken from the file."""
    place = axes.index("C")
    name = tmp_path / ("two.tif" if place else "two.ome.tif")
    if place:
        tifffile.imwrite(name, np.stack(channels, 1), imagej=True, resolution=(10, 10),
                         metadata={"axes": axes, "spacing": 0.3, "unit": "um"})
    else:
        tifffile.imwrite(name, np.stack(channels), metadata={
            "axes": axes, **{f"PhysicalSize{axis}": length for axis, length in zip("ZYX", SPACING)}})
    convolume.save(tmp_path / "psf.tif", psf)
    _initialize_plugins()
    viewer = ViewerModel()
    for file in (name, tmp_path / "psf.tif"):
        viewer.open(file, plugin="napari")
    image, psf_layer = viewer.layers
    assert image.data.shape[place] == 2 and str(image.units[0]) == "pixel"
    widget = deconvolve_with(viewer, image, psf_layer)
    assert widget.axes.value == axes and widget.voxels.value == "0.3, 0.1, 0.1"
    layer = finish(qtbot, widget, widget.start)
    np.testing.assert_array_equal(layer.data, np.stack([expected(one, psf) for one in channels], place))
    np.testing.assert_allclose(layer.scale, np.insert(SPACING, place, 1))


def test_a_psf_for_each_channel(qtbot, viewer, psf, channels):
    other = np.asarray(psf).transpose(0, 2, 1) ** 2
    labels = ["z", "c", "y", "x"]
    widget = deconvolve_with(
        viewer, viewer.add_image(np.stack(channels, 1), name="two", axis_labels=labels),
        viewer.add_image(np.stack([psf, other], 1), name="psfs", axis_labels=labels))
    layer = finish(qtbot, widget, widget.start)
    for channel, kernel in enumerate((psf, other)):
        np.testing.assert_array_equal(layer.data[:, channel], expected(channels[channel], np.asarray(kernel)))


def test_a_psf_of_other_voxels_is_resampled(qtbot, viewer, channels):
    fine = convolume.make_psf(na=1.2, ni=1.33, wavelength=0.52, spacing=(0.1, 0.05, 0.05), shape=(21, 31, 31))
    layer = viewer.add_image(np.asarray(fine), scale=(100, 50, 50), units=["nm"] * 3, axis_labels=LABELS[1:])
    widget = deconvolve_with(viewer, viewer.layers["image"], layer)
    result = finish(qtbot, widget, widget.start)
    want = convolume.Deconvolver(channels[0].shape, fine, iterations=5, background="auto", device="cpu",
                                 spacing=SPACING)(channels[0])
    np.testing.assert_allclose(result.data[0], want, rtol=1e-5, atol=1e-3)


def test_the_first_layer_is_described(qtbot, viewer):
    """A widget that is opened after the layer gets its choice without an event."""
    widget = MakePsf(viewer)
    with widget.like.changed.blocked():
        widget.like.choices = [viewer.layers["image"]]
    widget._fields.refresh()
    assert widget.axes.value == "TZYX" and widget.voxels.value == "0.3, 0.1, 0.1"
    widget.voxels.value = "0.4, 0.1, 0.1"
    widget._fields.refresh()
    assert widget.voxels.value == "0.4, 0.1, 0.1"


def test_axes_are_asked_for(viewer, channels, errors, qtbot, psf):
    layer = viewer.add_image(np.stack(channels), name="unnamed")
    widget = deconvolve_with(viewer, layer, viewer.layers["psf"])
    assert widget.axes.value == "??YX" and widget.voxels.value == ""
    widget.start.changed.emit(True)
    assert widget.worker is None and errors == [
        "the axes of layer 'unnamed', of shape (2, 8, 40, 42), are not known: write a letter of T, C, Z, Y, X for each "
        "into 'axes', such as CZYX, or set its axis_labels"]
    widget.axes.value = "czyx"
    np.testing.assert_array_equal(finish(qtbot, widget, widget.start).data[1], expected(channels[1], psf))


def test_layers_that_do_not_fit(viewer, deconvolve, errors):
    choose(deconvolve.psf, viewer.layers["image"])
    deconvolve.start.changed.emit(True)
    choose(deconvolve.psf, viewer.layers["psf"])
    deconvolve.axes.value = "TCYX"
    deconvolve.start.changed.emit(True)
    deconvolve.axes.value = "TZYX"
    deconvolve.voxels.value = "0.1"
    deconvolve.start.changed.emit(True)
    assert "another" in errors[0] and "has no Z" in errors[1] and "write 3 lengths in µm, along z, y, x" in errors[2]
    assert deconvolve.worker is None


def test_a_preview_of_the_region_in_view(qtbot, viewer, deconvolve, psf, channels):
    image = viewer.layers["image"]
    deconvolve.iterations.value = 200
    viewer.dims.set_point(0, 1)
    image.corner_pixels = np.array([[1, 0, 10, 12], [1, 0, 29, 41]])
    for _ in range(2):  # the second one replaces the first
        layer = finish(qtbot, deconvolve, deconvolve.preview)
    assert len(viewer.layers) == 3 and layer.name == "image, preview" and layer.data.shape == (1, 8, 20, 30)
    np.testing.assert_array_equal(layer.data[0], expected(channels[1][:, 10:30, 12:42], psf, 10))
    np.testing.assert_allclose(layer.data_to_world([0] * 4), image.data_to_world([1, 0, 10, 12]))


def test_a_preview_can_be_cancelled(qtbot, viewer, deconvolve, monkeypatch):
    monkeypatch.setattr("napari_convolume._deconvolve._PREVIEW_ITERATIONS", 10_000)
    deconvolve.iterations.value = 10_000
    deconvolve.preview.changed.emit(True)
    qtbot.wait(300)
    deconvolve.cancel.changed.emit(True)
    qtbot.waitUntil(lambda: deconvolve.start.enabled, timeout=60000)
    assert len(viewer.layers) == 2


def test_makes_a_psf(qtbot, viewer):
    widget = MakePsf(viewer)
    choose(widget.like, viewer.layers["image"])
    layer = finish(qtbot, widget, widget.start)
    assert layer.data.sum() == pytest.approx(1, abs=1e-3) and tuple(layer.scale) == SPACING
    assert [str(unit) for unit in layer.units] == ["micrometer"] * 3
    assert np.unravel_index(layer.data.argmax(), layer.data.shape) == tuple(n // 2 for n in layer.data.shape)


def test_a_psf_needs_voxels_in_micrometers(qtbot, viewer, errors):
    layer = viewer.add_image(np.zeros((8, 40, 40)), name="pixels", axis_labels=LABELS[1:])
    widget = MakePsf(viewer)
    choose(widget.like, layer)
    widget.start.changed.emit(True)
    assert errors == ["the voxel size of layer 'pixels' in µm is not known, as its scale has the unit pixel: write it "
                      "into 'voxel size', such as 0.3, 0.1, 0.1, or set the layer's scale and units"]
    widget.voxels.value = "0.3, 0.1, 0.1"
    assert tuple(finish(qtbot, widget, widget.start).scale) == SPACING


def test_files_through_the_viewer(tmp_path, channels, viewer):
    _initialize_plugins()
    source, target = str(tmp_path / "cells.ome.tif"), str(tmp_path / "sharp.ome.tif")
    convolume.save(source, np.stack(channels), axes="CZYX", spacing=SPACING, channel_names=["membrane", "actin"])
    viewer.layers.clear()
    viewer.open(source, plugin="napari-convolume")
    assert [layer.name for layer in viewer.layers] == ["membrane", "actin"]
    viewer.layers.save(target, plugin="napari-convolume")
    image = convolume.open(target)
    assert image.channel_names == ["membrane", "actin"] and image.spacing == SPACING
    np.testing.assert_array_equal(image, np.stack(channels))


def test_manifest():
    manifest = PluginManifest.from_distribution("napari-convolume")
    assert {widget.display_name for widget in manifest.contributions.widgets} == {"Deconvolve", "Make a PSF"}
    module = __import__("napari_convolume")
    for command in manifest.contributions.commands:
        assert callable(getattr(module, command.python_name.split(":")[1]))
    assert manifest.contributions.readers[0].filename_patterns == ["*.tif", "*.tiff", "*.h5", "*.hdf5"]
    assert manifest.contributions.writers[0].filename_extensions == [".tif", ".tiff", ".h5", ".hdf5"]
