# SPDX-License-Identifier: Apache-2.0
"""What this machine has."""

import os
from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class GpuDevice:
    """A GPU of this machine."""

    number: int
    """As `device=` takes it."""
    name: str
    usable: bool
    """Whether its compute capability is 7.5 at least."""
    memory_bytes: int
    free_bytes: int
    """When it was looked for."""


def gpu_devices() -> list[GpuDevice]:
    """GPUs of this machine; empty where there is none, or where the package was built without CUDA.

    Examples
    --------
    >>> import convolume
    >>> best = max(convolume.gpu_devices(), key=lambda gpu: gpu.memory_bytes, default=None)
    """
    return [GpuDevice(gpu.number, gpu.name, gpu.usable, gpu.memory_bytes, gpu.free_bytes)
            for gpu in _core.gpu_devices()]


def free_host_bytes() -> int:
    """Three quarters of what is free, also of a control group's limit."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    try:
        with open("/proc/meminfo") as file:
            free = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            most = limit.read().strip()
            if most.isdigit():
                free = min(free, int(most) - int(used.read()))
    except (OSError, StopIteration, ValueError):
        pass
    return max(1 << 28, free * 3 // 4)
