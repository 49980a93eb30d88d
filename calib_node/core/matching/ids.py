# SPDX-License-Identifier: Apache-2.0
"""Objects that are told by their ids, each by itself."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Any

from calib_node.core.matching.base import Matcher
from calib_node.core.matching.frames import FramesByStamp, IssuedFrame
from calib_node.core.samples import LabelFrame


@dataclass(slots=True)
class Keyed:
    """The labels of one id in a message.

    Attributes
    ----------
    labels : LabelFrame
        The message.
    rows : list of int
        Those of the id.
    """

    labels: LabelFrame
    rows: list[int]

    @property
    def key(self) -> str:
        """The id."""
        return self.labels.keys[self.rows[0]]

    def __len__(self) -> int:
        return len(self.rows)


class IdMatcher(Matcher[IssuedFrame, Keyed]):
    """Matches the labels of an id to the nearest message within the tolerance that holds the id.

    Event time is that of the messages. Whether an object has its label already is told object by
    object, so that the labels of a message's objects may come one by one. What is matched, pending
    and expired is counted in objects.

    Attributes
    ----------
    not_held : str
        The id of the last label whose message was there without it; empty once one was found.
    """

    not_held = ''
    _messages = 0

    def _clear(self) -> None:
        super()._clear()
        self._frames = FramesByStamp()
        self._predictions: Any = self._frames
        # In order of stamp; a label waits here until it is decided.
        self._waiting: list[tuple[int, int, Keyed]] = []
        self._arrivals = 0
        self._objects_waiting = 0

    @property
    def pending_predictions(self) -> int:
        """Objects that have no label yet."""
        unconfirmed = self._unconfirmed
        far_ahead = len(unconfirmed[1]) if unconfirmed is not None else 0
        return self._frames.unlabelled + far_ahead

    @property
    def pending_labels(self) -> int:
        """Labels that wait for their prediction."""
        return self._objects_waiting

    def add_label(self, stamp: int, item: Keyed) -> list[tuple[IssuedFrame, Keyed]]:
        """Take the labels of an id in; return their match if they have one by now."""
        matches: list[tuple[IssuedFrame, Keyed]] = []
        if self._holder(stamp, item.key, 0) is None and (
            self._now is None or stamp + self._tolerance > self._now
        ):
            self._wait(stamp, item)
        else:
            self._decide(stamp, item, matches)
        if self._objects_waiting > self._capacity:
            self._bound_labels()
        return matches

    def _wait(self, stamp: int, item: Keyed) -> None:
        self._arrivals += 1
        insort(self._waiting, (stamp, self._arrivals, item))
        self._objects_waiting += len(item)

    def _holder(self, stamp: int, key: str, tolerance: int) -> IssuedFrame | None:
        """Return the message nearest to a stamp that holds an id."""
        for near in self._frames.within(stamp, tolerance):
            held = None
            for issued in self._frames.waiting[near]:
                if issued.refused:
                    # It may be the one that the label is about.
                    return issued
                positions = issued.positions(key)
                if positions and not issued.taken.issuperset(positions):
                    return issued
                held = issued if positions else held
            if held is not None:
                return held
        return None

    def _decide(self, stamp: int, item: Keyed, matches: list[tuple[IssuedFrame, Keyed]]) -> None:
        """Decide labels that event time has passed, or leave them open."""
        issued = self._holder(stamp, item.key, self._tolerance)
        now = self._now
        if issued is not None:
            self._settle(issued, item, matches)
        elif now is None or stamp >= now - self._disorder - self._tolerance:
            self._wait(stamp, item)
        else:
            self._miss_all(stamp, item)

    def _settle(
        self, issued: IssuedFrame, item: Keyed, matches: list[tuple[IssuedFrame, Keyed]]
    ) -> None:
        positions = issued.positions(item.key)
        self.not_held = ''
        if not issued.refused and issued.taken.issuperset(positions):
            self.counts.duplicate += len(item)
            return
        before = len(issued.taken)
        issued.taken.update(positions)
        self._frames.unlabelled -= len(issued.taken) - before
        self.counts.matched += len(issued.taken) - before - 1
        self._pair(issued, item, matches)

    def _miss_all(self, stamp: int, item: Keyed) -> None:
        self.counts.unmatched += len(item)
        dropped = self._frames.last_dropped
        if dropped is not None and stamp - self._tolerance <= dropped:
            self._found_gone(stamp - self._tolerance)
            return
        nearest = self._frames.nearest(stamp)
        if nearest is None:
            return
        if abs(nearest - stamp) > self._tolerance:
            self._missed(stamp, nearest)
        else:
            self.not_held = item.key

    def _insert(
        self, stamp: int, item: IssuedFrame, matches: list[tuple[IssuedFrame, Keyed]]
    ) -> None:
        self._messages += 1
        self._frames.put(stamp, item)
        now = self._now
        if now is None or stamp > now:
            self._now = now = stamp
        if self._waiting:
            self._decide_passed(stamp, now, matches)
        self._expire(now, matches)

    def _decide_passed(
        self, stamp: int, now: int, matches: list[tuple[IssuedFrame, Keyed]]
    ) -> None:
        """Decide the labels that event time has passed by the tolerance, and those of a stamp."""
        waiting = self._waiting
        due = bisect_left(waiting, (now - self._tolerance + 1, 0))
        first = max(bisect_left(waiting, (stamp, 0)), due)
        last = bisect_left(waiting, (stamp + 1, 0), first)
        decided = waiting[:due] + waiting[first:last]
        del waiting[first:last]
        del waiting[:due]
        for at, _, item in decided:
            self._objects_waiting -= len(item)
            if at <= now - self._tolerance or self._holder(at, item.key, 0) is not None:
                self._decide(at, item, matches)
            else:
                self._wait(at, item)

    def _decide_all(self, matches: list[tuple[IssuedFrame, Keyed]]) -> None:
        waiting, self._waiting, self._objects_waiting = self._waiting, [], 0
        for stamp, _, item in waiting:
            issued = self._holder(stamp, item.key, self._tolerance)
            if issued is None:
                self._miss_all(stamp, item)
            else:
                self._settle(issued, item, matches)

    def _decide_again(self, now: int, matches: list[tuple[IssuedFrame, Keyed]]) -> None:
        self._decide_passed(now, now, matches)

    def _bound_labels(self) -> None:
        while self._objects_waiting > self._capacity and len(self._waiting) > 1:
            _, _, item = self._waiting.pop(0)
            self._objects_waiting -= len(item)
            self.counts.unmatched += len(item)

    def _drop_labels(self) -> None:
        self.counts.unmatched += self._objects_waiting

    def _expire(self, now: int, matches: list[tuple[IssuedFrame, Keyed]]) -> None:
        before = self._frames.unlabelled
        self._frames.expire(now - self._horizon, self._capacity)
        self.counts.expired += before - self._frames.unlabelled

    def _drop_all(self) -> None:
        self.counts.expired += self._frames.unlabelled
        self._drop_labels()
        self._clear()

    def _taken(self) -> int:
        return self._messages

    def _size(self, item: IssuedFrame) -> int:
        return len(item)
