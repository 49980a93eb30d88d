# SPDX-License-Identifier: Apache-2.0
"""The matching rules word for word: plain lists, everything searched anew at every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Kept:
    """A prediction that the rules still know of."""

    stamp: int
    item: Any
    taken: bool = False


@dataclass
class Waiting:
    """A label that may yet find a prediction."""

    stamp: int
    item: Any
    used: bool = False


@dataclass
class Oracle:
    """The policies `exact` and `nearest`: each prediction has one label of its own."""

    policy: str
    tolerance: int
    horizon: int
    max_disorder: int
    capacity: int
    now: int | None = None
    far_ahead: Kept | None = None
    predictions: list[Kept] = field(default_factory=list)
    last_dropped: int | None = None
    labels: list[Waiting] = field(default_factory=list)
    matches: list[tuple[Any, Any]] = field(default_factory=list)
    matched: int = 0
    expired: int = 0
    unmatched: int = 0
    duplicate: int = 0
    jumps_back: int = 0
    same_stamp: int = 0

    def __post_init__(self) -> None:
        if self.policy == 'exact':
            self.tolerance = 0

    def configure(self, **changed: Any) -> list[tuple[Any, Any]]:
        self.matches = []
        vars(self).update(changed)
        self.__post_init__()
        self._bound_predictions()
        self._decide()
        self._bound_labels()
        return self.matches

    def add_prediction(self, stamp: int, item: Any) -> list[tuple[Any, Any]]:
        self.matches = []
        new = Kept(stamp, item)
        held, self.far_ahead = self.far_ahead, None
        if held is not None:
            if stamp < held.stamp - self.max_disorder:
                self.expired += 1
            else:
                self._take_in(held)
        if self.now is not None and stamp < self.now - self.max_disorder:
            self.jumps_back += 1
            self._drop_all()
            self.now = None
        if self.now is not None and stamp > self.now + self.horizon:
            self.far_ahead = new
            self._bound_predictions()
        else:
            self._take_in(new)
        return self.matches

    def add_label(self, stamp: int, item: Any) -> list[tuple[Any, Any]]:
        self.matches = []
        label = Waiting(stamp, item)
        self.labels.append(label)
        if self._open(stamp):
            self._give(label, stamp)
        self._decide()
        self._bound_labels()
        return self.matches

    def flush(self) -> list[tuple[Any, Any]]:
        self.matches = []
        if self.far_ahead is not None:
            held, self.far_ahead = self.far_ahead, None
            self._take_in(held)
        self._decide_all()
        self._drop_all()
        return self.matches

    @property
    def pending_predictions(self) -> int:
        return sum(not kept.taken for kept in self.predictions) + (self.far_ahead is not None)

    @property
    def pending_labels(self) -> int:
        return len(self.labels)

    def _take_in(self, new: Kept) -> None:
        self.same_stamp += bool(self._open(new.stamp))
        self.predictions.append(new)
        self.now = new.stamp if self.now is None else max(self.now, new.stamp)
        for label in self.labels:
            if label.stamp == new.stamp:
                self._give(label, new.stamp)
                break
        self._decide()
        self._bound_predictions()

    def _bound_predictions(self) -> None:
        if self.now is None:
            return
        old = {kept.stamp for kept in self.predictions if kept.stamp < self.now - self.horizon}
        for stamp in sorted(old):
            self._drop(self._at(stamp))
            self.last_dropped = stamp
        while self._too_many():
            oldest = min(kept.stamp for kept in self.predictions)
            free = self._open(oldest)
            if len(free) > 1:
                self._drop(free[:1])
            else:
                self._drop(self._at(oldest))
                self.last_dropped = oldest

    def _too_many(self) -> bool:
        stamps = {kept.stamp for kept in self.predictions}
        waiting = sum(not kept.taken for kept in self.predictions)
        room = self.capacity - (self.far_ahead is not None)
        return len(stamps) > room or waiting > room

    def _bound_labels(self) -> None:
        while len(self.labels) > self.capacity:
            self.labels.remove(min(self.labels, key=lambda waiting: waiting.stamp))
            self.unmatched += 1

    def _decide(self) -> None:
        """Decide the labels that event time has passed by the tolerance."""
        if self.now is None:
            return
        self._settle_near(
            [label for label in self.labels if label.stamp + self.tolerance <= self.now]
        )
        oldest = self.now - self.max_disorder - self.tolerance
        self.unmatched += sum(label.stamp < oldest for label in self.labels)
        self.labels = [label for label in self.labels if label.stamp >= oldest]

    def _decide_all(self) -> None:
        self._settle_near(self.labels)

    def _settle_near(self, labels: list[Waiting]) -> None:
        """Pair labels with their nearest prediction; leave those that have none near."""
        for label in sorted(labels, key=lambda waiting: waiting.stamp):
            distances = [
                (abs(kept.stamp - label.stamp), kept.stamp)
                for kept in self.predictions
                if abs(kept.stamp - label.stamp) <= self.tolerance
            ]
            gone = self.last_dropped
            if gone is not None and abs(gone - label.stamp) <= self.tolerance:
                distances.append((abs(gone - label.stamp), gone))
            if distances and min(distances)[1] == gone and not self._at(gone):
                # What it belongs to has been dropped.
                self.labels.remove(label)
                self.unmatched += 1
            elif distances:
                self._give(label, min(distances)[1])

    def _give(self, label: Waiting, stamp: int) -> None:
        """Pair a label with a prediction of that stamp, or find it a duplicate."""
        self.labels.remove(label)
        free = self._open(stamp)
        if free:
            free[0].taken = True
            self.matched += 1
            self.matches.append((free[0].item, label.item))
        else:
            self.duplicate += 1

    def _at(self, stamp: int) -> list[Kept]:
        return [kept for kept in self.predictions if kept.stamp == stamp]

    def _open(self, stamp: int) -> list[Kept]:
        return [kept for kept in self._at(stamp) if not kept.taken]

    def _drop_all(self) -> None:
        self.unmatched += sum(not label.used for label in self.labels)
        self._drop(self.predictions)
        self.last_dropped = None
        self.labels = []

    def _drop(self, gone: list[Kept]) -> None:
        self.expired += sum(not kept.taken for kept in gone)
        self.predictions = [kept for kept in self.predictions if kept not in gone]


class HoldOracle(Oracle):
    """The policy `hold`, with a horizon and a capacity that are never reached."""

    def add_label(self, stamp: int, item: Any) -> list[tuple[Any, Any]]:
        self.matches = []
        if any(label.stamp == stamp for label in self.labels):
            self.duplicate += 1
        else:
            self.labels.append(Waiting(stamp, item))
            self._decide()
        return self.matches

    def _take_in(self, new: Kept) -> None:
        self.predictions.append(new)
        self.now = new.stamp if self.now is None else max(self.now, new.stamp)
        self._decide()

    def _decide(self) -> None:
        """Decide what has a label after it; forget labels that hold for nothing to come."""
        self._pair(ended=False)
        if self.now is not None:
            oldest = self.now - self.max_disorder
            over = [stamp for stamp in self._label_stamps() if stamp <= oldest]
            gone = [label for label in self.labels if over and label.stamp < max(over)]
            self.unmatched += sum(not label.used for label in gone)
            self.labels = [label for label in self.labels if label not in gone]

    def _decide_all(self) -> None:
        self._pair(ended=True)

    def _label_stamps(self) -> list[int]:
        return [label.stamp for label in self.labels]

    def _pair(self, ended: bool) -> None:
        for kept in sorted(self.predictions, key=lambda kept: kept.stamp):
            before = [label for label in self.labels if label.stamp <= kept.stamp]
            if before and (ended or max(self._label_stamps()) > kept.stamp):
                label = max(before, key=lambda label: label.stamp)
                label.used = True
                self.matched += 1
                self.matches.append((kept.item, label.item))
                self.predictions.remove(kept)
