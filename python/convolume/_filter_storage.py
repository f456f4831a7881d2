# SPDX-License-Identifier: Apache-2.0
"""Signals and results of filters that have 16 bits in memory."""

from typing import Any

import numpy as np

from ._arrays import readable, type_of
from ._errors import InvalidArgument


def is_short_float(dtype: np.dtype[Any]) -> bool:
    return dtype.isnative and dtype.name in ("float16", "bfloat16")


def signals_of(array: Any) -> np.ndarray:
    """Returns signals as a NumPy array: floats of 16 bits as they are, others of a type that is computed with."""
    if type(array) is np.ndarray and is_short_float(array.dtype):
        return array
    return readable(array, "the signals")


def words_of(array: np.ndarray) -> np.ndarray:
    """Returns floats of 16 bits as the integers that hold their bits, and other arrays themselves."""
    return array.view(np.uint16) if is_short_float(array.dtype) else array


class SampleStorage:
    """Types of signals and results in memory, if they have 16 bits; else None."""

    def __init__(self, dtype: np.dtype[Any], complex_data: bool, arguments: dict[str, Any]) -> None:
        self.options: dict[str, Any] = {}
        output, scale = arguments.pop("output_dtype", None), arguments.pop("scale", None)
        output_scale = arguments.pop("output_scale", 1.0)
        self.wanted = None if output is None else type_of(output)
        is_single = not complex_data and arguments.get("precision") != "float64"
        is_short = is_short_float(dtype) or (dtype == np.int16 and scale is not None)
        self.signals = dtype if is_short and is_single else None
        if scale is not None and (self.signals is None or dtype != np.int16):
            raise InvalidArgument("scale is the value of one step of real int16 signals, which are filtered in float32")
        has_short = self.wanted is not None and (is_short_float(self.wanted) or self.wanted == np.int16)
        self.results = self.wanted if has_short else None
        if output_scale != 1 and self.results != np.int16:
            raise InvalidArgument("output_scale is the value of one step of int16 results: pass output_dtype='int16'")
        if self.results is not None and complex_data and arguments.get("post") != "power":
            raise InvalidArgument(f"complex results are not stored as {self.results}: leave out output_dtype")
        for name, kind, step in (("signal", self.signals, scale), ("result", self.results, output_scale)):
            if kind is not None:
                self.options[f"{name}_storage"] = kind.name
                self.options[f"{name}_scale"] = 1.0 if step is None else step

    def result_type(self, natural: np.dtype[Any]) -> np.dtype[Any]:
        """Returns the type of results that are computed as `natural`."""
        if self.results is not None:
            return self.results
        if self.wanted is not None and self.wanted != natural:
            raise InvalidArgument(f"results are {natural} here and are not stored as {self.wanted}: leave out "
                                  "output_dtype, or choose float16, bfloat16 or int16")
        return natural

    def check(self, dtype: np.dtype[Any]) -> None:
        if self.signals is not None and dtype != self.signals:
            raise InvalidArgument(f"the signals are {dtype} where this bank was planned for {self.signals}: convert "
                                  "them, or plan a bank with their dtype")
