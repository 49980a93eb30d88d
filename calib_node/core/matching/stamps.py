# SPDX-License-Identifier: Apache-2.0
"""A label belongs to the prediction of its stamp, or to the nearest one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from heapq import heappop, heappush

from calib_node.core.matching.base import L, Matcher
from calib_node.core.matching.predictions import P


class StampMatcher(Matcher[P, L]):
    """Matches a label to the prediction of its stamp, or to the nearest within the tolerance.

    A label takes the prediction of its very stamp at once. Otherwise it is decided when a
    prediction at or past label + tolerance has come: it looks at the nearest prediction within
    the tolerance (ties: the earlier one), whether that one already has a label or not. If it has,
    the label is a duplicate; it never goes to a neighbour. If no prediction is within the
    tolerance, the label waits for a prediction out of order until none can come any more.

    Predictions that have their label are kept within the horizon and the capacity too, since
    they tell duplicates.

    Examples
    --------
    >>> matcher = StampMatcher(tolerance=10)
    >>> matcher.add_prediction(100, 'p')
    []
    >>> matcher.add_label(104, 'y')
    []
    >>> matcher.add_prediction(200, 'q')
    [('p', 'y')]
    """

    def _clear(self) -> None:
        super()._clear()
        # Labels per stamp in order of arrival; their stamps in a heap until event time has passed
        # them, then in a sorted list. Both may name stamps that have left _labels.
        self._labels: dict[int, list[L]] = {}
        self._waiting = 0
        self._ahead: list[int] = []
        self._passed: list[int] = []

    @property
    def pending_labels(self) -> int:
        """Labels that wait for their prediction."""
        return self._waiting

    @property
    def miss(self) -> int | None:
        """As in `Matcher`; labels that are ahead of all predictions count too."""
        if self._miss is None and self._now is not None:
            ahead = [stamp for stamp in self._ahead[:1] if stamp in self._labels]
            if ahead and ahead[0] - self._now > self._tolerance:
                return ahead[0] - self._now
        return self._miss

    def add_label(self, stamp: int, item: L) -> list[tuple[P, L]]:
        """Take a label in; return its match if it has one by now."""
        queue = self._predictions.waiting.get(stamp)
        if queue:
            # As in _match, without the price of two calls: most labels come this way.
            self._predictions.pending -= 1
            self.counts.matched += 1
            if self._miss is not None or self.gone is not None:
                self._forget_misses()
            return [(queue.pop(0), item)]
        matches: list[tuple[P, L]] = []
        waiting = self._labels.get(stamp)
        if waiting is not None:
            waiting.append(item)
            self._waiting += 1
        elif self._now is not None and stamp + self._tolerance <= self._now:
            self._decide(stamp, [item], self._now, matches)
        else:
            self._labels[stamp] = [item]
            self._waiting += 1
            heappush(self._ahead, stamp)
        if self._waiting > self._capacity:
            self._bound_labels()
        return matches

    def _insert(self, stamp: int, item: P, matches: list[tuple[P, L]]) -> None:
        queue = self._predictions.put(stamp, item)
        if len(queue) > 1:
            self.counts.same_stamp += 1
        now = self._now
        if now is None or stamp > now:
            self._now = now = stamp
        if self._labels:
            waiting = self._labels.get(stamp)
            if waiting:
                self._waiting -= 1
                self._match(queue, waiting.pop(0), matches)
                if not waiting:
                    del self._labels[stamp]
            if stamp < now:
                self._decide_late(stamp, matches)
            self._decide_passed(now, matches)
        elif self._ahead or self._passed:
            self._ahead.clear()
            self._passed.clear()
        self.counts.expired += self._predictions.expire(now - self._horizon, self._capacity)

    def _decide_passed(self, now: int, matches: list[tuple[P, L]]) -> None:
        """Decide the labels that event time has passed by the tolerance, in order of stamp."""
        due = now - self._tolerance
        while self._ahead and self._ahead[0] <= due:
            stamp = heappop(self._ahead)
            queue = self._take_labels(stamp)
            if queue:
                self._decide(stamp, queue, now, matches)
        cut = bisect_left(self._passed, self._oldest_open(now))
        for stamp in self._passed[:cut]:
            self.counts.unmatched += len(self._take_labels(stamp))
        del self._passed[:cut]

    def _decide_late(self, stamp: int, matches: list[tuple[P, L]]) -> None:
        """Give a prediction that came out of order to the passed labels within its reach."""
        first = bisect_left(self._passed, stamp - self._tolerance)
        last = bisect_right(self._passed, stamp + self._tolerance)
        for label_stamp in self._passed[first:last]:
            self._settle(stamp, self._take_labels(label_stamp), matches)
        del self._passed[first:last]

    def _decide(self, stamp: int, queue: list[L], now: int, matches: list[tuple[P, L]]) -> None:
        """Decide labels of one stamp that event time has passed, or leave them open."""
        nearest = self._nearest_within(stamp)
        if nearest is not None:
            self._settle(nearest, queue, matches)
        elif stamp < self._oldest_open(now):
            self.counts.unmatched += len(queue)
        else:
            self._labels[stamp] = queue
            self._waiting += len(queue)
            insort(self._passed, stamp)

    def _nearest_within(self, stamp: int) -> int | None:
        """Return the nearest prediction's stamp if it is within the tolerance."""
        nearest = self._predictions.nearest(stamp)
        if nearest is None or abs(nearest - stamp) <= self._tolerance:
            return nearest
        dropped = self._predictions.last_dropped
        if dropped is not None and stamp <= dropped:
            self._found_gone(stamp - self._tolerance)
        else:
            self._missed(stamp, nearest)
        return None

    def _settle(self, nearest: int, labels: list[L], matches: list[tuple[P, L]]) -> None:
        """Pair labels with the predictions of the stamp they were decided for."""
        queue = self._predictions.waiting.get(nearest)
        if queue is None:
            self.counts.unmatched += len(labels)
            self._found_gone(nearest)
            return
        for item in labels:
            if queue:
                self._match(queue, item, matches)
            else:
                self.counts.duplicate += 1

    def _match(self, queue: list[P], label: L, matches: list[tuple[P, L]]) -> None:
        """Give a label the first prediction that waits in the queue of a stamp."""
        self._predictions.pending -= 1
        self._pair(queue.pop(0), label, matches)

    def _decide_all(self, matches: list[tuple[P, L]]) -> None:
        for stamp in sorted(self._labels):
            labels = self._take_labels(stamp)
            nearest = self._nearest_within(stamp)
            if nearest is None:
                self.counts.unmatched += len(labels)
            else:
                self._settle(nearest, labels, matches)

    def _decide_again(self, now: int, matches: list[tuple[P, L]]) -> None:
        for stamp in self._passed:
            heappush(self._ahead, stamp)
        self._passed = []
        self._decide_passed(now, matches)

    def _oldest_open(self, now: int) -> int:
        """Stamp before which no prediction to come can be within a label's tolerance."""
        return now - self._disorder - self._tolerance

    def _take_labels(self, stamp: int) -> list[L]:
        labels = self._labels.pop(stamp, [])
        self._waiting -= len(labels)
        return labels

    def _bound_labels(self) -> None:
        while self._waiting > self._capacity:
            self._drop_first_label()

    def _drop_first_label(self) -> L | None:
        """Drop the label of the oldest stamp; None where its stamp was all that was left of it."""
        stamp = self._passed[0] if self._passed else self._ahead[0]
        queue = self._labels.get(stamp)
        label = queue.pop(0) if queue else None
        if label is not None:
            self._waiting -= 1
            self.counts.unmatched += 1
        if not queue:
            self._labels.pop(stamp, None)
            if self._passed:
                del self._passed[0]
            else:
                heappop(self._ahead)
        return label

    def _drop_labels(self) -> None:
        self.counts.unmatched += self._waiting
