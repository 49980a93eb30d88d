# SPDX-License-Identifier: Apache-2.0
"""The calibration game: its choices, and its guarantee against any opponent."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from calibeating_oracle import GameOracle
from hypothesis import given
from hypothesis import strategies as st
from references import reference

from calib_node.core.calibrators.calibration_game import CalibrationGame

# Outcomes, and (lower point, upper point, probability of the lower one) before each of them,
# when the lower one is always taken.
OUTCOMES = [0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1]
CHOICES = [
    (7, 7, 1.0),
    (0, 0, 1.0),
    (0, 0, 1.0),
    (1, 1, 1.0),
    (2, 2, 1.0),
    (3, 3, 1.0),
    (4, 4, 1.0),
    (5, 5, 1.0),
    (6, 6, 1.0),
    (8, 8, 1.0),
    (9, 9, 1.0),
    (0, 1, 0.2),
    (0, 1, 0.3),
    (0, 1, 0.2),
    (0, 1, 0.25),
]


def assert_choices(outcomes, choices):
    game = CalibrationGame(10, 7)
    for y, (lower, upper, probability) in zip(outcomes, choices, strict=True):
        point, share = game.choice
        assert (point, point if share == 1.0 else point + 1) == (lower, upper)
        assert share == pytest.approx(probability, abs=1e-12)
        game.learn(point, y)


def test_fifteen_outcomes():
    assert_choices(OUTCOMES, CHOICES)


def test_reference_trajectory():
    game = reference('trajectories')['F99_m10_pivot7_take_i']
    assert_choices(game['y'], game['ij_prob'])


games = st.integers(2, 12).flatmap(
    lambda bins: st.tuples(
        st.just(bins),
        st.integers(0, bins - 1),
        # Any points, as late labels give; few of them, so that means lie on edges.
        st.lists(st.tuples(st.integers(0, bins - 1), st.integers(0, 1)), max_size=80),
    )
)


@given(games)
def test_choices_are_those_of_exact_fractions(case):
    bins, preferred, outcomes = case
    game, oracle = CalibrationGame(bins, preferred), GameOracle(bins, preferred)
    for point, y in outcomes:
        game.learn(point, y)
        oracle.learn(point, y)
        lower, share = game.choice
        expected = oracle.distribution()
        assert set(expected) == ({lower} if share == 1.0 else {lower, lower + 1})
        assert share == float(expected[lower])


@given(games)
def test_random_choice_makes_no_outcome_worse_in_the_mean(case):
    bins, preferred, outcomes = case
    game = CalibrationGame(bins, preferred)
    for point, y in outcomes:
        game.learn(point, y)
    lower, share = game.choice
    if share < 1.0:
        upper = lower + 1
        excess = game.positives[lower] / game.counts[lower] - upper / bins
        deficit = upper / bins - game.positives[upper] / game.counts[upper]
        assert min(excess, deficit) > 0.0
        assert share * excess == pytest.approx((1 - share) * deficit)


def test_mean_on_an_edge_is_sound():
    """3 of 10 lie on an edge of tenths, which no float says."""
    for preferred in (2, 3):
        game = CalibrationGame(10, preferred)
        for number in range(10):
            game.learn(preferred, int(number < 3))
        assert game.choice == (preferred, 1.0)


Opponent = Callable[[CalibrationGame, int], int]


def mean_forecast(game: CalibrationGame) -> float:
    lower, share = game.choice
    return (lower + 0.5 + (1 - share)) / len(game.counts)


def greedy(game: CalibrationGame, _: int) -> int:
    """Return the outcome that is the worse one for calibration in the mean."""
    lower, share = game.choice
    bins = len(game.counts)

    def expected_error(y: int) -> float:
        total = 0.0
        for point, probability in ((lower, share), (lower + 1, 1 - share)):
            if probability:
                gap = game.positives[point] - game.counts[point] * (point + 0.5) / bins
                total += probability * (abs(gap + y - (point + 0.5) / bins) - abs(gap))
        return total

    return int(expected_error(1) > expected_error(0))


COIN = random.Random(7)
OPPONENTS: dict[str, Opponent] = {
    'contrary': lambda game, _: int(mean_forecast(game) < 0.5),
    'greedy': greedy,
    'away from the lower point': lambda game, _: int(game.choice[0] < len(game.counts) // 2),
    'by turns': lambda _, number: number % 2,
    'always': lambda _, number: 1,
    'in blocks': lambda _, number: number // 100 % 2,
    'in growing blocks': lambda _, number: int(math.log2(number + 1)) % 2,
    'a coin': lambda _, number: int(COIN.random() < 0.3),
}


def calibration_error(game: CalibrationGame) -> Fraction:
    bins = len(game.counts)
    gaps = [
        abs(s - n * Fraction(2 * i + 1, 2 * bins))
        for i, (n, s) in enumerate(zip(game.counts, game.positives))
    ]
    return sum(gaps) / sum(game.counts)


def play(opponent: Opponent, bins: int, preferred: int, rounds: int, seed: int) -> CalibrationGame:
    game, generator = CalibrationGame(bins, preferred), random.Random(seed)
    for number in range(rounds):
        y = opponent(game, number)
        lower, share = game.choice
        game.learn(lower if generator.random() < share else lower + 1, y)
    return game


@pytest.mark.slow
@pytest.mark.parametrize('opponent', OPPONENTS)
@pytest.mark.parametrize('bins', [5, 10])
def test_opponent_who_knows_all_but_the_random_numbers_cannot_break_calibration(opponent, bins):
    """In the mean the error is at most 1 / (2 m) + sqrt(3 m (1 + ln(T / m)) / T).

    With x_i the distance of the mean outcome of point i from its bin, a round adds at most
    3 / (n_i + 1) in the mean to the sum of n_i x_i², which so stays below 3 m (1 + ln(T / m));
    the bound is that of Cauchy and Schwarz on the sum of n_i x_i.
    """
    rounds = 6000
    bound = 1 / (2 * bins) + math.sqrt(3 * bins * (1 + math.log(rounds / bins)) / rounds)
    for preferred in (0, bins // 2, bins - 1):
        game = play(OPPONENTS[opponent], bins, preferred, rounds, seed=preferred)
        error = float(calibration_error(game))
        assert error <= bound
        # In fact it is far smaller.
        assert error <= 1 / (2 * bins) + 0.04


def test_opponent_who_knows_the_random_numbers_too_breaks_it():
    game, generator = CalibrationGame(10, 5), random.Random(1)
    for _ in range(6000):
        lower, share = game.choice
        point = lower if generator.random() < share else lower + 1
        game.learn(point, int(point < 5))
    assert calibration_error(game) > 0.4
