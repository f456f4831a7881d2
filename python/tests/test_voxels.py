# SPDX-License-Identifier: Apache-2.0
"""Tests of images and PSFs of different voxel sizes, against the command and against resampling by hand."""

import functools
import os
import subprocess
import warnings

import numpy as np
import pytest

import convolume

COMMAND = os.environ.get("CONVOLUME_TEST_COMMAND")
OPTICS = {"na": 1.2, "ni": 1.33, "wavelength": 0.52}
COARSE, FINE = (0.3, 0.1, 0.1), (0.15, 0.05, 0.05)


@pytest.fixture
def fine():
    return convolume.make_psf(**OPTICS, spacing=FINE, shape=(61, 121, 121))


@pytest.fixture
def recording():
    """A specimen and its recording, which knows its voxels."""
    specimen = convolume.Phantom((16, 48, 48), COARSE, kind="cells", seed=3)
    exact = convolume.make_psf(**OPTICS, spacing=COARSE, shape=(31, 61, 61))
    recorded = convolume.Camera(seed=1).expose(convolume.convolve(specimen, exact))
    return np.asarray(specimen), convolume.Image.of_array(recorded, spacing=COARSE)


def signal_to_noise(result, truth):
    """Peak signal-to-noise ratio in dB, after a linear fit of the values."""
    terms = np.stack([result.ravel(), np.ones(result.size)], 1).astype(np.float64)
    factors, *_ = np.linalg.lstsq(terms, truth.ravel().astype(np.float64), rcond=None)
    return 10 * np.log10(float(truth.max()) ** 2 / float(((truth.ravel() - terms @ factors) ** 2).mean()))


def test_a_psf_is_resampled_as_by_hand(recording, fine):
    truth, image = recording
    values, center = convolume.resample_kernel(fine, FINE, COARSE)
    options = {"background": 100, "device": "cpu"}
    want = convolume.richardson_lucy(image, values, 10, origin=center, **options)
    got = convolume.richardson_lucy(image, fine, 10, **options)
    np.testing.assert_array_equal(got, want)
    as_it_is = convolume.richardson_lucy(np.asarray(image), fine, 10, **options)
    assert signal_to_noise(got, truth) > signal_to_noise(as_it_is, truth) + 0.3
    planned = convolume.Deconvolver(image.shape, fine, iterations=10, spacing=image.spacing, **options)
    np.testing.assert_array_equal(planned(image), want)
    np.testing.assert_array_equal(convolume.wiener(image, fine, device="cpu"),
                                  convolume.wiener(image, values, origin=center, device="cpu"))
    np.testing.assert_array_equal(convolume.convolve(image, fine, device="cpu"),
                                  convolume.convolve(image, values, origin=center, device="cpu"))


def test_resampling_is_logged(recording, fine, caplog):
    _, image = recording
    with caplog.at_level("INFO", "convolume"):
        convolume.richardson_lucy(image, fine, 1, background=100, device="cpu")
    assert "the PSF is resampled to the voxels of the image: voxel sizes differ: the image has voxel" in caplog.text


def test_blocks(recording, fine, tmp_path):
    pytest.importorskip("tensorstore")
    _, image = recording
    values, center = convolume.resample_kernel(fine, FINE, COARSE)
    convolume.process(image, tmp_path / "a.zarr", "convolve", kernel=fine, device="cpu")
    want = convolume.convolve(image, values, origin=center, device="cpu")
    np.testing.assert_allclose(convolume.open(tmp_path / "a.zarr"), want, rtol=1e-5, atol=1e-5 * want.max())


@pytest.mark.skipif(not COMMAND, reason="the command is not built")
def test_the_result_is_that_of_the_command(recording, fine, tmp_path):
    _, image = recording
    convolume.save(tmp_path / "image.tif", image)
    convolume.save(tmp_path / "fine.tif", fine)
    subprocess.run([COMMAND, "deconvolve", tmp_path / "image.tif", tmp_path / "fine.tif", "-o", tmp_path / "out.tif",
                    "--iterations", "10", "--background", "100", "--device", "cpu", "-q"], check=True)
    got = convolume.richardson_lucy(convolume.open(tmp_path / "image.tif"), convolume.open(tmp_path / "fine.tif"), 10,
                                    background=100, device="cpu")
    want = np.asarray(convolume.open(tmp_path / "out.tif"))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * want.max())


def test_a_planned_psf_refuses_other_voxels(recording, fine):
    _, image = recording
    for plan in (convolume.Deconvolver(image.shape, fine, device="cpu"),
                 convolume.Convolver(image.shape, fine, device="cpu")):
        with pytest.raises(convolume.InvalidArgument, match="voxel sizes differ: the image has voxel z,y,x 0.3×0.1"):
            plan(image)


def test_sizes_that_cannot_be_meant(recording):
    _, image = recording
    psf = convolume.Image.of_array(np.ones((3, 3, 3)), spacing=(300, 100, 100))
    with pytest.raises(convolume.InvalidArgument, match="correct one of the sizes"):
        convolume.richardson_lucy(image, psf, 2, device="cpu")


def test_equal_and_unknown_voxels(recording, fine):
    _, image = recording
    psf = convolume.make_psf(**OPTICS, spacing=(0.3, 0.10005, 0.1), shape=(31, 61, 61))  # as files round
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sharpened = functools.partial(convolume.richardson_lucy, iterations=3, background=90, device="cpu")
        want = sharpened(image, psf)
        np.testing.assert_array_equal(sharpened(np.asarray(image), np.asarray(psf)), want)
        np.testing.assert_array_equal(sharpened(np.asarray(image), psf, spacing=image.spacing), want)
        one_plane = convolume.Image.of_array(psf[15:16], spacing=COARSE)  # its z cannot be resampled
        convolume.convolve(image[8], one_plane)
    with pytest.warns(convolume.ConvolumeWarning, match="the image has voxel z,y,x .* the PSF does not say its own"):
        np.testing.assert_array_equal(sharpened(image, np.asarray(psf)), want)
    nameless = convolume.Image.of_array(np.asarray(image))
    for unknown in (nameless, np.asarray(image)):
        with pytest.warns(convolume.ConvolumeWarning, match=r"the PSF has voxel z,y,x .* convolume.Image.of_array\("):
            np.testing.assert_array_equal(sharpened(unknown, psf), want)
        with pytest.warns(convolume.ConvolumeWarning, match="the kernel has voxel z,y,x"):
            convolume.convolve(unknown, psf, device="cpu")
    with pytest.warns(convolume.ConvolumeWarning, match="the image has voxel z,y,x .* the kernel does not say its own"):
        convolume.convolve(image, np.ones((3, 3, 3)), device="cpu")


def test_blocks_of_unknown_voxels(recording, fine, tmp_path):
    pytest.importorskip("tensorstore")
    _, image = recording
    with pytest.warns(convolume.ConvolumeWarning, match="the PSF has voxel z,y,x"):
        convolume.process(np.asarray(image), tmp_path / "b.zarr", "deconvolve", kernel=fine, iterations=2,
                          background=100, device="cpu")


def test_a_psf_of_one_plane_is_for_two_dimensions(recording):
    _, image = recording
    plane = convolume.Image.of_array(image[8], spacing=COARSE[1:])
    psf = convolume.make_psf(**OPTICS, spacing=COARSE, shape=(1, 31, 31))
    np.testing.assert_array_equal(convolume.richardson_lucy(plane, psf, 3, device="cpu"),
                                  convolume.richardson_lucy(image[8], np.asarray(psf)[0], 3, device="cpu"))
