# SPDX-License-Identifier: Apache-2.0
"""Operations over blocks: against the whole image at once, and through faults."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import convolume
from convolume import process_command
from convolume._blocks import Blocks, block_range, default_block, default_chunks, default_shards

pytest.importorskip("tensorstore")
HERE = Path(__file__).parent
GRID = {"chunks": (8, 16, 16), "shards": (8, 32, 32), "block": (8, 32, 64)}


@pytest.fixture
def image(random):
    return random.integers(0, 999, (20, 75, 90), np.uint16)


@pytest.fixture
def source(tmp_path, image):
    path = tmp_path / "source.zarr"
    convolume.save(path, image, spacing=(0.5, 0.1, 0.1), chunks=(8, 32, 32), shards=(8, 64, 64), levels=1)
    return path


@pytest.fixture
def kernel(random):
    return random.random((3, 4, 7)).astype(np.float32)


def shards(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in Path(path).rglob("*")
            if p.is_file() and ".convolume" not in p.parts and p.name.isdigit()}


def close(got, expected, tolerance=2e-6):
    assert np.abs(np.asarray(got) - expected).max() <= tolerance * np.abs(expected).max()


# Blocks.

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
        assert sum(map(len, of_block.values())) == len(everything)  # no shard is of two blocks
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


def test_default_sizes():
    chunks = default_chunks((4000, 20000, 20000), 2)
    assert chunks == (64, 256, 256)
    shards = default_shards((4000, 20000, 20000), chunks, 2, 1 << 30)
    assert all(s % c == 0 for s, c in zip(shards, chunks)) and 2**29 <= np.prod(shards) * 2 <= 2**30
    assert default_chunks((10, 100, 100), 4) == (10, 100, 100)
    halo = ((30, 30), (30, 30), (30, 30))
    block = default_block((4000, 20000, 20000), (256, 256, 256), halo, 40, 200 << 30)
    assert all(b % 256 == 0 for b in block) and np.prod([b + 60 for b in block]) * 40 <= 200 << 30
    assert np.prod([(b + 60) / b for b in block]) < 1.4
    with pytest.raises(MemoryError, match="smaller shards"):
        default_block((4000, 20000, 20000), (256, 256, 256), halo, 40, 1 << 20)


# Results.

@pytest.mark.parametrize("boundary", ["zero", "constant", "nearest", "reflect", "mirror", "wrap"])
@pytest.mark.parametrize("origin", ["middle", "scipy", "peak", (2, 0, 5)])
def test_convolution_as_of_the_whole(tmp_path, source, image, kernel, boundary, origin):
    report = convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, boundary=boundary, cval=7.5,
                               origin=origin, device="cpu", **GRID)
    assert report.done == 3 * 3 * 2 and report.finished
    result = convolume.open(tmp_path / "b.zarr")
    assert result.spacing == pytest.approx((0.5, 0.1, 0.1)) and result.dtype == np.float32
    close(result, convolume.convolve(image, kernel, boundary=boundary, cval=7.5, origin=origin, device="cpu"))


@pytest.mark.parametrize("boundary", ["nearest", "reflect", "mirror", "wrap"])
def test_kernels_larger_than_the_image(tmp_path, random, boundary):
    image, kernel = random.random((3, 20, 11)), random.random((9, 5, 25))
    convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, boundary=boundary, device="cpu",
                      chunks=(1, 8, 4), shards=(1, 8, 4), block=(2, 8, 8))
    result = convolume.open(tmp_path / "b.zarr")
    assert result.dtype == np.float64
    close(result, convolume.convolve(image, kernel, boundary=boundary, device="cpu"), 1e-13)


def test_times_channels_types_and_planes(tmp_path, random):
    image = random.integers(0, 250, (2, 3, 4, 40, 50), np.uint8)
    convolume.save(tmp_path / "a.ome.tif", convolume.Image.of_array(image, axes="TCZYX", channel_names=list("abc")))
    kernel = random.random((5, 5))
    convolume.process(tmp_path / "a.ome.tif", tmp_path / "b.zarr", "convolve", kernel=kernel, normalize="sum",
                      dtype="uint8", device="cpu", chunks=(4, 16, 16), levels=2, zarr_format=2, boundary="nearest")
    result = convolume.open(tmp_path / "b.zarr")
    assert result.axes == "TCZYX" and result.dtype == np.uint8 and result.channel_names == list("abc")
    expected = convolume.convolve(image, kernel, normalize="sum", dtype="uint8", device="cpu", boundary="nearest")
    assert np.abs(np.asarray(result).astype(int) - expected).max() <= 1  # halves may be rounded to either side
    assert (np.asarray(result) != expected).mean() < 1e-3
    level = convolume.open(tmp_path / "b.zarr", level=1)
    assert level.shape == (2, 3, 2, 20, 25)  # of voxels that are not known to be coarse


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


def gaussian(sigma, size):
    axes = np.ogrid[tuple(slice(-(n // 2), n // 2 + 1) for n in size)]
    psf = np.exp(-sum((a / s) ** 2 for a, s in zip(axes, sigma)) / 2)
    return (psf / psf.sum()).astype(np.float32)


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
    convolume.process(image, tmp_path / "b.zarr", "deconvolve", kernel=psf, method=method, iterations=15,
                      background=20, device="cpu", chunks=(12, 16, 16), shards=(12, 48, 48), block=(12, 48, 48),
                      halo=(9, 14, 14))
    whole = convolume.Deconvolver(image.shape, psf, method=method, iterations=15, background=20, acceleration="none",
                                  device="cpu")(image)
    close(convolume.open(tmp_path / "b.zarr"), whole, 2e-3)


def test_what_is_found_holds_for_all_blocks(tmp_path, recorded):
    image, psf = recorded
    image[:, :48] += 300  # blocks on their own would find other backgrounds
    options = {"kernel": psf, "background": "auto", "stop": 0.01, "iterations": 40, "device": "cpu",
               "chunks": (12, 16, 16), "shards": (12, 48, 48)}
    convolume.process(image, tmp_path / "b.zarr", "deconvolve", block=(12, 48, 48), **options)
    manifest = json.loads((tmp_path / "b.zarr/.convolume/manifest.json").read_text())
    found = manifest["found"]
    assert set(found) == {"background", "iterations"} and 1 <= found["iterations"] <= 40
    whole = convolume.Deconvolver(image.shape, psf, acceleration="none", device="cpu", **found)(image)
    close(convolume.open(tmp_path / "b.zarr"), whole, 0.01)
    with pytest.raises(ValueError, match="rlgc"):
        convolume.process(image, tmp_path / "c.zarr", "deconvolve", kernel=psf, method="rlgc")


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
    assert len(shards(tmp_path / "b.zarr")) >= 4
    close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))
    assert convolume.process_status(tmp_path / "b.zarr")["empty"] == 6
    again = convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=kernel, threshold=0, resume=True, **grid)
    assert again.complete_before == 8
    mask = np.zeros((2, 4, 4), np.uint8)  # coarser
    mask[0, 0, 0] = 1
    convolume.save(tmp_path / "m.tif", mask)
    report = convolume.process(image, tmp_path / "c.zarr", "convolve", kernel=kernel, mask=tmp_path / "m.tif", **grid)
    assert report.done - report.empty == 1


# Runs that stop, and others.

def test_resume_and_changes(tmp_path, source, image, kernel):
    target = tmp_path / "b.zarr"
    options = {"kernel": kernel, "device": "cpu", **GRID}
    expected = convolume.convolve(image, kernel, device="cpu")
    convolume.process(source, target, "convolve", block_range="1/3", **options)
    assert convolume.process_status(target)["done"] == 6
    with pytest.raises(ValueError, match="not finished"):
        convolume.open(target)
    before = shards(target)
    with pytest.raises(FileExistsError, match="resume"):
        convolume.process(source, target, "convolve", **options)
    for name, change in {"operation.boundary": {"boundary": "wrap"}, "operation.kernel": {"kernel": kernel + 1},
                         "operation.normalize": {"normalize": "sum"}, "block": {"block": (8, 32, 32)},
                         "target.compression": {"compression": "gzip"}, "target.type": {"dtype": "uint16"},
                         "target.shards": {"shards": (8, 32, 64)}, "empty.threshold": {"threshold": 4},
                         "target.levels": {"levels": 2}}.items():
        with pytest.raises(ValueError, match=f"begun with {name} .* is now asked for"):
            convolume.process(source, target, "convolve", resume=True, **{**options, **change})
    other = tmp_path / "other.zarr"
    convolume.save(other, image)
    with pytest.raises(ValueError, match="source.path"):
        convolume.process(other, target, "convolve", resume=True, **options)
    assert shards(target) == before
    report = convolume.process(source, target, "convolve", kernel=kernel, device="cpu", resume=True)  # sizes: as before
    assert report.complete_before == 6 and report.done == 12 and report.finished
    close(convolume.open(target), expected)
    path = next(iter(before))
    (target / path).unlink()
    report = convolume.process(source, target, "convolve", resume=True, **options)
    assert report.done == 1
    assert shards(target)[path] == before[path]
    report = convolume.process(source, target, "convolve", overwrite=True, **{**options, "boundary": "wrap"})
    assert report.done == 18
    manifest = target / ".convolume/manifest.json"
    manifest.write_text(manifest.read_text().replace('"wrap"', '"zero"'))
    with pytest.raises(ValueError, match="changed by hand"):
        convolume.process(source, target, "convolve", resume=True, **options)


def test_overwriting_what_was_not_finished(tmp_path, image, kernel):
    """No shard of the run before is taken for one of this."""
    target, options = tmp_path / "b.zarr", {"kernel": kernel, "device": "cpu", **GRID}
    convolume.process(image * 0, target, "convolve", block_range="0/2", **options)
    with pytest.raises(ValueError, match="source.state"):
        convolume.process(image, target, "convolve", resume=True, **options)
    report = convolume.process(image, target, "convolve", overwrite=True, **options)
    assert report.done == 18
    close(convolume.open(target), convolume.convolve(image, kernel, device="cpu"))


def test_other_things_stay(tmp_path, source, image, kernel):
    target = tmp_path / "b.zarr"
    convolume.save(target, image)
    (target / "labels").mkdir()
    convolume.save(target / "labels" / "cells.zarr", image)
    with pytest.raises(FileExistsError):
        convolume.process(source, target, "convolve", kernel=kernel, device="cpu", **GRID)
    convolume.process(source, target, "convolve", kernel=kernel, device="cpu", overwrite=True, **GRID)
    np.testing.assert_array_equal(np.asarray(convolume.open(target / "labels" / "cells.zarr")), image)


SLOW = """
import sys, time, numpy as np, convolume
def slow(values):
    print("at work", flush=True)
    time.sleep(float(sys.argv[3]))
    return values
convolume.process(sys.argv[1], sys.argv[2], slow, halo=(0, 0, 0), block=(8, 32, 64), shards=(8, 32, 32),
                  chunks=(8, 16, 16), block_range=sys.argv[4] if len(sys.argv) > 4 else None)
"""


def slow_writer(source, target, *more):
    process = subprocess.Popen([sys.executable, "-c", SLOW, source, target, "600", *more], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"at work\n"
    return process


def test_a_second_writer_is_refused(tmp_path, source):
    target = tmp_path / "b.zarr"
    first = slow_writer(source, target)
    try:
        status = convolume.process_status(target)
        assert status["writers"][0]["pid"] == first.pid and status["done"] == 0 and not status["finished"]
        # A process of its own name for the function, which is part of the manifest.
        second = subprocess.run([sys.executable, "-c", SLOW.replace("block_range=", "resume=True, block_range="),
                                 source, target, "0"], capture_output=True, text=True)
        assert second.returncode != 0 and f"is being written by process {first.pid}" in second.stderr
    finally:
        first.kill()
        first.wait()
    again = subprocess.run([sys.executable, "-c", SLOW.replace("block_range=", "resume=True, block_range="), source,
                            target, "0"], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr  # a writer that was killed does not count
    assert convolume.process_status(target)["finished"]


def test_block_ranges_side_by_side(tmp_path, source, image):
    target = tmp_path / "b.zarr"
    first = slow_writer(source, target, "0/4")
    try:
        for share in ("1/4", "2/4", "3/4"):
            done = subprocess.run([sys.executable, "-c", SLOW, source, target, "0", share], capture_output=True,
                                  text=True)
            assert done.returncode == 0, done.stderr
        for share in ("0/4", "1/3"):
            refused = subprocess.run([sys.executable, "-c", SLOW, source, target, "0", share], capture_output=True,
                                     text=True)
            assert "block range 0/4" in refused.stderr
    finally:
        first.kill()
        first.wait()
    assert convolume.process_status(target)["done"] == 14


@pytest.mark.parametrize("dask", [None, "local:2"])
def test_levels(tmp_path, source, image, dask):
    """Made in one run by any engine; by shares, level after level."""
    if dask is not None:
        pytest.importorskip("distributed")
    target = tmp_path / "b.zarr"

    def as_it_is(values):
        return values

    options = {"halo": (0, 0, 0), "dtype": "uint16", "levels": 3, **GRID}
    convolume.process(source, target, as_it_is, dask=dask, **options)
    convolume.save(tmp_path / "c.zarr", image, levels=3, spacing=(0.5, 0.1, 0.1))
    expected = [np.asarray(convolume.open(tmp_path / "c.zarr", level=level)) for level in range(3)]
    assert [one.shape for one in expected] == [(20, 75, 90), (20, 38, 45), (20, 19, 23)]
    for level in range(3):
        np.testing.assert_array_equal(np.asarray(convolume.open(target, level=level)), expected[level])
    if dask is None:
        zarr = pytest.importorskip("zarr")
        shares = tmp_path / "d.zarr"
        for level in range(3):
            for share in range(2):
                convolume.process(source, shares, as_it_is, block_range=f"{share}/2", **options)
            np.testing.assert_array_equal(zarr.open_array(shares / str(level), mode="r")[...], expected[level])
        report = convolume.process(source, shares, as_it_is, resume=True, **options)
        assert report.done == 0 and report.finished


def test_failures_of_blocks(tmp_path, source, image, kernel):
    target = tmp_path / "b.zarr"
    damaged = source / "0/c/2/1/1"
    data = damaged.read_bytes()
    damaged.write_bytes(data[:len(data) // 2])
    lines = []
    with pytest.raises(convolume.BlocksFailed, match="source.zarr/0"):
        convolume.process(source, target, "convolve", kernel=kernel, device="cpu", log=lines.append, **GRID)
    assert any(line.startswith("failed") for line in lines)
    status = convolume.process_status(target)
    assert 0 < status["failed"] < 18 and status["done"] == 18 - status["failed"] and status["failures"]
    expected = convolume.convolve(image, kernel, device="cpu")
    zarr = pytest.importorskip("zarr")
    stored = zarr.open_array(target / "0", mode="r")[...]
    there = stored != 0
    assert np.abs(stored - expected)[there].max() < 2e-6 * expected.max()  # what is there is right
    damaged.write_bytes(data)
    report = convolume.process(source, target, "convolve", kernel=kernel, device="cpu", resume=True, **GRID)
    assert report.done == status["failed"]
    close(convolume.open(target), expected)


def test_a_full_disk(tmp_path, random, kernel):
    image = random.random((8, 256, 256)).astype(np.float32)
    convolume.save(tmp_path / "a.zarr", image, chunks=(8, 32, 32), shards=(8, 32, 32), levels=1)
    convolume.save(tmp_path / "k.tif", kernel)
    limited = ("import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
               "from convolume.process_command import main; sys.exit(main(sys.argv[2:]))")
    arguments = [tmp_path / "a.zarr", tmp_path / "b.zarr", "--op", "convolve", "--kernel", tmp_path / "k.tif",
                 "--chunks", "8,32,32", "--shards", "8,64,64", "--block", "8,64,64", "--device", "cpu", "--resume"]
    # Random samples do not compress: a shard of 128 KiB does not fit.
    run = subprocess.run([sys.executable, "-c", limited, "100000", *arguments], capture_output=True, text=True)
    assert run.returncode == 7 and "blocks failed" in run.stderr, run.stderr
    assert not shards(tmp_path / "b.zarr")
    run = subprocess.run([sys.executable, "-c", limited, "100000000", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))


@pytest.mark.parametrize("kind,kills", [("process", 3), ("workers", 2)])
def test_killed_at_random_moments(kind, kills):
    if kind == "workers":
        pytest.importorskip("distributed")
    run = subprocess.run([sys.executable, HERE / "kill_workers.py", kind, str(kills), str(int(time.time()))],
                         capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    print(run.stdout)  # the seed
    # A worker of Dask has one block in hand; a process one that is computed and one that is written.
    assert json.loads(run.stdout)["again_per_kill_at_most_of_a_run"] <= (2 if kind == "process" else 1)


# Dask.

def test_dask(tmp_path, source, image, kernel):
    pytest.importorskip("distributed")
    lines = []
    report = convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, device="cpu", dask="local:2",
                               log=lines.append, **GRID)
    assert report.done == 18 and lines[0].startswith("Dask's dashboard: http")
    close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))
    with pytest.raises(ValueError, match="path or URL"):
        convolume.process(image, tmp_path / "c.zarr", "convolve", kernel=kernel, device="cpu", dask="local:1")


def test_no_scheduler(tmp_path, source, kernel):
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match="local:N"):
        convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, dask="local:x")


def test_a_lost_scheduler(tmp_path, source, image, kernel):
    distributed = pytest.importorskip("distributed")
    scheduler = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
                                  "--port", "0", "--no-dashboard", "--scheduler-file", tmp_path / "scheduler.json"],
                                 stderr=subprocess.DEVNULL)
    worker = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file",
                               tmp_path / "scheduler.json", "--nthreads", "1", "--no-dashboard", "--death-timeout",
                               "10"], stderr=subprocess.DEVNULL)
    try:
        client = distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout="30s")
        client.wait_for_workers(1)

        def kill_after_some(line):
            if line.startswith("3 of"):
                scheduler.kill()

        with pytest.raises(RuntimeError, match="scheduler"):
            convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, device="cpu", client=client,
                              log=kill_after_some, **GRID)
        threading.Thread(target=client.close, args=(1,), daemon=True).start()
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert convolume.process_status(tmp_path / "b.zarr")["done"] >= 3
    convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, device="cpu", resume=True, **GRID)
    close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))


def test_a_gpu_that_fails(tmp_path, source, image):
    """The worker's process ends, and another computes the block."""
    pytest.importorskip("distributed")
    marks = tmp_path / "marks"
    marks.mkdir()

    def fails_once(values):
        (marks / str(os.getpid())).touch()
        if len(os.listdir(marks)) == 1:
            raise convolume.DeviceFailure("the GPU fell off the bus")
        return values * 2.0

    report = convolume.process(source, tmp_path / "b.zarr", fails_once, halo=(0, 0, 0), dask="local:1", **GRID)
    assert report.finished and report.failed == 0 and len(os.listdir(marks)) == 2
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "b.zarr")), image * 2)


def test_workers_and_gpus(monkeypatch):
    pytest.importorskip("distributed")
    from convolume import _process_dask

    one_gpu = SimpleNamespace(number=0, usable=True)
    asked = []

    def made(module, count, gpus):
        asked.append((count, gpus))
        raise InterruptedError

    monkeypatch.setattr(_process_dask, "gpu_devices", lambda: [one_gpu])
    monkeypatch.setattr(_process_dask, "_local_cluster", made)
    with pytest.raises(ValueError, match="2 workers .* 1 GPUs"), _process_dask.cluster_of("local:2"):
        pass
    for uses_gpus in (True, False):
        with pytest.raises(InterruptedError), _process_dask.cluster_of("local:1", uses_gpus):
            pass
    with pytest.raises(InterruptedError), _process_dask.cluster_of("local:2", uses_gpus=False):
        pass
    assert asked == [(1, [0]), (1, []), (2, [])]


def test_all_workers_gone(tmp_path, source, image, monkeypatch):
    pytest.importorskip("distributed")
    from convolume import _process
    from convolume._process_dask import cluster_of, run_dask

    def slow(values):
        time.sleep(1)
        return values

    monkeypatch.setattr(_process, "run_dask", lambda *a: run_dask(*a[:4], 2.0))
    with cluster_of("local:1") as (client, _):
        threading.Timer(1.5, lambda: client.cluster.scale(0)).start()
        with pytest.raises(RuntimeError, match="all workers"):
            convolume.process(source, tmp_path / "b.zarr", slow, halo=(0, 0, 0), client=client, **GRID)


# The command.

def test_command(tmp_path, source, image, kernel, capsys):
    convolume.save(tmp_path / "k.tif", kernel)
    target = tmp_path / "b.zarr"
    common = [str(source), str(target), "--op", "convolve", "--kernel", str(tmp_path / "k.tif"), "--device", "cpu",
              "--chunks", "8,16,16", "--shards", "8,32,32", "--block", "8,32,64"]
    assert process_command.main([*common, "--dry-run"]) == 0
    assert "18 of 8×32×64" in capsys.readouterr().out and not target.exists()
    assert process_command.main([*common, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["blocks"] == 18
    assert sorted(os.listdir(tmp_path)) == ["k.tif", "source.zarr"]
    assert process_command.main([*common, "--block-range", "0/2"]) == 0
    assert "9 of 9: block 8" in capsys.readouterr().err
    assert process_command.main([str(target), "--status"]) == 0
    assert "9 of 18 blocks are done" in capsys.readouterr().out
    assert process_command.main([*common, "--resume", "-q", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["complete_before"] == 9 and output.err == ""
    close(convolume.open(target), convolume.convolve(image, kernel, device="cpu"))
    cases = [([*common], 5), ([*common, "--resume", "--boundary", "wrap"], 2), ([*common[:2], "--op", "convolve"], 2),
             ([str(target)], 2), ([str(tmp_path / "none.zarr"), *common[1:]], 66),
             ([*common, "--iterations", "3"], 2)]
    for arguments, code in cases:
        assert process_command.main(arguments) == code
        error = capsys.readouterr().err
        assert error.startswith("convolume: error: ") and error.count("\n") == 1
    with pytest.raises(SystemExit) as usage:
        process_command.main([*common, "--blok", "3"])
    assert usage.value.code == 2


def test_a_kernel_of_other_voxels(tmp_path, source, kernel):
    lines = []
    convolume.save(tmp_path / "k.tif", kernel, spacing=(0.5, 0.2, 0.2))
    convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=tmp_path / "k.tif", device="cpu",
                      log=lines.append, **GRID)
    assert lines[0].startswith("warning") and "voxels" in lines[0]


def test_interrupted(tmp_path, source):
    process = slow_writer(source, tmp_path / "b.zarr")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0


# What the pages and examples show.

ROOT = HERE.parents[1]


@pytest.fixture
def shell(tmp_path, random):
    """Runs a shell command in a folder with an image and a PSF, where `convolume process` is this package's."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "convolume"
    program.write_text(f'#!/bin/sh\n[ "$1" = process ] || exit 99\nshift\n'
                       f'exec "{sys.executable}" -m convolume.process_command "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    psf = gaussian((1, 1, 1), (5, 5, 5))
    image = random.poisson(np.full((20, 90, 100), 130.0)).astype(np.uint16)
    convolume.save(work / "image.zarr", image, spacing=(0.2, 0.1, 0.1))
    convolume.save(work / "psf.tif", psf, spacing=(0.2, 0.1, 0.1))

    def run(command, **environment):
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", command], cwd=work, capture_output=True, text=True,
                              env={**os.environ, "PATH": path, **environment})
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    run.folder = work
    return run


SMALL = "--op deconvolve --iterations 2 --background 100 --chunks 16,32,32 --shards 16,64,64 --block 32,64,64"


@pytest.mark.skipif(not (ROOT / "examples").exists(), reason="the examples are not beside the tests")
@pytest.mark.parametrize("kind", ["slurm.sh", "process.nf", "Snakefile"])
def test_templates_of_clusters(shell, kind):
    text = (ROOT / "examples/cluster" / kind).read_text()
    large = "--op deconvolve --iterations 30 --background 100 --block 256,512,512"
    if kind == "slurm.sh":
        given = large.replace("--op deconvolve", '--op deconvolve --psf "$psf"')
        assert given in text
        script = shell.folder / kind
        script.write_text(text.replace(given, SMALL + ' --psf "$psf"'))
        for number in range(3):
            shell(f"sh {script} image.zarr restored.zarr psf.tif", SLURM_ARRAY_TASK_ID=str(number),
                  SLURM_ARRAY_TASK_COUNT="3")
        shell(f"sh {script} image.zarr restored.zarr psf.tif", SLURM_ARRAY_TASK_ID="")
    else:
        assert large in text
        values = {"params.source": "image.zarr", "params.target": "restored.zarr", "params.psf": "psf.tif",
                  "params.options": SMALL, "params.shares": "3", "config[source]": "image.zarr",
                  "config[target]": "restored.zarr", "config[psf]": "psf.tif", "OPTIONS": SMALL, "SHARES": "3"}
        joined = text.replace('"\n        " --', " --")  # Snakemake's shell command in two strings
        share, last = (next(line.strip().strip('"') for line in joined.splitlines()
                            if line.strip(' "').startswith("convolume process") and mark in line)
                       for mark in ("--block-range", "--resume"))
        for number in range(3):
            shell(filled(share, {**values, "number": str(number), "wildcards.number": str(number)}))
        shell(filled(last, values))
    assert convolume.process_status(shell.folder / "restored.zarr")["finished"]
    assert convolume.open(shell.folder / "restored.zarr").shape == (20, 90, 100)


def filled(command, values):
    for name, value in values.items():
        command = command.replace("${" + name + "}", value).replace("{" + name + "}", value)
    assert "{" not in command
    return command


PAGES = [page for page in (ROOT / "docs/guides/larger-than-one-machine.md", ROOT / "docs/commands/process.md")
         if page.exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page, shell, monkeypatch):
    """The commands and the Python of the pages run, in their order."""
    if page.stem == "larger-than-one-machine":
        pytest.importorskip("distributed")
    names = {}
    monkeypatch.chdir(shell.folder)
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for language, block in blocks:
        if language == "sh":
            shell(f"set -e\n{block}")
        else:
            exec(compile(block, str(page), "exec"), names)
