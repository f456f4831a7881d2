# SPDX-License-Identifier: Apache-2.0
"""Tests of several views in blocks, against the deconvolution of the whole views."""

import json

import numpy as np
import pytest

import convolume

pytest.importorskip("tensorstore")

SHAPE = (24, 40, 36)
GRID = {"chunks": (8, 20, 18), "shards": (8, 20, 18), "block": (16, 20, 18), "device": "cpu"}
PSF = np.exp(-0.5 * (np.arange(-4, 5)[:, None, None] / 2.0)**2 - 0.5 * (np.arange(-2, 3)[:, None] / 0.8)**2
             - 0.5 * (np.arange(-2, 3) / 0.8)**2)


def turned(angle, shape=SHAPE):
    """Returns the map that turns a view around the middle, about x."""
    middle = (np.array(shape) - 1) / 2
    matrix = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    return np.column_stack([matrix, middle - matrix @ middle])


@pytest.fixture
def views(random):
    mask = np.ones(SHAPE, np.float32)
    mask[:, 10:12, 5:9] = 0
    field = [PSF, np.roll(PSF, 0), PSF.transpose(0, 2, 1) ** 1.5]
    return [convolume.View(PSF, border=3), convolume.View(PSF, turned(0.5), border=2, mask=mask, light=0.8),
            convolume.View(field, turned(-0.4), positions=[(12, 4, 18), (12, 20, 18), (12, 36, 18)])]


@pytest.fixture
def images(random, views):
    thing = np.zeros(SHAPE, np.float32)
    thing[tuple(random.integers(4, n - 4, 30) for n in SHAPE)] = random.uniform(2000, 9000, 30)
    thing[:, :18] *= 0.02  # blocks differ much in their light
    recorded = convolume.ForwardModel(views, [SHAPE] * 3, device="cpu")(thing)
    return [random.poisson(view.light * np.maximum(image, 0) + 30).astype(np.float32)
            for view, image in zip(views, recorded)]


def known(views):
    return [convolume.View(one.psf, one.transform, one.positions, one.mask, 30, 0, 1, one.light, one.border)
            for one in views]


@pytest.mark.parametrize("method", ["rl", "shb"])
def test_blocks_are_those_of_the_whole(tmp_path, views, images, method):
    report = convolume.process(images, tmp_path / "b.zarr", "fuse", views=known(views), method=method, iterations=12,
                               halo=(12, 14, 12), **GRID)
    whole = convolume.ViewDeconvolver(known(views), [SHAPE] * 3, method=method, iterations=12, acceleration="none",
                                      device="cpu")(images)
    result = np.asarray(convolume.open(tmp_path / "b.zarr"))
    assert report.blocks == 8 and report.finished and report.bytes_read > 3 * result.nbytes
    assert np.abs(result - whole).max() < 5e-4 * whole.max()
    alone = convolume.process(images[:1], tmp_path / "a.zarr", "fuse", views=known(views)[:1], iterations=12, **GRID)
    assert alone.done == 8
    assert np.abs(np.asarray(convolume.open(tmp_path / "a.zarr")) - whole).max() > 0.05 * whole.max()


def test_small_weights_count_against_a_penalty_as_in_the_whole(tmp_path, images):
    """Half of the blocks see no weight above 0.1, which leaves the total variation to decide there."""
    mask = np.ones(SHAPE, np.float32)
    mask[:, :, :27] = 0.1
    views = [convolume.View(PSF, mask=mask, background=30, gain=1, offset=0)]
    options = {"method": "rl-tv", "tv_weight": 0.05, "iterations": 15}
    convolume.process(images[:1], tmp_path / "b.zarr", "fuse", views=views, halo=(12, 14, 9), **options, **GRID)
    found = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())["found"]
    restore = convolume.ViewDeconvolver(views, [SHAPE], acceleration="none", device="cpu", no_data="off",
                                        hot_pixels="off", saturation=None, **options)
    whole = restore(images[:1], start=np.full(SHAPE, found["light"]))
    result = np.asarray(convolume.open(tmp_path / "b.zarr"))
    assert np.abs(result - whole)[:, :, :18].max() < 0.01 * whole[:, :, :18].max()


def test_levels_are_those_of_all_blocks(tmp_path, views, images):
    for number, image in enumerate(images):
        convolume.save(tmp_path / f"{number}.zarr", image, spacing=(0.3, 0.3, 0.3), levels=1)
    sources = [tmp_path / f"{number}.zarr" for number in range(3)]
    grid = GRID | {"block": (24, 20, 36)}  # a dark half and a bright one
    convolume.process(sources, tmp_path / "b.zarr", "fuse", views=views, **grid)
    found = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())["found"]
    restore = convolume.ViewDeconvolver(views, [SHAPE] * 3, acceleration="none", device="cpu", spacing=(0.3, 0.3, 0.3))
    whole = restore(images)
    assert found["iterations"] == restore.reports[0]["iterations"]
    for of_view, report in zip(found["views"], restore.reports):
        assert all(of_view[name] == pytest.approx(report[name]) for name in ("background", "offset", "gain"))
    result = convolume.open(tmp_path / "b.zarr")
    assert np.abs(np.asarray(result) - whole).max() < 0.02 * whole.max()
    assert result.spacing == (0.3, 0.3, 0.3)
    before = convolume.process_status(tmp_path / "b.zarr")
    again = convolume.process(sources, tmp_path / "b.zarr", "fuse", views=views, resume=True, **grid)
    assert before["done"] == again.complete_before == 2
    with pytest.raises(ValueError, match="border"):
        convolume.process(sources, tmp_path / "b.zarr", "fuse", resume=True, **grid,
                          views=[convolume.View(PSF, border=4), *views[1:]])


def test_a_result_of_other_extents(tmp_path, images):
    """The second view lies beside the first, and some blocks have none."""
    beside = np.column_stack([np.eye(3), [0, 0, 30]])
    views = [convolume.View(PSF, np.eye(4), background=30, gain=1, offset=0),
             convolume.View(PSF, beside, background=30, gain=1, offset=0)]
    shape = (24, 40, 90)
    convolume.process(images[:2], tmp_path / "b.zarr", "fuse", views=views, shape=shape, iterations=5, dtype="uint16",
                      halo=(9, 5, 5), **GRID | {"chunks": (8, 20, 9), "shards": (8, 20, 9), "block": (24, 20, 9)})
    light = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())["found"]["light"]
    restore = convolume.ViewDeconvolver(views, [SHAPE] * 2, shape=shape, iterations=5, acceleration="none",
                                        device="cpu")
    whole = restore(images[:2], start=np.full(shape, light))
    result = np.asarray(convolume.open(tmp_path / "b.zarr"))
    assert result.shape == shape and result.dtype == np.uint16
    seen = np.s_[:, :, :66]
    assert np.abs(result[seen] - np.clip(np.rint(whole[seen]), 0, 65535)).max() <= 1 + 1e-3 * whole.max()
    assert not result[:, :, 81:].any()


@pytest.mark.parametrize(("options", "message"), [
    ({"views": None}, "fuse needs what is known of each view"), ({"views": [PSF]}, "give convolume.View"),
    ({"views": [convolume.View(PSF)] * 2}, "1 images and 2 views"), ({"kernel": PSF}, "fuse takes no kernel"),
    ({"views": [convolume.View(PSF[0])]}, "three dimensions"), ({"iteration": 5}, "no option iteration"),
    ({"saturation": "auto"}, "could find other pixels"),
    ({"views": [convolume.View(PSF, border=-3)]}, "the border of a view is -3 voxels wide: give a number from 0"),
    ({"views": [convolume.View(PSF, mask=np.full(SHAPE, 1j))]}, "the mask of a view is complex")])
def test_mistakes_are_told(tmp_path, images, options, message):
    with pytest.raises(ValueError, match=message):
        convolume.process(images[:1], tmp_path / "b.zarr", "fuse",
                          **{"views": [convolume.View(PSF)], "iterations": 2, **GRID} | options)


def test_images_are_a_list(tmp_path, images):
    with pytest.raises(ValueError, match="list of images"):
        convolume.process(images[0], tmp_path / "b.zarr", "fuse", views=[convolume.View(PSF)])
    images[0][3, 4, 5] = np.nan
    with pytest.raises(convolume.BlocksFailed, match="t,c,z,y,x = 0,0,3,4,5"):
        convolume.process(images[:1], tmp_path / "b.zarr", "fuse", iterations=2, **GRID,
                          views=[convolume.View(PSF, background=30, offset=0, gain=1)])
    convolume.process(images[:1], tmp_path / "b.zarr", "fuse", iterations=2, nan="missing", overwrite=True, **GRID,
                      views=[convolume.View(PSF, background=30, offset=0, gain=1)])
    assert np.isfinite(np.asarray(convolume.open(tmp_path / "b.zarr"))).all()


def test_masks_and_turned_views_leave_blocks_without_a_view(tmp_path, images):
    mask = np.ones(SHAPE, np.uint8)
    mask[:, :, 18:] = 0
    views = [convolume.View(PSF, turned(0.8), background=30, gain=1, offset=0, mask=mask)]
    report = convolume.process(images[:1], tmp_path / "b.zarr", "fuse", views=views, iterations=2, halo=(2, 1, 1),
                               **GRID)
    assert report.finished and not np.asarray(convolume.open(tmp_path / "b.zarr"))[:, :, 20:].any()


@pytest.mark.parametrize("options", [{"iterations": 30, "stop": 0.02}, {"method": "map", "iterations": 5},
                                     {"method": "rl-tv", "iterations": 5}], ids=str)
def test_stops_and_weights_are_those_of_all_blocks(tmp_path, images, options):
    view = convolume.View(PSF, background=30, gain=1, offset=0)
    convolume.process(images[:1], tmp_path / "b.zarr", "fuse", views=[view], halo=(12, 14, 12), **options, **GRID)
    found = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())["found"]
    same = {name: value for name, value in (options | found).items() if name not in ("views", "light", "stop")}
    restore = convolume.ViewDeconvolver([view], [SHAPE], acceleration="none", device="cpu", **same)
    whole = restore(images[:1], start=np.full(SHAPE, found["light"]))
    assert np.abs(np.asarray(convolume.open(tmp_path / "b.zarr")) - whole).max() < 5e-3 * whole.max()


def test_numbers_of_numpy_and_plans(tmp_path, images):
    view = convolume.View(PSF, np.eye(4), background=np.float32(30), gain=1, offset=0, light=np.int64(1))
    run = {"views": [view], "iterations": np.int64(2), "spacing": np.array([0.3, 0.3, 0.3]), "shape": (24, 40, 60)}
    plan = convolume.plan_process(images[:1], tmp_path / "b.zarr", "fuse", **run, **GRID)
    report = convolume.process(images[:1], tmp_path / "b.zarr", "fuse", **run, **GRID)
    assert plan.blocks == report.blocks and convolume.open(tmp_path / "b.zarr").spacing == (0.3, 0.3, 0.3)
    for change, message in ((convolume.View(PSF, mask=np.ones((2, 3, 4))), "mask of a view has the shape"),
                            (convolume.View(PSF, np.zeros((3, 4))), "no inverse"),
                            (convolume.View(PSF, np.column_stack([np.eye(3), [0, 500, 0]])), "no view shows")):
        with pytest.raises(ValueError, match=message):
            convolume.process(images[:1], tmp_path / "c.zarr", "fuse", **run | {"views": [change]}, **GRID)
