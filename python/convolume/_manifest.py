# SPDX-License-Identifier: Apache-2.0
"""The manifest of a run, and the records of its writers: JSON documents in the target.

A target has one manifest. A run that continues the target must have the same options. Several processes may work on a
target at once if each has a block range of its own.
"""

import hashlib
import json
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ._errors import BadData, Error, InvalidArgument, OutputExists
from ._zarr_nodes import MANIFEST
from ._zarr_store import Documents

WRITERS = ".convolume/writers"
EMPTY = ".convolume/empty"
COUNTS = ".convolume/counts"
_BEAT_SECONDS = 3.0
_LONGEST_VALUE = 60  # characters of a value that a sentence quotes
_LOST_SECONDS = 180.0
"""Age of its record after which a writer of another machine counts as gone."""

_LAST_BLOCK_SECONDS = 300.0
"""Time that a killed writer's helper process gets to store its last block."""


def hash_of_request(request: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:16]


def refuse_difference(before: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    """Raises an error that names the first option with another value than before, if there is one."""
    difference = _difference(before, now)
    if difference is None:
        return
    path, old, new = difference
    member = str(path[-1])
    name = _NAMES.get(member, member)
    channel = f" of channel {path[path.index('channels') + 1]}" if "channels" in path else ""
    cure = "give the same options, or another target"
    if member in _HASHES:
        raise InvalidArgument(f"{where} was begun with another {_HASHES[member]}{channel} than it is now asked for: "
                              f"{cure}")
    raise InvalidArgument(f"{where} was begun {_with(name, old)} and is now asked for {_with(name, new)}: {cure}")


_NAMES = {"name": "op", "type": "dtype", "path": "source"}
"""Names of arguments for members of a request with another name."""
_HASHES = {"psf": "PSF", "kernel": "kernel", "state": "content of the source", "source": "text of the function"}
"""Members of a request that are hashes, and what they are hashes of."""


def _difference(before: Any, now: Any, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, Any] | None:
    """Returns the path to the first member with another value, and both values. Members that are there only once are
    compared as if they were None."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys: Iterable[Any] = sorted(set(before) | set(now), key=lambda key: (key != "name", key))
        pairs = [(key, before.get(key), now.get(key)) for key in keys]
    elif _are_entries(before) and _are_entries(now) and len(before) == len(now):
        pairs = [(number, *pair) for number, pair in enumerate(zip(before, now))]
    else:
        return None if before == now else (path, before, now)
    return next((inner for key, old, new in pairs if (inner := _difference(old, new, (*path, key)))), None)


def _are_entries(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _with(name: str, value: Any) -> str:
    """Returns "with NAME VALUE", or "without NAME"."""
    if value is None:
        return f"without {name}"
    text = json.dumps(value)
    return f"with {name} {text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '…'}"


def read_manifest(documents: Documents) -> dict[str, Any] | None:
    found = documents.read_json(MANIFEST)
    if found is None:
        return None
    if found.get("format") != 1 or not isinstance(found.get("request"), dict):
        raise BadData(f"{documents.location}/{MANIFEST} is no manifest that this version reads")
    if found.get("hash") != hash_of_request(found["request"]):
        raise BadData(f"{documents.location}/{MANIFEST} was changed by hand: its hash does not fit")
    return found


def write_manifest(documents: Documents, request: dict[str, Any], found: dict[str, Any],
                   versions: dict[str, str]) -> dict[str, Any]:
    """Writes the manifest of a run and returns it, or the manifest that another process wrote first."""
    manifest = {"format": 1, "hash": hash_of_request(request), "request": request, "found": found,
                "versions": versions, "begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    documents.write_json(MANIFEST, manifest, only_new=True)
    there = read_manifest(documents)
    if there is None:
        raise BadData(f"{documents.location}/{MANIFEST} was removed while it was written")
    refuse_difference(there["request"], request, str(documents.location))
    return there


def _this_machine() -> str:
    """Returns a name of this machine and its namespace of processes, within which process ids are comparable."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()


def _start_of(pid: int) -> str | None:
    """Returns when a process of this machine started, in ticks since the system's start; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        return None


def _runs(process: Mapping[str, Any]) -> bool:
    return _start_of(int(process.get("pid", 0))) == process.get("process_start")


def is_storing_last_block(record: Mapping[str, Any]) -> bool:
    """Tells whether a writer was killed, and its helper process still stores the last block."""
    return (record.get("machine") == _this_machine() and not _runs(record)
            and any(_runs(helper) for helper in record.get("helpers", [])))


def is_alive(record: Mapping[str, Any], now: float) -> bool:
    if record.get("ended"):
        return False
    if record.get("machine") == _this_machine():
        return _runs(record) or is_storing_last_block(record)
    return now - float(record.get("updated", 0)) < _LOST_SECONDS


def _overlap(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return True
    (i, n), (j, m) = one.split("/"), other.split("/")
    return n != m or i == j


def writer_records(documents: Documents) -> dict[str, dict[str, Any]]:
    found = {}
    for name in documents.names(WRITERS):
        try:
            record = documents.read_json(f"{WRITERS}/{name}")
        except BadData:
            continue
        if record is not None:
            found[name] = record
    return found


class Writer:
    """This process as a writer of the target. Its record, renewed every few seconds, has its progress.

    It is a context. Entering it raises an error if another writer works on the same blocks.
    """

    def __init__(self, documents: Documents, share: str | None) -> None:
        self._documents = documents
        # Containers may have equal host names and process ids.
        self._name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.json"
        self.record: dict[str, Any] = {
            "host": socket.gethostname(), "pid": os.getpid(), "machine": _this_machine(),
            "process_start": _start_of(os.getpid()), "range": share, "began": time.time(), "updated": time.time(),
            "done": 0, "empty": 0, "failed": 0, "to_do": 0, "bytes_read": 0, "bytes_written": 0, "failures": [],
            "helpers": [], "ended": False}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._renew_record, daemon=True)

    def __enter__(self) -> "Writer":
        patience = time.monotonic() + _LAST_BLOCK_SECONDS
        other = self._claim()
        for _ in range(3):
            while other is not None and is_storing_last_block(other) and time.monotonic() < patience:
                time.sleep(0.02)
                other = self._claim()
            if other is None or time.time() - float(other["began"]) > 2:
                break
            time.sleep(random.uniform(0.05, 0.4))  # both started just now, so the first to try again wins
            other = self._claim()
        if other is None:
            self._thread.start()
            return self
        part = f"block range {other['range']}" if other["range"] else "all blocks"
        raise OutputExists(f"{self._documents.location} is being written by process {other['pid']} on {other['host']} "
                           f"({part}): wait for it, or give each process a block range of its own; if that process "
                           f"is gone, delete {WRITERS} in the target")

    def add_helper(self, pid: int) -> None:
        """Adds a process that writes for this one, and may live a little longer, to the record."""
        self.record["helpers"].append({"pid": pid, "process_start": _start_of(pid)})
        self._write()

    def _claim(self) -> dict[str, Any] | None:
        """Writes the record, then looks for another writer of the same blocks. If there is one, removes the record and
        returns the other's.

        Of two writers, the later one always sees the record of the other.
        """
        self._write()
        other = self._find_other_writer()
        if other is not None:
            self._documents.delete(f"{WRITERS}/{self._name}")
        return other

    def _find_other_writer(self) -> dict[str, Any] | None:
        now = time.time()
        for name, record in writer_records(self._documents).items():
            if name != self._name and is_alive(record, now) and _overlap(record.get("range"), self.record["range"]):
                return record
        return None

    def _write(self) -> None:
        with self._lock:
            self.record["updated"] = time.time()
            self._documents.write_json(f"{WRITERS}/{self._name}", self.record)

    def _renew_record(self) -> None:
        """Runs in a thread: writes the record every few seconds until the run ends."""
        while not self._stop.wait(_BEAT_SECONDS):
            try:
                self._write()
            except Error:  # blocks report it if the store fails for longer than a moment
                continue

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.record["ended"] = True
        try:
            self._write()
        except Error:
            return


@dataclass
class BlockCounts:
    """Numbers of clamped samples, and of NaN and infinities that were read as 0."""

    clamped_low: int = 0
    clamped_high: int = 0
    nonfinite: int = 0

    def __bool__(self) -> bool:
        return bool(self.clamped_low or self.clamped_high or self.nonfinite)

    def add(self, other: "BlockCounts") -> None:
        self.clamped_low += other.clamped_low
        self.clamped_high += other.clamped_high
        self.nonfinite += other.nonfinite


def record_counts(documents: Documents, block: int, counts: BlockCounts) -> None:
    """Writes the counts of a block to a document. Blocks whose counts are all 0 have none."""
    name = f"{COUNTS}/{block}"
    if counts:
        documents.write_json(name, asdict(counts))
    else:
        documents.delete(name)  # an earlier computation of the block may have had counts


def recorded_counts(documents: Documents, blocks: Iterable[int]) -> BlockCounts:
    """Returns the sums of the counts of these blocks."""
    wanted = set(blocks)
    total = BlockCounts()
    names = [name for name in documents.names(COUNTS) if name.isdigit() and int(name) in wanted]
    for found in documents.read_many_json([f"{COUNTS}/{name}" for name in names]):
        total.add(BlockCounts(*(int(found.get(one.name, 0)) for one in fields(BlockCounts))))
    return total
