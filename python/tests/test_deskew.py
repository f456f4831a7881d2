# SPDX-License-Identifier: Apache-2.0
"""Tests of deskewing in Python against the definition in double precision (tests/support/deskew_oracle.py)."""

import json
import subprocess
import sys
import warnings
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


@pytest.mark.parametrize("options", [{}, {"axis": "x"}, {"rotate": True, "opposite": True},
                                     {"rotate": True, "axis": "x", "output_spacing": (0.3, 0.2, "250nm")},
                                     {"interpolation": "lanczos", "fill": 5}], ids=str)
def test_blocks_are_those_of_the_whole(tmp_path, random, options):
    pytest.importorskip("tensorstore")
    values = random.integers(100, 4000, (2, 2, 20, 60, 44)).astype(np.uint16)
    scan = convolume.Image.of_array(values, axes="TCZYX", spacing=(0.4, 0.108, 0.108), channel_names=["a", "b"])
    convolume.save(tmp_path / "scan.zarr", scan, levels=1)
    want = convolume.deskew(scan, **SCAN, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", convolume.ConvolumeWarning)  # of values that Lanczos's overshoots clamp
        report = convolume.process(tmp_path / "scan.zarr", tmp_path / "b.zarr", "deskew", **SCAN, **options,
                                   block=(8, 32, 16))
    got = convolume.open(tmp_path / "b.zarr")
    assert report.blocks > 20 and report.finished
    assert np.array_equal(np.asarray(got), np.asarray(want))
    assert got.axes == "TCZYX" and got.channel_names == ["a", "b"] and np.allclose(got.spacing, want.spacing)
    status = convolume.process_status(tmp_path / "b.zarr")
    assert status["done"] == status["blocks"] == report.blocks


def test_blocks_know_their_place_and_the_plan(tmp_path):
    pytest.importorskip("tensorstore")
    scan = convolume.Image.of_array(np.ones((20, 60, 44), np.float32), spacing=(0.4, 0.1, 0.1))
    convolume.save(tmp_path / "scan.zarr", scan, levels=1)
    document = json.loads((tmp_path / "scan.zarr/zarr.json").read_text())
    for one in document["attributes"]["ome"]["multiscales"][0]["datasets"]:
        one["coordinateTransformations"].append({"type": "translation", "translation": [10.0, 20.0, 30.0]})
    (tmp_path / "scan.zarr/zarr.json").write_text(json.dumps(document))
    # In a scan in the opposite direction, the last plane has the first rows.
    convolume.process(tmp_path / "scan.zarr", tmp_path / "b.zarr", "deskew", angle=60, step=0.4, opposite=True,
                      dtype="uint16", block=(20, 50, 44))
    result = convolume.open(tmp_path / "b.zarr")
    assert result.shape == (20, 60 + 19 * 2, 44) and result.dtype == np.uint16
    assert np.allclose(result.translation, [10, 20 - 19 * 0.2, 30])
    plan = convolume.plan_process(tmp_path / "scan.zarr", tmp_path / "c.zarr", "deskew", angle=60, step=0.4,
                                  block=(20, 32, 44))
    assert plan.block == (20, 32, 44) and 1.5 < plan.halo_overhead < 2.5


@pytest.mark.parametrize(("options", "message"), [
    ({"angle": None}, "give angle and step"), ({"kernel": np.ones((3, 3, 3))}, "no kernel"),
    ({"halo": (1, 1, 1)}, "no halo"),
    ({"nan": "zero"}, "no option nan"), ({"axis": "z"}, 'y or x, not "z"'),
    ({"progress": True}, "no option progress"),
    ({"fill": np.nan}, "uint16 does not have")])
def test_mistakes_in_blocks_are_told(tmp_path, options, message):
    pytest.importorskip("tensorstore")
    with pytest.raises(ValueError, match=message):
        convolume.process(np.ones((3, 4, 5), np.uint16), tmp_path / "b.zarr", "deskew",
                          **{**SCAN, "pixel": 0.1} | options)
    with pytest.raises(ValueError, match="several planes"):
        convolume.process(np.ones((4, 5)), tmp_path / "b.zarr", "deskew", **SCAN, pixel=0.1)
    assert not (tmp_path / "b.zarr/zarr.json").exists()


def test_blocks_by_the_command(tmp_path, random):
    pytest.importorskip("tensorstore")
    values = random.random((12, 30, 20)).astype(np.float32)
    convolume.save(tmp_path / "scan.tif", values, spacing=(0.4, 0.1, 0.1))
    run = [sys.executable, "-m", "convolume.process_command", tmp_path / "scan.tif", tmp_path / "b.zarr", "--op",
           "deskew", "--angle", "31.5", "--step", "400nm", "--axis", "x", "--opposite-scan", "--rotate",
           "--output-voxel", "300,200,200nm", "--pixel", "0.1um", "--interpolation", "lanczos", "--fill", "nan"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    want = convolume.deskew(values, angle=31.5, step="400nm", pixel=0.1, axis="x", opposite=True, rotate=True,
                            output_spacing=(0.3, 0.2, 0.2), interpolation="lanczos", fill=np.nan)
    assert np.array_equal(np.asarray(convolume.open(tmp_path / "b.zarr")), np.asarray(want), equal_nan=True)
    done = subprocess.run([*run[:7], "--angle", "31.5", "--overwrite"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "give --angle and --step" in done.stderr
