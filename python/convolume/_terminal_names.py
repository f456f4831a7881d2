# SPDX-License-Identifier: Apache-2.0
"""Text of another program on its way to a terminal, in which names are replaced."""

import codecs
import os
import sys
import threading
from collections.abc import Mapping
from typing import TextIO


class NameReplacer:
    """Replaces names in text that comes in parts. A name may begin in one part and end in another."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._held = ""

    def __call__(self, text: str, is_last: bool = False) -> str:
        """Returns the text that is complete: what may be the beginning of a name waits for the next part."""
        text = self._held + text
        for name, shown in self._names.items():
            text = text.replace(name, shown)
        end = len(text)
        if not is_last:
            longest = max(map(len, self._names), default=0)
            begins = range(max(0, end - longest + 1), end)
            end = next((begin for begin in begins
                        if any(name.startswith(text[begin:]) for name in self._names)), end)
        self._held = text[end:]
        return text[:end]


class RelayedTerminal:
    """A terminal for another program. What it writes there goes to `stream`, also a terminal, with names replaced."""

    def __init__(self, stream: TextIO, names: Mapping[str, str]) -> None:
        import pty  # not on Windows
        import termios
        self._stream = stream
        self._replace = NameReplacer(names)
        self._own, self.theirs = pty.openpty()
        modes = termios.tcgetattr(self.theirs)
        modes[1] &= ~termios.OPOST  # the other terminal changes line ends
        termios.tcsetattr(self.theirs, termios.TCSANOW, modes)
        termios.tcsetwinsize(self.theirs, termios.tcgetwinsize(stream.fileno()))
        self._thread = threading.Thread(target=self._relay, daemon=True)

    def start(self) -> None:
        """Begins to relay, once the other program has started: it holds the terminal open."""
        os.close(self.theirs)
        self._thread.start()

    def end(self) -> None:
        """Waits for the rest of the text, when the other program has ended."""
        self._thread.join()
        os.close(self._own)

    def _relay(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        while True:
            try:
                data = os.read(self._own, 4096)
            except OSError:  # no program holds the terminal any more
                data = b""
            self._stream.write(self._replace(decode(data, not data), not data))
            self._stream.flush()
            if not data:
                return


def relayed_terminal(stream: TextIO, names: Mapping[str, str]) -> RelayedTerminal | None:
    """Returns a terminal that relays to `stream`; None if that is no terminal, or the system has none to give."""
    if sys.platform == "win32" or not stream.isatty():
        return None
    try:
        return RelayedTerminal(stream, names)
    except OSError:
        return None
