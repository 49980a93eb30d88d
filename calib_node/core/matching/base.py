# SPDX-License-Identifier: Apache-2.0
"""Event time, and the predictions that wait in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Generic, TypeVar

P = TypeVar('P')
L = TypeVar('L')


@dataclass
class MatchCounts:
    """What became of the predictions and labels that a matcher was given.

    Attributes
    ----------
    matched : int
        Pairs of a prediction and a label.
    expired : int
        Predictions dropped without a label.
    unmatched : int
        Labels dropped without a prediction.
    duplicate : int
        Labels whose prediction (or, with `hold`, whose stamp) already had one.
    jumps_back : int
        Times that event time went back.
    same_stamp : int
        Predictions that came while another one of their stamp waited; their labels are told
        apart by the order of arrival alone.
    """

    matched: int = 0
    expired: int = 0
    unmatched: int = 0
    duplicate: int = 0
    jumps_back: int = 0
    same_stamp: int = 0


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
    """

    def __init__(self) -> None:
        self.waiting: dict[int, list[P]] = {}
        self.pending = 0
        self._last_dropped: int | None = None
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
        near = [s for s in (self._last_dropped, *stamps[max(i - 1, head) : i + 1]) if s is not None]
        return min(near, key=lambda s: (abs(s - stamp), s), default=None)

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
                self._last_dropped = stamps[head]
                del self.waiting[stamps[head]]
                self.pending -= len(queue)
                head += 1
        if head > 1024 and 2 * head > len(stamps):
            del stamps[:head]
            head = 0
        self._head = head
        return before - self.pending


class Matcher(ABC, Generic[P, L]):
    """Matches labels to predictions in event time, which is the newest prediction stamp.

    Labels never move event time. A prediction more than `max_disorder` behind it is a jump back
    (a bag loops, the simulator restarts): all that waits is dropped. One more than a horizon
    ahead moves it only when the next one confirms it.

    Parameters
    ----------
    tolerance, horizon, max_disorder : int
        Nanoseconds. Predictions older than event time less the horizon expire. A disorder beyond
        the horizon is cut to it.
    capacity : int
        Predictions kept, and labels kept.
    """

    def __init__(
        self,
        tolerance: int = 10_000_000,
        horizon: int = 60_000_000_000,
        max_disorder: int = 1_000_000_000,
        capacity: int = 10_000,
    ) -> None:
        self.counts = MatchCounts()
        self._now: int | None = None
        self._unconfirmed: tuple[int, P] | None = None
        self._miss: int | None = None
        self._set(tolerance, horizon, max_disorder, capacity)
        self._clear()

    def _set(self, tolerance: int, horizon: int, max_disorder: int, capacity: int) -> None:
        self._tolerance = tolerance
        self._horizon = horizon
        self._disorder = min(max_disorder, horizon)
        self._capacity = capacity

    def _clear(self) -> None:
        self._predictions: PredictionsByStamp[P] = PredictionsByStamp()

    @property
    def pending_predictions(self) -> int:
        """Predictions that have no label yet."""
        return self._predictions.pending + (self._unconfirmed is not None)

    @property
    @abstractmethod
    def pending_labels(self) -> int:
        """Labels that may yet find a prediction."""

    @property
    def miss(self) -> int | None:
        """How far the last label that found no prediction was from the nearest one.

        Nanoseconds, positive when the label is the later; None after a match, or when nothing
        can be said.
        """
        return self._miss

    def add_prediction(self, stamp: int, item: P) -> list[tuple[P, L]]:
        """Take a prediction in; return the matches it completes, in the order they are decided."""
        matches: list[tuple[P, L]] = []
        if self._unconfirmed is not None:
            held, held_item = self._unconfirmed
            self._unconfirmed = None
            if stamp >= held - self._disorder:
                self._insert(held, held_item, matches)
            else:
                self.counts.expired += 1
        now = self._now
        if now is not None:
            if stamp < now - self._disorder:
                self.counts.jumps_back += 1
                self._drop_all()
                self._now = None
                self._miss = None
            elif stamp > now + self._horizon:
                self._unconfirmed = (stamp, item)
                self._expire(now, matches)
                return matches
        self._insert(stamp, item, matches)
        return matches

    @abstractmethod
    def add_label(self, stamp: int, item: L) -> list[tuple[P, L]]:
        """Take a label in; return the matches it completes."""

    def flush(self) -> list[tuple[P, L]]:
        """Decide all that waits, as at the end of a recording; return the matches."""
        matches: list[tuple[P, L]] = []
        if self._unconfirmed is not None:
            held, item = self._unconfirmed
            self._unconfirmed = None
            self._insert(held, item, matches)
        self._decide_all(matches)
        self._drop_all()
        return matches

    def configure(
        self, tolerance: int, horizon: int, max_disorder: int, capacity: int
    ) -> list[tuple[P, L]]:
        """Change the parameters; return the matches that follow from it."""
        self._set(tolerance, horizon, max_disorder, capacity)
        matches: list[tuple[P, L]] = []
        if self._now is not None:
            self._expire(self._now, matches)
            self._decide_again(self._now, matches)
        self._bound_labels()
        return matches

    def _pair(self, prediction: P, label: L, matches: list[tuple[P, L]]) -> None:
        self.counts.matched += 1
        self._miss = None
        matches.append((prediction, label))

    def _expire(self, now: int, matches: list[tuple[P, L]]) -> None:
        """Drop the predictions beyond the horizon or the capacity; `matches` is for subclasses."""
        # One that is far ahead takes a place too.
        room = self._capacity - (self._unconfirmed is not None)
        self.counts.expired += self._predictions.expire(now - self._horizon, room)

    def _drop_all(self) -> None:
        self.counts.expired += self._predictions.pending
        self._drop_labels()
        self._clear()

    @abstractmethod
    def _insert(self, stamp: int, item: P, matches: list[tuple[P, L]]) -> None:
        """Take in a prediction that event time allows."""

    @abstractmethod
    def _decide_all(self, matches: list[tuple[P, L]]) -> None:
        """Decide as if no prediction and no label came any more."""

    @abstractmethod
    def _decide_again(self, now: int, matches: list[tuple[P, L]]) -> None:
        """Decide what can be decided under changed parameters."""

    @abstractmethod
    def _bound_labels(self) -> None:
        """Drop the labels beyond the capacity, oldest stamp first."""

    @abstractmethod
    def _drop_labels(self) -> None:
        """Count the labels that are about to be dropped."""
