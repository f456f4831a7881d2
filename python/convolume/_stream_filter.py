# SPDX-License-Identifier: Apache-2.0
"""Filters for live signals, block by block."""

from collections.abc import Iterable, Iterator
from typing import Any, TypedDict, Unpack

import numpy as np

from . import _core
from ._argument_types import elements_of, given_flag, names_wrong_types
from ._arrays import readable, type_of
from ._errors import InvalidArgument
from ._options import with_keywords
from ._run import thread_count


class StreamKeywords(TypedDict, total=False):
    """Keywords of :class:`StreamFilter`."""

    channels: int | None
    dtype: Any
    max_taps: int | None
    workers: int | None


class StreamFilter:
    """Filters live signals block by block, with a latency of one block.

    Long filters are divided into partitions of growing size (Gardner 1995), whose sizes have the least predicted time
    (García 2002). The work for long partitions is spread over the blocks in equal portions, so that no block takes much
    longer than others. :class:`FilterBank` is faster for signals whose samples are all there.

    Parameters
    ----------
    filters : array of taps, of channels × taps, or of outputs × inputs × taps
        One filter for all channels; a filter for each channel; or a matrix, of which each output is the sum of all
        filtered inputs. Filters are real.
    block : int
        Number of samples of a block, 32 to 4096, without a prime factor above 13. It is the latency.
    channels : int, optional
        Number of channels that share a single filter.
    dtype : {numpy.float32, numpy.float64}
        Type of the computation and of the results.
    max_taps : int, optional
        Most taps of the filters that :meth:`StreamFilter.replace` will get, if they are more than now.
    workers : int or None
        Number of threads that share a block. More than one pay for many channels only. None: all processors.

    Raises
    ------
    InvalidArgument
        Options or shapes that do not fit (a ValueError).
    BadData
        A tap that is not finite (a ValueError).
    OutOfMemory
        The system refuses the memory (a MemoryError).

    Notes
    -----
    Result n of a channel is the sum of ``h[k] * x[n - k]`` over all taps k. A sample that is not finite makes those
    results NaN whose sums it enters, and no others.

    Sources: W. G. Gardner, "Efficient convolution without input-output delay", J. Audio Eng. Soc. 43:127, 1995;
    G. García, "Optimal filter partition for efficient convolution with short input/output delay", 113th AES Convention,
    2002.

    Examples
    --------
    A second of echo, for two channels that come in blocks of 64 samples:

    >>> import numpy as np, convolume
    >>> echo = np.zeros(48000)
    >>> echo[0], echo[-1] = 1, 0.5
    >>> filter = convolume.StreamFilter(echo, block=64, channels=2)
    >>> filter.push(np.ones((2, 64))).shape
    (2, 64)

    Arrays of other lengths, such as those of a file that is read piece by piece:

    >>> filter.reset()
    >>> pieces = (np.ones((2, n)) for n in (100, 7, 400))
    >>> sum(result.shape[1] for result in filter.filter_blocks(pieces))
    507
    """

    @with_keywords(StreamKeywords, {"channels": None, "dtype": np.float32, "max_taps": None, "workers": 1})
    def __init__(self, filters: Any, block: int = 256, **options: Unpack[StreamKeywords]) -> None:
        self._dtype = type_of(options.get("dtype", np.float32))
        if self._dtype.name not in ("float32", "float64"):
            raise InvalidArgument(f"streams are filtered in float32 or float64, not in {self._dtype}")
        taps = _taps(filters)
        self._dimensions = taps.ndim
        self._core = _core.StreamFilter(taps, block, taps.ndim == 3, options.get("channels") or 0,
                                        self._dtype == np.float64, options.get("max_taps") or 0,
                                        thread_count(options.get("workers", 1)))
        self._block = block

    @property
    def block(self) -> int:
        """Number of samples of a block."""
        return self._block

    @property
    def inputs(self) -> int:
        """Number of channels that go in."""
        return self._core.inputs

    @property
    def outputs(self) -> int:
        """Number of channels that come out."""
        return self._core.outputs

    @property
    def taps(self) -> int:
        """Most taps that filters may have."""
        return self._core.taps

    @property
    def dtype(self) -> np.dtype:
        """Type of the results."""
        return self._dtype

    @property
    def partitions(self) -> list[tuple[int, int]]:
        """Partitions of the filters: their number and their taps, for each size."""
        return self._core.partitions

    @property
    def nbytes(self) -> int:
        """Bytes of the spectra and samples in memory."""
        return self._core.nbytes

    @property
    def is_replacing(self) -> bool:
        """Whether filters of :meth:`StreamFilter.replace` are not yet in full use."""
        return self._core.is_replacing

    @property
    def max_replace_delay(self) -> int:
        """Most samples from :meth:`StreamFilter.replace` to the beginning of its fade."""
        return self._core.max_replace_delay

    @names_wrong_types
    def push(self, block: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Filters the next block.

        Parameters
        ----------
        block : array of inputs × block, or of block samples if there is one input
            Samples of any real type.
        out : array of outputs × block and :attr:`StreamFilter.dtype`, contiguous, optional
            Receives the results.

        Returns
        -------
        array of outputs × block, or of block samples for a 1D block and one output
        """
        samples, is_row = self._channels(block)
        if samples.shape[1] != self._block:
            raise InvalidArgument(f"a block of {samples.shape[1]} samples, and this filter takes {self._block}: "
                                  "use filter_blocks() for other lengths")
        if out is None:
            results = np.empty((self.outputs, self._block), self._dtype)
        else:
            shape = (self._block,) if out.ndim == 1 and self.outputs == 1 else (self.outputs, self._block)
            if out.shape != shape or out.dtype != self._dtype or not out.flags.c_contiguous:
                raise InvalidArgument(f"out is {out.shape} {out.dtype} where a contiguous array of {shape} "
                                      f"{self._dtype} is needed")
            results = out.reshape(self.outputs, self._block)
        self._core.push(np.ascontiguousarray(samples, self._dtype), results)
        if out is not None:
            return out
        return results[0] if is_row and self.outputs == 1 else results

    def filter_blocks(self, pieces: Iterable[Any], *, tail: bool = False) -> Iterator[np.ndarray]:
        """Filters arrays of any lengths, one after the other, and yields results as soon as blocks are complete.

        The results do not depend on how a signal is divided. The last block is filled with zeros.

        Parameters
        ----------
        pieces : iterable of arrays of inputs × samples, or of samples if there is one input
        tail : bool
            Also yield the :attr:`StreamFilter.taps` - 1 results behind the last sample.

        Yields
        ------
        array of outputs × samples, or of samples for 1D arrays and one output
        """
        rest = np.empty((self.inputs, 0), self._dtype)
        is_row = False
        for piece in elements_of(pieces, "pieces"):
            samples, is_row = self._channels(piece)
            rest = np.concatenate([rest, samples.astype(self._dtype, copy=False)], axis=1)
            whole = rest.shape[1] // self._block * self._block
            if whole:
                yield self._filtered(rest[:, :whole], is_row)
                rest = rest[:, whole:]
        left = rest.shape[1] + (self.taps - 1 if given_flag(tail, "tail") else 0)
        if left:
            padded = np.zeros((self.inputs, -(-left // self._block) * self._block), self._dtype)
            padded[:, :rest.shape[1]] = rest
            yield self._filtered(padded, is_row)[..., :left]

    def flush(self) -> np.ndarray:
        """Returns the :attr:`StreamFilter.taps` - 1 results behind the last block, outputs × samples. Then calls
        :meth:`StreamFilter.reset`."""
        silence = np.zeros((self.inputs, -(-(self.taps - 1) // self._block) * self._block), self._dtype)
        results = self._filtered(silence, False)[:, :self.taps - 1]
        self.reset()
        return results

    @names_wrong_types
    def replace(self, filters: Any, fade: int | None = None) -> None:
        """Replaces the filters by as many others, while blocks go on.

        The results fade from those of the old filters to those of the new ones, which are the results that each would
        give if it had always been there. Another thread may push meanwhile. The fade begins at most
        :attr:`StreamFilter.max_replace_delay` samples later. Until it ends, a block may take twice as long.

        Parameters
        ----------
        filters : array with the dimensions of the first filters, and up to :attr:`StreamFilter.taps` taps
        fade : int, optional
            Length of the fade in samples; None: a block.
        """
        taps = _taps(filters)
        if taps.ndim != self._dimensions:
            raise InvalidArgument(f"filters of {taps.ndim} dimensions in place of filters of {self._dimensions}")
        if fade is not None and fade < 1:
            raise InvalidArgument(f"a fade of {fade} samples: it has 1 at least")
        self._core.replace(taps, fade or 0)

    def reset(self) -> None:
        """Forgets all samples, so that the next block is the first one."""
        self._core.reset()

    def _channels(self, array: Any) -> tuple[np.ndarray, bool]:
        """Returns samples as inputs × samples, and whether they came as a single row."""
        samples = readable(array, "the block")
        if samples.dtype.kind == "c":
            raise InvalidArgument("streams are real, and this block is complex: filter real and imaginary parts as two "
                                  "channels")
        is_row = samples.ndim == 1
        if is_row and self.inputs == 1:
            samples = samples[np.newaxis]
        if samples.ndim != 2 or samples.shape[0] != self.inputs:
            raise InvalidArgument(f"a block of shape {samples.shape} where {self.inputs} × {self._block} is needed"
                                  + (": transpose it" if samples.ndim == 2 and samples.shape[1] == self.inputs else ""))
        return samples, is_row

    def _filtered(self, samples: np.ndarray, is_row: bool) -> np.ndarray:
        """Returns the results of whole blocks."""
        results = np.empty((self.outputs, samples.shape[1]), self._dtype)
        for begin in range(0, samples.shape[1], self._block):
            some = slice(begin, begin + self._block)
            results[:, some] = self.push(samples[:, some])
        return results[0] if is_row and self.outputs == 1 else results

    def __repr__(self) -> str:
        return f"<StreamFilter: {self._core.text}>"


def _taps(filters: Any) -> np.ndarray:
    taps = readable(filters, "the filters")
    if taps.ndim not in (1, 2, 3):
        raise InvalidArgument("filters are taps, channels × taps, or outputs × inputs × taps")
    return taps
