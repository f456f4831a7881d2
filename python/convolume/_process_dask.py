# SPDX-License-Identifier: Apache-2.0
"""The engine of Dask. Blocks are tasks of a cluster, with a bounded number of submitted tasks."""

import asyncio
import concurrent.futures
import gc
import importlib
import itertools
import logging
import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from . import _core
from ._block_worker import BlockReport, Job, Worker, sentence
from ._errors import DeviceFailure, InvalidArgument, Unavailable, messages_name_flags, optional_module
from ._run import gpu_devices

_WINDOW = 4
"""Number of submitted tasks for each thread of the workers, enough to keep them busy."""
_SHORT_LOGS = {"distributed.admin.low-level-log-length": 2000,
               "distributed.scheduler.dashboard.tasks.task-stream-length": 2000}
"""Settings that shorten the scheduler's logs of finished tasks, each of which has up to 100,000 entries by default."""
_LEAST_WINDOW = 64
_MOST_TASKS = 100_000
"""Number of tasks of a run at most, as schedulers keep a little memory for each. If there are more blocks, a task has
several."""
_RETRIES = 2
_GO_ON = "blocks that are done are complete, go on with resume"
_NO_WORKERS = f"all workers of Dask are gone: {_GO_ON} when there are some"
_NO_SCHEDULER = f"the connection to Dask's scheduler is lost: {_GO_ON}"
_workers: dict[str, Worker] = {}
_jobs: dict[str, tuple[Job, dict[str, Any]]] = {}


def distributed() -> Any:
    return optional_module("distributed", "Dask's clusters need its package distributed: "
                           "pip install 'dask[array]' distributed")


class JobPlugin:
    """Gives the job to every worker once, also to those that start later.

    It lacks Dask's base class for plugins, so that this module can be imported without Dask; `job_plugin` adds it.
    """

    idempotent = False

    def __init__(self, job: Job, run: Mapping[str, Any]) -> None:
        self.name = f"convolume-{job.hash}"
        self.job, self.run = job, dict(run)
        self.named_flags = False

    def __reduce__(self) -> tuple[Any, ...]:
        return job_plugin, (self.job, self.run)

    def setup(self, worker: Any) -> None:
        del worker
        self.named_flags = messages_name_flags()  # a scheduler in this process has a wording of its own
        _core.name_options_as_command(self.job.names_flags)
        _jobs[self.job.hash] = self.job, self.run
        _workers.pop(self.job.hash, None)

    def teardown(self, worker: Any) -> None:
        del worker
        _core.name_options_as_command(self.named_flags)
        _jobs.pop(self.job.hash, None)
        _workers.pop(self.job.hash, None)


def job_plugin(job: Job, run: Mapping[str, Any]) -> Any:
    base = importlib.import_module("distributed.diagnostics.plugin").WorkerPlugin
    return type("JobPlugin", (JobPlugin, base), {})(job, run)


def run_task(job_hash: str, numbers: list[int]) -> list[BlockReport]:
    """Computes blocks, one after another. It runs on a worker."""
    worker = _workers.get(job_hash)
    if worker is None:
        job, run = _jobs[job_hash]
        worker = Worker(job)
        job.operation.run_on(run)
        _workers[job_hash] = worker
    try:
        return [worker.run(number) for number in numbers]
    except DeviceFailure:  # the process cannot use its GPU again: Dask's nanny starts another one
        os._exit(1)


def run_dask(job: Job, numbers: Sequence[int], client: Any, run: Mapping[str, Any],
             patience: float = 600.0) -> Iterator[BlockReport]:
    """Computes blocks on a cluster. Raises an error if there is no worker for `patience` seconds."""
    size = -(-len(numbers) // _MOST_TASKS)
    module = distributed()
    closed = importlib.import_module("distributed.comm").CommClosedError
    plugin = job_plugin(job, run)
    workers = _workers_of(client)
    threads = max(1, sum(int(worker["nthreads"]) for worker in workers))
    on_gpus = any("GPU" in (worker.get("resources") or {}) for worker in workers)
    options: dict[str, Any] = {"resources": {"GPU": 1}} if on_gpus else {}
    rest = (list(map(int, numbers[first:first + size])) for first in range(0, len(numbers), max(1, size)))
    futures_of: dict[str, Any] = {}
    numbers_of: dict[str, list[int]] = {}
    watch = _AbsenceWatch(client, futures_of, patience)
    try:
        client.register_plugin(plugin, name=plugin.name)
        pending = module.as_completed()

        def submit(count: int) -> None:
            groups = list(itertools.islice(rest, count))
            if groups:
                keys = [f"convolume-{job.hash}-{group[0]}" for group in groups]
                futures = client.map(run_task, [job.hash] * len(groups), groups, key=keys, pure=False, retries=_RETRIES,
                                     **options)
                futures_of.update(zip(keys, futures))
                numbers_of.update(zip(keys, groups))
                pending.update(futures)

        watch.start()
        submit(max(_LEAST_WINDOW, _WINDOW * threads))
        while numbers_of:
            batch = pending.next_batch()
            keys = [str(future.key) for future in batch]
            reports = _reports_of(client, batch, [numbers_of[key] for key in keys])
            del batch
            for key in keys:
                del numbers_of[key], futures_of[key]
            submit(len(keys))
            yield from reports
        client.unregister_worker_plugin(plugin.name)
    except (OSError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError, closed) as error:
        if watch.lost:
            raise Unavailable(_NO_WORKERS) from None
        raise Unavailable(f"{_NO_SCHEDULER} ({sentence(error)})") from None
    except Unavailable:
        if watch.lost:
            raise Unavailable(_NO_WORKERS) from None
        raise
    finally:
        watch.stop()


class _AbsenceWatch(threading.Thread):
    """Thread that cancels all tasks if there is no worker for `patience` seconds, as their results would never come."""

    def __init__(self, client: Any, futures: dict[str, Any], patience: float) -> None:
        super().__init__(daemon=True)
        self.lost = False
        self._client, self._futures, self._patience = client, futures, patience
        self._stopped = threading.Event()

    def run(self) -> None:
        absent_since = None
        while not self._stopped.wait(min(5.0, self._patience / 4)):
            try:
                count = len(_workers_of(self._client))
            except Exception:  # the scheduler is gone, which the futures report
                continue
            now = time.monotonic()
            absent_since = None if count else absent_since or now
            if absent_since is not None and now - absent_since >= self._patience:
                self.lost = True
                self._client.cancel(list(self._futures.values()))
                return

    def stop(self) -> None:
        self._stopped.set()


def _reports_of(client: Any, futures: list[Any], groups: list[list[int]]) -> list[BlockReport]:
    """Fetches the reports of tasks that have ended, all at once."""
    if client.status != "running" or any(future.status in ("cancelled", "lost") for future in futures):
        raise Unavailable(_NO_SCHEDULER)
    done = [future for future in futures if future.status == "finished"]
    fetched = dict(zip((future.key for future in done), client.gather(done)))
    reports: list[BlockReport] = []
    for future, numbers in zip(futures, groups):
        reports += fetched[future.key] if future.key in fetched else _failed(future, numbers)
    return reports


def _failed(future: Any, numbers: list[int]) -> list[BlockReport]:
    error = future.exception()
    if isinstance(error, (InvalidArgument, MemoryError)):
        raise error
    return [BlockReport(number, error=sentence(error)) for number in numbers]


def _workers_of(client: Any) -> list[Any]:
    """Returns what the scheduler knows of its workers."""
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


@contextmanager
def cluster_of(address: str, uses_gpus: bool = True) -> Generator[tuple[Any, int]]:
    """Yields a client of the scheduler at an address, and the number of workers that share a machine.

    The address "local:4" starts 4 workers on this machine, each with a GPU of its own if `uses_gpus` is set.
    """
    module = distributed()
    kind, colon, rest = address.partition(":")
    with ExitStack() as stack:
        if kind != "local":
            # A client that failed before must not be collected while another starts: both need one lock of Dask.
            gc.collect()
            try:
                client = stack.enter_context(module.Client(address, timeout="20s"))
            except (OSError, ValueError) as error:
                raise Unavailable(f"no scheduler of Dask answers at {address}: {sentence(error)}") from None
            client.wait_for_workers(1, timeout=120)
            hosts = [str(worker["host"]) for worker in _workers_of(client)]
            yield client, max(1, max((hosts.count(host) for host in set(hosts)), default=1))
            return
        if colon and not (rest.isdigit() and int(rest) > 0):
            raise InvalidArgument(f"'{address}' is neither a scheduler's address nor local:N")
        gpus = [gpu.number for gpu in gpu_devices() if gpu.usable] if uses_gpus else []
        count = int(rest) if rest else max(1, len(gpus))
        if gpus and count > len(gpus):
            raise InvalidArgument(f"{count} workers are asked for and there are {len(gpus)} GPUs: one process uses one "
                                  "(on CPUs, pass device='cpu')")
        cluster = stack.enter_context(_local_cluster(module, count, gpus))
        client = stack.enter_context(module.Client(cluster))
        yield client, count


def _cuda_visible_name(gpu: int) -> str:
    """Returns the name of a GPU for CUDA_VISIBLE_DEVICES. `gpu` is its number among those that this process sees."""
    seen = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return seen[gpu] if gpu < len(seen) and seen[gpu] else str(gpu)


def _local_cluster(module: Any, count: int, gpus: list[int]) -> Any:
    workers = {}
    for number in range(count):
        options: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "silence_logs": logging.ERROR}
        if gpus:
            options["env"] = {"CUDA_VISIBLE_DEVICES": _cuda_visible_name(gpus[number])}
            options["resources"] = {"GPU": 1}
        workers[number] = {"cls": module.Nanny, "options": options}
    config: Any = importlib.import_module("dask.config")
    config.set(_SHORT_LOGS)
    scheduler = {"dashboard": True, "dashboard_address": "127.0.0.1:0", "port": 0, "host": "127.0.0.1"}
    return module.SpecCluster(workers=workers, scheduler={"cls": module.Scheduler, "options": scheduler},
                              name="convolume", silence_logs=logging.ERROR)
