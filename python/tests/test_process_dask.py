# SPDX-License-Identifier: Apache-2.0
"""Tests of blocks on clusters of Dask."""

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from process_cases import GRID, assert_close

import convolume
from convolume import process_command

pytest.importorskip("tensorstore")
pytest.importorskip("distributed")


def test_dask(tmp_path, source, image, kernel):
    lines = []
    report = convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, device="cpu", dask="local:2",
                               log=lines.append, **GRID)
    assert report.done == 18 and lines[0].startswith("Dask's dashboard: http")
    assert_close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))
    with pytest.raises(ValueError, match="path or URL"):
        convolume.process(image, tmp_path / "c.zarr", "convolve", kernel=kernel, device="cpu", dask="local:1")


def test_messages_of_workers_name_flags(tmp_path, capsys):
    nan = str(tmp_path / "nan.npy")
    np.save(nan, np.full((6, 8, 8), np.nan, np.float32))
    np.save(tmp_path / "k.npy", np.ones((3, 3, 3), np.float32))
    words = ["--op", "convolve", "--kernel", str(tmp_path / "k.npy"), "--device", "cpu", "--dask", "local:1"]
    assert process_command.main([nan, str(tmp_path / "b.zarr"), *words]) != 0
    error = capsys.readouterr().err
    assert "as zero by --nan zero" in error and "nan='zero'" not in error, error


def test_no_scheduler(tmp_path, source, kernel):
    with pytest.raises(ValueError, match="local:N"):
        convolume.process(source, tmp_path / "b.zarr", "convolve", kernel=kernel, dask="local:x")


def test_a_lost_scheduler(tmp_path, source, image, kernel):
    distributed = pytest.importorskip("distributed")
    scheduler = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
                                  "--port", "0", "--no-dashboard", "--scheduler-file", tmp_path / "scheduler.json"],
                                 stderr=subprocess.DEVNULL)
    worker = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file",
                               tmp_path / "scheduler.json", "--nthreads", "1", "--no-dashboard", "--death-timeout",
                               "60"], stderr=subprocess.DEVNULL)
    try:
        client = distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout="120s")
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
    assert_close(convolume.open(tmp_path / "b.zarr"), convolume.convolve(image, kernel, device="cpu"))


def test_a_gpu_that_fails(tmp_path, source, image):
    """After a failure of a GPU, the worker's process ends, and another one computes the block."""
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


def test_each_worker_sees_one_gpu(tmp_path, source, monkeypatch):
    """Workers get the GPUs that this process may use, and each block requests the resource GPU."""
    from convolume import _process_dask

    seen = tmp_path / "seen"
    seen.mkdir()

    def look(values):
        (seen / f"{os.environ['CUDA_VISIBLE_DEVICES']}-{os.getpid()}").touch()
        time.sleep(0.1)  # so that both workers compute some blocks
        return values

    asked = []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,3")
    monkeypatch.setattr(_process_dask, "gpu_devices", lambda: [SimpleNamespace(number=n, usable=True) for n in (0, 1)])
    workers_of = _process_dask._workers_of
    monkeypatch.setattr(_process_dask, "_workers_of", lambda client: asked.append(workers_of(client)) or asked[-1])
    convolume.process(source, tmp_path / "b.zarr", look, halo=(0, 0, 0), dask="local:2", levels=1, **GRID)
    names = sorted(name.partition("-")[0] for name in os.listdir(seen))
    assert names == ["3", "5"]  # each name is that of one of two processes
    assert [one["resources"].get("GPU") for one in asked[0]] == [1, 1]


def test_all_workers_gone(tmp_path, source, image, monkeypatch):
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


def test_results_cancelled_while_they_are_fetched(tmp_path, source, monkeypatch):
    """Raises the error that occurs if the last worker leaves at that moment."""
    from distributed.client import FutureCancelledError

    from convolume import _process_dask

    def fetch(client, futures, groups):
        raise FutureCancelledError("block", "unknown")

    monkeypatch.setattr(_process_dask, "_reports_of", fetch)
    with pytest.raises(RuntimeError, match="go on with resume"):
        convolume.process(source, tmp_path / "b.zarr", lambda values: values, halo=(0, 0, 0), dask="local:1", **GRID)
