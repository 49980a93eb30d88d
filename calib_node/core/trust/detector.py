# SPDX-License-Identifier: Apache-2.0
"""Finds that probabilities have ceased to be honest, by bets against them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib_node.core.ranges import Interval
from calib_node.core.samples import Floats
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

CLIP = 0.001
"""Probabilities are clipped to ``[CLIP, 1 - CLIP]`` before they are bet against."""
MOST = 1e300
"""Where a bet has won so much, more makes no difference, and must not overflow."""
MOST_TURNS = 1000
FEW_TURNS = 8
"""With fewer, plain floats cost less than small arrays."""
WON = Interval(0.0, MOST)
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
_SHIFTS = np.exp([bet.shift for bet in BETS if bet.slope == 1.0])
_N = len(BETS)


def winnings(q: Floats, y: NDArray[np.int64]) -> Floats:
    """Return what each bet makes of one unit, of mean 1 if the probability is honest.

    ``q̂ / q`` where the label is 1, and ``(1 - q̂) / (1 - q)`` where it is 0.

    Parameters
    ----------
    q : ndarray of float, shape (n,)
        The forecasts.
    y : ndarray of int, shape (n,)
        0 or 1.

    Returns
    -------
    ndarray of float, shape (n, 10)
        In the order of `BETS`.

    Examples
    --------
    >>> winnings(np.array([0.8, 0.8]), np.array([1, 0]))[:, :2].round(4).tolist()
    [[0.9462, 1.0463], [1.215, 0.8148]]
    """
    q = np.minimum(np.maximum(q, CLIP), 1.0 - CLIP)
    odds = q / (1.0 - q)
    root = np.sqrt(odds)
    others = np.empty((len(q), _N))
    np.multiply(odds[:, None], _SHIFTS, out=others[:, : len(_SHIFTS)])
    others[:, -4], others[:, -3] = root, root * np.sqrt(root)
    others[:, -2], others[:, -1] = np.exp(1.33 * np.log(odds)), odds * odds
    made = 1.0 / (1.0 + others)
    positive = y == 1
    made[positive] *= others[positive]
    made /= np.where(positive, q, 1.0 - q)[:, None]
    return made


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
        self._won = np.zeros((self.turns, _N))
        # By bet, over all turns: the logarithm of what one unit has become, its least value, and
        # the label and the stamp of that.
        self._run, self._least = np.zeros(_N), np.zeros(_N)
        self._since, self._stamps = np.zeros(_N, np.int64), np.zeros(_N, np.int64)

    def add(self, q: float, y: int, stamp: int = 0) -> bool:
        """Take in a forecast and its label; return whether the alarm goes, as `add_many`."""
        return self.add_many(np.array([q]), np.array([y]), np.array([stamp])) is not None

    def add_many(self, q: Floats, y: NDArray[np.int64], stamps: NDArray[np.int64]) -> int | None:
        """Take in forecasts and their labels, up to the first at which the alarm goes.

        The same numbers come of them one by one.

        Parameters
        ----------
        q : ndarray of float, shape (n,)
            From 0 to 1.
        y : ndarray of int, shape (n,)
            0 or 1.
        stamps : ndarray of int, shape (n,)
            Of the forecasts, in nanoseconds.

        Returns
        -------
        int or None
            By index at which the alarm goes; those after it are not taken in.
        """
        made = winnings(q, y)
        won, path = self._play(made)
        # What each label has changed of the sum over all turns.
        sums = np.concatenate([self._won.sum(axis=1), path.sum(axis=1)])
        turns, first = self.turns, self.labels % self.turns
        sums[:turns] = np.roll(sums[:turns], -first)
        totals = self._won.sum() + np.cumsum(sums[turns:] - sums[: len(q)])
        # The mean over turns and bets is as large as every / turns.
        gone = np.flatnonzero(totals >= self.every * _N)
        if gone.size and gone[0] + 1 < len(q):
            end = int(gone[0]) + 1
            return self.add_many(q[:end], y[:end], stamps[:end])
        self._won = won
        self._look_back(np.log(made), stamps)
        self.labels += len(q)
        return int(gone[0]) if gone.size else None

    def _play(self, made: Floats) -> tuple[Floats, Floats]:
        """Return what the bets of each turn have won in the end, and after each label."""
        turns, first, count = self.turns, self.labels % self.turns, len(made)
        won, path = self._won.copy(), np.empty_like(made)
        if turns < FEW_TURNS:
            last, after = won.tolist(), []
            for number, es in enumerate(made.tolist(), first):
                turn = number % turns
                last[turn] = row = [(value + 1.0) * e for value, e in zip(last[turn], es)]
                after.append(row)
            path[:], won[:] = after, last
            return np.minimum(won, MOST), np.minimum(path, MOST)
        taken = 0
        while taken < count:
            # As far as the end of the turns.
            part = slice(taken, taken + min(count - taken, turns - first))
            rows = won[first : first + part.stop - taken]
            rows += 1.0
            rows *= made[part]
            path[part] = rows
            taken, first = part.stop, 0
        return np.minimum(won, MOST), np.minimum(path, MOST)

    def _look_back(self, made: Floats, stamps: NDArray[np.int64]) -> None:
        """Note where each bet has last been at its least."""
        path = np.cumsum(np.vstack([self._run, made]), axis=0)[1:]
        at = len(path) - 1 - path[::-1].argmin(axis=0)
        lowest = path[at, np.arange(_N)]
        lower = lowest <= self._least
        self._least[lower] = lowest[lower]
        self._since[lower] = self.labels + at[lower] + 1
        self._stamps[lower] = stamps[at[lower]]
        self._run = path[-1]

    @property
    def leading(self) -> tuple[str, int, int]:
        """What is wrong by the bet that has won most, and after which label and which stamp.

        That is where one unit on it was last at its least: the likeliest place of a change (Page,
        *Continuous inspection schemes*, Biometrika 41, 1954).
        """
        index = int(self._won.sum(axis=0).argmax())
        return BETS[index].kind, int(self._since[index]), int(self._stamps[index])

    def quiet(self, kinds: frozenset[str]) -> bool:
        """Return whether no bet on some kinds of error has won a tenth of what an alarm takes."""
        sums = self._won.sum(axis=0)
        most = max(sums[index] for index, bet in enumerate(BETS) if bet.kind in kinds)
        return bool(most < 0.1 * self.every)

    def state(self) -> dict[str, Any]:
        """Return all of it, ready for YAML.

        Returns
        -------
        dict
        """
        return {
            'every': self.every,
            'labels': self.labels,
            'won': self._won.tolist(),
            'run': self._run.tolist(),
            'least': self._least.tolist(),
            'since': self._since.tolist(),
            'stamps': self._stamps.tolist(),
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
        found._won = np.array(won)
        found._run = np.array(fields.numbers(state, 'run', _N))
        found._least = np.array(fields.numbers(state, 'least', _N))
        found._since = np.array(_whole_numbers(state, 'since'), np.int64)
        found._stamps = np.array(_whole_numbers(state, 'stamps'), np.int64)
        if found._since.max() > found.labels:
            raise StateError(f'since must hold labels up to {found.labels}')
        return found


def _whole_numbers(state: dict[str, Any], key: str) -> list[int]:
    values = state.get(key)
    if not isinstance(values, list) or len(values) != _N:
        raise StateError(f'{key} must be a list of {_N} whole numbers')
    if not all(type(value) is int and 0 <= value < 2**63 for value in values):
        raise StateError(f'{key} must hold whole numbers from 0 on')
    return list(values)
