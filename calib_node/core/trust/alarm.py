# SPDX-License-Identifier: Apache-2.0
"""An alarm on a sequence of forecasts: it goes, says since when and of what kind, and clears."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median_low
from typing import Any

import numpy as np

from calib_node.core.ranges import Interval, check_number
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError
from calib_node.core.trust.detector import BETS, Detector

DELAYS = 100
"""So many of the last delays say how late labels are."""
CLEARS_AFTER = 1000
"""So many labels at least a detector that was started anew must stay silent."""
EVERY = Interval(1.0)
MANY = 1 << 30
KINDS = tuple(dict.fromkeys(bet.kind for bet in BETS))


@dataclass(frozen=True)
class Raised:
    """Why an alarm is raised.

    Attributes
    ----------
    kind : str
        too high, too low, too sure or too unsure.
    since_label, since_stamp : int
        The last label before it began, as far as the bets tell, and the stamp of its forecast in
        nanoseconds; 0 where it began with the first.
    label, stamp : int
        The label at which it was found.
    """

    kind: str
    since_label: int
    since_stamp: int
    label: int
    stamp: int


class Alarm:
    """Tells when forecasts have ceased to be honest.

    Parameters
    ----------
    every : float
        Mean number of labels to a false alarm, at least.
    late : bool
        Whether labels may come late, so that neighbours are told apart in turns, as `Detector`
        says; the number of turns follows from the last delays when a detector is started. False
        is for who knows that each label is known before the next forecast.

    Attributes
    ----------
    raised : Raised or None
        Why the alarm is raised.
    labels : int
        Seen by all detectors.

    Examples
    --------
    >>> alarm = Alarm(every=1000.0, late=False)
    >>> while alarm.raised is None:
    ...     alarm.add(0.9, alarm.labels % 2)
    >>> alarm.raised.kind, alarm.raised.label
    ('too sure', 21)
    """

    def __init__(self, every: float = 100_000.0, late: bool = True) -> None:
        self.every = check_number('every', every, EVERY)
        self.late = late
        self.labels = 0
        self.raised: Raised | None = None
        self._delays: deque[int] = deque(maxlen=DELAYS)
        self._detector: Detector | None = None if late else Detector(self.every)
        self._before = 0

    @property
    def turns(self) -> int:
        """Number of turns of the detector; 0 while the delays are not known yet."""
        return 0 if self._detector is None else self._detector.turns

    def add(self, q: float, y: int, delay: int = 0, stamp: int = 0) -> None:
        """Take in a forecast and its label, as of `add_many`."""
        self.add_many([q], [y], [delay], [stamp])

    def add_many(
        self, q: Sequence[float], y: Sequence[int], delays: Sequence[int], stamps: Sequence[int]
    ) -> None:
        """Take in forecasts and their labels; the same comes of them one by one.

        Parameters
        ----------
        q : sequence of float
            From 0 to 1.
        y : sequence of int
            0 or 1.
        delays : sequence of int
            How many labels were learned between each forecast and its label.
        stamps : sequence of int
            Of the forecasts, in nanoseconds.
        """
        forecasts, labels = np.array(q, np.float64), np.array(y, np.int64)
        times, taken = np.array(stamps, np.int64), 0
        while taken < len(labels):
            end = min(taken + self._until_next(), len(labels))
            if self._detector is not None:
                part = slice(taken, end)
                gone = self._detector.add_many(forecasts[part], labels[part], times[part])
                end = end if gone is None else taken + gone + 1
            self.labels += end - taken
            self._delays.extend(delays[taken:end])
            self._look(int(times[end - 1]), self._detector is not None and gone is not None)
            taken = end

    def _until_next(self) -> int:
        """Return how many labels may be taken in before there is something to decide."""
        if self._detector is None:
            return DELAYS - len(self._delays)
        if self.raised is None:
            return MANY
        return max(self._silence(self.raised) - self._detector.labels, 1)

    def _look(self, stamp: int, gone: bool) -> None:
        """Do what is due after the last label."""
        detector = self._detector
        if detector is None:
            if len(self._delays) == DELAYS:
                self._start()
        elif gone:
            kind, since, since_stamp = detector.leading
            if self.raised is None:
                self.raised = Raised(kind, self._before + since, since_stamp, self.labels, stamp)
            self._start()
        elif self.raised is not None and detector.labels >= self._silence(self.raised):
            self.raised = None

    def _silence(self, raised: Raised) -> int:
        """Return how many labels without an alarm clear one: as many as it took to be found."""
        return max(CLEARS_AFTER, raised.label - raised.since_label)

    def _start(self) -> None:
        turns = 1 + (median_low(self._delays) if self.late else 0)
        self._detector, self._before = Detector(self.every, turns), self.labels

    def acknowledge(self) -> bool:
        """Clear the alarm, and start anew; return whether it was raised."""
        was_raised, self.raised = self.raised is not None, None
        if self._detector is not None:
            self._start()
        return was_raised

    def is_quiet(self, *kinds: str) -> bool:
        """Return whether no bet on these kinds of error is about to win, nor has won."""
        if self.raised is not None and self.raised.kind in kinds:
            return False
        return self._detector is None or self._detector.quiet(frozenset(kinds))

    def state(self) -> dict[str, Any]:
        """Return all of it, ready for YAML.

        Returns
        -------
        dict
        """
        return {
            'late': self.late,
            'labels': self.labels,
            'before': self._before,
            'delays': list(self._delays),
            'raised': None if self.raised is None else asdict(self.raised),
            'detector': None if self._detector is None else self._detector.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave; with other parameters only the count of the labels.

        Raises
        ------
        StateError
            If it is not sound; nothing has changed then.
        """
        found = Alarm(self.every, self.late)
        found.labels, found._before = fields.whole(state, 'labels'), fields.whole(state, 'before')
        delays = fields.numbers(state, 'delays', None, Interval(0, whole=True))
        if len(delays) > DELAYS or found._before > found.labels:
            raise StateError(
                f'delays must hold {DELAYS} at most, and before be no more than labels'
            )
        found._delays.extend(int(delay) for delay in delays)
        if state.get('raised') is not None:
            found.raised = _raised(fields.table(state, 'raised'))
        if state.get('detector') is not None:
            detector = Detector.restored(fields.table(state, 'detector'))
            if (detector.every, state.get('late')) == (self.every, self.late):
                found._detector = detector
            elif not self.late or len(delays) == DELAYS:
                found._start()
        self.__dict__.update(found.__dict__)


def _raised(state: dict[str, Any]) -> Raised:
    kind = state.get('kind')
    if kind not in KINDS:
        raise StateError(f'kind must be one of {", ".join(KINDS)}')
    numbers = [fields.whole(state, name) for name in ('since_label', 'label')]
    stamps = [state.get(name) for name in ('since_stamp', 'stamp')]
    for stamp in stamps:
        if type(stamp) is not int or not 0 <= stamp < 2**63:
            raise StateError('a stamp must be a whole number of nanoseconds')
    return Raised(kind, numbers[0], stamps[0], numbers[1], stamps[1])  # type: ignore[arg-type]
