# SPDX-License-Identifier: Apache-2.0
"""Event time, and what becomes of the labels that miss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from calib_node.core.matching.predictions import P, PredictionsByStamp

L = TypeVar('L')

RECENT_MISSES = 10
RECENT_JUMPS = 100


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


@dataclass(frozen=True)
class Gone:
    """Why labels found no predictions: these had been dropped before the labels came.

    Attributes
    ----------
    late : int
        How far event time was past a prediction at most, in nanoseconds: the horizon that all of
        them needed.
    capacity : int
        About the capacity that all of them needed; 0 where there is enough.
    """

    late: int
    capacity: int


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

    Attributes
    ----------
    misses : deque of int
        How far the last labels were from their nearest prediction, as in `miss`, since a match.
    gone : Gone or None
        What the labels since a match needed whose predictions had been dropped; None if none.
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
        self._jumps: deque[tuple[int, int]] = deque(maxlen=RECENT_JUMPS)
        self.misses: deque[int] = deque(maxlen=RECENT_MISSES)
        self.gone: Gone | None = None
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
                self.counts.expired += self._size(held_item)
        now = self._now
        if now is not None:
            if stamp < now - self._disorder:
                self.counts.jumps_back += 1
                self._jumps.append((self._taken(), now - stamp))
                self._drop_all()
                self._now = None
                self._forget_misses()
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

    def jumps_within(self, predictions: int) -> list[int]:
        """Return how far event time jumped back during the last predictions, in nanoseconds.

        Returns
        -------
        list of int
            One for each time, oldest first, but for the last ten at most.
        """
        first = self._taken() - predictions
        return [size for taken, size in self._jumps if taken >= first]

    def _taken(self) -> int:
        """Return how many items were taken in."""
        return self.counts.matched + self.counts.expired + self.pending_predictions

    def _size(self, item: P) -> int:
        """Return how many predictions an item counts as."""
        return 1

    def _missed(self, stamp: int, nearest: int) -> None:
        """Remember that a label found no prediction; the nearest is not within its tolerance."""
        self._miss = stamp - nearest
        self.misses.append(self._miss)

    def _found_gone(self, stamp: int) -> None:
        """Remember that the prediction of a label, of `stamp` or later, had been dropped."""
        self._miss = None
        now = stamp if self._now is None else self._now
        number = self._predictions.number_since(stamp, now)
        before = self.gone or Gone(0, 0)
        needed = number if number > self._capacity else 0
        self.gone = Gone(max(now - stamp, before.late), max(needed, before.capacity))

    def _pair(self, prediction: P, label: L, matches: list[tuple[P, L]]) -> None:
        self.counts.matched += 1
        if self._miss is not None or self.gone is not None:
            self._forget_misses()
        matches.append((prediction, label))

    def _forget_misses(self) -> None:
        self._miss = self.gone = None
        self.misses.clear()

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
