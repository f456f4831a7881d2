# SPDX-License-Identifier: Apache-2.0
"""The report of a run over blocks, and the progress of the runs of a target."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._argument_types import names_wrong_types
from ._blocks import Blocks, triple
from ._errors import Error, InvalidArgument
from ._files import Path
from ._manifest import EMPTY, is_alive, read_manifest, recorded_counts, writer_records
from ._zarr_nodes import is_image, node_at
from ._zarr_store import Documents, Location, ZarrArray


class BlocksFailed(Error, RuntimeError):
    """Some blocks of a run failed. All others are complete."""


@dataclass
class ProcessReport:
    """Numbers of blocks, samples and bytes of a run over blocks, and its seconds."""

    blocks: int
    """Number of blocks in this run: in its block range, or in the image."""
    done: int = 0
    """Number of blocks that this run computed."""
    complete_before: int = 0
    """Number of blocks that were complete before this run."""
    empty: int = 0
    """Number of blocks that this run skipped as empty."""
    failed: int = 0
    """Number of blocks that failed in this run."""
    seconds: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0
    finished: bool = False
    """Whether the whole image is complete, with its smaller levels."""
    failures: list[str] = field(default_factory=list)
    """Sentences on the first failed blocks."""
    dtype: str = ""
    """Type of the result's samples."""
    clamped_low: int = 0
    """Number of values below the range of an integer type, which were clamped. NaN, which becomes 0, counts here. All
    blocks of this run count, also those that were complete before it."""
    clamped_high: int = 0
    """Number of values above the range of an integer type, in the blocks that `clamped_low` counts."""
    nonfinite_inputs: int = 0
    """Number of NaN and infinities of the image that were read as 0 (``nan="zero"``), in the blocks that `clamped_low`
    counts. Blocks that a mask skips do not count."""

    def sentences(self, wider: str = "dtype") -> list[str]:
        """Returns sentences on clamped values, and on NaN and infinities that were read as 0. `wider` is the name of
        the option that chooses the type."""
        return _core.changed_samples_warnings(self.dtype, self.clamped_low, self.clamped_high, self.nonfinite_inputs,
                                              option=wider)


@names_wrong_types
def process_status(target: Path) -> dict[str, Any]:
    """Returns the progress of the runs of a target, from its files. This works on any machine, also during the runs.

    Returns
    -------
    dict
        blocks, done, empty and failed are numbers of blocks, and writers and failures lists. blocks_per_second and
        seconds_left (None if no process works) are predictions. finished, dtype, clamped_low, clamped_high and
        nonfinite_inputs are those of a :class:`ProcessReport` for the blocks that are done.

    Raises
    ------
    InvalidArgument
        The target has no manifest, as no run has begun it (a ValueError).

    Examples
    --------
    >>> import numpy as np, convolume, tempfile, os
    >>> name = os.path.join(tempfile.mkdtemp(), "blurred.zarr")
    >>> report = convolume.process(np.ones((8, 40, 50)), name, "convolve", kernel=np.ones((3, 3, 3)), device="cpu")
    >>> status = convolume.process_status(name)
    >>> status["done"], status["blocks"], status["finished"]
    (1, 1, True)
    """
    location = Location.of(target)
    documents = Documents(location)
    manifest = read_manifest(documents)
    if manifest is None:
        raise InvalidArgument(f"{location} has no manifest: no run of convolume process has begun it")
    request, facts = manifest["request"], manifest["request"]["source"]
    extents = dict(zip(facts["axes"], facts["shape"]))
    shape = triple(request["operation"].get("shape", [extents.get(axis, 1) for axis in "ZYX"]), "an image")
    blocks = Blocks(extents.get("T", 1), extents.get("C", 1), shape, triple(request["block"], "a block"))
    array = node_at(location.child("0"))
    empty = [int(name) for name in documents.names(EMPTY) if name.isdigit()]
    done = np.zeros(len(blocks), bool)
    if array is not None:
        stored = ZarrArray.open(array.location, array.zarr_format).stored_shards()
        done = blocks.complete(triple(request["target"]["shards"], "a shard"), stored)
    done[empty] = True
    counts = recorded_counts(documents, np.flatnonzero(done).tolist())
    now = time.time()
    records = list(writer_records(documents).values())
    alive = [record for record in records if is_alive(record, now)]
    rate = sum(record["done"] / max(1e-3, record["updated"] - record["began"]) for record in alive)
    left = len(blocks) - int(done.sum())
    return {"blocks": len(blocks), "done": int(done.sum()), "empty": len(empty),
            "failed": sum(record["failed"] for record in alive) if alive else
            max((record["failed"] for record in records), default=0),
            "blocks_per_second": rate, "seconds_left": left / rate if rate > 0 else None,
            "writers": [{name: record[name] for name in ("host", "pid", "range", "done", "to_do")}
                        for record in alive],
            "dtype": request["target"]["type"],
            "clamped_low": counts.clamped_low, "clamped_high": counts.clamped_high,
            "nonfinite_inputs": counts.nonfinite,
            "failures": [line for record in records for line in record["failures"]][-5:],
            "finished": is_image(location)}
