# SPDX-License-Identifier: Apache-2.0
"""Tests of deskewing in Python against the definition in double precision (tests/support/deskew_oracle.py)."""

import sys
from pathlib import Path

import numpy as np
import pytest

import convolume

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
import deskew_oracle as oracle

SCAN = {"angle": 31.5, "step": 0.4}


@pytest.mark.parametrize("options", [{}, {"opposite": True}, {"rotate": True}, {"interpolation": "lanczos"},
                                     {"rotate": True, "output_spacing": (0.3, 0.2, "150nm"), "opposite": True}])
@pytest.mark.parametrize("axis", ["y", "x"])
def test_values_are_those_of_the_definition(options, axis):
    image = np.random.default_rng(1).normal(10, 1, (9, 14, 7))
    voxel = (0.3, 0.2, 0.15) if "output_spacing" in options else None
    if voxel and axis == "x":
        options = options | {"output_spacing": (0.3, 0.15, 0.2)}
    want = oracle.deskew(image, 31.5, 0.4, 0.108, options.get("opposite", False), options.get("rotate", False), voxel,
                         options.get("interpolation", "linear"), 2)
    given = image if axis == "y" else image.swapaxes(1, 2)
    got = np.asarray(convolume.deskew(given, **SCAN, pixel="108nm", axis=axis, fill=2, **options))
    np.testing.assert_allclose(got if axis == "y" else got.swapaxes(1, 2), want, atol=1e-12)


def test_images_keep_axes_and_names():
    values = np.random.default_rng(2).integers(0, 60000, (2, 3, 8, 9, 10), dtype=np.uint16)
    image = convolume.Image.of_array(values, axes="TCZYX", spacing=(0.4, 0.108, 0.108), channel_names=["a", "b", "c"])
    result = convolume.deskew(image, **SCAN)
    assert result.axes == "TCZYX" and result.channel_names == ["a", "b", "c"] and result.dtype == np.uint16
    assert result.spacing == pytest.approx((0.4 * np.sin(np.radians(31.5)), 0.108, 0.108))
    for t in range(2):
        for c in range(3):
            np.testing.assert_array_equal(np.asarray(result)[t, c],
                                          np.asarray(convolume.deskew(values[t, c], **SCAN, pixel=0.108)))


def test_files_keep_their_metadata(tmp_path):
    values = np.random.default_rng(3).random((6, 9, 8)).astype(np.float32)
    names = ["a.ome.tif"]
    try:
        import tensorstore  # noqa: F401
        names.append("a.zarr")
    except ImportError:
        pass
    for name in names:
        convolume.save(tmp_path / name, values, spacing=(0.4, 0.108, 0.108))
        result = convolume.deskew(convolume.open(tmp_path / name), **SCAN, rotate=True)
        convolume.save(tmp_path / f"deskewed_{name}", result)
        saved = convolume.open(tmp_path / f"deskewed_{name}")
        assert saved.axes == "ZYX" and saved.spacing == pytest.approx((0.108, 0.108, 0.108))
        np.testing.assert_array_equal(np.asarray(saved),
                                      np.asarray(convolume.deskew(values, **SCAN, pixel=0.108, rotate=True)))


def test_skewed_psfs_are_straight_after_deskewing():
    optics = {"na": 1.1, "ni": 1.33, "wavelength": 0.52, "modality": "light-sheet", "sheet_fwhm": 1}
    skewed = convolume.make_psf(**optics, spacing=(0.4, 0.108, 0.108), shape=(7, 61, 31), scan_angle=31.5)
    assert skewed.spacing == (0.4, 0.108, 0.108)
    straight = np.asarray(convolume.deskew(skewed, **SCAN, interpolation="lanczos"))
    peaks = [np.unravel_index(plane.argmax(), plane.shape) for plane in straight]
    assert {peak[1] for peak in peaks} == {15} and np.ptp([peak[0] for peak in peaks]) <= 1
    wide = convolume.make_psf(**optics, spacing=(0.4, 0.108, 0.108), scan_angle=31.5, scan_axis="x")
    assert wide.shape[2] > wide.shape[1]


@pytest.mark.parametrize(("options", "message"), [
    ({"pixel": None}, "give pixel"), ({"angle": 0}, "above 0, up to 90"), ({"step": -1}, "step of the stage is -1"),
    ({"axis": "z"}, 'y or x, not "z"'), ({"interpolation": "cubic"}, "linear or lanczos"),
    ({"output_spacing": range(10**12)}, r"output_spacing is \(z, y, x\) in µm"),
    ({"output_spacing": (1, 1, 1)}, r"leave out its voxel \(output_spacing\)"),
    ({"rotate": True, "inverse": True}, "leave out rotate"), ({"fill": np.nan}, "uint16 does not have")])
def test_mistakes_are_told(options, message):
    with pytest.raises(ValueError, match=message):
        convolume.deskew(np.zeros((3, 4, 5), np.uint16), **{**SCAN, "pixel": 0.1} | options)


def test_flat_and_unnamed_images():
    with pytest.raises(ValueError, match="2 dimensions"):
        convolume.deskew(np.zeros((4, 5)), **SCAN, pixel=0.1)
    times = convolume.Image.of_array(np.zeros((3, 4, 5), np.float32), axes="TYX", spacing=(0.1, 0.1))
    with pytest.raises(ValueError, match="axes TYX: name its planes Z|the axes ZYX, and the image has TYX"):
        convolume.deskew(times, **SCAN)
    with pytest.raises(convolume.BadData, match="magnitude"):
        convolume.deskew(np.zeros((3, 4, 5), np.complex64), **SCAN, pixel=0.1)
    with pytest.raises(TypeError, match="opposit"):
        convolume.deskew(np.zeros((3, 4, 5)), **SCAN, pixel=0.1, opposit=True)
