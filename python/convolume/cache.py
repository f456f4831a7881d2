# SPDX-License-Identifier: Apache-2.0
"""The cache of plans behind functions that plan and compute in one call.

:func:`convolume.convolve`, :func:`convolume.correlate`, :func:`convolume.richardson_lucy`, :func:`convolume.wiener` and
the drop-ins keep what they have planned: the plan, its workspaces, and the spectra of its kernel. A later call with the
same shapes, types, options and kernel computes at once. Results are the same bit by bit as without the cache.

The plans that were used least recently are dropped first. All threads share the cache, and a forked process starts with
an empty one. Objects such as :class:`convolume.Convolver` keep their plans themselves.
"""

from dataclasses import dataclass

from . import _core
from ._argument_types import names_wrong_types
from ._run import byte_size

__all__ = ["CacheInfo", "clear", "info", "limit"]


@dataclass(frozen=True)
class CacheInfo:
    """Content of the cache.

    Parameters
    ----------
    plans : int
        Number of plans.
    host_bytes, gpu_bytes : int
        Bytes that the plans take at most, in host memory and in the memory of GPUs.
    max_host_mem, max_gpu_mem : int
        The limits, in bytes.
    hits, misses : int
        Number of calls that found their plan, and of those that had to plan.
    """

    plans: int
    host_bytes: int
    gpu_bytes: int
    max_host_mem: int
    max_gpu_mem: int
    hits: int
    misses: int


def info() -> CacheInfo:
    """Returns the content of the cache.

    Examples
    --------
    >>> import convolume
    >>> convolume.cache.clear()
    >>> for _ in range(3):
    ...     sums = convolume.convolve([1., 2., 3.], [1., 1.], device="cpu")
    >>> convolume.cache.info().plans
    1
    """
    return CacheInfo(**_core.plan_cache_info())


@names_wrong_types
def limit(max_host_mem: int | str | None = None, max_gpu_mem: int | str | None = None) -> None:
    """Sets the bytes that the cache may take, and drops plans that exceed them.

    Parameters
    ----------
    max_host_mem : int or str, optional
        Bytes of host memory, or a text such as "64MiB". None leaves the limit as it is. By default an eighth of the
        memory that is available at the first use.
    max_gpu_mem : int or str, optional
        Bytes of the memory of all GPUs together, likewise. By default a quarter of the memory of one GPU.

    Examples
    --------
    >>> import convolume
    >>> convolume.cache.limit("256MiB")
    >>> convolume.cache.info().max_host_mem == 256 * 2**20
    True
    """
    _core.limit_plan_cache(byte_size(max_host_mem), byte_size(max_gpu_mem))


def clear() -> None:
    """Drops all plans, and frees the page-locked memory that is kept for transfers to GPUs.

    Examples
    --------
    >>> import convolume
    >>> convolume.cache.clear()
    >>> convolume.cache.info().host_bytes
    0
    """
    _core.clear_plan_cache()
