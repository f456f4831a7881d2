# SPDX-License-Identifier: Apache-2.0
"""The engine of one process: lanes of a device each, which read, compute and write blocks side by side."""

import copy
import dataclasses
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from ._block_worker import FATAL, BlockReport, Job, Worker
from ._blocks import Block
from ._errors import DeviceFailure
from ._write_process import WriteProcess, can_start

ALONE_SECONDS = 3.0
"""A run that lasts longer gets a process that writes."""
_MOST_WRITERS = 100
"""Those that end at once are not started for ever."""


def run_local(job: Job, numbers: Iterable[int], lanes: list[Mapping[str, Any]],
              started: Callable[[int], object] = lambda pid: None) -> Iterator[BlockReport]:
    """Computes blocks in this process: for each lane, a device or all of them, one block is read, one computed and one
    written at a time. `started` is told the number of each process that writes for it."""
    if len(lanes) == 1:
        yield from _Lane(job, lanes[0], started).run(iter(numbers))
        return
    source = _BlockQueue(iter(numbers))
    with ThreadPoolExecutor(len(lanes)) as pool:
        reports: list[BlockReport] = []
        lost: list[DeviceFailure] = []
        lock = threading.Lock()

        def work(lane: Mapping[str, Any]) -> None:
            mine = source.taker()
            try:
                for report in _Lane(job, lane, started).run(mine):
                    with lock:
                        reports.append(report)
                        mine.taken.discard(report.number)
            except DeviceFailure as error:  # the other devices take its blocks
                lost.append(error)
                source.put_back(mine.taken)

        running: set[Future[None]] = {pool.submit(work, lane) for lane in lanes}
        try:
            while running or reports:
                ended, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                with lock:
                    ready, reports[:] = list(reports), []
                yield from ready
                for one in ended:
                    one.result()
            if lost and source.has_more():
                raise lost[0]
        finally:
            source.end()


class _BlockQueue:
    """Numbers of blocks that several lanes take."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._back: list[int] = []
        self._lock = threading.Lock()
        self._ended = False

    def end(self) -> None:
        self._ended = True

    def put_back(self, numbers: Iterable[int]) -> None:
        with self._lock:
            self._back += numbers

    def has_more(self) -> bool:
        with self._lock:
            if not self._back:
                self._back += itertools.islice(self._numbers, 1)
            return bool(self._back)

    def next(self) -> int | None:
        with self._lock:
            if self._ended:
                return None
            return self._back.pop() if self._back else next(self._numbers, None)

    def taker(self) -> "_LaneNumbers":
        return _LaneNumbers(self)


class _LaneNumbers:
    """The numbers of one lane, which remembers those that it has not reported."""

    def __init__(self, shared: _BlockQueue) -> None:
        self._shared = shared
        self.taken: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        number = self._shared.next()
        if number is None:
            raise StopIteration
        self.taken.add(number)
        return number


class _Lane:
    """One engine, with a thread that reads ahead, and a process that writes.

    A kill loses the block that is computed, and no other: the block before is written by another process, which ends
    when it has done so. Until there is that process (it takes a second to start, and runs of a few seconds have none),
    a block is computed when the one before is written.
    """

    def __init__(self, job: Job, run: Mapping[str, Any], started: Callable[[int], object]) -> None:
        if not job.dry:  # each lane has its own device and plans
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
        ahead = self._ask(reader, numbers)
        writing: BlockReport | None = None
        while ahead is not None:
            block, report, reading = ahead
            samples = result = None
            try:
                samples = reading.result()
            except FATAL:
                raise
            except Exception as error:
                report.fail(error)
            ahead = self._ask(reader, numbers)
            del reading
            if samples is not None:
                try:
                    result = self._worker.compute(samples, block, report)
                except FATAL:
                    raise
                except Exception as error:
                    report.fail(error)
                del samples
            if writing is not None:
                assert self._writer is not None
                yield self._writer.wait(writing, self._store)
                writing = None
            if result is not None and self._has_writer() and self._handed_over(block, result, report):
                writing = report
            else:
                self._store(block, result, report)
                yield report
            del result
        if writing is not None:
            assert self._writer is not None
            yield self._writer.wait(writing, self._store)

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

    def _handed_over(self, block: Block, result: np.ndarray, report: BlockReport) -> bool:
        if self._writer is None:
            return False
        try:
            self._worker.record(block, report)
        except Exception:  # this process meets it again when it stores the block, and reports it
            return False
        return self._writer.hand_over(block, result)

    def _ask(self, reader: ThreadPoolExecutor, numbers: Iterator[int]) -> tuple[Block, BlockReport, Future[Any]] | None:
        number = next(numbers, None)
        if number is None:
            return None
        block, report = self._worker.blocks[number], BlockReport(number)
        return block, report, reader.submit(self._worker.read, block, report)

    def _store(self, block: Block, result: np.ndarray | None, report: BlockReport) -> None:
        if report.error is None:
            try:
                self._worker.write(block, result, report)
            except Exception as error:
                report.fail(error)
