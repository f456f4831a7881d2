# SPDX-License-Identifier: Apache-2.0
"""What a plan says."""

from typing import Any


class Plan:
    """How a convolution is run, and what it was predicted to take. ``print(plan)`` is a table for people."""

    def __init__(self, text: str, facts: dict[str, Any]) -> None:
        self._text = text
        self._facts = facts

    @property
    def method(self) -> str:
        """ "in-core", "dif", "tiled" or "direct"."""
        return str(self._facts["chosen"]["method"])

    @property
    def engines(self) -> list[str]:
        """Who computes: "cpu:0", "gpu:1"."""
        return list(self._facts["engines"])

    @property
    def seconds(self) -> float:
        """Predicted time of one image."""
        return float(self._facts["chosen"]["seconds"])

    @property
    def host_bytes(self) -> int:
        """Predicted host memory, the image and the result included."""
        return int(self._facts["chosen"]["host_bytes"])

    @property
    def device_bytes(self) -> int:
        """Predicted memory of each GPU; 0 where none takes part."""
        return int(self._facts["chosen"]["engine_bytes"]) if self._facts["chosen"]["on_gpu"] else 0

    def to_dict(self) -> dict[str, Any]:
        """All figures, as `convolume convolve --dry-run --json` gives them."""
        return self._facts

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Plan {self.method} on {', '.join(self.engines)}>"
