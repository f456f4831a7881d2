# SPDX-License-Identifier: Apache-2.0
"""A process that writes blocks while another process computes. If the computing process is killed, this one still
writes the block that it was handed, and ends."""

import json
import math
import mmap
import os
import pickle
import select
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ._block_worker import BlockReport, sentence
from ._blocks import Block
from ._errors import BadData
from ._zarr_store import Location
from ._zarr_target import Layout, TargetFacts, ZarrTarget

_MESSAGE_BYTES = 1 << 16
_START = "import sys; sys.path[:] = {path!r}; from convolume._write_process import main; main({channel})"


def can_start() -> bool:
    """Tells whether a writing process can be started. In a program that embeds Python it cannot, as the program would
    start itself."""
    return os.path.basename(sys.executable or "").startswith("python") and hasattr(os, "memfd_create")


class _ProcessEnded(Exception):
    """The writing process ended."""


class _SharedMemory:
    """Memory for one block after another, which the writing process reads."""

    def __init__(self, size: int) -> None:
        self.nbytes = size
        self.descriptor = os.memfd_create("convolume")
        try:
            os.posix_fallocate(self.descriptor, 0, size)  # fails here, not at the first write, if memory is short
            self._mapped = mmap.mmap(self.descriptor, size)
        except BaseException:
            os.close(self.descriptor)
            raise
        weakref.finalize(self, os.close, self.descriptor)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return np.frombuffer(self._mapped, dtype, math.prod(shape)).reshape(shape)


class WriteProcess:
    """The writing process, as the computing process sees it. It is handed one block at a time.

    It starts at once and is ready a second later, when its modules are imported.
    """

    def __init__(self, location: Location, facts: TargetFacts, layout: Layout) -> None:
        # The channel keeps messages whole. When this process dies, the other one reads the end of the channel.
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            start = _START.format(path=[os.path.abspath(one) for one in sys.path], channel=other.fileno())
            # In a session of its own the writing process gets no Ctrl-C, which is for the computing process.
            self._process = subprocess.Popen([sys.executable, "-c", start], pass_fds=[other.fileno()],
                                             stdin=subprocess.DEVNULL, start_new_session=True)
        self.pid = self._process.pid
        self._is_ready = False
        self.is_gone = False
        try:
            self._channel.send(pickle.dumps((location, facts, layout)))
        except OSError:
            self.is_gone = True
        self._block: tuple[Block, np.ndarray] | None = None
        self._memory: _SharedMemory | None = None

    @property
    def is_ready(self) -> bool:
        if not self._is_ready and select.select([self._channel], [], [], 0)[0]:
            try:
                self._is_ready = self._receive() == b"ready"
            except _ProcessEnded:
                self.is_gone = True
        return self._is_ready

    def hand_over(self, block: Block, result: np.ndarray) -> bool:
        """Hands a block over, which is then written even if this process is killed. Returns False if that fails."""
        try:
            if self._memory is None or self._memory.nbytes < result.nbytes:
                self._memory = None  # freed before more is taken
                self._memory = _SharedMemory(result.nbytes)
            values = self._memory.array(result.shape, result.dtype)
            values[...] = result
            text = json.dumps({"block": [block.number, block.t, block.c, block.begin, block.end],
                               "shape": result.shape, "dtype": result.dtype.str})
            socket.send_fds(self._channel, [text.encode()], [self._memory.descriptor])
        except OSError:
            return False
        self._block = block, values
        return True

    def wait(self, report: BlockReport, instead: Callable[[Block, np.ndarray, BlockReport], None]) -> BlockReport:
        """Waits until the block is written, and completes its report. If the writing process was killed, `instead`
        writes the block in this process."""
        assert self._block is not None
        block, values = self._block
        self._block = None
        try:
            answer = json.loads(self._receive())
        except _ProcessEnded:
            self._is_ready, self.is_gone = False, True
            instead(block, values, report)
            return report
        report.error, report.damaged = answer["error"], answer["damaged"]
        report.seconds["write"] = answer["seconds"]
        report.bytes_written = 0 if report.error else values.nbytes
        return report

    def _receive(self) -> bytes:
        try:
            message = self._channel.recv(_MESSAGE_BYTES)
        except OSError:
            raise _ProcessEnded from None
        if not message:
            raise _ProcessEnded
        return message

    def end(self) -> None:
        """Ends the writing process, after it has written its block."""
        if not self._is_ready:
            self._process.kill()
        self._channel.close()
        self._process.wait()


def main(channel_number: int) -> None:
    """Runs in the writing process: writes the blocks that arrive, until the computing process is gone."""
    channel = socket.socket(fileno=channel_number)
    location, facts, layout = pickle.loads(channel.recv(1 << 20))
    target = ZarrTarget(location, facts, layout)
    target.open_arrays()
    try:
        channel.send(b"ready")
        while True:
            message, memories, _, _ = socket.recv_fds(channel, _MESSAGE_BYTES, 1)
            if not message:
                return
            answer = _write_block(target, json.loads(message), memories[0])
            channel.send(json.dumps(answer).encode())
    except (BrokenPipeError, ConnectionResetError):
        return


def _write_block(target: ZarrTarget, message: dict[str, Any], memory: int) -> dict[str, Any]:
    """Writes the block that `message` describes, with samples in the shared memory of the descriptor `memory`. Returns
    the answer for the computing process."""
    begin = time.perf_counter()
    answer: dict[str, Any] = {"error": None, "damaged": False}
    try:
        number, t, c, first, last = message["block"]
        mapped = mmap.mmap(memory, 0, prot=mmap.PROT_READ)
        os.close(memory)
        shape = message["shape"]
        values = np.frombuffer(mapped, message["dtype"], math.prod(shape)).reshape(shape)
        target.write(0, Block(number, t, c, tuple(first), tuple(last)), values)
    except Exception as error:  # the computing process reports it
        answer = {"error": sentence(error), "damaged": isinstance(error, BadData)}
    return {**answer, "seconds": time.perf_counter() - begin}
