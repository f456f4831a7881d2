# SPDX-License-Identifier: Apache-2.0
"""Tests of several views in blocks from the command line, against `convolume.process` with the same views."""

import json

import numpy as np
import pytest

import convolume
from convolume import process_command

pytest.importorskip("tensorstore")

SHAPE = (16, 20, 24)
MATRIX = np.array([[0, 0, 1, 2.0], [0, 1, 0, 0.5], [-1, 0, 0, 15]])  # z, y, x
BLOCKS = ["--device", "cpu", "--chunks", "8,10,12", "--shards", "8,10,12", "--block", "8,10,12", "--iterations", "5"]
VOXEL = (0.2, 0.2, 0.2)


def gaussian(shape, sigma):
    grids = np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij")
    return np.exp(-0.5 * sum((grid / width) ** 2 for grid, width in zip(grids, sigma))).astype(np.float32)


PSF, CORNER = gaussian((7, 5, 5), (1.6, 0.8, 0.8)), gaussian((7, 5, 5), (1.2, 1.3, 0.8))


@pytest.fixture
def folder(tmp_path, random):
    thing = np.zeros(SHAPE)
    thing[tuple(random.integers(2, n - 2, 20) for n in SHAPE)] = 4000
    views = [convolume.View(PSF), convolume.View(PSF, MATRIX)]
    light = convolume.ForwardModel(views, [SHAPE, SHAPE], device="cpu")(thing)
    for name, image in zip(("a", "b"), light):
        convolume.save(tmp_path / f"{name}.zarr", random.poisson(np.maximum(image, 0) + 20).astype(np.uint16),
                       spacing=VOXEL)
    convolume.save(tmp_path / "psf.tif", PSF, spacing=VOXEL)
    convolume.save(tmp_path / "corner.tif", CORNER, spacing=VOXEL)
    (tmp_path / "field.csv").write_text("z_um,y_um,x_um,psf\n0,0.8,0,psf.tif\n0,3.2,0,corner.tif\n")
    rows = np.hstack([MATRIX[::-1, 2::-1], MATRIX[::-1, 3:]])
    np.savetxt(tmp_path / "b.txt", rows)
    np.savetxt(tmp_path / "b_um.txt", np.hstack([rows[:, :3], rows[:, 3:] * 0.2]))
    return tmp_path


def run(folder, target, *options, psf="psf.tif"):
    return process_command.main([f"{folder}/a.zarr", f"{folder}/{target}", "--op", "fuse", "--view", f"{folder}/b.zarr",
                                 "--psf", f"{folder}/{psf}", *BLOCKS, *options])


def result_of(folder, target):
    return np.asarray(convolume.open(folder / target))


def expected(folder, views, **options):
    grid = {"chunks": (8, 10, 12), "shards": (8, 10, 12), "block": (8, 10, 12), "device": "cpu", "iterations": 5}
    convolume.process([folder / "a.zarr", folder / "b.zarr"], folder / "right.zarr", "fuse", views=views,
                      overwrite=True, **grid, **options)
    return result_of(folder, "right.zarr")


def test_views_of_files(folder, capsys):
    right = expected(folder, [convolume.View(PSF, background=20, border=2, light=2),
                              convolume.View(PSF, MATRIX, background=20, border=2, light=1)])
    more = ["--background", "20", "--border", "2", "--light", "2", "--light", "1"]
    in_voxels = [*more, "--transform", f"{folder}/b.txt", "--transform-unit", "voxel"]
    assert run(folder, "dry.zarr", *in_voxels, "--dry-run") == 0 and not (folder / "dry.zarr").exists()
    assert run(folder, "v.zarr", *in_voxels, "--block-range", "0/2", "-q") == 0
    assert process_command.main([f"{folder}/v.zarr", "--status"]) == 0
    assert "4 of 8 blocks are done" in capsys.readouterr().out
    assert run(folder, "v.zarr", *in_voxels, "--resume", "-q", "--json") == 0
    assert json.loads(capsys.readouterr().out)["complete_before"] == 4
    assert run(folder, "um.zarr", *more, "--transform", f"{folder}/b_um.txt", "--transform-unit", "um", "-q") == 0
    np.testing.assert_array_equal(result_of(folder, "v.zarr"), right)
    np.testing.assert_allclose(result_of(folder, "um.zarr"), right, atol=1e-3 * right.max())
    assert convolume.open(folder / "v.zarr").spacing == VOXEL


def test_masks_and_backgrounds_of_each_view(folder, random):
    """Blocks are those of the whole, which the command fuse makes of the same files."""
    masks = [np.ones(SHAPE, np.float32), random.uniform(0.2, 1, SHAPE).astype(np.float32)]
    masks[0][5:11] = 0
    for name, mask in zip(("a", "b"), masks):
        convolume.save(folder / f"mask_{name}.tif", mask)
    turned = ["--transform", f"{folder}/b.txt", "--transform-unit", "voxel"]
    given = ["--background", "20", "--background", "18.5", *turned]
    of_masks = [word for name in ("a", "b") for word in ("--view-mask", f"{folder}/mask_{name}.tif")]
    assert run(folder, "m.zarr", *given, *of_masks, "-q", "--halo", "14,18,22") == 0
    views = [convolume.View(PSF, background=20, mask=masks[0]),
             convolume.View(PSF, MATRIX, background=18.5, mask=masks[1])]
    right = expected(folder, views, halo=(14, 18, 22))
    np.testing.assert_array_equal(result_of(folder, "m.zarr"), right)
    images = [np.asarray(convolume.open(folder / f"{name}.zarr")) for name in ("a", "b")]
    known = {"acceleration": "none", "iterations": 5, "device": "cpu", "no_data": "off", "hot_pixels": "off",
             "saturation": None}
    whole = convolume.ViewDeconvolver(views, [SHAPE] * 2, **known)(images)
    plain = [convolume.View(PSF, background=20), convolume.View(PSF, MATRIX, background=18.5)]
    other = convolume.ViewDeconvolver(plain, [SHAPE] * 2, **known)(images)
    # Offset, gain and start of blocks are those of a part.
    assert np.linalg.norm(right - whole) < 0.08 * np.linalg.norm(whole)
    assert np.linalg.norm(right - other) > 0.4 * np.linalg.norm(whole)
    # One mask and one background are those of all views.
    assert run(folder, "one.zarr", "--background", "20", *turned, *of_masks[:2], "-q") == 0
    right = expected(folder, [convolume.View(PSF, background=20, mask=masks[0]),
                              convolume.View(PSF, MATRIX, background=20, mask=masks[0])])
    np.testing.assert_array_equal(result_of(folder, "one.zarr"), right)


def test_psfs_of_a_field_and_one_view_after_the_other(folder):
    field = {"psf": [PSF, CORNER], "positions": [(0, 4, 0), (0, 16, 0)], "background": 20}
    right = expected(folder, [convolume.View(**field), convolume.View(**field, transform=MATRIX)],
                     view_updates="sequential")
    assert run(folder, "f.zarr", "--background", "20", "--transform", f"{folder}/b.txt", "--transform-unit", "voxel",
               "--view-updates", "sequential", "-q", psf="field.csv") == 0
    np.testing.assert_allclose(result_of(folder, "f.zarr"), right, atol=1e-5 * right.max())


def test_a_result_of_other_voxels(folder):
    assert run(folder, "c.zarr", "--background", "20", "--transform", f"{folder}/b.txt", "--transform-unit", "voxel",
               "--result-voxel", "300nm", "-q") == 0
    result = convolume.open(folder / "c.zarr")
    assert result.shape == (11, 13, 16) and result.spacing == pytest.approx((0.3, 0.3, 0.3))
    scale = np.column_stack([np.eye(3) / 1.5, np.zeros(3)])
    right = expected(folder, [convolume.View(PSF, scale, background=20),
                              convolume.View(PSF, np.column_stack([MATRIX[:, :3], MATRIX[:, 3]]) / 1.5, background=20)],
                     shape=(11, 13, 16), spacing=(0.3, 0.3, 0.3))
    np.testing.assert_allclose(np.asarray(result), right, atol=1e-4 * right.max())


def test_transforms_to_a_common_space_keep_the_voxels_of_the_first_view(folder):
    turn = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    maps = [np.column_stack([turn, [1.7, -0.3, 0.2]])]
    maps.append(np.column_stack([turn @ np.fliplr(np.flipud(MATRIX[:, :3])), turn @ MATRIX[::-1, 3] + maps[0][:, 3]]))
    for name, matrix in zip(("first.txt", "second.txt"), maps):
        np.savetxt(folder / name, matrix)
    given = [word for name in ("first.txt", "second.txt") for word in ("--transform", f"{folder}/{name}")]
    assert run(folder, "t.zarr", *given, "--transform-unit", "voxel", "--background", "20", "-q") == 0
    assert run(folder, "u.zarr", "--transform", f"{folder}/b.txt", "--transform-unit", "voxel", "--background", "20",
               "-q") == 0
    assert convolume.open(folder / "t.zarr").spacing == VOXEL
    right = result_of(folder, "u.zarr")
    np.testing.assert_allclose(result_of(folder, "t.zarr"), right, atol=1e-3 * right.max())


@pytest.mark.parametrize(("options", "code", "sentence"), [
    (["--transform", "b.txt"], 2, "--transform-unit um or voxel"),
    (["--psf", "psf.tif", "--psf", "psf.tif"], 2, "--psf is given 3 times"),
    (["--light", "much"], 2, "--light is 'much'"), (["--transform-unit", "mm"], 2, "um or voxel, not 'mm'"),
    (["--background", "90"] * 3, 2, "--background is given 3 times"),
    (["--view-mask", "psf.tif"] * 3, 2, "--view-mask is given 3 times"),
    (["--view-mask", "psf.tif", "--transform", "b.txt", "--transform-unit", "voxel"], 65, "each pixel of the view"),
    (["--background", "20", "--background", "dark"], 2, "--background is 'dark': give a number or auto"),
    (["--border", "wide"], 2, "a whole number"), (["--border=-3"], 2, "give a number from 0"),
    (["--psf", "0=psf.tif"], 2, "names the PSF of each view"),
    (["--view-updates", "serial"], 2, "simultaneous, sequential or efficient")])
def test_mistakes_are_told(folder, options, code, sentence, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert run(folder, "x.zarr", *options) == code
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1, error
    assert not (folder / "x.zarr").exists()


def test_a_target_that_is_an_input_is_kept(folder, capsys):
    weights = np.ones(SHAPE, np.float32)
    convolume.save(folder / "mask.zarr", weights, spacing=VOXEL)
    convolume.save(folder / "psf.zarr", PSF, spacing=VOXEL)
    assert run(folder, "mask.zarr", "--view-mask", f"{folder}/mask.zarr", "--overwrite") == 2
    assert run(folder, "psf.zarr", "--overwrite", psf="psf.zarr") == 2
    (folder / "field.csv").write_text("z_um,y_um,x_um,psf\n0,0.8,0,psf.tif\n0,3.2,0,psf.zarr\n")
    assert run(folder, "psf.zarr", "--overwrite", psf="field.csv") == 2
    assert capsys.readouterr().err.count("is one of the inputs") == 3
    view = convolume.View(convolume.open(folder / "psf.zarr"), mask=convolume.open(folder / "mask.zarr"))
    for target in ("psf.zarr", "mask.zarr"):
        with pytest.raises(convolume.InvalidArgument, match="is one of the inputs"):
            convolume.process([folder / "a.zarr"], folder / target, "fuse", views=[view], overwrite=True)
    np.testing.assert_array_equal(result_of(folder, "mask.zarr"), weights)
    np.testing.assert_array_equal(result_of(folder, "psf.zarr"), PSF)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1])
def test_masks_without_meaning(folder, weight, capsys):
    weights = np.ones(SHAPE, np.float32)
    weights[3, 4, 5] = weight
    convolume.save(folder / "mask.tif", weights, spacing=VOXEL)
    assert run(folder, "x.zarr", "--view-mask", f"{folder}/mask.tif", "-q") == 65
    assert "weights that are negative or not finite" in capsys.readouterr().err
    assert run(folder, "y.zarr", "--view-mask", "", "-q") != 0


def test_views_are_of_fuse_alone(folder, capsys):
    words = [f"{folder}/a.zarr", f"{folder}/x.zarr", "--op", "deconvolve", "--psf", f"{folder}/psf.tif", *BLOCKS]
    assert process_command.main([*words, "--view", f"{folder}/b.zarr"]) == 2
    assert "has no option --view" in capsys.readouterr().err
    assert process_command.main([f"{folder}/a.zarr", f"{folder}/x.zarr", "--op", "fuse"]) == 2
    assert "add --psf" in capsys.readouterr().err
