# SPDX-License-Identifier: Apache-2.0
"""Finds that probabilities have ceased to be honest, by bets against them."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, NamedTuple

from calib_node.core.ranges import Interval
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

CLIP = 0.001
"""Probabilities are clipped to ``[CLIP, 1 - CLIP]`` before they are bet against."""
MOST = 1e300
"""Where a bet has won so much, more makes no difference, and must not overflow."""
MOST_TURNS = 1000
WON, RUN = Interval(0.0, MOST), Interval(1.0, MOST)
AT_LEAST_ONE = Interval(1.0)

# Each bet says that the probability is σ(slope logit q + shift), and what is wrong if it wins.
TOO_HIGH, TOO_LOW, TOO_SURE, TOO_UNSURE = 'too high', 'too low', 'too sure', 'too unsure'


class Bet(NamedTuple):
    """What is bet.

    Attributes
    ----------
    slope, shift : float
    kind : str
        What is wrong with the probabilities if it is so.
    """

    slope: float
    shift: float
    kind: str


BETS = (
    Bet(1.0, -0.25, TOO_HIGH),
    Bet(1.0, 0.25, TOO_LOW),
    Bet(1.0, -0.5, TOO_HIGH),
    Bet(1.0, 0.5, TOO_LOW),
    Bet(1.0, -1.0, TOO_HIGH),
    Bet(1.0, 1.0, TOO_LOW),
    Bet(0.5, 0.0, TOO_SURE),
    Bet(0.75, 0.0, TOO_SURE),
    Bet(1.33, 0.0, TOO_UNSURE),
    Bet(2.0, 0.0, TOO_UNSURE),
)
_SHIFTED = tuple(exp(bet.shift) for bet in BETS[:6])
_N = len(BETS)


def winnings(q: float, y: int) -> list[float]:
    """Return what each bet makes of one unit, of mean 1 if the probability is honest.

    ``q̂ / q`` where the label is 1, and ``(1 - q̂) / (1 - q)`` where it is 0.

    Parameters
    ----------
    q : float
        The forecast.
    y : int
        0 or 1.

    Returns
    -------
    list of float
        In the order of `BETS`.

    Examples
    --------
    >>> [round(e, 4) for e in winnings(0.8, 1)][:2], [round(e, 4) for e in winnings(0.8, 0)][:2]
    ([0.9462, 1.0463], [1.215, 0.8148])
    """
    q = min(max(q, CLIP), 1.0 - CLIP)
    odds = q / (1.0 - q)
    root = sqrt(odds)
    stretched = (root, root * sqrt(root), exp(1.33 * log(odds)), odds * odds)
    others = [odds * factor for factor in _SHIFTED]
    others.extend(stretched)
    if y:
        return [other / ((1.0 + other) * q) for other in others]
    miss = 1.0 - q
    return [1.0 / ((1.0 + other) * miss) for other in others]


class Detector:
    """A Shiryaev-Roberts e-detector over the labels, or over several sequences of them in turn.

    Each bet of each turn takes a new unit with each of its labels, S <- (S + 1) e. The alarm goes
    when the mean of all S reaches the bound; for honest probabilities the mean number of labels to
    an alarm is then at least ``every``.

    Labels that come late are told of by neighbours that were forecast with the same knowledge, so
    that their errors go together though each probability is honest. With D + 1 turns, where D
    labels are learned between a forecast and its label, those of a turn do not, and the bound is
    ``every / (D + 1)``.

    Parameters
    ----------
    every : float
        Mean number of labels to a false alarm.
    turns : int
        From 1 to 1000.

    Attributes
    ----------
    labels : int
        Seen since the start.

    References
    ----------
    Shin, Ramdas and Rinaldo, *E-detectors: a nonparametric framework for sequential change
    detection*, New England Journal of Statistics in Data Science, 2023.

    Examples
    --------
    >>> detector = Detector(every=1000.0)
    >>> while not detector.add(0.9, detector.labels % 2):
    ...     pass
    >>> detector.labels, detector.leading
    (21, ('too sure', 0, 0))
    """

    def __init__(self, every: float, turns: int = 1) -> None:
        self.every = every
        self.turns = min(max(turns, 1), MOST_TURNS)
        self.labels = 0
        self._won = [[0.0] * _N for _ in range(self.turns)]
        # By bet, over all turns: what one unit has become that is taken anew once it is less, and
        # the label and the stamp of that.
        self._run = [1.0] * _N
        self._since, self._stamps = [0] * _N, [0] * _N
        self._sums = [0.0] * self.turns

    def add(self, q: float, y: int, stamp: int = 0) -> bool:
        """Take in a forecast and its label; return whether the alarm goes.

        Parameters
        ----------
        q : float
            From 0 to 1.
        y : int
            0 or 1.
        stamp : int
            Of the forecast, in nanoseconds.

        Returns
        -------
        bool
        """
        turn = self.labels % self.turns
        self.labels += 1
        won, run = self._won[turn], self._run
        total = 0.0
        for index, e in enumerate(winnings(q, y)):
            now = (won[index] + 1.0) * e
            if now > MOST:
                now = MOST
            won[index] = now
            total += now
            now = run[index] * e
            if now < 1.0:
                now = 1.0
                self._since[index], self._stamps[index] = self.labels, stamp
            elif now > MOST:
                now = MOST
            run[index] = now
        self._sums[turn] = total
        # The mean over turns and bets is as large as every / turns.
        return sum(self._sums) >= self.every * _N

    @property
    def leading(self) -> tuple[str, int, int]:
        """What is wrong by the bet that has won most, and after which label and which stamp.

        That is where one unit on it was last lost: the likeliest place of a change (Page,
        *Continuous inspection schemes*, Biometrika 41, 1954).
        """
        sums = [sum(won[index] for won in self._won) for index in range(_N)]
        index = max(range(_N), key=sums.__getitem__)
        return BETS[index].kind, self._since[index], self._stamps[index]

    def quiet(self, kinds: frozenset[str]) -> bool:
        """Return whether no bet on some kinds of error has won a tenth of what an alarm takes."""
        most = max(
            sum(won[index] for won in self._won) for index, bet in enumerate(BETS)
            if bet.kind in kinds
        )  # fmt: skip
        return most < 0.1 * self.every

    def state(self) -> dict[str, Any]:
        """Return all of it, ready for YAML.

        Returns
        -------
        dict
        """
        return {
            'every': self.every,
            'labels': self.labels,
            'won': [list(row) for row in self._won],
            'run': list(self._run),
            'since': list(self._since),
            'stamps': list(self._stamps),
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Detector:
        """Return the detector of a state.

        Returns
        -------
        Detector

        Raises
        ------
        StateError
            If it is not sound.
        """
        won = fields.rows(state, 'won', (None, _N), WON)
        if not 1 <= len(won) <= MOST_TURNS:
            raise StateError(f'won must hold 1 to {MOST_TURNS} turns, not {len(won)}')
        found = cls(fields.finite(state, 'every', AT_LEAST_ONE), len(won))
        found.labels = fields.whole(state, 'labels')
        found._won, found._sums = won, [sum(row) for row in won]
        found._run = fields.numbers(state, 'run', _N, RUN)
        found._since = _whole_numbers(state, 'since')
        found._stamps = _whole_numbers(state, 'stamps')
        if max(found._since) > found.labels:
            raise StateError(f'since must hold labels up to {found.labels}')
        return found


def _whole_numbers(state: dict[str, Any], key: str) -> list[int]:
    values = state.get(key)
    if not isinstance(values, list) or len(values) != _N:
        raise StateError(f'{key} must be a list of {_N} whole numbers')
    if not all(type(value) is int and 0 <= value < 2**63 for value in values):
        raise StateError(f'{key} must hold whole numbers from 0 on')
    return list(values)
