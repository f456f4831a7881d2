# SPDX-License-Identifier: Apache-2.0
"""The engine of one process. It has a lane for each device, which reads, computes and writes blocks concurrently."""

import copy
import dataclasses
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from ._block_worker import BlockReport, Job, Worker
from ._blocks import Block
from ._errors import DeviceFailure
from ._write_process import WriteProcess, can_start

ALONE_SECONDS = 3.0
"""Seconds after which a run starts a process that writes."""
_MOST_WRITERS = 100
"""Number of writing processes that a lane starts at most, in case that each ends at once."""


def run_local(job: Job, numbers: Iterable[int], lanes: list[Mapping[str, Any]],
              started: Callable[[int], object] = lambda pid: None) -> Iterator[BlockReport]:
    """Computes blocks in this process.

    `lanes` has the options of each lane, which computes on one device or on all. A lane reads one block, computes one
    and writes one at a time. `started` is called with the id of each process that writes for this one.
    """
    if len(lanes) == 1:
        yield from _Lane(job, lanes[0], started).run(iter(numbers))
        return
    queue = _BlockQueue(iter(numbers))
    with ThreadPoolExecutor(len(lanes)) as pool:
        reports: list[BlockReport] = []
        lost: list[DeviceFailure] = []
        lock = threading.Lock()

        def work(lane: Mapping[str, Any]) -> None:
            unreported: set[int] = set()

            def begun() -> Iterator[int]:
                while (number := queue.next()) is not None:
                    unreported.add(number)
                    yield number

            try:
                for report in _Lane(job, lane, started).run(begun()):
                    with lock:
                        reports.append(report)
                        unreported.discard(report.number)
            except DeviceFailure as error:  # the other devices compute its blocks
                lost.append(error)
                queue.put_back(unreported)

        running: set[Future[None]] = {pool.submit(work, lane) for lane in lanes}
        try:
            while running or reports:
                ended, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                with lock:
                    ready, reports[:] = list(reports), []
                yield from ready
                for one in ended:
                    one.result()
            if lost and queue.has_more():
                raise lost[0]
        finally:
            queue.end()


class _BlockQueue:
    """Numbers of the blocks that no lane has begun, for several lanes."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._returned: list[int] = []
        self._lock = threading.Lock()
        self._ended = False

    def end(self) -> None:
        self._ended = True

    def put_back(self, numbers: Iterable[int]) -> None:
        with self._lock:
            self._returned += numbers

    def has_more(self) -> bool:
        with self._lock:
            if not self._returned:
                self._returned += itertools.islice(self._numbers, 1)
            return bool(self._returned)

    def next(self) -> int | None:
        with self._lock:
            if self._ended:
                return None
            return self._returned.pop() if self._returned else next(self._numbers, None)


class _Lane:
    """One engine with a thread that reads ahead and a process that writes.

    If this process is killed, only the block that it computes is lost: the other process still writes the previous
    block, then ends. That process takes a second to start, and short runs have none. Without it, a block is computed
    after the previous one is written.
    """

    def __init__(self, job: Job, run: Mapping[str, Any], started: Callable[[int], object]) -> None:
        if not job.dry:  # a lane needs a copy of the operation for plans on its own device
            job = dataclasses.replace(job, operation=copy.copy(job.operation))
            job.operation.run_on(run)
        self._worker = Worker(job)
        self._started = started
        self._began = time.monotonic()
        self._writer: WriteProcess | None = None
        self._writers_tried = 0

    def run(self, numbers: Iterator[int]) -> Iterator[BlockReport]:
        if self._worker.job.dry or self._worker.job.level:
            for number in numbers:
                yield self._worker.run(number)
            return
        try:
            with ThreadPoolExecutor(1) as reader:
                yield from self._run(numbers, reader)
        finally:
            if self._writer is not None:
                self._writer.end()

    def _run(self, numbers: Iterator[int], reader: ThreadPoolExecutor) -> Iterator[BlockReport]:
        ahead = self._start_reading(reader, numbers)
        writing: BlockReport | None = None
        while ahead is not None:
            block, report, reading = ahead
            samples = result = None
            with report.failing():
                samples = reading.result()
            ahead = self._start_reading(reader, numbers)
            del reading
            if samples is not None:
                with report.failing():
                    result = self._worker.compute(samples, block, report)
                del samples
            if writing is not None:
                yield self._written(writing)
                writing = None
            if result is not None and self._has_writer() and self._hand_over(block, result, report):
                writing = report
            else:
                self._write_in_this_process(block, result, report)
                yield report
            del result
        if writing is not None:
            yield self._written(writing)

    def _written(self, report: BlockReport) -> BlockReport:
        """Waits until the writing process has written its block."""
        assert self._writer is not None
        return self._writer.wait(report, self._write_in_this_process)

    def _has_writer(self) -> bool:
        if self._writer is not None and self._writer.is_gone:
            self._writer.end()
            self._writer = None
        lasts = time.monotonic() - self._began >= ALONE_SECONDS
        if self._writer is None and lasts and self._writers_tried < _MOST_WRITERS and can_start():
            self._writers_tried += 1
            self._writer = WriteProcess(self._worker.job.location, self._worker.job.facts, self._worker.job.layout)
            self._started(self._writer.pid)
        return self._writer is not None and self._writer.is_ready

    def _hand_over(self, block: Block, result: np.ndarray, report: BlockReport) -> bool:
        if self._writer is None:
            return False
        try:
            self._worker.record(block, report)
        except Exception:  # the same error occurs, and is reported, when this process stores the block
            return False
        return self._writer.hand_over(block, result)

    def _start_reading(self, reader: ThreadPoolExecutor,
                       numbers: Iterator[int]) -> tuple[Block, BlockReport, Future[Any]] | None:
        number = next(numbers, None)
        if number is None:
            return None
        block, report = self._worker.blocks[number], BlockReport(number)
        return block, report, reader.submit(self._worker.read, block, report)

    def _write_in_this_process(self, block: Block, result: np.ndarray | None, report: BlockReport) -> None:
        if report.error is None:
            try:
                self._worker.write(block, result, report)
            except Exception as error:
                report.fail(error)
