# SPDX-License-Identifier: Apache-2.0
"""The predictions that wait for their labels."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, TypeVar

P = TypeVar('P')


class PredictionsByStamp(Generic[P]):
    """Predictions in order of stamp, those of one stamp in order of arrival.

    Stamps come nearly in order, so that a sorted list which grows at its end and forgets at its
    head costs O(1) for most. A stamp may stay after all its predictions are taken.

    Attributes
    ----------
    waiting : dict of int to list
        The predictions without a label, by stamp.
    pending : int
        How many they are.
    last_dropped : int or None
        The last stamp that expired.
    """

    def __init__(self) -> None:
        self.waiting: dict[int, list[P]] = {}
        self.pending = 0
        self.last_dropped: int | None = None
        self._stamps: list[int] = []
        self._head = 0

    def put(self, stamp: int, item: P) -> list[P]:
        """Add a prediction; return the queue of its stamp."""
        self.pending += 1
        queue = self.waiting.get(stamp)
        if queue is not None:
            queue.append(item)
            return queue
        self.waiting[stamp] = queue = [item]
        stamps = self._stamps
        if not stamps or stamp > stamps[-1]:
            stamps.append(stamp)
        else:
            insort(stamps, stamp, self._head)
        return queue

    def nearest(self, stamp: int) -> int | None:
        """Return the stamp nearest to `stamp`, the earlier one of two.

        The last stamp that was dropped counts too, though `waiting` has it no longer: what
        belongs to it must not go to a neighbour.
        """
        stamps, head = self._stamps, self._head
        i = bisect_left(stamps, stamp, head)
        near = [s for s in (self.last_dropped, *stamps[max(i - 1, head) : i + 1]) if s is not None]
        return min(near, key=lambda s: (abs(s - stamp), s), default=None)

    def number_since(self, stamp: int, now: int) -> int:
        """Return about how many predictions came from `stamp`, dropped by now, until `now`.

        Of those that were dropped it is taken that they came as fast as those that are kept.
        """
        stamps, head = self._stamps, self._head
        kept = len(stamps) - head
        first = stamps[head] if kept > 1 else self.last_dropped
        if not kept or first is None:
            return 0
        number = max(kept, self.pending)
        of_one_stamp = -(-number // kept)
        return -(-number * (now - stamp) // max(now - first, 1)) + of_one_stamp

    def take(self, low: int, high: int) -> list[P]:
        """Remove and return the predictions from `low` on and before `high`."""
        stamps = self._stamps
        first = bisect_left(stamps, low, self._head)
        last = bisect_left(stamps, high, first)
        taken = [item for stamp in stamps[first:last] for item in self.waiting.pop(stamp)]
        del stamps[first:last]
        self.pending -= len(taken)
        return taken

    def expire(self, oldest: int, capacity: int) -> int:
        """Drop stamps before `oldest` and what is beyond the capacity; return how many waited."""
        stamps, head = self._stamps, self._head
        before = self.pending
        while head < len(stamps) and (
            stamps[head] < oldest or len(stamps) - head > capacity or self.pending > capacity
        ):
            queue = self.waiting[stamps[head]]
            if stamps[head] >= oldest and len(queue) > 1:
                del queue[0]
                self.pending -= 1
            else:
                self.last_dropped = stamps[head]
                del self.waiting[stamps[head]]
                self.pending -= len(queue)
                head += 1
        if head != self._head:
            self._begin_at(head)
        return before - self.pending

    def _begin_at(self, head: int) -> None:
        """Let the stamps before an index go."""
        stamps = self._stamps
        if head > 1024 and 2 * head > len(stamps):
            del stamps[:head]
            head = 0
        self._head = head
