#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills runs of convolume.process at random moments and checks that nothing is lost or wrong.

    kill_workers.py process|workers N [SEED]

process: N times a run is started, or goes on, and is killed (kill -9). workers: the same, but worker processes of Dask
are killed while the run goes on. In the end every voxel must be what a run without kills writes. Prints a JSON object:
how many blocks were computed again, as their result was not stored when the process was killed.
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

SHAPE, BLOCK, SHARDS, CHUNKS = (32, 256, 256), (16, 32, 32), (16, 32, 32), (8, 16, 32)
KERNEL = np.random.default_rng(1).random((5, 3, 7)).astype(np.float32)
WORK_SECONDS = 0.02  # of a block, so that kills meet all steps


def counted(values, ledger):
    """A convolution that notes each call."""
    result = convolume.convolve(values, KERNEL, mode="same", device="cpu", workers=1)
    time.sleep(WORK_SECONDS)
    file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, b"x")
    os.close(file)
    return result


def work(source, target, ledger, **run):
    return convolume.process(source, target, functools.partial(counted, ledger=ledger), halo=(2, 1, 3),
                             boundary="reflect", block=BLOCK, shards=SHARDS, chunks=CHUNKS, levels=2, resume=True,
                             device="cpu", **run)


def kill_processes(kills, source, target, ledger, chance):
    done = 0
    while True:
        run = subprocess.Popen([sys.executable, __file__, "--work", source, target, ledger],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # Those that are still starting lose nothing: wait for the first results, then a random time.
        before = os.path.getsize(ledger)
        while done < kills and run.poll() is None and os.path.getsize(ledger) == before:
            time.sleep(0.002)
        if done < kills:
            time.sleep(chance.uniform(0, 0.12))
            done += run.poll() is None
            run.kill()
        error = run.communicate()[1]
        if run.returncode == 0 and done >= kills:
            return done
        if run.returncode == 0:  # complete before it was killed often enough
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
        except OSError:  # it has just ended
            continue
    return found


def run_dask_soon(run_dask, job, numbers, client, run, patience):
    return run_dask(job, numbers, client, run, 4.0)


def kill_workers(kills, source, target, ledger, chance):
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
                # A block whose workers were killed four times; or both nannies gave up, as they do where a worker is
                # killed while it starts.
                continue
            finally:
                ended.set()
                thread.join()


def main():
    if sys.argv[1] == "--work":
        work(*sys.argv[2:])
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
        again_at_most = 0.0
        while facts["kills"] < kills:  # each target takes some of the kills
            target = os.path.join(folder, f"c{facts['runs']}.zarr")
            open(ledger, "w").close()
            kill = kill_processes if kind == "process" else kill_workers
            killed = kill(kills - facts["kills"], source, target, ledger, chance)
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
