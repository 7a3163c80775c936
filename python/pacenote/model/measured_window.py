"""When a task was measured: figures are those of this window, and so is what is said about them."""

from __future__ import annotations

from msgspec import Struct

from pacenote.model.result import TaskResult


class MeasuredWindow(Struct, frozen=True):
    """The part of a task that was measured: all of it, if none was."""

    from_s: float
    """When it began, in seconds since the task began."""

    length_s: float
    """Its length in seconds. Replies to its operations may come later."""

    began_s: float
    """When it began, in seconds since the first task of the race began."""

    @property
    def ended_s(self) -> float:
        """When it ended, in seconds since the first task of the race began."""
        return self.began_s + self.length_s


def measured_window(task: TaskResult) -> MeasuredWindow:
    """Returns when a task was measured; of races of older versions, only the length of the window is known,
    which is taken for its last part.
    """
    from_s = task.duration_s - task.window_s if task.window_from_s is None else task.window_from_s
    from_s = min(max(from_s, 0.0), task.duration_s)
    length_s = min(task.window_s, task.duration_s - from_s)
    if length_s <= 0:
        return MeasuredWindow(0.0, task.duration_s, task.started_s)
    return MeasuredWindow(from_s, length_s, task.started_s + from_s)
