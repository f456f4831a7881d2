# SPDX-License-Identifier: Apache-2.0
"""Tests of measured PSFs, against beads and light that NumPy alone simulates."""

import numpy as np
import pytest
import scipy.special

import convolume

CENTERS = [(15.2, 20.4, 22.1), (14.6, 60.3, 25.8), (16.0, 24.7, 70.5), (15.4, 66.6, 68.2), (15.0, 44.5, 47.3)]
WIDTHS = np.array([2.5, 1.6, 1.8])  # standard deviations along z, y, x


def gaussian(shape, center, flux):
    """Returns a Gaussian bead of total light `flux`, sampled at the middles of voxels."""
    along = [np.exp(-(np.arange(n) - c) ** 2 / (2 * s * s)) / (s * np.sqrt(2 * np.pi))
             for n, c, s in zip(shape, center, WIDTHS)]
    return flux * along[0][:, None, None] * along[1][:, None] * along[2]


@pytest.fixture
def stack(random):
    values = np.full((31, 88, 92), 20.0)
    for center in CENTERS:
        values += gaussian(values.shape, center, 40_000)
    return random.poisson(values)


def test_psf_is_the_mean_of_beads(stack):
    measured = convolume.psf_from_beads(stack.astype(np.uint16), shape=(21, 15, 17), spacing=(0.3, 0.1, 0.1))
    psf = np.asarray(measured.psf)
    assert psf.dtype == np.float32 and psf.shape == (21, 15, 17) and measured.psf.spacing == (0.3, 0.1, 0.1)
    assert psf.sum() == pytest.approx(1, abs=1e-5)
    want = gaussian(psf.shape, (10, 7, 8), 1)
    assert np.abs(psf - want).max() < 0.06 * want.max()  # photon noise is 2 % at the peak
    np.testing.assert_allclose(measured.fwhm, 2.3548 * WIDTHS, rtol=0.04)
    assert measured.found == len(measured.centers) == 5
    nearest = [min(np.abs(np.array(center) - one).max() for one in measured.centers) for center in CENTERS]
    assert max(nearest) < 0.2
    np.testing.assert_allclose(measured.fluxes, 40_000, rtol=0.05)
    assert measured.background == pytest.approx(20, abs=1)


def test_size_of_a_measured_psf_follows_from_the_optics(stack):
    optics = {"na": 1.2, "ni": 1.33, "wavelength": 0.52}
    measured = convolume.psf_from_beads(stack, spacing=(0.3, 0.1, 0.1), optics=optics)
    across = 2 * np.ceil(5 * 0.61 * 0.52 / 1.2 / 0.1) + 1
    along = 2 * np.ceil(4 * 1.33 * 0.52 / 1.2**2 / 0.3) + 1
    assert measured.psf.shape == (along, across, across)
    with pytest.raises(ValueError, match="give the optics with na and wavelength"):
        convolume.psf_from_beads(stack)


def test_beads_that_are_left_out(stack):
    border = stack + gaussian(stack.shape, (15, 84, 46), 40_000)
    measured = convolume.psf_from_beads(border, shape=(21, 15, 15))
    assert (measured.found, measured.at_border, len(measured.centers)) == (6, 1, 5)
    assert measured.psf.spacing == (None, None, None)
    twin = stack + gaussian(stack.shape, (15.4, 66.6, 74), 40_000)
    measured = convolume.psf_from_beads(twin, shape=(21, 15, 15))
    assert measured.crowded >= 1 and len(measured.centers) == 4
    bright = stack + gaussian(stack.shape, CENTERS[0], 200_000)
    full = convolume.psf_from_beads(np.minimum(bright, 1023).astype(np.uint16), shape=(21, 15, 15))
    assert full.saturated == 1 and len(full.centers) == 4
    kept = convolume.psf_from_beads(np.minimum(bright, 1023).astype(np.uint16), shape=(21, 15, 15), saturation=None)
    assert kept.saturated == 0
    assert convolume.psf_from_beads(np.minimum(bright, 1000), shape=(21, 15, 15), saturation=1000).saturated == 1


def test_stacks_that_are_refused(stack):
    for arguments, words in (((stack[0], (3, 3, 3)), "2 dimensions"), ((stack, (3, 4, 3)), "odd size"),
                             ((stack, (3, 3)), "2 numbers"), ((stack * 1j, (3, 3, 3)), "complex"),
                             ((np.zeros_like(stack), (3, 3, 3)), "bead|bright")):
        with pytest.raises(ValueError, match=words):
            convolume.psf_from_beads(arguments[0], shape=arguments[1])
    with pytest.raises(ValueError, match="saturation"):
        convolume.psf_from_beads(stack, shape=(5, 5, 5), saturation="never")
    holed = stack.astype(np.float32)
    holed[2, 3, 1] = np.nan
    with pytest.raises(convolume.BadData, match="the stack of beads holds nan at z,y,x 2,3,1: repair it"):
        convolume.psf_from_beads(holed, shape=(5, 5, 5))


def born_wolf(shape, spacing, na, index, wavelength):
    """Returns the PSF of Born and Wolf at the middles of voxels, by the trapezoidal rule:

        |2 ∫ J0(k NA r ρ) exp(i k z √(n² - NA²ρ²)) ρ dρ|²
    """
    z, y, x = (step * (np.arange(n) - n // 2) for n, step in zip(shape, spacing))
    radii, places = np.unique(np.hypot(y[:, None], x).round(9), return_inverse=True)
    rho = np.linspace(0, 1, 801)
    k = 2 * np.pi / wavelength
    bessel = scipy.special.j0(k * na * radii[:, None] * rho) * rho
    planes = []
    for height in z:
        wave = np.exp(1j * k * height * np.sqrt(index**2 - na**2 * rho**2))
        planes.append(np.abs(2 * np.trapezoid(bessel * wave, rho)) ** 2)
    values = np.array(planes)[:, places.reshape(len(y), len(x))]
    return values / values.sum()


SPACING = (0.25, 0.06, 0.06)


def test_na_is_found():
    light = {"wavelength": 0.5, "ni": 1.33, "model": "born-wolf", "spacing": SPACING}
    measured = 5e4 * born_wolf((25, 41, 41), SPACING, na=1.0, index=1.33, wavelength=0.5) + 0.3
    refined = convolume.refine_psf(measured, ["na"], na=0.85, **light)
    found = refined.parameters["na"]
    assert found.value == pytest.approx(1.0, abs=0.01)
    assert found.low == pytest.approx(0.6 * 0.85) and 1.0 < found.high <= 1.4 * 0.85 + 1e-9
    assert found.deviation < 0.02 and not found.at_bound
    assert refined.residual < 0.05 < refined.first_residual
    again = np.asarray(convolume.make_psf(shape=(25, 41, 41), **refined.arguments))
    want = born_wolf((25, 41, 41), SPACING, na=1.0, index=1.33, wavelength=0.5)
    assert np.abs(again - want).max() < 0.05 * want.max()


def test_from_beads_to_a_microscope(random):
    """Tests all steps together: a stack of beads, their PSF, its NA and index."""
    spot = born_wolf((41, 61, 61), SPACING, na=0.9, index=1.40, wavelength=0.5)
    stack = np.full((49, 200, 200), 10.0)
    for z, y, x in ((2, 5, 8), (6, 120, 12), (4, 130, 125), (5, 12, 130)):
        stack[z:z + 41, y:y + 61, x:x + 61] += 2e6 * spot
    image = convolume.Image.of_array(random.poisson(stack).astype(np.float32), spacing=SPACING)
    measured = convolume.psf_from_beads(image, shape=(25, 41, 41))
    assert measured.psf.spacing == SPACING and len(measured.centers) == 4
    refined = convolume.refine_psf(measured, ("na", "index"), na=1.0, wavelength=0.5, ni=1.33, model="born-wolf")
    assert refined.parameters["na"].value == pytest.approx(0.9, abs=0.02)
    assert refined.parameters["index"].value == pytest.approx(1.40, abs=0.04)
    assert refined.arguments["ni"] == refined.parameters["index"].value


def test_light_of_no_bead_is_subtracted(random):
    spot = born_wolf((41, 61, 61), SPACING, na=0.9, index=1.33, wavelength=0.5)
    stack = np.full((49, 200, 200), 10.0)
    for z, y, x in ((2, 5, 8), (6, 120, 12), (4, 130, 125), (5, 12, 130)):
        stack[z:z + 41, y:y + 61, x:x + 61] += 2e6 * spot
    stack = random.poisson(stack).astype(np.float32)
    optics = {"na": 0.9, "wavelength": 0.5, "ni": 1.33, "model": "born-wolf"}
    shape = (25, 41, 41)
    plain = convolume.psf_from_beads(stack, shape=shape, spacing=SPACING)
    fitted = convolume.psf_from_beads(stack, shape=shape, spacing=SPACING, optics=optics)
    assert plain.residual is None and 0 < fitted.residual < 0.1
    p = np.asarray(plain.psf, np.float64)
    model = np.asarray(convolume.make_psf(shape=shape, spacing=SPACING, **optics), np.float64)
    (_, constant), *_ = np.linalg.lstsq(np.stack([model.ravel(), np.ones(model.size)], 1), p.ravel(), rcond=None)
    left = 1 - constant * p.size
    assert abs(left - 1) > 0.02
    np.testing.assert_allclose(np.asarray(fitted.psf), (p - constant) / left, atol=1e-5 * p.max())
    assert fitted.flux == pytest.approx(plain.flux * left)
    np.testing.assert_allclose(fitted.fluxes, plain.fluxes * left)
    assert abs(fitted.background - 10) < abs(plain.background - 10) + 0.1
    assert np.asarray(fitted.psf).sum() == pytest.approx(1, abs=1e-4)
    # The background cannot be estimated by a PSF that does not fit.
    other = convolume.psf_from_beads(stack, shape=shape, spacing=SPACING, optics={**optics, "na": 0.3})
    assert other.residual > 0.2 and np.array_equal(np.asarray(other.psf), np.asarray(plain.psf))
    for given, words in (({"na": 0.9}, "wavelength"), ({**optics, "colour": 3}, "colour")):
        with pytest.raises(ValueError, match=words):
            convolume.psf_from_beads(stack, shape=shape, spacing=SPACING, optics=given)
    with pytest.raises(ValueError, match="voxel size"):
        convolume.psf_from_beads(stack, shape=shape, optics=optics)


def test_refinements_that_are_refused():
    light = {"wavelength": 0.5, "ni": 1.33, "model": "born-wolf", "na": 0.9}
    measured = born_wolf((9, 11, 11), SPACING, na=1.0, index=1.33, wavelength=0.5)
    for stack, parameters, spacing, words in ((measured, ["na"], None, "voxel size"),
                                              (measured, "na", SPACING, "names"),
                                              (measured, ["gain"], SPACING, "gain"),
                                              (measured, ["depth"], SPACING, "no depth"),
                                              (measured, [], SPACING, "no parameter"),
                                              (measured[4:5], ["na"], SPACING, "1 plane"),
                                              (measured[0], ["na"], SPACING, "2 dimensions")):
        with pytest.raises(ValueError, match=words):
            convolume.refine_psf(stack, parameters, spacing=spacing, **light)


def test_regions_have_psfs_of_their_own():
    """Widths grow from the left to the right, and places are the means of rows and columns of beads."""
    z, y, x = np.mgrid[:15, :48, :96]
    stack, places = np.full(z.shape, 10.0), {}
    for row, across in enumerate((12, 35)):
        for column, (along, width) in enumerate(((10, 1.2), (33, 1.6), (57, 1.6), (82, 2.0))):
            center = (7 + 0.2 * row, across, along)
            places[row, column] = center
            squares = sum((one - at) ** 2 for one, at in zip((z, y, x), center))
            stack += 1000 * np.exp(-squares / (2 * width**2))
    measured = convolume.psfs_from_beads(stack, (1, 2, 3), shape=(11, 15, 15), spacing=(0.3, 0.1, 0.1))
    assert [len(one.centers) for one in measured] == [1, 2, 1] * 2  # (57 - 0.5) / 32 is below 2
    for number, one in enumerate(measured):
        column = number % 3
        assert one.psf.spacing == (0.3, 0.1, 0.1) and one.psf.shape == (11, 15, 15)
        np.testing.assert_allclose(one.fwhm, 2.3548 * (1.2, 1.6, 2.0)[column], rtol=0.03)
        np.testing.assert_allclose(one.at, (7.1, (12, 35)[number // 3], (10, 45, 82)[column]), atol=0.1)
        assert one.found == 8
    view = convolume.View([one.psf for one in measured], positions=[one.at for one in measured])
    light = np.zeros(stack.shape)
    light[7, 24, 84] = 1
    image = convolume.ForwardModel([view], [stack.shape], device="cpu")(light)[0]
    right = np.mean([np.asarray(measured[number].psf)[5, 7] for number in (2, 5)], 0)
    np.testing.assert_allclose(image[7, 24, 77:92], right, atol=0.02 * right.max())
    whole = convolume.psfs_from_beads(stack, (1, 1, 1), shape=(11, 15, 15))[0]
    np.testing.assert_array_equal(whole.psf, convolume.psf_from_beads(stack, shape=(11, 15, 15)).psf)


@pytest.mark.parametrize(("regions", "sentence"), [
    ((2, 2), "regions has 2 numbers"), ((1, 0, 1), "0 regions along y"), ((1, 1, 96), "none is in region"),
    ((1, 1, 1.5), "regions is")])
def test_mistakes_in_regions_are_told(regions, sentence):
    z, y, x = np.mgrid[:15, :32, :96]
    stack = 1000 * np.exp(-0.2 * ((z - 7.0) ** 2 + (y - 16) ** 2 + (x - 40) ** 2))
    with pytest.raises((ValueError, TypeError), match=sentence):
        convolume.psfs_from_beads(stack, regions, shape=(9, 9, 9))
