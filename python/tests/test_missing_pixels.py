# SPDX-License-Identifier: Apache-2.0
"""Pixels without data and hot pixels are left out, and saturated ones are lower bounds."""

import pickle

import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter
from scipy.signal import fftconvolve

import convolume

SHAPE = 6, 72, 80
OPTIONS = {"iterations": 8, "device": "cpu"}


def recording(photons):
    """Returns a recording of rods with an offset of 100, and the PSF."""
    random = np.random.default_rng(11)
    specimen = np.zeros(SHAPE)
    for z, y, x in random.integers((0, 5, 5), (6, 67, 45), (40, 3)):
        specimen[z, y, x:x + 30] += 40
    psf = np.zeros((3, 9, 9))
    psf[1, 4, 4] = 1
    psf = gaussian_filter(psf, (0.7, 1.3, 1.3))
    light = fftconvolve(specimen, psf / psf.sum(), mode="same").clip(0) + 3
    return (100 + 2 * random.poisson(light * photons)).astype(np.uint16), psf


@pytest.fixture(scope="module")
def recorded():
    return recording(1)


def restored(image, psf, **more):
    deconvolver = convolume.Deconvolver(image.shape, psf, **OPTIONS, **more)
    return deconvolver(image), deconvolver.report


def test_nothing_is_left_out_of_a_clean_image(recorded):
    image, psf = recorded
    result, report = restored(image, psf)
    assert report["missing_pixels"] == 0 and report["left_out"] == [] and not report["is_filtered"]
    np.testing.assert_array_equal(result, restored(image, psf, no_data="off", hot_pixels="off")[0])


@pytest.mark.parametrize("place", [np.s_[0], np.s_[:, :3], np.s_[:, 10:25, 12:30]])
def test_what_has_no_data_does_not_change_the_rest(recorded, place):
    image, psf = recorded
    clean, report = restored(image, psf)
    changed = image.copy()
    changed[place] = 0
    result, found = restored(changed, psf)
    assert found["missing_pixels"] == image[place].size
    assert len(found["left_out"]) == 1 and "no data" in found["left_out"][0]
    assert abs(found["background"] - report["background"]) < 0.5
    away = np.s_[2:, 35:65, 40:70]
    assert np.linalg.norm(result[away] - clean[away]) < 0.1 * np.linalg.norm(clean[away])
    # A mask gives the same result, and so does the value.
    mask = np.ones(SHAPE, bool)
    mask[place] = False
    deconvolver = convolume.Deconvolver(SHAPE, psf, no_data="off", hot_pixels="off", **OPTIONS)
    np.testing.assert_array_equal(deconvolver(changed, mask=mask), result)
    np.testing.assert_array_equal(restored(changed, psf, no_data=0, hot_pixels="off")[0], result)
    assert convolume.richardson_lucy(changed, psf, 8, device="cpu", no_data="off", mask=mask).shape == SHAPE


def test_hot_pixels(recorded):
    image, psf = recorded
    clean, _ = restored(image, psf)
    hot = image.copy()
    hot[:, 20, 30] += 3000
    hot[2, 50, 60] = 40000
    result, report = restored(hot, psf)
    assert report["missing_pixels"] == 7 and len(report["left_out"]) == 2
    assert np.linalg.norm(result - clean) < 0.05 * np.linalg.norm(clean)


def test_saturated_pixels_are_lower_bounds():
    image, psf = recording(50)
    clean, _ = restored(image, psf)
    limit = float(np.quantile(image, 0.98))
    cut = np.minimum(image, limit)
    without, _ = restored(cut, psf)
    bound, report = restored(cut, psf, saturation=limit)
    assert report["saturated_pixels"] == np.count_nonzero(image >= limit) and report["missing_pixels"] == 0
    error = np.linalg.norm(bound - clean)
    assert error < np.linalg.norm(without - clean)
    assert bound.max() < 2 * clean.max()


def test_nan_is_left_out_on_request(recorded):
    image, psf = recorded
    holed = image.astype(np.float32)
    holed[2:4, 20:30, 20:30] = np.nan
    with pytest.raises(convolume.BadData, match="nan"):
        restored(holed, psf)
    result, report = restored(holed, psf, nan="missing")
    assert report["missing_pixels"] == 200 and np.isfinite(result).all()
    by_mask = convolume.Deconvolver(image.shape, psf, hot_pixels="off", **OPTIONS)
    masked = by_mask(image.astype(np.float32), mask=np.isfinite(holed))
    np.testing.assert_allclose(result, masked, rtol=1e-4, atol=1e-3 * masked.max())


def test_saturation_is_found_at_the_limit_of_the_camera():
    image, psf = recording(50)
    image = np.rint((image - 100.0) * (4095 - 100) / (np.quantile(image, 0.98) - 100) + 100)
    clean, _ = restored(image.astype(np.uint16), psf)
    cut = np.minimum(image, 4095).astype(np.uint16)
    bound, report = restored(cut, psf)
    assert report["saturated_pixels"] == np.count_nonzero(cut == 4095)
    np.testing.assert_array_equal(bound, restored(cut, psf, saturation=4095)[0])
    without, report = restored(cut, psf, saturation=None)
    assert report["saturated_pixels"] == 0
    assert np.linalg.norm(bound - clean) < np.linalg.norm(without - clean)


def test_resampled_noise_is_no_gain(recorded):
    image, psf = recorded
    shifted = (image[..., :-1] + image[..., 1:].astype(float)) / 2
    with pytest.warns(convolume.ConvolumeWarning, match="share their noise.*the usual 10 iterations"):
        deconvolver = convolume.Deconvolver(shifted.shape, psf, device="cpu")
        deconvolver(shifted.astype(np.float32))
    assert deconvolver.report["is_filtered"] and not deconvolver.report["has_gain"]
    assert deconvolver.report["iterations"] == 10


@pytest.mark.parametrize(("options", "run", "match"), [
    ({"no_data": "none"}, {}, "no_data is a number, 'auto' or 'off', not"),
    ({"nan": "zero"}, {}, "nan is error or missing, not"),
    ({"saturation": "off"}, {}, "saturation is a number"),
    ({"hot_pixels": True}, {}, "hot_pixels is"),
    ({}, {"mask": np.ones((2, 2))}, "the mask has the shape"),
    ({"method": "nnls"}, {"mask": np.ones(SHAPE)}, "compares all pixels"),
    ({"method": "nnls", "no_data": 0}, {}, "no_data does not apply to the method nnls")])
def test_refused_in_one_sentence(recorded, options, run, match):
    image, psf = recorded
    with pytest.raises(convolume.InvalidArgument, match=match):
        convolume.Deconvolver(SHAPE, psf, **OPTIONS, **options)(image, **run)


def test_the_camera_of_an_image_is_known_and_kept(tmp_path):
    image, psf = recording(50)
    image = np.rint((image - 100.0) * (511 - 100) / (np.quantile(image, 0.98) - 100) + 100)
    cut = np.minimum(image, 511).astype(np.uint16)
    tifffile.imwrite(tmp_path / "cut.ome.tif", cut, metadata={"axes": "ZYX", "SignificantBits": 9})
    recorded = convolume.open(tmp_path / "cut.ome.tif")
    for one in (recorded, pickle.loads(pickle.dumps(recorded))):
        _, report = restored(one, psf)
        assert report["saturated_pixels"] == np.count_nonzero(cut == 511)
    # 511 is the limit of no usual camera.
    assert restored(cut, psf)[1]["saturated_pixels"] == 0
