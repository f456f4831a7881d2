# SPDX-License-Identifier: Apache-2.0
"""Zarr stores, read and written by TensorStore: their locations, their JSON documents, and their arrays."""

import errno
import itertools
import json
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import (
                      BadData,
                      CannotCreate,
                      FileFailure,
                      InputNotFound,
                      InvalidArgument,
                      optional_module,
                      system_code,
)

SCHEMES = ("s3", "gs", "http", "https", "file")
_DAMAGE = ("DATA_LOSS", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE")
_ABSENT = b"\x02"  # TensorStore's generation of a key that does not exist
# A store that does not answer is an error after about 10 seconds.
_RETRIES = {"max_retries": 5, "initial_delay": "500ms", "max_delay": "4s"}
_SILENCE_SECONDS = "30"
_READS_AT_ONCE = 256


def tensorstore() -> Any:
    """Returns the module tensorstore, which is imported when the first Zarr store is used."""
    # With these variables a stalled transfer is an error; without them it would wait forever.
    os.environ.setdefault("TENSORSTORE_CURL_LOW_SPEED_TIME_SECONDS", _SILENCE_SECONDS)
    os.environ.setdefault("TENSORSTORE_CURL_LOW_SPEED_LIMIT_BYTES", "1")
    return optional_module("tensorstore", "OME-Zarr needs TensorStore: pip install tensorstore")


_context: Any = None


def _shared_context() -> Any:
    global _context
    if _context is None:
        _context = tensorstore().Context({"http_request_retries": _RETRIES, "s3_request_retries": _RETRIES})
    return _context


@contextmanager
def store_errors(where: str, creating: bool = False) -> Generator[None]:
    """Turns TensorStore's errors into errors of this package, with one sentence."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, IndexError, NotImplementedError) as error:
        if type(error).__module__.startswith("convolume"):
            raise
        text = str(error).replace("\n", " ")
        code, _, rest = text.partition(": ")
        sentence = f"{where}: {rest.split(' [')[0] if code.isupper() else text}"
        system = system_code(text)
        if code == "NOT_FOUND":
            raise InputNotFound(sentence, where, system) from None
        if code in _DAMAGE:
            raise BadData(sentence) from None
        raise (CannotCreate if creating else FileFailure)(sentence, where, system) from None


@dataclass(frozen=True)
class Location:
    """A folder of a store: a path, or a URL without a slash at its end."""

    url: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Location":
        name = os.fspath(path)
        scheme, separator, rest = name.partition("://")
        if separator:
            if scheme not in SCHEMES:
                raise InvalidArgument(f"{name}: images are read from paths, http(s)://, s3:// and gs://")
            if scheme != "file":
                return cls(name.rstrip("/"))
            name = rest
        return cls(os.path.abspath(name))

    @property
    def local_path(self) -> str | None:
        return None if "://" in self.url else self.url

    @property
    def read_only(self) -> bool:
        return self.url.startswith("http")

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def title(self) -> str:
        """Name of the image: that of its folder without extensions."""
        return self.name.removesuffix(".zarr").removesuffix(".ome")

    @property
    def parent(self) -> "Location | None":
        above = self.url.rpartition("/")[0]
        return Location(above) if above and not above.endswith(":/") else None

    def child(self, name: str) -> "Location":
        return Location(f"{self.url}/{name}") if name else self

    def spec(self) -> dict[str, Any]:
        """Returns the location as TensorStore's JSON specification."""
        if self.local_path is not None:
            return {"driver": "file", "path": self.url + "/"}
        scheme, _, rest = self.url.partition("://")
        host, _, path = rest.partition("/")
        if scheme in ("http", "https"):
            return {"driver": "http", "base_url": f"{scheme}://{host}", "path": f"/{path}/"}
        spec = {"driver": {"s3": "s3", "gs": "gcs"}[scheme], "bucket": host, "path": f"{path}/" if path else ""}
        if scheme == "s3":
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            if endpoint:
                spec["endpoint"] = endpoint
            if region or endpoint:
                spec["aws_region"] = region or "us-east-1"
        return spec

    def __str__(self) -> str:
        return self.url


class Documents:
    """Access to the small files of a store: JSON documents and records."""

    def __init__(self, location: Location) -> None:
        self.location = location
        with store_errors(str(location)):
            self._store = tensorstore().KvStore.open(location.spec(), context=_shared_context()).result()

    def read(self, name: str) -> bytes | None:
        with store_errors(str(self.location.child(name))):
            answer = self._store.read(name).result()
        return bytes(answer.value) if answer.state == "value" else None

    def read_json(self, name: str) -> dict[str, Any] | None:
        text = self.read(name)
        return None if text is None else self._parsed(name, text)

    def read_many_json(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Reads documents concurrently. Documents that do not exist are left out."""
        for first in range(0, len(names), _READS_AT_ONCE):
            some = names[first:first + _READS_AT_ONCE]
            reads = [self._store.read(name) for name in some]
            for name, read in zip(some, reads):
                with store_errors(str(self.location.child(name))):
                    answer = read.result()
                if answer.state == "value":
                    yield self._parsed(name, bytes(answer.value))

    def _parsed(self, name: str, text: bytes) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except ValueError as error:
            raise BadData(f"{self.location.child(name)} is no JSON document: {error}") from None
        if not isinstance(found, dict):
            raise BadData(f"{self.location.child(name)} holds no JSON object")
        return found

    def write(self, name: str, text: bytes, only_new: bool = False) -> bool:
        """Replaces a document as a whole. With `only_new`, an existing one stays. Tells whether it was written."""
        with store_errors(str(self.location.child(name)), creating=True):
            stamp = self._store.write(name, text, if_equal=_ABSENT if only_new else None).result()
        return bool(stamp.generation)

    def write_json(self, name: str, document: dict[str, Any], only_new: bool = False) -> bool:
        return self.write(name, json.dumps(document, indent=1).encode(), only_new)

    def delete(self, name: str) -> None:
        with store_errors(str(self.location.child(name))):
            self._store.write(name, None).result()

    def delete_all(self, folder: str) -> None:
        with store_errors(str(self.location.child(folder))):
            ts = tensorstore()
            self._store.delete_range(ts.KvStore.KeyRange(f"{folder}/", f"{folder}0")).result()

    def names(self, folder: str) -> list[str]:
        """Returns the names of the documents in a folder, without the folder's name."""
        with store_errors(str(self.location.child(folder))):
            ts = tensorstore()
            keys = self._store.list(ts.KvStore.KeyRange(f"{folder}/", f"{folder}0")).result()
        return [key.decode().removeprefix(f"{folder}/") for key in keys]


Box = Sequence[slice]


class ZarrArray:
    """One array of a store. Boxes are one slice for each dimension."""

    def __init__(self, location: Location, store: Any, zarr_format: int) -> None:
        self.location = location
        self.zarr_format = zarr_format
        self._store = store
        self.shape: tuple[int, ...] = tuple(store.shape)
        self.dtype_name: str = store.dtype.name
        self.chunks: tuple[int, ...] = tuple(n or 1 for n in store.chunk_layout.read_chunk.shape)
        self.shards: tuple[int, ...] = tuple(n or 1 for n in store.chunk_layout.write_chunk.shape)

    @classmethod
    def open(cls, location: Location, zarr_format: int, missing: str = "fill", writable: bool = False) -> "ZarrArray":
        """Opens an array. `missing` is "fill" to read missing chunks as the fill value, or "error"."""
        spec: dict[str, Any] = {"driver": "zarr3" if zarr_format == 3 else "zarr", "kvstore": location.spec()}
        if writable:
            spec["store_data_equal_to_fill_value"] = True  # so that shards that exist are complete
        if missing == "error":
            spec["fill_missing_data_reads"] = False
        with store_errors(str(location)):
            store = tensorstore().open(spec, open=True, read=True, write=writable,
                                       context=_shared_context()).result()
        return cls(location, store, zarr_format)

    @classmethod
    def create(cls, location: Location, zarr_format: int, facts: "ArrayFacts") -> "ZarrArray":
        """Creates an array, or opens an existing one with equal metadata."""
        metadata = _metadata3(facts) if zarr_format == 3 else _metadata2(facts)
        spec = {"driver": "zarr3" if zarr_format == 3 else "zarr", "kvstore": location.spec(), "metadata": metadata,
                "store_data_equal_to_fill_value": True}
        with store_errors(str(location), creating=True):
            store = tensorstore().open(spec, create=True, open=True, context=_shared_context()).result()
        return cls(location, store, zarr_format)

    def read(self, box: Box) -> np.ndarray:
        with store_errors(str(self.location)):
            return np.asarray(self._store[tuple(box)].read().result())

    def read_reduced(self, box: Box, factors: Sequence[int]) -> np.ndarray:
        """Reads a box of the array reduced by means of `factors` samples along each axis."""
        with store_errors(str(self.location)):
            return np.asarray(tensorstore().downsample(self._store, list(factors), "mean")[tuple(box)].read().result())

    def write(self, box: Box, values: np.ndarray) -> None:
        """Writes a box of whole shards. Each shard is stored once, complete."""
        with store_errors(str(self.location)):
            ts = tensorstore()
            transaction = ts.Transaction()
            self._store.with_transaction(transaction)[tuple(box)].write(values).result()
            transaction.commit_async().result()

    def check_there(self) -> None:
        """Raises an error if the array's metadata are gone, as a store that is gone would read as fill values."""
        with store_errors(str(self.location)):
            found = self._store.kvstore.read("zarr.json" if self.zarr_format == 3 else ".zarray").result()
        if found.state != "value":
            raise FileFailure(f"{self.location} is gone: its metadata cannot be read any more", str(self.location),
                              errno.ENOENT)

    def has_all_shards(self, box: Box) -> bool:
        """Tells whether all shards of a box exist. Returns False for remote stores, where asking takes long."""
        path = self.location.local_path
        if path is None:
            return False
        grid = [range(one.start // s, -(-one.stop // s)) for one, s in zip(box, self.shards)]
        folder = os.path.join(path, "c") if self.zarr_format == 3 else path
        return all(os.path.exists(os.path.join(folder, *map(str, place))) for place in itertools.product(*grid))

    def stored_shards(self) -> np.ndarray:
        """Returns the linear numbers of the shards that exist, by one listing."""
        grid = [-(-n // s) for n, s in zip(self.shape, self.shards)]
        with store_errors(str(self.location)):
            keys = self._store.kvstore.list().result()
        return np.unique(np.fromiter(_numbers(keys, grid, 1 if self.zarr_format == 3 else 0), np.int64))


def _numbers(keys: Iterable[bytes], grid: Sequence[int], skip: int) -> Iterator[int]:
    for key in keys:
        parts = key.split(b"/")[skip:]
        if len(parts) != len(grid) or not all(part.isdigit() for part in parts):
            continue
        number = 0
        for part, extent in zip(parts, grid):
            number = number * extent + int(part)
        yield number


@dataclass
class ArrayFacts:
    """Shape, type, chunks, shards and compression of an array, for its metadata."""

    shape: Sequence[int]
    dtype: np.dtype[Any]
    chunks: Sequence[int]
    shards: Sequence[int]
    compression: str
    dimension_names: Sequence[str]


def _metadata3(facts: ArrayFacts) -> dict[str, Any]:
    dtype, compression = facts.dtype, facts.compression
    levels: dict[str, dict[str, Any]] = {"zstd": {"level": 1, "checksum": False}, "gzip": {"level": 4}}
    inner: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    if compression == "blosc":
        inner.append({"name": "blosc", "configuration": {"cname": "zstd", "clevel": 3, "shuffle": "shuffle",
                                                         "typesize": dtype.itemsize, "blocksize": 0}})
    elif compression != "none":
        inner.append({"name": compression, "configuration": levels[compression]})
    codecs = inner
    if list(facts.shards) != list(facts.chunks):
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": list(facts.chunks), "codecs": inner, "index_codecs": index, "index_location": "end"}}]
    return {"shape": list(facts.shape), "data_type": dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(facts.shards)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0 if dtype.kind in "iu" else 0.0 if dtype.kind == "f" else [0.0, 0.0],
            "codecs": codecs, "dimension_names": list(facts.dimension_names)}


def _metadata2(facts: ArrayFacts) -> dict[str, Any]:
    if list(facts.shards) != list(facts.chunks):
        raise InvalidArgument("Zarr version 2 has no shards: leave them out, or write version 3")
    compressors: dict[str, dict[str, Any] | None] = {
        "none": None, "zstd": {"id": "zstd", "level": 1}, "gzip": {"id": "gzip", "level": 4},
        "blosc": {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 1}}
    return {"shape": list(facts.shape), "chunks": list(facts.chunks), "order": "C",
            "dtype": facts.dtype.newbyteorder("<").str,
            "compressor": compressors[facts.compression], "fill_value": 0, "filters": None, "dimension_separator": "/"}
