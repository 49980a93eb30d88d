# SPDX-License-Identifier: Apache-2.0
"""Calibeating by hedging: a game against the outcomes in each bin of another calibrator."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.random import PCG64

from calib_node.core.calibrators.beta import OnlineBetaScaling
from calib_node.core.calibrators.calibeating import Calibeating, check_total, whole_numbers
from calib_node.core.calibrators.calibration_game import CalibrationGame
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.refusal import brief
from calib_node.core.state import fields
from calib_node.core.state.fields import StateError

Row = tuple[int, int, int, int]
"""Game, point, and the number of its outcomes and of the positive ones among them."""


class Hedging(Calibeating):
    """Forecasts by the game of the bin that the wrapped calibrator's output falls into.

    `predict` returns what `issue` would return now, however often it is asked: the next random
    number is known, and only `issue` uses it up, if the game needs one.
    """

    fixed: ClassVar[frozenset[str]] = frozenset({'bins', 'seed'})

    def _start_tallies(self) -> None:
        self._games: dict[int, CalibrationGame] = {}
        self._start_generator(0)

    def _start_generator(self, draws: int) -> None:
        self._draws = draws
        # numpy promises the bits of PCG64 for all its versions, unlike the distributions.
        self._generator = PCG64(self._own['seed'])
        self._generator.advance(draws)
        self._uniform = self._next_uniform()

    def _next_uniform(self) -> float:
        return (self._generator.random_raw() >> 11) * 2.0**-53

    def _use_up(self) -> None:
        self._uniform = self._next_uniform()
        self._draws += 1

    def _choose(self, p: float) -> tuple[int, tuple[Any, int, int], bool]:
        """Return the point to forecast, its ticket, and whether it was chosen at random."""
        q, ticket = self._wrapped.issue(p)
        index = int(q * self._bins)
        if index == self._bins:
            index -= 1
        game = self._games.get(index)
        if game is None:
            return index, (ticket, index, index), False
        point, share = game.choice
        if share == 1.0:
            return point, (ticket, index, point), False
        if self._uniform >= share:
            point += 1
        return point, (ticket, index, point), True

    def predict(self, p: float) -> float:
        """Return the forecast that `issue` would make of `p` now, and keep nothing."""
        return (self._choose(p)[0] + 0.5) / self._bins

    def issue(self, p: float) -> tuple[float, tuple[Any, int, int]]:
        """Return the game's forecast and its ticket: the wrapped one, the game and the point."""
        point, ticket, random = self._choose(p)
        if random:
            self._use_up()
        return (point + 0.5) / self._bins, ticket

    def update(self, p: float, y: int, ticket: tuple[Any, int, int] | None = None) -> None:
        """Learn that the forecast made of `p` had outcome `y`, in the game and point issued."""
        random = False
        if ticket is None:
            _, ticket, random = self._choose(p)
        wrapped_ticket, index, point = ticket
        points = range(self._bins)
        if index not in points or point not in points:
            raise ValueError(f'the ticket is of no game and point: {index!r}, {point!r}')
        self._wrapped.update(p, y, wrapped_ticket)
        game = self._games.get(index)
        if game is None:
            game = self._games[index] = CalibrationGame(self._bins, index)
        game.learn(point, y)
        if random:
            self._use_up()
        self._updates += 1

    def _mark(self, ticket: tuple[Any, int, int] | None) -> tuple[Any, list[Any], int, int]:
        games = self._games
        # Without a ticket it may be any game.
        indices = range(self._bins) if ticket is None else (ticket[1],)
        kept = [(i, games[i].tallies() if i in games else None) for i in indices]
        return self._wrapped._mark(ticket), kept, self._draws, self._updates

    def _go_back(self, mark: tuple[Any, list[Any], int, int]) -> None:
        wrapped, kept, draws, self._updates = mark
        self._wrapped._go_back(wrapped)
        for index, tallies in kept:
            if tallies is None:
                self._games.pop(index, None)
            else:
                self._games[index].take(*tallies)
        if self._draws != draws:
            self._start_generator(draws)

    def _tallies(self) -> dict[str, Any]:
        rows = [
            [index, point, count, game.positives[point]]
            for index, game in sorted(self._games.items())
            for point, count in enumerate(game.counts)
            if count
        ]
        return {'games': rows, 'draws': self._draws}

    def _checked_tallies(
        self, state: dict[str, Any], bins: int, updates: int
    ) -> tuple[list[Row], int]:
        games = state.get('games')
        if not isinstance(games, list):
            raise StateError(f'games must be a list of rows, not {brief(games)}')
        rows: list[Row] = []
        for values in games:
            index, point, count, positive = whole_numbers({'games': values}, 'games', 4)
            if not (index < bins and point < bins and count > 0 and positive <= count):
                raise StateError(
                    f'a row of games must be a game and a point below {bins}, the number of'
                    f' outcomes and that of the positive ones, not {values}'
                )
            if rows and (index, point) <= rows[-1][:2]:
                raise StateError(f'game {index}, point {point} is not in order among the games')
            rows.append((index, point, count, positive))
        check_total([row[2] for row in rows], updates)
        return rows, fields.whole(state, 'draws')

    def _take_tallies(self, tallies: tuple[list[Row], int]) -> None:
        rows, draws = tallies
        for index, point, count, positive in rows:
            game = self._games.setdefault(index, CalibrationGame(self._bins, index))
            game.counts[point], game.positives[point] = count, positive
        for game in self._games.values():
            game.choose()
        self._start_generator(draws)


class HedgingOnlinePlattScaling(Hedging):
    """Hedges the forecasts of Online Platt Scaling in bins of its output (HOPS).

    In each bin of Online Platt Scaling's output a `CalibrationGame` prefers that bin's forecast.
    It is calibrated to half a bin whatever the outcomes, even against an opponent who knows the
    method but not the random numbers, which no deterministic forecaster can be. The price is
    forecasts at the mid-points of bins alone, and random ones.

    Parameters
    ----------
    gamma, rho, radius, clip, forgetting : float
        Of the wrapped `OnlinePlattScaling`. The games do not forget.
    bins : int
        Number of equal bins of [0, 1], of games, and of the points of each. A state saved with
        another number gives its map alone, and the games start anew.
    seed : int
        Of the random numbers. A state holds how many were used; a calibrator of another seed
        goes on at that place of its own sequence.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070,
    Section 3.

    Examples
    --------
    >>> calibrator = HedgingOnlinePlattScaling()
    >>> calibrator.predict(0.82)
    0.85
    >>> q, ticket = calibrator.issue(0.82)
    >>> calibrator.update(0.82, 1, ticket)
    >>> calibrator.state()['games']
    [[8, 8, 1, 1]]
    """

    name: ClassVar[str] = 'hops'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 100.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
        bins: int = 10,
        seed: int = 0,
    ) -> None:
        wrapped = OnlinePlattScaling(gamma, rho, radius, clip, forgetting)
        super().__init__(wrapped, bins=bins, seed=seed)


class HedgingOnlineBetaScaling(Hedging):
    """Hedges the forecasts of Online Beta Scaling in bins of its output (HOBS).

    Parameters
    ----------
    gamma, rho, radius, clip, forgetting : float
        Of the wrapped `OnlineBetaScaling`. The games do not forget.
    bins, seed : int
        As in `HedgingOnlinePlattScaling`.

    References
    ----------
    Gupta and Ramdas, *Online Platt Scaling with Calibeating*, ICML 2023, arXiv:2305.00070,
    Section 4.

    Examples
    --------
    >>> HedgingOnlineBetaScaling(bins=20).predict(0.82)
    0.825
    """

    name: ClassVar[str] = 'hobs'

    def __init__(
        self,
        gamma: float = 0.1,
        rho: float = 25.0,
        radius: float = 100.0,
        clip: float = 0.01,
        forgetting: float = 1.0,
        bins: int = 10,
        seed: int = 0,
    ) -> None:
        wrapped = OnlineBetaScaling(gamma, rho, radius, clip, forgetting)
        super().__init__(wrapped, bins=bins, seed=seed)
