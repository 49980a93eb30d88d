# SPDX-License-Identifier: Apache-2.0
"""What hedging promises; test_hedging_game.py has the game itself."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import yaml
from calibeating_oracle import GameOracle, bin_of
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import UpdateNotFinite, create

WRAPPED = {'hops': 'ops', 'hobs': 'beta'}
methods = pytest.mark.parametrize('method', WRAPPED)

EDGES = [0.0, 5e-324, 0.01, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0 - 2**-53, 1.0]
probabilities = st.floats(0.0, 1.0) | st.sampled_from(EDGES)
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=40)


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


@methods
@pytest.mark.parametrize(('bins', 'seed'), [(10, 0), (2, 1), (7, 2**32 - 1)])
@pytest.mark.parametrize('delay', [0, 30])
def test_it_forecasts_as_its_definition_says(method, bins, seed, delay):
    """A late label counts in the game and for the point that were issued."""
    calibrator, wrapped = create(method, bins=bins, seed=seed), create(WRAPPED[method])
    oracle, pending = Oracle(seed, bins), []
    for p, y in random_stream(1500):
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
def test_update_without_a_ticket_issues_one_itself(method):
    with_ticket, without = create(method), create(method)
    for p, y in random_stream(500):
        with_ticket.update(p, y, with_ticket.issue(p)[1])
        without.update(p, y)
    assert without.state() == with_ticket.state()


@methods
def test_random_numbers_come_from_the_seed_alone(method):
    state = learned(method).state()
    assert learned(method).state() == state
    others = [learned(method, seed=seed).state()['games'] for seed in range(1, 4)]
    assert all(games != state['games'] for games in others)


@methods
@given(stream=samples, bins=st.integers(2, 30), seed=st.integers(0, 2**32 - 1))
def test_state_comes_back_bit_for_bit_through_yaml(method, stream, bins, seed):
    calibrator = create(method, forgetting=0.99, bins=bins, seed=seed)
    for p, y in stream:
        calibrator.update(p, y)
        assert 0.0 <= calibrator.predict(p) <= 1.0
    text = yaml.safe_dump(calibrator.state())
    other = create(method, forgetting=0.99, bins=bins, seed=seed)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    assert [other.predict(p) for p in EDGES] == [calibrator.predict(p) for p in EDGES]


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


@methods
def test_a_model_that_is_always_sure_and_always_wrong(method):
    calibrator = create(method)
    for _ in range(100_000):
        calibrator.update(1.0, 0)
    assert calibrator.predict(1.0) == 0.05
    assert calibrator.updates == sum(row[2] for row in calibrator.state()['games']) == 100_000
    assert all(0.0 <= calibrator.predict(p) <= 1.0 for p in EDGES)


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


@methods
def test_parameters_are_those_of_the_wrapped_calibrator_and_its_own(method):
    parameters = {
        'gamma': 0.2,
        'rho': 9.0,
        'radius': 8.0,
        'clip': 0.07,
        'forgetting': 0.9,
        'bins': 6,
        'seed': 4,
    }
    assert create(method, **parameters).parameters() == parameters
    configured = create(method, bins=6, seed=4)
    configured.configure(**parameters)
    assert configured.state() == create(method, **parameters).state()


@methods
@pytest.mark.parametrize(('name', 'value'), [('bins', 20), ('seed', 1)])
def test_what_cannot_change_while_it_runs(method, name, value):
    calibrator = learned(method)
    before = calibrator.state()
    with pytest.raises(ValueError, match=f'{name} of {method} cannot change while it runs'):
        calibrator.configure(**{name: value, 'gamma': 0.5})
    assert calibrator.state() == before
    calibrator.configure(gamma=0.5)
    assert calibrator.state()['games'] == before['games']
    assert calibrator.parameters()['gamma'] == 0.5


@methods
@pytest.mark.parametrize('parameters', [{'bins': 1}, {'seed': -1}, {'seed': 0.5}, {'seed': 2**32}])
def test_value_out_of_range_is_refused(method, parameters):
    name = next(iter(parameters))
    with pytest.raises(ValueError, match=f'{name} must be a whole number'):
        create(method, **parameters)


@methods
@pytest.mark.parametrize(('p', 'y'), [(-0.1, 1), (1.1, 1), (math.nan, 1), (0.4, 2), (0.4, None)])
@pytest.mark.parametrize('with_ticket', [False, True])
def test_bad_sample_is_refused_and_changes_nothing(method, p, y, with_ticket):
    calibrator = drawing(method)
    ticket = calibrator.issue(0.5)[1] if with_ticket else None
    before = calibrator.state()
    with pytest.raises(ValueError, match='must be'):
        calibrator.update(p, y, ticket)
    assert calibrator.state() == before


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


@pytest.mark.parametrize(('method', 'wrong'), [('hops', math.nan), ('hobs', (math.nan, 0.1))])
def test_update_that_is_not_finite_changes_nothing(method, wrong):
    calibrator = drawing(method)
    _, (_, game, point) = calibrator.issue(0.4)
    before = calibrator.state()
    with pytest.raises(UpdateNotFinite):
        calibrator.update(0.4, 1, (wrong, game, point))
    assert calibrator.state() == before


@methods
def test_reset_is_a_new_start(method):
    calibrator = learned(method, rho=7.0, bins=4, seed=3)
    calibrator.reset()
    fresh = create(method, rho=7.0, bins=4, seed=3)
    assert calibrator.state() == fresh.state()
    for p, y in random_stream(300):
        calibrator.update(p, y)
        fresh.update(p, y)
    assert calibrator.state() == fresh.state()
