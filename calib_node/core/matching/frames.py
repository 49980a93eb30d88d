# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects that wait for their labels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from calib_node.core.matching.hold import HoldMatcher
from calib_node.core.matching.predictions import PredictionsByStamp
from calib_node.core.matching.stamps import StampMatcher
from calib_node.core.samples import Bools, Frame, LabelFrame


@dataclass(slots=True)
class IssuedFrame:
    """A message of many objects that waits for labels: as it came in, and what was published.

    Attributes
    ----------
    frame : Frame
        As it came in.
    usable : ndarray of bool of shape (n,)
        Which objects hold a probability.
    raws, published : ndarray of float of shape (n,) or (n, K)
        Before and after calibration; anything where there is no probability.
    tickets : sequence or dict
        The ticket of each object that holds a probability, by its index.
    refused : str
        Why the whole message was refused, which then keeps its place alone; empty if it was not.
    taken : set of int
        The objects that have their label, where labels come one by one.
    matches : int
        How many matches there were when it was published.
    """

    frame: Frame
    usable: Bools
    raws: Any
    published: Any
    tickets: Any
    refused: str = ''
    taken: set[int] = field(default_factory=set)
    matches: int = 0
    _positions: dict[str, list[int]] | None = None

    def __len__(self) -> int:
        return len(self.usable)

    def positions(self, key: str) -> Sequence[int]:
        """Return where in the message the objects with an id are."""
        if self._positions is None:
            # Few messages are ever asked.
            self._positions = {}
            for index, name in enumerate(self.frame.keys):
                self._positions.setdefault(name, []).append(index)
        return self._positions.get(key, ())


class FramesByStamp(PredictionsByStamp[IssuedFrame]):
    """Messages of many objects in order of stamp; what is bounded is the number of objects.

    Attributes
    ----------
    unlabelled : int
        Objects without a label, where labels come one by one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unlabelled = 0
        self._sizes: dict[int, int] = {}
        self._objects = 0

    def put(self, stamp: int, item: IssuedFrame) -> list[IssuedFrame]:
        """Add a message; return the queue of its stamp."""
        size = max(len(item), 1)
        self._objects += size
        self.unlabelled += len(item)
        self._sizes[stamp] = self._sizes.get(stamp, 0) + size
        return super().put(stamp, item)

    def take(self, low: int, high: int) -> list[IssuedFrame]:
        """Remove and return the messages from `low` on and before `high`."""
        stamps = self._stamps
        first = bisect_left(stamps, low, self._head)
        for stamp in stamps[first : bisect_left(stamps, high, first)]:
            self._objects -= self._sizes.pop(stamp)
        return super().take(low, high)

    def expire(self, oldest: int, capacity: int) -> int:
        """Drop stamps before `oldest`, and the oldest ones while there are too many objects.

        The newest message stays, however many objects it holds. Returns how many messages waited.
        """
        stamps, head, before = self._stamps, self._head, self.pending
        newest = len(stamps) - 1
        while head <= newest and (
            stamps[head] < oldest or (head < newest and self._objects > capacity)
        ):
            self.last_dropped = stamp = stamps[head]
            queue = self.waiting.pop(stamp)
            self.pending -= len(queue)
            self.unlabelled -= sum(len(item) - len(item.taken) for item in queue)
            self._objects -= self._sizes.pop(stamp)
            head += 1
        self._begin_at(head)
        return before - self.pending

    def within(self, stamp: int, tolerance: int) -> list[int]:
        """Return the stamps within a tolerance of one, the nearest first, of two the earlier."""
        stamps = self._stamps
        first = bisect_left(stamps, stamp - tolerance, self._head)
        last = bisect_right(stamps, stamp + tolerance, first)
        return sorted(stamps[first:last], key=lambda s: (abs(s - stamp), s))

    def number_since(self, stamp: int, now: int) -> int:
        """Return about how many objects came from `stamp`, dropped by now, until `now`."""
        messages = super().number_since(stamp, now)
        kept = len(self._stamps) - self._head
        return -(-messages * self._objects // kept) if kept else 0


class FrameStampMatcher(StampMatcher[IssuedFrame, LabelFrame]):
    """Matches messages of labels to messages of predictions, as `StampMatcher` does single ones."""

    def _clear(self) -> None:
        super()._clear()
        self._predictions = FramesByStamp()
        self._largest = 1

    def add_label(self, stamp: int, item: LabelFrame) -> list[tuple[IssuedFrame, LabelFrame]]:
        """Take a message of labels in; return its match if it has one by now."""
        self._largest = max(self._largest, len(item))
        matches = super().add_label(stamp, item)
        if self._waiting * self._largest > self._capacity:
            self._bound_labels()
        return matches

    def _bound_labels(self) -> None:
        objects = sum(len(item) for queue in self._labels.values() for item in queue)
        while objects > self._capacity and self._waiting > 1:
            dropped = self._drop_first_label()
            objects -= len(dropped) if dropped is not None else 0


class FrameHoldMatcher(HoldMatcher[IssuedFrame, LabelFrame]):
    """The labels of a message hold until the next message of labels."""

    def _clear(self) -> None:
        super()._clear()
        self._predictions = FramesByStamp()

    def _bound_labels(self) -> None:
        objects, drop = sum(map(len, self._labels)), 0
        while objects > self._capacity and drop < len(self._labels) - 1:
            objects -= len(self._labels[drop])
            drop += 1
        self._drop_first(drop)
