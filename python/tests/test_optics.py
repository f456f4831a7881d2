# SPDX-License-Identifier: Apache-2.0
"""Tests of point spread functions, phantoms and cameras."""

import os
import pathlib
import shutil
import subprocess
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.special

import convolume


def test_psf_in_focus_is_airys_disc():
    """Returns the PSF of Born and Wolf at z = 0: |2 J1(v) / v|² with v = 2π/λ NA r"""
    spacing = 0.02
    psf = np.asarray(convolume.make_psf(na=0.5, ni=1.0, wavelength=0.5, spacing=(0.02, spacing, spacing),
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
    one_plane = {"na": 0.5, "ni": 1.0, "spacing": (0.02, 0.02, 0.02), "shape": (1, 33, 33),
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


OME = """<?xml version="1.0" encoding="UTF-8"?>
<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">
<Instrument ID="Instrument:0"><Objective ID="Objective:0" LensNA="1.2" Immersion="Water"
NominalMagnification="60"/></Instrument>
<Image ID="Image:0"><ObjectiveSettings ID="Objective:0"/>
<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="12" SizeY="12" SizeZ="4" SizeC="2" SizeT="1"
PhysicalSizeX="0.15" PhysicalSizeY="0.15" PhysicalSizeZ="0.3">
<Channel ID="Channel:0:0" Name="green" SamplesPerPixel="1" AcquisitionMode="LaserScanningConfocalMicroscopy"
EmissionWavelength="520" ExcitationWavelength="488" PinholeSize="50"/>
<Channel ID="Channel:0:1" Name="red" SamplesPerPixel="1" AcquisitionMode="WideField" EmissionWavelength="640"/>
<TiffData/></Pixels></Image></OME>"""


@pytest.fixture
def microscope_image(tmp_path):
    """An image of two channels whose file says how they were recorded."""
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "image.ome.tif"
    with tifffile.TiffWriter(path) as file:
        for plane in np.zeros((8, 12, 12), np.uint16):
            file.write(plane, description=OME, contiguous=True, metadata=None)
    return path


def command():
    """Returns the command of this build, else the one of the PATH; None without one."""
    built = pathlib.Path(convolume.__file__).parents[2] / "cli/convolume"
    return os.environ.get("CONVOLUME_TEST_COMMAND") or (str(built) if built.exists() else shutil.which("convolume"))


@pytest.mark.parametrize(("options", "words"), [
    ({}, []),
    ({"channel": "red"}, ["--channel", "red"]),
    ({"channel": 1, "na": 0.9, "spacing": (0.4, 0.2, 0.2)},
     ["--channel", "1", "--na", "0.9", "--voxel", "400,200,200nm"]),
    ({"shape": (3, 5, 7), "modality": "widefield"}, ["--size", "3,5,7", "--modality", "widefield"]),
    ({"ni": 1.4, "pinhole": 0.5}, ["--ni", "1.4", "--pinhole", "0.5"])])
def test_psf_like_an_image_is_that_of_the_command(microscope_image, options, words):
    psf = convolume.make_psf(like=microscope_image, **options)
    program = command()
    if program is None:
        pytest.skip("the command convolume is not installed")
    path = microscope_image.with_name("psf.tif")
    subprocess.run([program, "psf", "--like", microscope_image, "-o", path, "-q", *words], check=True)
    written = convolume.open(path)
    assert written.spacing == pytest.approx(psf.spacing)
    np.testing.assert_array_equal(np.asarray(psf), np.asarray(written))


def test_the_number_of_a_channel_is_not_the_name_of_another(microscope_image, tmp_path):
    image = convolume.open(microscope_image)
    named = tmp_path / "named.ome.tif"
    convolume.save(named, np.asarray(image), axes="CZYX", channel_names=["1", "0"], spacing=(0.3, 0.15, 0.15))
    options = {"like": named, "na": 0.8, "ni": 1.0, "wavelength": 0.52}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convolume.make_psf(channel=1, modality="widefield", **options)
    with pytest.warns(convolume.ConvolumeWarning, match="is the channel of that number"):
        convolume.make_psf(channel="1", modality="widefield", **options)


def test_psf_like_an_image_needs_its_metadata(microscope_image):
    image = convolume.Image.of_array(np.zeros((4, 12, 12), np.uint16), spacing=(0.3, 0.15, 0.15))
    assert convolume.make_psf(like=image, na=0.8, ni=1.0, wavelength="520nm").shape[0] == 7
    with pytest.raises(ValueError, match="na"):
        convolume.make_psf(like=image)
    with pytest.raises(ValueError, match="spacing"):
        convolume.make_psf(like=convolume.Image.of_array(np.zeros((4, 12, 12))), na=0.8, wavelength=0.52)
    with pytest.raises(ValueError, match="^wavelength is missing, also in the metadata of the image: give it$"):
        convolume.make_psf(like=image, na=0.8)
    with pytest.raises(ValueError, match="open"):
        convolume.make_psf(like=np.zeros((4, 12, 12)))
    with pytest.raises(ValueError, match="blue"):
        convolume.make_psf(like=convolume.open(microscope_image), channel="blue")
    with pytest.raises(TypeError, match="wavelength"):
        convolume.make_psf(na=0.8, spacing=(0.3, 0.15, 0.15))


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
