# SPDX-License-Identifier: Apache-2.0
"""How far the runs of a target are."""

import time
from typing import Any

import numpy as np

from ._block_counts import recorded_counts
from ._blocks import Blocks, triple
from ._errors import InvalidArgument
from ._files import Path
from ._manifest import EMPTY, is_alive, read_manifest, writer_records
from ._zarr_nodes import is_image, node_at
from ._zarr_store import Documents, Location, ZarrArray


def process_status(target: Path) -> dict[str, Any]:
    """How far the runs of a target are, from its files alone: also while they work, and from any machine.

    Returns
    -------
    dict
        blocks, done, empty, failed, blocks_per_second, seconds_left (None where nothing is at work), writers,
        failures, finished, dtype; clamped_low, clamped_high, nonfinite_inputs: of the blocks that are done, as in
        :class:`ProcessReport`
    """
    location = Location.of(target)
    documents = Documents(location)
    manifest = read_manifest(documents)
    if manifest is None:
        raise InvalidArgument(f"{location} has no manifest: no run of convolume process has begun it")
    request, facts = manifest["request"], manifest["request"]["source"]
    extents = dict(zip(facts["axes"], facts["shape"]))
    shape = triple([extents.get(axis, 1) for axis in "ZYX"], "an image")
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
