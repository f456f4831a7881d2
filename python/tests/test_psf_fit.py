# SPDX-License-Identifier: Apache-2.0
"""Tests of PSFs that are fitted to recordings of specimens. The recordings are made by SciPy."""
import numpy as np
import pytest
from scipy import ndimage, signal

import convolume

LIGHT = {"wavelength": 0.52, "ni": 1.0, "model": "born-wolf", "spacing": (0.6, 0.2, 0.2), "shape": (13, 25, 25)}


@pytest.fixture(scope="module")
def recording():
    """Returns photons of textured blobs, blurred with an NA of 0.8."""
    random = np.random.default_rng(4)
    texture = ndimage.gaussian_filter(random.standard_normal((12, 56, 56)), (1, 1.5, 1.5))
    specimen = np.exp(2 * texture / texture.std()) * (ndimage.gaussian_filter(random.standard_normal(texture.shape),
                                                                             (2, 5, 5)) > 0)
    psf = np.asarray(convolume.make_psf(na=0.8, **LIGHT), float)
    blurred = signal.fftconvolve(specimen, psf, "same")[2:-2, 4:-4, 4:-4].clip(0)
    return random.poisson(100 * blurred / blurred.mean() + 10).astype(np.uint16)


@pytest.mark.parametrize("na", [0.68, 0.8, 0.92])
def test_na_is_found(recording, na):
    fitted = convolume.fit_psf(recording, na=na, device="cpu", **LIGHT)
    assert abs(fitted.optics["na"] - 0.8) < 0.04
    assert fitted.error <= fitted.first_error
    assert (fitted.changes == "") == (fitted.optics["na"] == na)
    made = convolume.make_psf(na=fitted.optics["na"], **LIGHT)
    np.testing.assert_array_equal(np.asarray(fitted.psf), np.asarray(made))
    assert fitted.psf.spacing == LIGHT["spacing"]


def test_refused_in_one_sentence(recording):
    smooth = ndimage.uniform_filter(recording.astype(np.float32), (1, 3, 3))
    for image, options, error in ((smooth, {}, "does not tell its photons"), (recording[0], {}, "2 dimensions"),
                                  (recording[:2], {}, "fitted by how light spreads"),
                                  (recording, {"spacing": None}, "pass spacing")):
        with pytest.raises(convolume.Error, match=error):
            convolume.fit_psf(image, na=0.8, device="cpu", **(LIGHT | options))


def test_mounting_media():
    optics = {"na": 1.4, "wavelength": 0.52, "spacing": (0.2, 0.1, 0.1), "shape": (5, 9, 9)}
    def made(**options):
        return np.asarray(convolume.make_psf(**optics, **options))
    np.testing.assert_array_equal(made(ns="prolong"), made(ns=1.47))
    np.testing.assert_array_equal(made(), made(ns=1.515))
    with pytest.raises(convolume.InvalidArgument, match="no mounting medium"):
        made(ns="honey")
