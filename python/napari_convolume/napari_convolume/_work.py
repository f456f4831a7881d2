# SPDX-License-Identifier: Apache-2.0
"""A container of widgets that runs work in a thread of its own, shows its progress, and can end it."""

from collections.abc import Callable, Sequence
from typing import Any

from magicgui.widgets import Container, ProgressBar, PushButton
from napari.qt.threading import create_worker
from qtpy.QtCore import QObject, Signal, Slot

from ._fields import LayerFields


class Cancelled(Exception):
    """The user cancelled the work."""


class _Bar(QObject):
    """Shows the fraction done, which the working thread reports, on a bar in the window's thread."""

    changed = Signal(float)

    def __init__(self, bar: ProgressBar) -> None:
        super().__init__()
        self._bar = bar
        self.changed.connect(self._show)

    @Slot(float)
    def _show(self, fraction: float) -> None:
        self._bar.value = round(100 * fraction)


class WorkingContainer(Container):
    """A column of fields, the first ones for a layer, then buttons that begin and end the work, and a bar of its
    progress."""

    def __init__(self, layer: LayerFields, fields: list[Any], start: str, can_stop: bool,
                 others: Sequence[PushButton] = ()) -> None:
        """`others` are further buttons that begin work."""
        self._layer_fields = layer
        self.start = PushButton(text=start)
        self._others = others
        self.stop = PushButton(text="Stop", enabled=False, visible=can_stop)
        self.cancel = PushButton(text="Cancel", enabled=False)
        self.bar = ProgressBar(min=0, max=100, value=0)
        super().__init__(widgets=[*layer.all(), *fields, *others, self.start, self.stop, self.cancel, self.bar])
        self._shown = _Bar(self.bar)
        self._ending: str | None = None
        self.worker: Any = None
        self.start.changed.connect(self.begin)
        self.stop.changed.connect(lambda: self._end("stop"))
        self.cancel.changed.connect(lambda: self._end("cancel"))

    def reset_choices(self, *_: Any) -> None:
        """Updates the lists of layers. napari calls it when the widget is shown, and when layers come and go."""
        super().reset_choices()
        self._layer_fields.refresh()  # no event tells that a list without choice has got its first layer

    def begin(self) -> None:
        """Begins the work, when the first button is pressed."""
        raise NotImplementedError

    def work(self, compute: Callable[[], Any], show: Callable[[Any], object]) -> None:
        """Calls `compute` in a thread of its own, then `show` with its result in the window's thread, unless the user
        cancels the work."""
        self._ending = None
        self._working(True)
        pending = [compute]  # Qt may keep the worker until the end of the program, but not the arrays

        def guarded() -> Any:
            try:
                return pending.pop()()
            except Cancelled:
                return None

        self.worker = create_worker(guarded)
        self.worker.returned.connect(lambda result: None if result is None else show(result))
        self.worker.finished.connect(lambda: self._working(False))
        self.worker.start()

    def report(self, fraction: float) -> bool:
        """Shows the fraction done. Tells whether the work should stop and keep its current result. The working thread
        calls it."""
        if self._ending == "cancel":
            raise Cancelled
        self._shown.changed.emit(fraction)
        return self._ending == "stop"

    def _end(self, how: str) -> None:
        self._ending = how

    def _working(self, busy: bool) -> None:
        for button in (self.start, *self._others):
            button.enabled = not busy
        self.stop.enabled = self.cancel.enabled = busy
        if not busy:
            self.worker = None
            self.bar.value = 0
