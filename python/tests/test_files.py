# SPDX-License-Identifier: Apache-2.0
"""Tests of images in files, against NumPy and, if they are installed, tifffile and h5py."""

import numpy as np
import pytest

import convolume


@pytest.fixture(params=["a.tif", "a.ome.tif", "a.h5", "a.h5:/run/2"])
def path(request, tmp_path):
    return str(tmp_path / request.param)


def test_round_trip(path, random):
    image = random.integers(0, 999, (2, 3, 5, 11, 13), np.uint16)
    convolume.save(path, image, axes="TCZYX", spacing=(0.5, 0.1, 0.2))
    read = convolume.open(path)
    assert read.shape == image.shape and read.axes == "TCZYX" and read.dtype == np.uint16 and read.ndim == 5
    assert read.spacing == pytest.approx((0.5, 0.1, 0.2))
    np.testing.assert_array_equal(np.asarray(read), image)
    for key in [0, -1, (1, 2), (..., 3), (slice(None), slice(2, None, -1)), (1, slice(0, 3, 2), slice(4, 0, -2)),
                (slice(0, 0),), (0, ..., slice(10, 1, -3), slice(-3, None)), (0, 1, 2, 3, 4), (0, 0, np.int64(1))]:
        np.testing.assert_array_equal(read[key], image[key])
    for key in [(9,), (0,) * 6, ([1, 0],), (..., ...)]:
        with pytest.raises(IndexError):
            read[key]


def test_tiff_for_others(tmp_path, random):
    tifffile = pytest.importorskip("tifffile")
    image = random.random((4, 6, 7)).astype(np.float32)
    convolume.save(tmp_path / "a.tif", image, spacing=(2, 1, 1))
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), image)
    tifffile.imwrite(tmp_path / "b.tif", image, imagej=True, resolution=(10, 10),
                     metadata={"axes": "ZYX", "spacing": 3, "unit": "um"})
    read = convolume.open(tmp_path / "b.tif")
    np.testing.assert_array_equal(read[:], image)
    assert read.spacing == pytest.approx((3, 0.1, 0.1))


def test_hdf5_for_others(tmp_path, random):
    h5py = pytest.importorskip("h5py")
    image = random.random((4, 6, 7))
    convolume.save(tmp_path / "a.h5", image, compression="deflate")
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["data"], image)


def test_metadata_go_on(tmp_path):
    first = convolume.Image.of_array(np.zeros((2, 4, 5), np.uint8), axes="CYX", spacing=(0.1, 0.1),
                                     channel_names=["a", "b"])
    convolume.save(tmp_path / "a.ome.tif", first)
    read = convolume.open(tmp_path / "a.ome.tif")
    assert read.channel_names == ["a", "b"]
    result = convolume.Image.of_array(np.ones((2, 4, 5), np.float32), axes="CYX")
    convolume.save(tmp_path / "b.ome.tif", result, like=read)
    again = convolume.open(tmp_path / "b.ome.tif")
    assert again.channel_names == ["a", "b"] and again.dtype == np.float32
    assert again.spacing == pytest.approx((0.1, 0.1))


def test_dask(tmp_path, random):
    pytest.importorskip("dask.array")
    image = random.random((6, 20, 30)).astype(np.float32)
    convolume.save(tmp_path / "a.h5", image)
    lazy = convolume.open(tmp_path / "a.h5").to_dask(chunks=(2, 10, 10))
    np.testing.assert_allclose(lazy[1:5].sum().compute(), image[1:5].sum(), rtol=1e-5)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        convolume.open(tmp_path / "none.tif")
    assert missing.value.filename == str(tmp_path / "none.tif") and "none.tif" in str(missing.value)
    convolume.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(FileExistsError):
        convolume.save(tmp_path / "a.npy", np.zeros(3))
    convolume.save(tmp_path / "a.npy", np.ones(3), overwrite=True)
    assert np.load(tmp_path / "a.npy").sum() == 3
    with pytest.raises(OSError):
        convolume.save(tmp_path / "no" / "a.npy", np.zeros(3))
    (tmp_path / "bad.tif").write_bytes(b"II*\0 not a TIFF")
    with pytest.raises(ValueError):
        convolume.open(tmp_path / "bad.tif")
    with pytest.raises(ValueError, match="extension|format"):
        convolume.save(tmp_path / "a.xyz", np.zeros((3, 3)))
    assert not list(tmp_path.glob("*.partial")) and not list(tmp_path.glob(".*"))


def test_files_as_one_image(tmp_path, random):
    planes = random.random((12, 4, 5)).astype(np.float32)
    for z, plane in enumerate(planes):
        convolume.save(tmp_path / f"z{z}.tif", plane)
    for name, stack in (("", "z"), ("z*.tif", "z"), ("z{z}.tif", "")):
        assert np.array_equal(np.asarray(convolume.open(tmp_path / name, stack=stack)), planes)
    assert convolume.open(tmp_path, stack="t").axes == "TYX"
    with pytest.raises(FileNotFoundError, match="stack z"):
        convolume.open(tmp_path)
