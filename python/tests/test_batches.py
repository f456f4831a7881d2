# SPDX-License-Identifier: Apache-2.0
"""Tests of batches: times and channels, a PSF for each channel, and axes by number and by name, against a loop."""

import pickle

import numpy as np
import pytest

import convolume


@pytest.fixture
def stack(random):
    return random.poisson(30.0, (2, 3, 5, 12, 14)).astype(np.uint16)


@pytest.fixture
def psfs():
    axes = [np.exp(-np.arange(-2, 3) ** 2 / (2 * width**2)) for width in (0.8, 1.0, 1.3)]
    return [axis[:, None, None] * axis[:, None] * axis for axis in axes]


def loop(stack, psfs, **options):
    result = np.empty(stack.shape, np.float32)
    for t, c in np.ndindex(stack.shape[:2]):
        result[t, c] = convolume.richardson_lucy(stack[t, c], psfs[c % len(psfs)], 4, device="cpu", **options)
    return result


def test_one_psf_for_all(stack, psfs):
    want = loop(stack, psfs[:1])
    np.testing.assert_array_equal(convolume.richardson_lucy(stack, psfs[0], 4, device="cpu"), want)
    moved = np.moveaxis(stack, (2, 3, 4), (0, 3, 1))  # z, t, x, y, c
    got = convolume.richardson_lucy(moved, psfs[0], 4, axes=(0, 3, 1), device="cpu")
    np.testing.assert_array_equal(np.moveaxis(got, (0, 3, 1), (2, 3, 4)), want)


def test_a_psf_for_each_channel(stack, psfs):
    want = loop(stack, psfs)
    np.testing.assert_array_equal(convolume.richardson_lucy(stack, psfs, 4, device="cpu"), want)
    image = convolume.Image.of_array(stack.swapaxes(0, 1)[0], axes="TZYX")
    with pytest.raises(convolume.InvalidArgument, match="3 PSFs .* no axis of channels"):
        convolume.richardson_lucy(image, psfs, 4, device="cpu")
    got = convolume.richardson_lucy(stack.swapaxes(0, 1), psfs, 4, channel_axis=0, device="cpu")
    np.testing.assert_array_equal(got.swapaxes(0, 1), want)
    with pytest.raises(convolume.InvalidArgument, match="2 channels along axis 0"):
        convolume.richardson_lucy(stack, psfs, 4, channel_axis=0, device="cpu")
    many = convolume.Image.of_array(np.stack(psfs), axes="CZYX")
    np.testing.assert_array_equal(convolume.richardson_lucy(stack, many, 4, device="cpu"), want)
    np.testing.assert_array_equal(convolume.wiener(stack, psfs, device="cpu")[1, 2],
                                  convolume.wiener(stack[1, 2], psfs[2], device="cpu"))


def test_planned_for_channels(stack, psfs):
    plan = convolume.Deconvolver(stack.shape[2:], psfs, iterations=4, device="cpu")
    seen = []
    first = plan(stack, callback=lambda iteration: seen.append((iteration.index, iteration.number)))
    np.testing.assert_array_equal(first, loop(stack, psfs))
    assert seen == [((t, c), n) for t in range(2) for c in range(3) for n in (1, 2, 3, 4)]
    out = stack.astype(np.float32)
    assert plan(out, out) is out
    np.testing.assert_array_equal(out, first)
    again = plan(stack, start=first)
    np.testing.assert_array_equal(again[1, 2], convolume.Deconvolver(
        stack.shape[2:], psfs[2], iterations=4, device="cpu")(stack[1, 2], start=first[1, 2]))


def test_counts_and_progress_are_of_all_images(stack, psfs):
    negative = stack.astype(np.float32)
    negative[:, :, 0, 0, :5] = -1
    plan = convolume.Deconvolver(stack.shape[2:], psfs[0], iterations=3, device="cpu")
    seen = []
    with pytest.warns(convolume.ConvolumeWarning, match="^30 negative pixels of the image were read as 0"):
        plan(negative, progress=seen.append)
    assert plan.report["negative_pixels"] == 30 and plan.report["iterations"] == 3
    assert seen == sorted(seen) and 0.99 < seen[-1] <= 1


def test_axes_that_an_image_names(stack, psfs):
    channels = convolume.Image.of_array(stack[0, :, 0], axes="CYX")
    with pytest.raises(convolume.InvalidArgument, match="the image has the axes CYX"):
        convolume.richardson_lucy(channels, psfs[0], 2, device="cpu")  # channels are not planes
    got = convolume.richardson_lucy(channels, psfs[0][2], 2, device="cpu")
    np.testing.assert_array_equal(got[1], convolume.richardson_lucy(stack[0, 1, 0], psfs[0][2], 2, device="cpu"))


def test_arrays_of_xarray(stack, psfs):
    xarray = pytest.importorskip("xarray")
    micrometers = {"units": "um"}
    z = xarray.DataArray(np.arange(5) * 0.3, dims="z", attrs=micrometers)
    y = xarray.DataArray(np.arange(12) * 100.0, dims="y", attrs={"units": "nm"})
    array = xarray.DataArray(stack[0].transpose(1, 0, 2, 3), dims=("z", "c", "y", "x"), name="cells",
                             coords={"z": z, "y": y, "c": ["a", "b", "c"]}, attrs={"microscope": "7"})
    got = convolume.richardson_lucy(array, psfs, 4, device="cpu")
    assert isinstance(got, xarray.DataArray) and got.name == "cells" and got.attrs == array.attrs
    assert got.dims == array.dims and got.dtype == np.float32
    xarray.testing.assert_identical(got.coords.to_dataset(), array.coords.to_dataset())
    np.testing.assert_array_equal(got.transpose("c", "z", "y", "x"), loop(stack, psfs)[0])
    fine = convolume.Image.of_array(psfs[0], spacing=(0.15, 0.05, 0.05))
    with pytest.raises(convolume.InvalidArgument, match=r"the image has voxel z,y,x 0\.3×0\.1×\? µm"):
        convolume.Deconvolver(stack.shape[2:], fine, device="cpu")(array)
    full = convolume.convolve(array, psfs[0], mode="full", device="cpu")
    assert full.sizes == {"z": 9, "c": 3, "y": 16, "x": 18} and list(full.coords) == ["c"]


def test_files_of_arrays_of_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(np.arange(5) * 0.25, dims="x", attrs={"units": "µm"})
    array = xarray.DataArray(np.ones((3, 2, 5), np.uint8), dims=("time", "y", "x"), coords={"x": x})
    convolume.save(tmp_path / "a.ome.tif", array)
    read = convolume.open(tmp_path / "a.ome.tif")
    assert read.axes == "TYX" and read.spacing == (None, 0.25)


@pytest.mark.filterwarnings("ignore::convolume.ConvolumeWarning")
def test_planes_of_an_image_with_a_psf_of_a_plane(stack, psfs):
    """A Deconvolver is planned for one plane, also by the shape of the whole image."""
    volume, psf = stack[0, 0], psfs[0][2]
    want = convolume.richardson_lucy(volume, psf, 4, device="cpu")
    for shape, spacing in ((volume.shape[1:], (0.2, 0.1)), (volume.shape, (0.5, 0.2, 0.1)), (volume.shape, None)):
        planned = convolume.Deconvolver(shape, psf, iterations=4, spacing=spacing, device="cpu")
        assert planned.image_shape == volume.shape[1:]
        np.testing.assert_array_equal(planned(volume), want)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(planned))(volume), want)
    with pytest.raises(convolume.InvalidArgument, match="PSF has 3 dimensions and the image 2: give one of at least"):
        convolume.Deconvolver(volume.shape[1:], psfs[0], iterations=4, device="cpu")
    with pytest.raises(convolume.InvalidArgument, match="PSF has 3 dimensions and the image 2"):
        convolume.Deconvolver(volume.shape, [psf, psfs[0]], iterations=4, device="cpu")
