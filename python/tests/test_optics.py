# SPDX-License-Identifier: Apache-2.0
"""Tests of point spread functions, phantoms and cameras."""

import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.special

import convolume


def test_psf_in_focus_is_airys_disc():
    """Returns the PSF of Born and Wolf at z = 0: |2 J1(v) / v|² with v = 2π/λ NA r"""
    spacing = 0.02
    psf = np.asarray(convolume.make_psf(na=0.5, ni=1.0, ns=1.0, wavelength=0.5, spacing=(0.02, spacing, spacing),
                                        shape=(1, 65, 65), model="born-wolf"))
    r = spacing * np.arange(1, 33)
    v = 2 * np.pi / 0.5 * 0.5 * r
    want = (2 * scipy.special.j1(v) / v) ** 2
    np.testing.assert_allclose(psf[0, 32, 33:] / psf[0, 32, 32], want, atol=4e-3)
    assert psf.sum() == pytest.approx(1, abs=1e-5)


def test_psf_that_fits():
    psf = convolume.make_psf(na=0.8, ni=1.0, wavelength=0.52, spacing=(0.4, 0.1, 0.1))
    assert all(n % 2 == 1 for n in psf.shape) and psf.axes == "ZYX"
    facts = convolume.psf_facts(na=0.8, ni=1.0, wavelength=0.52)
    assert facts["rayleigh_lateral"] == pytest.approx(0.61 * 0.52 / 0.8)
    with pytest.raises(ValueError, match="pinhole"):
        convolume.make_psf(na=0.8, wavelength=0.52, spacing=(0.4, 0.1, 0.1), shape=(3, 3, 3), pinhole=1)
    with pytest.raises(ValueError, match="tube"):
        convolume.make_psf(na=0.8, wavelength=0.52, spacing=(0.4, 0.1, 0.1), shape=(3, 3, 3), tube=1)


def test_two_photons_and_a_spinning_disc():
    one_plane = {"na": 0.5, "ni": 1.0, "ns": 1.0, "spacing": (0.02, 0.02, 0.02), "shape": (1, 33, 33),
                 "model": "born-wolf"}
    excited = np.asarray(convolume.make_psf(wavelength=0.9, **one_plane))
    two_photon = np.asarray(convolume.make_psf(wavelength=0.5, modality="two-photon", excitation=0.9, **one_plane))
    want = excited.astype(float) ** 2
    np.testing.assert_allclose(two_photon, want / want.sum(), rtol=2e-3)
    # For pinholes that are much wider than the PSF, only the overlap of two pinholes matters.
    wide = np.asarray(convolume.make_psf(wavelength=0.5, modality="spinning-disc", excitation=0.45, disc_pinhole=8,
                                         disc_spacing=26, **one_plane))
    x = 0.02 * np.arange(-116, 117)
    apart = np.hypot(x[:, None], x) / 8
    overlap = 2 / np.pi * (np.arccos(apart) - apart * np.sqrt(1 - apart**2))
    lit = np.asarray(convolume.make_psf(wavelength=0.45, **one_plane | {"shape": (1, 201, 201)}))[0]
    overlap = scipy.signal.fftconvolve(overlap, lit, "valid")
    want = np.asarray(convolume.make_psf(wavelength=0.5, **one_plane)) * overlap
    np.testing.assert_allclose(wide, want / want.sum(), rtol=3e-3)
    with pytest.raises(ValueError, match="pinhole"):
        convolume.psf_facts(na=0.5, wavelength=0.5, modality="spinning-disc", excitation=0.45)


def test_phantom_of_any_part():
    phantom = convolume.Phantom((20, 64, 64), (0.2, 0.1, 0.1), kind="beads", seed=3, count=5, brightness_spread=0)
    whole = np.asarray(phantom)
    np.testing.assert_array_equal(phantom[5:9], whole[5:9])
    volume = sum(4 / 3 * np.pi * one["radius"] ** 3 * one["brightness"] for one in phantom.objects) / (0.2 * 0.1 * 0.1)
    assert whole.sum() == pytest.approx(volume, rel=0.05)


def test_camera_counts_photons():
    camera = convolume.Camera(quantum_efficiency=0.5, read_noise_e=2, dark_e_per_s=0, gain_e_per_adu=1, offset_adu=100)
    recorded = camera.expose(np.full((50, 100, 100), 200.0)).astype(float)
    assert recorded.mean() == pytest.approx(200, abs=0.1)
    assert recorded.var() == pytest.approx(100 + 4 + 1 / 12, rel=0.02)
    assert camera.report["saturated"] == 0
    np.testing.assert_array_equal(camera.expose(np.full((2, 100, 100), 200.0), first_plane=7), recorded[7:9])
    with pytest.raises(TypeError, match="color"):
        convolume.Camera(color=1)
    with pytest.raises(ValueError, match="quantum"):
        convolume.Camera(quantum_efficiency=2)


def test_camera_has_the_defaults_of_the_library():
    core_camera, package_camera = convolume._core.Camera(), convolume.Camera()._core
    names = [name for name in dir(core_camera) if not name.startswith("_") and not callable(getattr(core_camera, name))]
    assert len(names) == 11
    for name in names:
        assert getattr(package_camera, name) == getattr(core_camera, name)


def test_resampled_kernel_keeps_its_sum_and_middle():
    kernel = np.zeros((1, 1, 9))
    kernel[0, 0, 3:6] = 1, 2, 1
    values, center = convolume.resample_kernel(kernel, (1, 1, 1), (1, 1, 0.5))
    assert values.sum() == pytest.approx(4)
    mean = (values[0, 0] * np.arange(values.shape[2])).sum() / values.sum()
    assert mean == pytest.approx(center[2], abs=1e-6)
