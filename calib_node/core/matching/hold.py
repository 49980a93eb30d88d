# SPDX-License-Identifier: Apache-2.0
"""A label holds until the next one: a ground-truth state that is sampled slowly."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from calib_node.core.matching.base import L, Matcher
from calib_node.core.matching.predictions import P


class HoldMatcher(Matcher[P, L]):
    """Matches every prediction to the last label at or before it.

    A label holds from its own stamp until the next label, for a horizon at most. A prediction is
    decided when a label after it has come, and never decided again. The tolerance has no part
    in it.

    Examples
    --------
    >>> matcher = HoldMatcher(horizon=1000)
    >>> matcher.add_label(100, 'door open')
    []
    >>> matcher.add_prediction(110, 'p'), matcher.add_prediction(120, 'q')
    ([], [])
    >>> matcher.add_label(115, 'door closed')
    [('p', 'door open')]
    >>> matcher.flush()
    [('q', 'door closed')]
    """

    def _clear(self) -> None:
        super()._clear()
        self._stamps: list[int] = []
        self._labels: list[L] = []
        self._used: list[bool] = []

    @property
    def pending_labels(self) -> int:
        """Labels that hold for predictions that may yet come."""
        return len(self._stamps)

    def add_label(self, stamp: int, item: L) -> list[tuple[P, L]]:
        """Take a label in; return the matches of the predictions that it decides."""
        matches: list[tuple[P, L]] = []
        i = bisect_left(self._stamps, stamp)
        if i < len(self._stamps) and self._stamps[i] == stamp:
            self.counts.duplicate += 1
            return matches
        self._stamps.insert(i, stamp)
        self._labels.insert(i, item)
        self._used.insert(i, False)
        dropped = self._predictions.last_dropped
        if dropped is not None and stamp <= dropped:
            self._found_gone(stamp)
        if i < len(self._stamps) - 1:
            self._settle(i, matches)
        elif i > 0:
            self._settle(i - 1, matches)
        if self._now is not None:
            self._forget(self._now, matches)
        self._bound_labels()
        return matches

    def _insert(self, stamp: int, item: P, matches: list[tuple[P, L]]) -> None:
        self._predictions.put(stamp, item)
        if self._now is None or stamp > self._now:
            self._now = stamp
        i = bisect_right(self._stamps, stamp)
        if 0 < i < len(self._stamps):
            self._settle(i - 1, matches)
        self._expire(self._now, matches)
        self._forget(self._now, matches)

    def _expire(self, now: int, matches: list[tuple[P, L]]) -> None:
        """Let the last label before the horizon have what waits there, then drop the rest."""
        oldest = now - self._horizon
        i = bisect_left(self._stamps, oldest) - 1
        if i >= 0:
            self._settle(i, matches, oldest)
        super()._expire(now, matches)

    def _settle(self, i: int, matches: list[tuple[P, L]], before: int | None = None) -> None:
        """Pair label `i` with the predictions that wait from its stamp to the next label."""
        start = self._stamps[i]
        end = start + self._horizon + 1
        if i + 1 < len(self._stamps):
            end = min(end, self._stamps[i + 1])
        if before is not None:
            end = min(end, before)
        for prediction in self._predictions.take(start, end):
            self._used[i] = True
            self._pair(prediction, self._labels[i], matches)

    def _forget(self, now: int, matches: list[tuple[P, L]]) -> None:
        """Drop the labels that hold for no prediction to come, once those that wait are decided."""
        earliest = now - self._disorder
        cut = max(bisect_right(self._stamps, earliest) - 1, 0)
        cut = max(cut, bisect_left(self._stamps, earliest - self._horizon))
        for i in range(cut):
            self._settle(i, matches)
        self._drop_first(cut)

    def _drop_first(self, n: int) -> None:
        self.counts.unmatched += self._used[:n].count(False)
        del self._stamps[:n], self._labels[:n], self._used[:n]

    def _decide_all(self, matches: list[tuple[P, L]]) -> None:
        for i in range(len(self._stamps)):
            self._settle(i, matches)

    def _decide_again(self, now: int, matches: list[tuple[P, L]]) -> None:
        for i in range(len(self._stamps) - 1):
            self._settle(i, matches)
        self._forget(now, matches)

    def _bound_labels(self) -> None:
        self._drop_first(max(len(self._stamps) - self._capacity, 0))

    def _drop_labels(self) -> None:
        self._drop_first(len(self._stamps))
