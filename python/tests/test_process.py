# SPDX-License-Identifier: Apache-2.0
"""Tests of operations over blocks, against the whole image at once."""

import json
import pickle

import numpy as np
import pytest
from process_cases import GRID, assert_close, gaussian, read_shard_files

import convolume
from convolume._block_samples import BlockSamples
from convolume._blocks import Blocks, block_range, default_block, default_chunks, default_shards
from convolume._operations import Deconvolution

pytest.importorskip("tensorstore")


# Tests of the division into blocks.

def test_blocks_reunite(random):
    for _ in range(50):
        shape = tuple(int(n) for n in random.integers(1, 30, 3))
        sizes = tuple(int(n) for n in random.integers(1, 9, 3))
        times = tuple(int(n) for n in random.integers(1, 4, 2))
        blocks = Blocks(*times, shape, tuple(s * int(m) for s, m in zip(sizes, random.integers(1, 4, 3))))
        covered = np.zeros((*times, *shape), int)
        of_block = {}
        for number, block in enumerate(blocks):
            assert block.number == number and block == blocks[number]
            z, y, x = (slice(b, e) for b, e in zip(block.begin, block.end))
            covered[block.t, block.c, z, y, x] += 1
            grid = [np.arange(b // s, -(-e // s)) for b, e, s in zip(block.begin, block.end, sizes)]
            total = [-(-n // s) for n, s in zip(shape, sizes)]
            of_block[number] = {int(np.ravel_multi_index((block.t, block.c, *p), (*times, *total)))
                                for p in np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, 3)}
        assert (covered == 1).all()
        everything = np.array(sorted(set().union(*of_block.values())))
        assert sum(map(len, of_block.values())) == len(everything)  # no shard belongs to two blocks
        stored = random.choice(everything, len(everything) * 2 // 3, replace=False)
        complete = blocks.complete(sizes, np.sort(stored))
        assert complete.tolist() == [of_block[n] <= set(stored.tolist()) for n in range(len(blocks))]
    with pytest.raises(IndexError):
        blocks[len(blocks)]


def test_block_ranges_reunite():
    for count in (0, 1, 7, 100):
        for n in (1, 3, 8):
            assert [i for share in range(n) for i in block_range(f"{share}/{n}", count)] == list(range(count))
    for bad in ("", "1", "3/3", "a/b", "-1/3", "1/0"):
        with pytest.raises(ValueError):
            block_range(bad, 10)


def test_an_operation_that_was_pickled_computes_the_same(random):
    samples = BlockSamples(random.random((6, 20, 20)).astype(np.float32), np.s_[:6, 2:18, 2:18],
                           [np.arange(n) for n in (6, 20, 20)])
    operation = Deconvolution(gaussian((1, 1, 1), (1, 3, 3)), halo=(0, 2, 2), iterations=3, background=0, offset=0)
    want = operation(samples).values.copy()
    again = pickle.loads(pickle.dumps(operation))
    assert np.array_equal(again(samples).values, want)
    assert np.array_equal(again(samples).values, want)  # in memory that was used before


def test_default_sizes():
    chunks = default_chunks((4000, 20000, 20000), 2)
    assert chunks == (64, 256, 256)
    shards = default_shards((4000, 20000, 20000), chunks, 2, 1 << 30)
    assert all(s % c == 0 for s, c in zip(shards, chunks)) and 2**29 <= np.prod(shards) * 2 <= 2**30
    assert default_chunks((10, 100, 100), 4) == (10, 100, 100)

    def needed(block):
        return tuple(b + 60 for b in block)

    def voxels(block):
        return np.prod(needed(block))

    block = default_block((4000, 20000, 20000), (256, 256, 256), needed, voxels, 40, 200 << 30)
    assert all(b % 256 == 0 for b in block) and np.prod([b + 60 for b in block]) * 40 <= 200 << 30
    assert np.prod([(b + 60) / b for b in block]) < 1.4
    with pytest.raises(MemoryError, match="smaller shards"):
        default_block((4000, 20000, 20000), (256, 256, 256), needed, voxels, 40, 1 << 20)


# Tests of results.

@pytest.mark.parametrize("boundary", ["zero", "constant", "nearest", "reflect", "mirror", "wrap"])
@pytest.mark.parametrize("origin", ["middle", "scipy", "peak", (2, 0, 5)])
def test_convolution_as_of_the_whole(tmp_path, source, image, kernel, boundary, origin):
    outside = {"cval": 7.5} if boundary == "constant" else {}
    report = convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, boundary=boundary, **outside,
                               origin=origin, device="cpu", **GRID)
    assert report.done == 3 * 3 * 2 and report.finished
    result = convolume.open(tmp_path / "b.zarr")
    assert result.spacing == pytest.approx((0.5, 0.1, 0.1)) and result.dtype == np.float32
    assert_close(result, convolume.convolve(image, kernel, boundary=boundary, **outside, origin=origin, device="cpu"))


@pytest.mark.parametrize(("word", "boundary"), [("periodic", "wrap"), ("symm", "reflect"), ("neumann", "nearest")])
def test_boundaries_by_the_words_of_other_libraries(tmp_path, image, kernel, word, boundary):
    convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, boundary=word, device="cpu", **GRID)
    expected = convolume.convolve(image, kernel, boundary=boundary, device="cpu")
    assert_close(convolume.open(tmp_path / "b.zarr"), expected)
    assert np.array_equal(convolume.convolve(image, kernel, boundary=word, device="cpu"), expected)


@pytest.mark.parametrize("boundary", ["nearest", "reflect", "mirror", "wrap"])
def test_kernels_larger_than_the_image(tmp_path, random, boundary):
    image, kernel = random.random((3, 20, 11)), random.random((9, 5, 25))
    convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, boundary=boundary, device="cpu",
                      chunks=(1, 8, 4), shards=(1, 8, 4), block=(2, 8, 8))
    result = convolume.open(tmp_path / "b.zarr")
    assert result.dtype == np.float64
    assert_close(result, convolume.convolve(image, kernel, boundary=boundary, device="cpu"), 1e-13)


def test_times_channels_types_and_planes(tmp_path, random):
    image = random.integers(0, 250, (2, 3, 4, 40, 50), np.uint8)
    convolume.save(tmp_path / "a.ome.tif", convolume.Image.of_array(image, axes="TCZYX", channel_names=list("abc")))
    kernel = random.random((5, 5))
    convolume.process(tmp_path / "a.ome.tif", tmp_path / "b.zarr", "convolve", kernel=kernel, normalize="sum",
                      dtype="uint8", device="cpu", chunks=(4, 16, 16), levels=2, zarr_format=2, boundary="nearest")
    result = convolume.open(tmp_path / "b.zarr")
    assert result.axes == "TCZYX" and result.dtype == np.uint8 and result.channel_names == list("abc")
    expected = convolume.convolve(image, kernel, normalize="sum", dtype="uint8", device="cpu", boundary="nearest")
    assert np.abs(np.asarray(result).astype(int) - expected).max() <= 1  # halves may be rounded up or down
    assert (np.asarray(result) != expected).mean() < 1e-3
    level = convolume.open(tmp_path / "b.zarr", level=1)
    assert level.shape == (2, 3, 2, 20, 25)  # unknown voxel sizes count as equal


def test_memory_decides(tmp_path, source, kernel):
    plan = convolume.plan_process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, chunks=(8, 16, 16),
                                  max_host_mem="8MiB", device="cpu", measure=False)
    large = convolume.plan_process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, chunks=(8, 16, 16),
                                   max_host_mem="8GiB", device="cpu", measure=False)
    assert plan.blocks > large.blocks and plan.block_bytes <= 8 << 20
    assert plan.halo_overhead > large.halo_overhead
    assert "halo" in str(plan) and not (tmp_path / "b.zarr").exists()
    with pytest.raises(MemoryError):
        convolume.plan_process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, shards=(16, 64, 64),
                               chunks=(16, 64, 64), max_host_mem="100KiB", measure=False)


@pytest.fixture
def recorded(random):
    light = np.zeros((12, 96, 96), np.float32)
    places = [random.integers(0, n, 150) for n in light.shape]
    light[tuple(places)] = random.uniform(2000, 9000, 150)
    psf = gaussian((1.5, 1.5, 1.5), (9, 9, 9))
    return random.poisson(convolume.convolve(light, psf, device="cpu").clip(0) + 20).astype(np.float32), psf


@pytest.mark.parametrize("method", ["rl", "shb"])
def test_deconvolution_has_small_seams(tmp_path, recorded, method):
    image, psf = recorded
    image[:, :40] = 20  # blocks differ much in their light
    convolume.process(image, tmp_path / "b.zarr", "deconvolve", kernel=psf, method=method, iterations=15,
                      background=20, device="cpu", chunks=(12, 16, 16), shards=(12, 48, 48), block=(12, 48, 48),
                      halo=(9, 14, 14))
    whole = convolume.Deconvolver(image.shape, psf, method=method, iterations=15, background=20, acceleration="none",
                                  device="cpu")(image)
    assert_close(convolume.open(tmp_path / "b.zarr"), whole, 2e-4)


def test_backgrounds_above_the_mean_make_no_seams(tmp_path, recorded):
    image, psf = recorded
    image[:, :60] = 20
    level = float(image.mean()) + 5
    convolume.process(image, tmp_path / "b.zarr", "deconvolve", kernel=psf, iterations=10, background=level, offset=0,
                      device="cpu", chunks=(12, 16, 16), shards=(12, 48, 48), block=(12, 48, 48), halo=(9, 20, 20))
    whole = convolume.Deconvolver(image.shape, psf, iterations=10, background=level, offset=0, acceleration="none",
                                  device="cpu")(image)
    assert_close(convolume.open(tmp_path / "b.zarr"), whole, 2e-3)


@pytest.mark.parametrize(("method", "names"), [("wiener", {"background"}), ("map", {"background", "offset", "light",
                                                                                    "roughness"})])
def test_other_methods_find_once(tmp_path, recorded, method, names):
    image, psf = recorded
    convolume.process(image[:8, :32, :32], tmp_path / "b.zarr", "deconvolve", kernel=psf, method=method, iterations=3,
                      device="cpu", chunks=(8, 16, 16), shards=(8, 16, 32), block=(8, 16, 32))
    found = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())["found"]
    assert names <= found.keys() <= names | {"offset"}


def test_what_is_found_holds_for_all_blocks(tmp_path, recorded):
    image, psf = recorded
    image[:, :48] += 300  # single blocks would have different backgrounds
    options = {"kernel": psf, "background": "auto", "stop": 0.01, "iterations": 40, "device": "cpu",
               "chunks": (12, 16, 16), "shards": (12, 48, 48)}
    convolume.process(image, tmp_path / "b.zarr", "deconvolve", block=(12, 48, 48), **options)
    manifest = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())
    found = manifest["found"]
    assert set(found) == {"background", "offset", "iterations", "light"} and 1 <= found["iterations"] <= 40
    assert found.pop("light") > 0
    # No PSF makes the step between both halves, beside which pixels may look hot.
    whole = convolume.Deconvolver(image.shape, psf, acceleration="none", device="cpu", hot_pixels="off", **found)(image)
    assert_close(convolume.open(tmp_path / "b.zarr"), whole, 0.01)
    with pytest.raises(ValueError, match="rlgc"):
        convolume.process(image, tmp_path / "c.zarr", "deconvolve", kernel=psf, method="rlgc")
    with pytest.raises(ValueError, match="could find other pixels by hot_pixels='auto'"):
        convolume.process(image, tmp_path / "c.zarr", "deconvolve", kernel=psf, hot_pixels="auto")


def test_a_box_without_data_tells_no_background(tmp_path, recorded):
    image, psf = recorded
    found = []
    for name in "whole", "box":
        convolume.process(image, tmp_path / f"{name}.zarr", "deconvolve", kernel=psf, iterations=1, device="cpu",
                          chunks=(12, 16, 16), shards=(12, 48, 48), block=(12, 48, 48))
        found.append(json.loads((tmp_path / f"{name}.zarr/.convolume/manifest.json").read_text())["found"])
        image[4:8, 10:30, 20:60] = 0
    assert abs(found[1]["background"] - found[0]["background"]) < 0.1 * found[0]["background"]


def test_functions(tmp_path, source, image):
    ndimage = pytest.importorskip("scipy.ndimage")
    convolume.process(source, tmp_path / "b.zarr", lambda v: ndimage.median_filter(v, 3, mode="nearest"),
                      halo=(1, 1, 1), dtype="uint16", device="cpu", **GRID)
    expected = ndimage.median_filter(image, 3, mode="nearest")
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "b.zarr")), expected)
    convolume.process(source, tmp_path / "c.zarr", lambda v: v[1:-1, 2:-2, :] * 0.7, halo=(1, 2, 0), dtype="uint16",
                      **GRID)
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "c.zarr")), np.rint(image * 0.7))
    with pytest.raises(ValueError, match="halo"):
        convolume.process(source, tmp_path / "d.zarr", np.sqrt)
    with pytest.raises(ValueError, match="must have that shape"):
        convolume.process(source, tmp_path / "d.zarr", lambda v: v[:3], halo=(0, 0, 0), **GRID)


def test_empty_blocks(tmp_path, random, kernel):
    image = np.zeros((16, 64, 128), np.uint16)
    image[3, 10, 20] = 1000
    image[3, 10, 62] = 1000  # its light reaches the next block
    grid = {"chunks": (8, 32, 32), "shards": (8, 32, 32), "block": (8, 32, 64), "device": "cpu"}
    report = convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, threshold=0, **grid)
    assert report.done == 8 and report.empty == 6
    assert len(read_shard_files(tmp_path / "b.zarr")) >= 4
    assert_close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))
    assert convolume.process_status(tmp_path / "b.zarr")["empty"] == 6
    again = convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, threshold=0, resume=True, **grid)
    assert again.complete_before == 8
    mask = np.zeros((2, 4, 4), np.uint8)  # the mask is coarser than the image
    mask[0, 0, 0] = 1
    convolume.save(tmp_path / "m.tif", mask)
    report = convolume.process(image, tmp_path / "c.zarr", "convolve", kernel=kernel, mask=tmp_path / "m.tif", **grid)
    assert report.done - report.empty == 1


def test_a_gpu_decides(tmp_path, monkeypatch, kernel):
    """Blocks of "auto" fit the smallest GPU as its plan says, and are whole shards."""
    from types import SimpleNamespace

    from convolume import _process_request
    from convolume._operations import Convolution

    image = convolume.Image.of_array(np.ones((64, 256, 256), np.uint16))
    monkeypatch.setattr(Convolution, "device_bytes", lambda self, shape: 20 * int(np.prod(shape)))

    def plan(mebibytes, **options):
        gpus = [SimpleNamespace(number=n, usable=True, free_bytes=size << 20) for n, size in enumerate(mebibytes)]
        monkeypatch.setattr(_process_request, "gpu_devices", lambda: gpus)
        return convolume.plan_process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, chunks=(8, 16, 16),
                                      shards=(8, 32, 32), max_host_mem="4GiB", measure=False, **options)

    monkeypatch.setattr(Convolution, "run_on", lambda self, run: None)  # the test needs no GPU
    free = plan([])
    for mebibytes, options in (([100, 2], {}), ([100], {"max_gpu_mem": "1800KiB"})):
        small = plan(mebibytes, **options)
        room = 0.9 * 2**21
        read = [min(b, n) + low + high for b, n, (low, high) in zip(small.block, (64, 256, 256), small.halo)]
        assert 20 * np.prod(read) <= room < 20 * np.prod(free.block)
        assert 4 * 20 * np.prod(read) > room  # blocks are no smaller than they must be
        assert all(b % s == 0 for b, s in zip(small.block, (8, 32, 32)))
