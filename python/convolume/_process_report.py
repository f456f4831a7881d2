# SPDX-License-Identifier: Apache-2.0
"""What a run over blocks gives back."""

from dataclasses import dataclass, field

from ._errors import Error
from ._warnings import clamped_sentence


class BlocksFailed(Error, RuntimeError):
    """Some blocks failed; all others are complete."""


@dataclass
class ProcessReport:
    """What a run did."""

    blocks: int
    """Of this run: of its block range, or all."""
    done: int = 0
    """Computed by this run."""
    complete_before: int = 0
    empty: int = 0
    failed: int = 0
    seconds: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0
    finished: bool = False
    """The whole image is complete, with its smaller levels."""
    failures: list[str] = field(default_factory=list)
    dtype: str = ""
    """Type of the result's samples."""
    clamped_low: int = 0
    """Values below the range of an integer type, which were clamped; NaN, which becomes 0, counts here. Of all blocks
    of this run, also of those that were complete before it."""
    clamped_high: int = 0
    """Values above it."""
    nonfinite_inputs: int = 0
    """NaN and infinities of the image that were read as 0 (``nan="zero"``), each counted once; of the same blocks.
    Those of blocks that a mask skips are not counted."""

    def sentences(self, wider: str = "dtype") -> list[str]:
        """What the caller should know of the result, in the words of the command `convolve`. `wider` names the option
        that chooses the type."""
        found = []
        if self.clamped_low or self.clamped_high:
            found.append(clamped_sentence(self.clamped_low, self.clamped_high, self.dtype, wider))
        if self.nonfinite_inputs:
            found.append(f"{self.nonfinite_inputs} NaN or infinite values of the image were read as 0")
        return found
