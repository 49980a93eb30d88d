# SPDX-License-Identifier: Apache-2.0
"""What hedging promises; test_hedging_game.py has the game itself."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import yaml
from calibeating_oracle import GameOracle, bin_of

from calib_node.core.calibrators import create

WRAPPED = {'hops': 'ops', 'hobs': 'beta'}
methods = pytest.mark.parametrize('method', WRAPPED)

EDGES = [0.0, 5e-324, 0.01, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0 - 2**-53, 1.0]


def random_stream(length: int, seed: int = 1) -> list[tuple[float, int]]:
    """Return samples whose outcomes no map of p explains, so that games are lost and drawn."""
    generator = random.Random(seed)
    return [
        (generator.choice([0.15, 0.5, 0.55, 0.9]), int(generator.random() < 0.5))
        for _ in range(length)
    ]


def learned(method: str, length: int = 300, **parameters):
    calibrator = create(method, **parameters)
    for p, y in random_stream(length):
        calibrator.update(p, y)
    return calibrator


class Oracle:
    """Games in fractions, with the uniform numbers that numpy makes of the seed."""

    def __init__(self, seed: int, bins: int) -> None:
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.games = [GameOracle(bins, pivot) for pivot in range(bins)]
        self.draws = 0

    def play(self, q: float) -> tuple[int, int]:
        """Return the game of a wrapped forecast and the point that it forecasts."""
        game = bin_of(q, len(self.games))
        distribution = self.games[game].distribution()
        point = min(distribution)
        if len(distribution) > 1:
            self.draws += 1
            point += self.generator.random() >= float(distribution[point])
        return game, point


@pytest.mark.slow
@methods
@pytest.mark.parametrize(('bins', 'seed'), [(10, 0), (2, 1), (7, 2**32 - 1)])
@pytest.mark.parametrize('delay', [0, 30])
def test_it_forecasts_as_its_definition_says(method, bins, seed, delay):
    """A late label counts in the game and for the point that were issued."""
    calibrator, wrapped = create(method, bins=bins, seed=seed), create(WRAPPED[method])
    oracle, pending = Oracle(seed, bins), []
    for p, y in random_stream(900):
        issued, wrapped_ticket = wrapped.issue(p)
        game, point = oracle.play(issued)
        forecast, ticket = calibrator.issue(p)
        assert forecast == (point + 0.5) / bins
        pending.append((p, y, ticket, wrapped_ticket, game, point))
        if len(pending) > delay:
            p, y, ticket, wrapped_ticket, game, point = pending.pop(0)
            oracle.games[game].learn(point, y)
            calibrator.update(p, y, ticket)
            wrapped.update(p, y, wrapped_ticket)
    state = calibrator.state()
    assert state['draws'] == oracle.draws > 20
    assert state['games'] == [
        [game, point, len(seen), sum(seen)]
        for game, played in enumerate(oracle.games)
        for point, seen in enumerate(played.outcomes)
        if seen
    ]
    assert state['wrapped']['A'] == wrapped.state()['A']
    assert calibrator.updates == wrapped.updates


@methods
def test_predict_says_what_issue_will_and_uses_no_random_number_up(method):
    calibrator, random_ones = create(method), 0
    for p, y in random_stream(500):
        before = calibrator.state()
        said = [calibrator.predict(p) for _ in range(3)]
        assert calibrator.state() == before
        q, ticket = calibrator.issue(p)
        assert said == [q] * 3
        random_ones += calibrator.state()['draws'] - before['draws']
        calibrator.update(p, y, ticket)
    assert random_ones > 20


@methods
def test_random_numbers_come_from_the_seed_alone(method):
    state = learned(method).state()
    assert learned(method).state() == state
    others = [learned(method, seed=seed).state()['games'] for seed in range(1, 4)]
    assert all(games != state['games'] for games in others)


@methods
def test_restored_calibrator_goes_on_with_the_same_random_numbers(method):
    calibrator, other = learned(method, seed=5), create(method, seed=5)
    other.restore(yaml.safe_load(yaml.safe_dump(calibrator.state())))
    before = calibrator.state()['draws']
    for p, y in random_stream(500, seed=2):
        (q, ticket), (other_q, other_ticket) = calibrator.issue(p), other.issue(p)
        assert q == other_q
        calibrator.update(p, y, ticket)
        other.update(p, y, other_ticket)
    assert calibrator.state()['draws'] > before + 20
    assert other.state() == calibrator.state()


@methods
def test_own_seed_wins_at_the_place_of_the_saved_one(method):
    state = learned(method, seed=5).state()
    calibrator = create(method, seed=6)
    calibrator.restore(state)
    assert calibrator.parameters()['seed'] == 6
    assert calibrator.state() == {**state, 'parameters': calibrator.parameters()}
    uniforms = np.random.Generator(np.random.PCG64(6)).random(state['draws'] + 300)
    draws = state['draws']
    for p, y in random_stream(300):
        lower, share = _choice(calibrator, p)
        if share < 1.0:
            assert calibrator.predict(p) == (lower + 0.5 + (uniforms[draws] >= share)) / 10
            draws += 1
        calibrator.update(p, y)
    assert calibrator.state()['draws'] == draws > state['draws']


def _choice(calibrator, p: float) -> tuple[int, float]:
    """Return the lowest point that may be forecast, and its probability, from the state alone."""
    state = calibrator.state()
    wrapped = create(WRAPPED[calibrator.name])
    parameters = wrapped.parameters()
    state = {**state, **state['wrapped'], 'method': wrapped.name, 'parameters': parameters}
    wrapped.restore(state)
    pivot = bin_of(wrapped.predict(p), 10)
    game = GameOracle(10, pivot)
    for number, point, count, positive in state['games']:
        if number == pivot:
            game.outcomes[point] = [1] * positive + [0] * (count - positive)
    distribution = game.distribution()
    return min(distribution), float(distribution[min(distribution)])


@pytest.mark.slow
@methods
def test_opponent_who_knows_all_but_the_random_numbers_cannot_break_calibration(method):
    """Though it breaks every forecaster that is not random, such as the wrapped one."""

    def calibration_error(calibrator, expected_forecast) -> float:
        gaps = [0.0] * 10
        for _ in range(2000):
            y = int(expected_forecast(calibrator) < 0.5)
            q, ticket = calibrator.issue(0.5)
            calibrator.update(0.5, y, ticket)
            gaps[bin_of(q, 10)] += q - y
        return sum(map(abs, gaps)) / 2000

    def hedged_forecast(calibrator) -> float:
        lower, share = _choice(calibrator, 0.5)
        return (lower + 0.5 + (1 - share)) / 10

    assert calibration_error(create(method), hedged_forecast) < 0.13
    for other in (WRAPPED[method], method.replace('h', 't')):
        assert calibration_error(create(other), lambda calibrator: calibrator.predict(0.5)) > 0.3


def drawing(method: str):
    """Return a calibrator whose next forecast of 0.5 and of 0.4 is random."""
    state = create(method).state()
    lost = [[game, point, 1, int(point < 5)] for game in range(10) for point in range(10)]
    calibrator = create(method)
    calibrator.restore({**state, 'games': lost, 'updates': 100})
    for p in (0.4, 0.5):
        draws = calibrator.state()['draws']
        calibrator.issue(p)
        assert calibrator.state()['draws'] == draws + 1
    return calibrator


@methods
@pytest.mark.parametrize('p', [-0.1, 1.1, math.nan])
def test_bad_probability_is_refused_and_uses_no_random_number_up(method, p):
    calibrator = drawing(method)
    before = calibrator.state()
    for refuse in (calibrator.issue, calibrator.predict):
        with pytest.raises(ValueError, match='a probability must be within'):
            refuse(p)
    assert calibrator.state() == before
