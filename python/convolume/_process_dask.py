# SPDX-License-Identifier: Apache-2.0
"""The engine of Dask: blocks as tasks of a cluster, a bounded number of them at a time."""

import asyncio
import concurrent.futures
import importlib
import itertools
import logging
import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ._block_worker import BlockReport, Job, Worker, exit_after_device_failure, sentence
from ._errors import InvalidArgument, Unavailable
from ._run import gpu_devices

_WINDOW = 4
"""Tasks that the scheduler holds for each thread of the workers: enough to keep them busy."""
_SHORT_LOGS = {"distributed.admin.low-level-log-length": 2000,
               "distributed.scheduler.dashboard.tasks.task-stream-length": 2000}
"""Of what a scheduler remembers of tasks that are done: by default up to 100,000 of each kind."""
_LEAST_WINDOW = 64
_MOST_TASKS = 100_000
"""Of a run: more blocks share tasks, as schedulers keep a little of every task."""
_RETRIES = 2
_GO_ON = "blocks that are done are complete, go on with resume=True (--resume)"
_NO_WORKERS = f"all workers of Dask are gone: {_GO_ON} when there are some"
_NO_SCHEDULER = f"the connection to Dask's scheduler is lost: {_GO_ON}"
_workers: dict[str, Worker] = {}
_jobs: dict[str, tuple[Job, dict[str, Any]]] = {}


def distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise Unavailable("Dask's clusters need its package distributed: pip install 'convolume[dask]'") from None


class JobPlugin:
    """Gives the job to every worker once, also to those that start later. With Dask's class for plugins as another
    base: `job_plugin`."""

    idempotent = False

    def __init__(self, job: Job, run: Mapping[str, Any]) -> None:
        self.name = f"convolume-{job.hash}"
        self.job, self.run = job, dict(run)

    def __reduce__(self) -> tuple[Any, ...]:
        return job_plugin, (self.job, self.run)

    def setup(self, worker: Any) -> None:
        del worker
        _jobs[self.job.hash] = self.job, self.run
        _workers.pop(self.job.hash, None)

    def teardown(self, worker: Any) -> None:
        del worker
        _jobs.pop(self.job.hash, None)
        _workers.pop(self.job.hash, None)


def job_plugin(job: Job, run: Mapping[str, Any]) -> Any:
    base = importlib.import_module("distributed.diagnostics.plugin").WorkerPlugin
    return type("JobPlugin", (JobPlugin, base), {})(job, run)


def run_task(job_hash: str, numbers: list[int]) -> list[BlockReport]:
    """On a worker: some blocks, one after the other."""
    worker = _workers.get(job_hash)
    if worker is None:
        job, run = _jobs[job_hash]
        worker = Worker(job)
        job.operation.run_on(run)
        _workers[job_hash] = worker
    try:
        return [worker.run(number) for number in numbers]
    except Exception as error:
        exit_after_device_failure(error)
        raise


def run_dask(job: Job, numbers: Sequence[int], client: Any, run: Mapping[str, Any],
             patience: float = 600.0) -> Iterator[BlockReport]:
    """Computes blocks on a cluster; without any worker for `patience` seconds it ends."""
    size = -(-len(numbers) // _MOST_TASKS)
    module = distributed()
    closed = importlib.import_module("distributed.comm").CommClosedError
    plugin = job_plugin(job, run)
    threads = _threads(client)
    on_gpus = any("GPU" in resources for resources in _resources(client))
    options: dict[str, Any] = {"resources": {"GPU": 1}} if on_gpus else {}
    rest = (list(map(int, numbers[first:first + size])) for first in range(0, len(numbers), max(1, size)))
    flight: dict[str, Any] = {}
    of: dict[str, list[int]] = {}
    watch = _AbsenceWatch(client, flight, patience)
    try:
        client.register_plugin(plugin, name=plugin.name)
        pending = module.as_completed()

        def submit(count: int) -> None:
            taken = list(itertools.islice(rest, count))
            if taken:
                keys = [f"convolume-{job.hash}-{group[0]}" for group in taken]
                futures = client.map(run_task, [job.hash] * len(taken), taken, key=keys, pure=False, retries=_RETRIES,
                                     **options)
                flight.update(zip(keys, futures))
                of.update(zip(keys, taken))
                pending.update(futures)

        watch.start()
        submit(max(_LEAST_WINDOW, _WINDOW * threads))
        while of:
            batch = pending.next_batch()
            keys = [str(future.key) for future in batch]
            reports = _reports_of(client, batch, [of[key] for key in keys])
            del batch
            for key in keys:
                del of[key], flight[key]
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
    """Gives up where all workers have been gone for a while: waiting for their results would have no end."""

    def __init__(self, client: Any, flight: dict[str, Any], patience: float) -> None:
        super().__init__(daemon=True)
        self.lost = False
        self._client, self._flight, self._patience = client, flight, patience
        self._stopped = threading.Event()

    def run(self) -> None:
        absent_since = None
        while not self._stopped.wait(min(5.0, self._patience / 4)):
            try:
                count = len(self._client.scheduler_info(n_workers=-1)["workers"])
            except Exception:  # no scheduler: the futures say so
                continue
            now = time.monotonic()
            absent_since = None if count else absent_since or now
            if absent_since is not None and now - absent_since >= self._patience:
                self.lost = True
                self._client.cancel(list(self._flight.values()))
                return

    def stop(self) -> None:
        self._stopped.set()


def _reports_of(client: Any, futures: list[Any], groups: list[list[int]]) -> list[BlockReport]:
    """Of tasks that have ended; fetched together."""
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


def _threads(client: Any) -> int:
    found = client.scheduler_info(n_workers=-1)["workers"].values()
    return max(1, sum(int(worker["nthreads"]) for worker in found))


def _resources(client: Any) -> list[dict[str, Any]]:
    return [dict(worker.get("resources") or {}) for worker in client.scheduler_info(n_workers=-1)["workers"].values()]


@contextmanager
def cluster_of(address: str, uses_gpus: bool = True) -> Generator[tuple[Any, int]]:
    """A client of the scheduler at an address, or of workers on this machine ("local:4"), each with a GPU of its own
    if they use them, and how many workers share a machine."""
    module = distributed()
    kind, colon, rest = address.partition(":")
    with ExitStack() as stack:
        if kind != "local":
            try:
                client = stack.enter_context(module.Client(address, timeout="20s"))
            except (OSError, ValueError) as error:
                raise Unavailable(f"no scheduler of Dask answers at {address}: {sentence(error)}") from None
            client.wait_for_workers(1, timeout=120)
            hosts = [str(worker["host"]) for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
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


def _visible(gpu: int) -> str:
    """A GPU as CUDA_VISIBLE_DEVICES names it: numbers count those that this process sees itself."""
    seen = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return seen[gpu] if gpu < len(seen) and seen[gpu] else str(gpu)


def _local_cluster(module: Any, count: int, gpus: list[int]) -> Any:
    workers = {}
    for number in range(count):
        options: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "silence_logs": logging.ERROR}
        if gpus:
            options["env"] = {"CUDA_VISIBLE_DEVICES": _visible(gpus[number])}
            options["resources"] = {"GPU": 1}
        workers[number] = {"cls": module.Nanny, "options": options}
    config: Any = importlib.import_module("dask.config")
    config.set(_SHORT_LOGS)
    scheduler = {"dashboard": True, "dashboard_address": "127.0.0.1:0", "port": 0, "host": "127.0.0.1"}
    return module.SpecCluster(workers=workers, scheduler={"cls": module.Scheduler, "options": scheduler},
                              name="convolume", silence_logs=logging.ERROR)
