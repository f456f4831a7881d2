# SPDX-License-Identifier: Apache-2.0
"""Tests of what layers say about axes and voxel sizes, without a viewer."""

import numpy as np
import pytest
import tifffile
from napari.layers import Image
from napari.layers._source import Source
from napari_convolume._layers import image_of, letters_of, region_in_view, shown_like, supported, voxels_of


def layer_of(*shape, **shown):
    return Image(np.zeros(shape, np.uint16), **shown)


@pytest.mark.parametrize("labels, letters", [
    (["z", "c", "y", "x"], "ZCYX"), (["Time", "channel", "Y", "X"], "TCYX"), (["plane", "c", "y", "x"], None),
    (["z", "z", "y", "x"], None), (None, None)])
def test_letters(labels, letters):
    assert letters_of(layer_of(2, 3, 8, 9, axis_labels=labels)) == letters


def test_a_plane_needs_no_labels():
    assert letters_of(layer_of(8, 9)) == "YX"


def test_voxels_are_lengths():
    layer = layer_of(3, 8, 9, scale=(300, 0.1, 2), units=["nm", "um", "pixel"])
    assert voxels_of(layer, "ZYX") == pytest.approx({"Z": 0.3, "Y": 0.1})
    assert voxels_of(layer_of(3, 8, 9, scale=(0.3, 0.1, 0.1)), "ZYX") == {}


def test_versions_of_napari_without_labels_and_units(monkeypatch):
    monkeypatch.setattr("napari_convolume._layers.Image", object)
    shown = supported({"axis_labels": list("zyx"), "units": ["micrometer"] * 3, "scale": (0.3, 0.1, 0.1)})
    assert set(shown) == {"scale", "metadata"}
    layer = layer_of(3, 8, 9, **shown)
    assert letters_of(layer) == "ZYX" and voxels_of(layer, "ZYX") == pytest.approx({"Z": 0.3, "Y": 0.1, "X": 0.1})


@pytest.mark.parametrize("planes, letters", [(5, "ZCYX"), (2, None)])
def test_the_file_of_a_layer(tmp_path, planes, letters):
    """If as many planes as channels exist, the extents do not tell them apart."""
    name, samples = tmp_path / "a.tif", np.zeros((planes, 2, 8, 9), np.uint16)
    tifffile.imwrite(name, samples, imagej=True, resolution=(10, 10),
                     metadata={"axes": "ZCYX", "spacing": 0.3, "unit": "um"})
    layer = Image(samples)
    layer._source = Source(path=str(name))
    assert letters_of(layer) == letters
    assert voxels_of(layer, "ZCYX") == pytest.approx({"Z": 0.3, "Y": 0.1, "X": 0.1})
    layer.scale = (0.5, 1, 1, 1)  # by the user, in an unknown unit
    assert voxels_of(layer, "ZCYX") == {}


def test_images_have_their_axes_in_order():
    layer = Image(np.arange(2 * 3 * 4 * 5, dtype=np.uint16).reshape(3, 2, 4, 5))
    image = image_of(layer, "ZCYX", {"Y": 0.1})
    assert image.axes == "CZYX" and image.spacing == (None, 0.1, None)
    np.testing.assert_array_equal(image, layer.data.swapaxes(0, 1))


def test_a_region_is_shown_in_its_place():
    layer = layer_of(4, 3, 60, 400, 500, scale=(2, 1, 0.3, 0.1, 0.1), translate=(0, 0, 5, 6, 7), rotate=90,
                     axis_labels=["t", "c", "z", "y", "x"])
    layer.corner_pixels = np.array([[0, 0, 0, 100, 380], [3, 2, 59, 139, 499]])
    part = region_in_view(layer, "TCZYX", (3, 1, 2.4, 0, 0))
    assert part == (slice(3, 4), slice(1, 2), slice(0, 32), slice(100, 140), slice(380, 500))
    start = [one.start for one in part]
    shown = Image(layer.data[part], **shown_like(layer, "TCZYX", {}, start))
    np.testing.assert_allclose(shown.data_to_world([0] * 5), layer.data_to_world(start), atol=1e-9)
    np.testing.assert_allclose(shown.data_to_world([0, 0, 3, 5, 7]),
                               layer.data_to_world(np.add(start, [0, 0, 3, 5, 7])), atol=1e-9)


def test_a_large_view_is_cut_to_its_middle():
    layer = layer_of(100, 1000, 1000)
    layer.corner_pixels = np.array([[0, 0, 0], [99, 999, 999]])
    assert region_in_view(layer, "ZYX", (99, 0, 0)) == (slice(68, 100), slice(372, 628), slice(372, 628))
