#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills runs of convolume.process at random moments, and checks that no block is lost or wrong.

    kill_workers.py process|workers N [SEED]

With "process", a run is started or resumed and killed (kill -9) N times. With "workers", worker processes of Dask are
killed N times while the run goes on. In the end, every voxel must equal that of a run without kills. Prints a JSON
object with the number of blocks that were begun, and then computed again.
"""

import functools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import convolume
from convolume import _local_engine
from convolume._manifest import writer_records
from convolume._zarr_store import Documents, Location

SHAPE, BLOCK, SHARDS, CHUNKS = (16, 256, 256), (16, 32, 32), (16, 32, 32), (8, 16, 32)
KERNEL = np.random.default_rng(1).random((5, 3, 7)).astype(np.float32)
WORK_SECONDS = 0.02  # seconds to compute a block, so that kills happen in all steps


def counted(values, ledger):
    """A convolution that records the beginning of each call."""
    file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, b"x")
    os.close(file)
    result = convolume.convolve(values, KERNEL, mode="same", device="cpu", workers=1)
    time.sleep(WORK_SECONDS)
    return result


def work(source, target, ledger, **run):
    return convolume.process(source, target, functools.partial(counted, ledger=ledger), halo=(2, 1, 3),
                             boundary="reflect", block=BLOCK, shards=SHARDS, chunks=CHUNKS, levels=2, resume=True,
                             device="cpu", **run)


def wait_for_a_writer(target, run):
    while run.poll() is None:
        records = writer_records(Documents(Location.of(target))).values()
        helpers = [helper for record in records if record["pid"] == run.pid for helper in record["helpers"]]
        if helpers:
            return helpers
        time.sleep(0.01)
    return []


def kill_processes(kills, source, target, ledger, chance, facts):
    done, lost = 0, 0
    while True:
        # Every other run has a writing process, as long runs do.
        with_writer = chance.random() < 0.5
        run = subprocess.Popen([sys.executable, __file__, "--work", source, target, ledger,
                                "0" if with_writer else "1e9"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # A run that is still starting can lose no block, so this waits for the first results, then a random time.
        before = os.path.getsize(ledger)
        while done < kills and run.poll() is None and os.path.getsize(ledger) == before:
            time.sleep(0.002)
        if done < kills:
            if with_writer:
                helpers = wait_for_a_writer(target, run)
                time.sleep(chance.uniform(0, 0.3))
                if helpers and chance.random() < 0.2:  # killing the writing process loses no block
                    os.kill(helpers[0]["pid"], signal.SIGKILL)
                    facts["writers_killed"] += 1
                    time.sleep(chance.uniform(0, 0.3))
            time.sleep(chance.uniform(0, 0.12))
            done += run.poll() is None
            run.kill()
            run.wait()
            facts["with_a_writer"] += with_writer
            while convolume.process_status(target)["writers"]:  # the writing process still stores its last block
                time.sleep(0.01)
            lost_now = os.path.getsize(ledger) - convolume.process_status(target)["done"] - lost
            lost += lost_now
            facts["again_of_a_kill_at_most"] = max(facts["again_of_a_kill_at_most"], lost_now)
        error = run.communicate()[1]
        if run.returncode == 0 and done >= kills:
            return done
        if run.returncode == 0:  # the target was complete before all kills
            return done
        if run.returncode != -signal.SIGKILL:
            raise SystemExit(f"a run ended with {run.returncode}: {error.decode()}")


def workers_of_this_process():
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                children = [int(pid) for pid in file.read().split()]
            for pid in children:
                with open(f"/proc/{pid}/cmdline") as file:
                    if "spawn_main" in file.read():
                        found.append(pid)
        except OSError:  # the process has just ended
            continue
    return found


def run_dask_soon(run_dask, job, numbers, client, run, patience):
    return run_dask(job, numbers, client, run, 4.0)


def kill_workers(kills, source, target, ledger, chance, facts):
    from convolume import _process
    from convolume._process_dask import cluster_of, run_dask

    _process.run_dask = functools.partial(run_dask_soon, run_dask)

    done, ended = 0, threading.Event()

    def killer():
        nonlocal done
        while done < kills and not ended.wait(chance.uniform(0.1, 0.6)):
            pids = workers_of_this_process()
            if pids and not ended.is_set():
                os.kill(chance.choice(pids), signal.SIGKILL)
                done += 1

    while True:
        with cluster_of("local:2") as (client, _):
            ended.clear()
            thread = threading.Thread(target=killer)
            thread.start()
            try:
                work(source, target, ledger, client=client)
                return done
            except (convolume.BlocksFailed, convolume.Unavailable):
                # The workers of a block were killed four times; or both nannies gave up, as they do if a worker is
                # killed while it starts.
                continue
            finally:
                ended.set()
                thread.join()


def main():
    if sys.argv[1] == "--work":
        _local_engine.ALONE_SECONDS = float(sys.argv[5])
        work(*sys.argv[2:5])
        return 0
    kind, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        source, expected = os.path.join(folder, "a.zarr"), os.path.join(folder, "b.zarr")
        convolume.save(source, np.random.default_rng(seed).integers(0, 999, SHAPE, np.uint16))
        ledger = os.path.join(folder, "ledger")
        open(ledger, "w").close()
        blocks = work(source, expected, ledger).done
        facts = {"kind": kind, "kills": 0, "blocks_computed_again": 0, "runs": 0, "blocks": blocks, "seed": seed}
        if kind == "process":
            facts |= {"again_of_a_kill_at_most": 0, "with_a_writer": 0, "writers_killed": 0}
        again_at_most = 0.0
        while facts["kills"] < kills:  # each target is killed some of the times
            target = os.path.join(folder, f"c{facts['runs']}.zarr")
            open(ledger, "w").close()
            kill = kill_processes if kind == "process" else kill_workers
            killed = kill(kills - facts["kills"], source, target, ledger, chance, facts)
            again = os.path.getsize(ledger) - blocks
            again_at_most = max(again_at_most, again / max(1, killed))
            facts["kills"] += killed
            facts["blocks_computed_again"] += again
            facts["runs"] += 1
            for level in (0, 1):
                got, want = (np.asarray(convolume.open(path, level=level)) for path in (target, expected))
                if not np.array_equal(got, want):
                    raise SystemExit(f"voxels of level {level} differ after {killed} kills, seed {seed}")
        facts["again_per_kill"] = facts["blocks_computed_again"] / max(1, facts["kills"])
        facts["again_per_kill_at_most_of_a_run"] = again_at_most
        print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
