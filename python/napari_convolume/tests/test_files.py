# SPDX-License-Identifier: Apache-2.0
"""Tests of the reader and the writer, with layers but without a viewer."""

import h5py
import numpy as np
import pytest
import tifffile
from napari.layers import Image, Layer
from napari_convolume import get_reader, write

import convolume

SPACING = (0.3, 0.1, 0.2)


def opened(path):
    return [Layer.create(*layer) for layer in get_reader(str(path))(str(path))]


def saved(path, *layers):
    return write(str(path), [layer.as_layer_data_tuple() for layer in layers])


@pytest.fixture
def pixels():
    return np.random.default_rng(1).integers(0, 999, (2, 5, 12, 14), np.uint16)


def units(layer):
    return [str(unit) for unit in layer.units]


def test_channels_of_imagej(tmp_path, pixels):
    name = tmp_path / "two.tif"
    tifffile.imwrite(name, pixels.swapaxes(0, 1), imagej=True, resolution=(1 / 0.2, 1 / 0.1),
                     metadata={"axes": "ZCYX", "spacing": 0.3, "unit": "um"})
    layers = opened(name)
    for layer, samples in zip(layers, pixels, strict=True):
        np.testing.assert_array_equal(layer.data, samples)
        np.testing.assert_allclose(layer.scale, SPACING)
        assert layer.axis_labels == ("z", "y", "x") and units(layer) == ["micrometer"] * 3
    assert [layer.name for layer in layers] == ["two, channel 0", "two, channel 1"]


@pytest.mark.parametrize("extension", ["ome.tif", "tif", "h5"])
def test_there_and_back(tmp_path, pixels, extension):
    source, target = tmp_path / "source.ome.tif", tmp_path / f"target.{extension}"
    times = np.stack([pixels, pixels + 1, pixels + 2])  # t, c, z, y, x
    tifffile.imwrite(source, times, metadata={
        "axes": "TCZYX", "PhysicalSizeZ": 300, "PhysicalSizeZUnit": "nm", "PhysicalSizeY": 0.1, "PhysicalSizeX": 0.2,
        "TimeIncrement": 2.5, "Channel": {"Name": ["DAPI", "GFP"], "Color": [0x0000FFFF, 0x00FF00FF]}})
    layers = opened(source)
    assert [layer.name for layer in layers] == ["DAPI", "GFP"] and units(layers[0]) == ["second"] + ["micrometer"] * 3
    np.testing.assert_allclose(layers[0].scale, (2.5, *SPACING))
    np.testing.assert_array_equal([layer.colormap.map(1.0).ravel()[:3] for layer in layers], [(0, 0, 1), (0, 1, 0)])
    assert saved(target, *layers) == [str(target)]
    for before, after in zip(layers, opened(target), strict=True):
        np.testing.assert_array_equal(after.data, before.data)
        np.testing.assert_allclose(after.scale, before.scale)
        assert (after.name, after.axis_labels, after.units) == (before.name, before.axis_labels, before.units)


def test_other_programs_read_what_is_saved(tmp_path, pixels):
    layers = [Image(samples, name=name, scale=(300, 100, 200), units=["nm"] * 3, axis_labels=["z", "y", "x"])
              for name, samples in zip(("DAPI", "GFP"), pixels)]
    saved(tmp_path / "a.ome.tif", *layers)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        np.testing.assert_array_equal(file.asarray(), pixels)
        assert file.series[0].axes == "CZYX"
        assert 'PhysicalSizeZ="0.3"' in file.ome_metadata and 'Name="DAPI"' in file.ome_metadata
    saved(tmp_path / "a.h5", layers[0])
    with h5py.File(tmp_path / "a.h5") as file:
        dataset = next(one for one in file.values() if isinstance(one, h5py.Dataset))
        np.testing.assert_allclose(dataset.attrs["element_size_um"], SPACING)


def test_axes_in_another_order(tmp_path, pixels):
    layer = Image(pixels.swapaxes(0, 1), scale=(0.3, 1, 0.1, 0.2), units=["um", "pixel", "um", "um"],
                  axis_labels=["z", "channel", "y", "x"])
    saved(tmp_path / "a.tif", layer)
    image = convolume.open(tmp_path / "a.tif")
    assert image.axes == "CZYX" and image.spacing == pytest.approx(SPACING)
    np.testing.assert_array_equal(image, pixels)


def test_what_is_assumed_is_said(tmp_path, pixels):
    with pytest.warns(convolume.ConvolumeWarning) as told:
        saved(tmp_path / "a.tif", Image(pixels[0], name="raw", scale=SPACING))
    assert "'raw' does not name its axes" in str(told[0].message) and "no voxel size" in str(told[1].message)
    assert convolume.open(tmp_path / "a.tif").spacing == (None, None, None)
    with pytest.raises(convolume.InvalidArgument, match="save them one by one"):
        saved(tmp_path / "b.tif", *(Image(samples, axis_labels=["z", "y", "x"]) for samples in (pixels[0],
                                                                                            pixels[1, :2])))
    assert not (tmp_path / "b.tif").exists()


def test_large_files_are_read_when_they_are_shown(tmp_path, pixels, monkeypatch):
    monkeypatch.setattr("napari_convolume._files._IN_MEMORY", 100)
    name = tmp_path / "large.tif"
    convolume.save(name, pixels, axes="CZYX", spacing=SPACING)
    layers = opened(name)
    assert not any(isinstance(layer.data, np.ndarray) for layer in layers)
    np.testing.assert_array_equal(layers[1].data[2], pixels[1, 2])
    saved(name, *layers)  # over the file that they are read from
    np.testing.assert_array_equal(convolume.open(name), pixels)


def test_hdf5_that_cannot_be_read_is_explained(tmp_path, pixels):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["first"], file["second"] = pixels, pixels
    with pytest.raises(convolume.BadData, match="which dataset is meant"):
        opened(tmp_path / "a.h5")


def test_files_of_other_kinds_are_left_to_others(tmp_path):
    (tmp_path / "a.tif").write_bytes(b"no image")
    assert get_reader(str(tmp_path / "a.tif")) is None and get_reader(str(tmp_path / "missing.tif")) is None
    assert get_reader(["a.tif", "b.tif"]) is None
