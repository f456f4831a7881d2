# SPDX-License-Identifier: Apache-2.0
"""Tests of runs over blocks that are stopped, resumed, fail, or meet other runs."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from process_cases import GRID, HERE, assert_close, read_shard_files

import convolume
from convolume._block_worker import Job, Source
from convolume._local_engine import run_local
from convolume._operation import BlockResult, Operation
from convolume._zarr_store import Location
from convolume._zarr_target import Layout, ZarrTarget, facts_of

pytest.importorskip("tensorstore")


def test_resume_and_changes(tmp_path, source, image, kernel):
    target = tmp_path / "b.zarr"
    options = {"kernel": kernel, "device": "cpu", **GRID}
    expected = convolume.convolve(image, kernel, device="cpu")
    convolume.process(source, target, "convolve", block_range="1/3", **options)
    assert convolume.process_status(target)["done"] == 6
    with pytest.raises(ValueError, match="not finished"):
        convolume.open(target)
    before = read_shard_files(target)
    with pytest.raises(FileExistsError, match="resume"):
        convolume.process(source, target, "convolve", **options)
    for name, change in {"with boundary": {"boundary": "wrap"}, "with another kernel": {"kernel": kernel + 1},
                         "without normalize": {"normalize": "sum"}, "with block": {"block": (8, 32, 32)},
                         "with compression": {"compression": "gzip"}, "with dtype": {"dtype": "uint16"},
                         "with shards": {"shards": (8, 32, 64)}, "without threshold": {"threshold": 4},
                         "with levels": {"levels": 2}}.items():
        with pytest.raises(ValueError, match=f"begun {name} .* is now asked for"):
            convolume.process(source, target, "convolve", resume=True, **{**options, **change})
    other = tmp_path / "other.zarr"
    convolume.save(other, image)
    with pytest.raises(ValueError, match="begun with source"):
        convolume.process(other, target, "convolve", resume=True, **options)
    assert read_shard_files(target) == before
    report = convolume.process(source, target, "convolve", kernel=kernel, device="cpu", resume=True)  # blocks as before
    assert report.complete_before == 6 and report.done == 12 and report.finished
    assert_close(convolume.open(target), expected)
    path = next(iter(before))
    (target / path).unlink()
    report = convolume.process(source, target, "convolve", resume=True, **options)
    assert report.done == 1
    assert read_shard_files(target)[path] == before[path]
    report = convolume.process(source, target, "convolve", overwrite=True, **{**options, "boundary": "wrap"})
    assert report.done == 18
    manifest = target / ".convolume/manifest.json"
    manifest.write_text(manifest.read_text().replace('"wrap"', '"zero"'))
    with pytest.raises(ValueError, match="changed by hand"):
        convolume.process(source, target, "convolve", resume=True, **options)


def test_overwriting_what_was_not_finished(tmp_path, image, kernel):
    """A run that replaces an image does not take shards of the earlier run for its own."""
    target, options = tmp_path / "b.zarr", {"kernel": kernel, "device": "cpu", **GRID}
    convolume.process(image * 0, target, "convolve", block_range="0/2", **options)
    with pytest.raises(ValueError, match="another content of the source"):
        convolume.process(image, target, "convolve", resume=True, **options)
    report = convolume.process(image, target, "convolve", overwrite=True, **options)
    assert report.done == 18
    assert_close(convolume.open(target), convolume.convolve(image, kernel, device="cpu"))


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
        # The second process runs the same program, so that the function's name, which the manifest has, is the same.
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
    """Smaller levels are made in one run by any engine, or in shares, level after level."""
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
    assert np.abs(stored - expected)[there].max() < 2e-6 * expected.max()  # stored blocks are right
    damaged.write_bytes(data)
    report = convolume.process(source, target, "convolve", kernel=kernel, device="cpu", resume=True, **GRID)
    assert report.done == status["failed"]
    assert_close(convolume.open(target), expected)


def test_a_full_disk(tmp_path, random, kernel):
    image = random.random((8, 256, 256)).astype(np.float32)
    convolume.save(tmp_path / "a.zarr", image, chunks=(8, 32, 32), shards=(8, 32, 32), levels=1)
    convolume.save(tmp_path / "k.tif", kernel)
    limited = ("import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
               "from convolume.process_command import main; sys.exit(main(sys.argv[2:]))")
    arguments = [tmp_path / "a.zarr", tmp_path / "b.zarr", "--op", "convolve", "--kernel", tmp_path / "k.tif",
                 "--chunks", "8,32,32", "--shards", "8,64,64", "--block", "8,64,64", "--device", "cpu", "--resume"]
    # A shard of 128 KiB does not fit, as random samples cannot be compressed.
    run = subprocess.run([sys.executable, "-c", limited, "100000", *arguments], capture_output=True, text=True)
    assert run.returncode == 7 and "blocks failed" in run.stderr, run.stderr
    assert not read_shard_files(tmp_path / "b.zarr")
    run = subprocess.run([sys.executable, "-c", limited, "100000000", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert_close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))


class OnDevices(Operation):
    """Stands for an operation on GPUs: it records the device that computes, and fails on some."""

    def __init__(self, failing=()):
        self.failing, self.used = failing, []
        self.name, self.halo, self.boundary, self.cval = "noted", ((0, 0),) * 3, None, 0.0
        self.dtype, self.voxel_bytes, self.run, self.nan = np.dtype(np.uint16), 1.0, {}, "propagate"

    def run_on(self, run):
        self.run = dict(run)

    def __call__(self, samples):
        time.sleep(0.01)
        if self.run["device"] in self.failing and self.used.count(self.run["device"]) >= 2:
            raise convolume.DeviceFailure("the GPU fell off the bus")
        self.used.append(self.run["device"])
        return BlockResult(samples.values[samples.inside] + 1)


@pytest.mark.parametrize("failing", [(), (1,), (0, 1, 2)])
def test_lanes_of_devices(tmp_path, image, failing):
    """Each device computes different blocks, and the other devices compute those of one that fails."""
    source = convolume.Image.of_array(image)
    facts = facts_of(source, np.dtype(np.uint16), "b")
    operation = OnDevices(failing)
    job = Job("x", Source("memory", image=source), Location.of(tmp_path / "b.zarr"), facts,
              Layout(3, GRID["chunks"], GRID["shards"], "zstd", 1), operation, GRID["block"])
    lanes = [{"device": number} for number in range(3)]
    count = len(job.blocks())
    if len(failing) == 3:
        with pytest.raises(convolume.DeviceFailure):
            list(run_local(job, range(count), lanes))
        return
    reports = list(run_local(job, range(count), lanes))
    assert sorted(report.number for report in reports) == list(range(count))
    assert set(operation.used) == {0, 1, 2} and all(operation.used.count(one) == 2 for one in failing)
    target = ZarrTarget(job.location, facts, job.layout)
    target.open_arrays()
    np.testing.assert_array_equal(target.arrays[0].read([slice(0, n) for n in image.shape]), image + 1)


@pytest.mark.parametrize("kind,kills", [("process", 3), ("workers", 2)])
def test_killed_at_random_moments(kind, kills):
    if kind == "workers":
        pytest.importorskip("distributed")
    run = subprocess.run([sys.executable, HERE / "kill_workers.py", kind, str(kills), str(int(time.time()))],
                         capture_output=True, text=True, timeout=1000)
    assert run.returncode == 0, run.stderr
    print(run.stdout)  # the output has the seed
    facts = json.loads(run.stdout)
    assert facts["again_per_kill_at_most_of_a_run"] <= 1
    assert facts.get("again_of_a_kill_at_most", 0) <= 1


def test_interrupted(tmp_path, source):
    process = slow_writer(source, tmp_path / "b.zarr")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0


def test_a_psf_by_its_name(tmp_path):
    image, psf = np.random.default_rng(1).poisson(50, (4, 20, 20)).astype(np.float32), np.ones((3, 3, 3)) / 27
    options = {"iterations": 2, "background": 0, "device": "cpu"}
    convolume.process(image, tmp_path / "a.zarr", "deconvolve", kernel=psf, **options)
    convolume.process(image, tmp_path / "b.zarr", "deconvolve", psf=psf, **options)
    np.testing.assert_array_equal(convolume.open(tmp_path / "a.zarr"), convolume.open(tmp_path / "b.zarr"))
    with pytest.raises(convolume.InvalidArgument, match="two names of one argument"):
        convolume.process(image, tmp_path / "c.zarr", "deconvolve", psf=psf, kernel=psf)
    with pytest.raises(convolume.InvalidArgument, match="give a kernel by kernel="):
        convolume.process(image, tmp_path / "c.zarr", "convolve", psf=psf)


def test_a_changed_option_is_named_with_both_values(tmp_path):
    image, psf = np.random.default_rng(1).poisson(50, (2, 4, 20, 20)).astype(np.float32), np.ones((3, 3, 3)) / 27
    image = convolume.Image.of_array(image, axes="CZYX")
    first = {"kernel": [psf, psf], "iterations": 2, "background": 0, "device": "cpu"}
    convolume.process(image, tmp_path / "a.zarr", "deconvolve", **first)

    def refusal(**changes):
        options = {"op": "deconvolve", **first, "resume": True, **changes}
        with pytest.raises(convolume.InvalidArgument) as caught:
            convolume.process(image, tmp_path / "a.zarr",
                              **{name: value for name, value in options.items() if value is not None})
        assert len(str(caught.value).replace(str(tmp_path), "")) < 200
        return str(caught.value)

    assert "was begun with iterations 2 and is now asked for with iterations 3: give the same options, or another " \
           "target" in refusal(iterations=3)
    assert "was begun without edges and is now asked for with edges \"zero\"" in refusal(
        edges="zero")
    assert "with op \"deconvolve\" and is now asked for with op \"convolve\"" in refusal(
        op="convolve", iterations=None, background=None)
    assert "with another PSF of channel 1 than" in refusal(kernel=[psf, 2 * psf])
    assert "with dtype \"float32\" and is now asked for with dtype \"float64\"" in refusal(dtype="float64")


def told(samples, channel, time, *, place, halo=0):
    assert halo == 0
    return samples * 0 + 10000 * time + 1000 * channel + 100 * place[0] + 10 * place[1] // 8 + place[2] // 8


def test_functions_are_told_channel_time_and_place(tmp_path):
    image = convolume.Image.of_array(np.zeros((2, 3, 2, 16, 24), np.float32), axes="TCZYX")
    convolume.process(image, tmp_path / "a.zarr", told, halo=(0, 1, 1), block=(2, 8, 8), chunks=(2, 8, 8))
    t, c, z, y, x = np.indices(image.shape)
    want = 10000 * t + 1000 * c + 10 * (y // 8) + x // 8
    np.testing.assert_array_equal(convolume.open(tmp_path / "a.zarr"), want)


def test_time_of_a_deconvolution_is_predicted(tmp_path):
    image, psf = np.full((8, 40, 40), 50, np.float32), np.ones((3, 5, 5)) / 75
    options = {"psf": psf, "background": 0, "device": "cpu", "measure": False}
    plans = [convolume.plan_process(image, tmp_path / "a.zarr", "deconvolve", iterations=n, **options) for n in (5, 50)]
    assert 0 < plans[0].compute_seconds < plans[1].compute_seconds == pytest.approx(10 * plans[0].compute_seconds)
    assert "computing" in str(plans[0])
