# SPDX-License-Identifier: Apache-2.0
"""What tracking promises for any input; test_calibeating_reference.py has the values."""

from __future__ import annotations

import math
import random

import pytest
from calibeating_oracle import TrackingOracle
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import create

WRAPPED = {'tops': 'ops', 'tobs': 'beta'}
methods = pytest.mark.parametrize('method', WRAPPED)

EDGES = [0.0, 5e-324, 0.01, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0 - 2**-53, 1.0]
probabilities = st.floats(0.0, 1.0) | st.sampled_from(EDGES)
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=40)
own_parameters = st.fixed_dictionaries(
    {'bins': st.integers(2, 30), 'pseudo_count': st.sampled_from([0.0, 1.0, 0.3, 1e6])}
)


def learned(method: str, stream=((0.8, 0), (0.3, 1), (0.9, 0), (0.75, 1)), **parameters):
    calibrator = create(method, **parameters)
    for p, y in stream:
        calibrator.update(p, y)
    return calibrator


def random_stream(length: int, seed: int = 1) -> list[tuple[float, int]]:
    generator = random.Random(seed)
    return [
        (p, int(generator.random() < p**2)) for p in (generator.random() for _ in range(length))
    ]


@methods
@given(stream=samples, own=own_parameters)
def test_it_forecasts_as_its_definition_says(method, stream, own):
    calibrator, wrapped = create(method, **own), create(WRAPPED[method])
    oracle = TrackingOracle(**own)
    for p, y in stream:
        q = wrapped.predict(p)
        forecast = calibrator.predict(p)
        assert 0.0 <= forecast <= 1.0
        assert forecast == pytest.approx(float(oracle.forecast(q)), rel=1e-15)
        oracle.learn(q, y)
        calibrator.update(p, y)
        wrapped.update(p, y)
    state = calibrator.state()
    assert state['counts'] == [len(outcomes) for outcomes in oracle.outcomes]
    assert state['positives'] == [sum(outcomes) for outcomes in oracle.outcomes]
    assert calibrator.updates == wrapped.updates == len(stream)


@methods
def test_smallest_pseudo_count_gives_a_probability(method):
    calibrator = learned(method, pseudo_count=5e-324)
    assert all(0.0 <= calibrator.predict(p) <= 1.0 for p in EDGES)


@methods
def test_late_label_counts_in_the_bin_of_the_map_as_it_is_now(method):
    """And never in the one that was issued."""
    delay, stream = 40, random_stream(400)
    calibrator, wrapped, oracle = create(method), create(WRAPPED[method]), TrackingOracle()
    pending, moved = [], 0
    for p, y in stream:
        q, ticket = calibrator.issue(p)
        issued, wrapped_ticket = wrapped.issue(p)
        assert q == pytest.approx(float(oracle.forecast(issued)), rel=1e-15)
        pending.append((p, y, ticket, wrapped_ticket, issued))
        if len(pending) > delay:
            p, y, ticket, wrapped_ticket, issued = pending.pop(0)
            now = wrapped.predict(p)
            moved += int(now * 10) != int(issued * 10)
            oracle.learn(now, y)
            calibrator.update(p, y, ticket)
            wrapped.update(p, y, wrapped_ticket)
    assert moved > 20
    assert calibrator.state()['positives'] == [sum(outcomes) for outcomes in oracle.outcomes]
    assert calibrator.state()['wrapped']['A'] == wrapped.state()['A']


@methods
def test_wrapped_calibrator_learns_from_the_features_that_were_issued(method):
    late = create(method, clip=0.1)
    _, ticket = late.issue(0.02)
    late.configure(clip=0.001)
    late.update(0.02, 1, ticket)
    assert late.state()['wrapped'] == learned(method, [(0.02, 1)], clip=0.1).state()['wrapped']


@methods
def test_it_mends_what_no_map_of_the_wrapped_one_can(method):
    """Outcomes that rise and fall and rise again with p, which no sigmoid does."""
    generator = random.Random(3)
    stream = []
    for _ in range(10_000):
        p = generator.random()
        stream.append((p, int(generator.random() < 0.5 + 0.45 * math.sin(12 * p))))

    def calibration_error(calibrator) -> float:
        sums = [0.0] * 10
        for p, y in stream:
            q, ticket = calibrator.issue(p)
            calibrator.update(p, y, ticket)
            sums[min(int(q * 10), 9)] += q - y
        return sum(map(abs, sums)) / len(stream)

    wrapped = calibration_error(create(WRAPPED[method]))
    assert calibration_error(create(method)) < wrapped / 4


@methods
def test_pseudo_count_changes_while_it_runs(method):
    changed, from_the_start = learned(method), learned(method, pseudo_count=2.0)
    assert [changed.predict(p) for p in EDGES] != [from_the_start.predict(p) for p in EDGES]
    changed.configure(pseudo_count=2)
    assert changed.state() == from_the_start.state()
    assert [changed.predict(p) for p in EDGES] == [from_the_start.predict(p) for p in EDGES]


@methods
def test_wrapped_parameters_change_while_it_runs(method):
    calibrator, wrapped = learned(method), create(WRAPPED[method])
    state, parameters = calibrator.state(), wrapped.parameters()
    state = {**state, **state['wrapped'], 'method': wrapped.name, 'parameters': parameters}
    wrapped.restore(state)
    for one in (calibrator, wrapped):
        one.configure(rho=7.0, radius=0.5)
    assert calibrator.state()['wrapped'].items() <= wrapped.state().items()


@pytest.mark.parametrize('method', ['tops', 'tobs', 'hops', 'hobs'])
def test_other_bins_take_the_map_and_start_the_tallies_anew(method):
    old, new = learned(method, bins=10), create(method, bins=7)
    new.update(0.3, 1)
    new.restore(old.state())
    fresh = create(method, bins=7).state()
    assert new.state() == {
        **fresh,
        'wrapped': old.state()['wrapped'],
        'updates': old.updates,
    }
    # Its state has fewer outcomes than updates from now on, and is a sound one all the same.
    new.update(0.3, 1)
    again = create(method, bins=7)
    again.restore(new.state())
    assert again.state() == new.state()


@pytest.mark.parametrize('method', ['tops', 'tobs', 'hops', 'hobs'])
def test_own_parameters_win(method):
    calibrator = create(method, rho=10.0, gamma=0.3, forgetting=0.9)
    before = calibrator.parameters()
    calibrator.restore(learned(method).state())
    assert calibrator.parameters() == before
    # The wrapped calibrator's too: rho shifts its matrix.
    diagonal = calibrator.state()['wrapped']['A'][0][0]
    default = create(method).parameters()['rho']
    shift = learned(method).state()['wrapped']['A'][0][0] - diagonal
    assert shift == pytest.approx(default - 10.0, rel=1e-12)
