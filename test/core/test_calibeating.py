# SPDX-License-Identifier: Apache-2.0
"""What tracking promises for any input; test_calibeating_reference.py has the values."""

from __future__ import annotations

import math
import random

import pytest
import yaml
from calibeating_oracle import TrackingOracle
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import UpdateNotFinite, create

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
@given(stream=samples, own=own_parameters)
def test_state_comes_back_bit_for_bit_through_yaml(method, stream, own):
    calibrator = learned(method, stream, forgetting=0.99, **own)
    text = yaml.safe_dump(calibrator.state())
    other = create(method, forgetting=0.99, **own)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    for one in (calibrator, other):
        one.update(0.7, 1)
    assert other.state() == calibrator.state()
    assert [other.predict(p) for p in EDGES] == [calibrator.predict(p) for p in EDGES]


@methods
def test_a_model_that_is_always_sure_and_always_wrong(method):
    calibrator = learned(method, [(1.0, 0)] * 100_000)
    assert calibrator.predict(1.0) == 0.0
    assert sum(calibrator.state()['counts']) == calibrator.updates == 100_000
    assert all(0.0 <= calibrator.predict(p) <= 1.0 for p in EDGES)


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
def test_parameters_are_those_of_the_wrapped_calibrator_and_its_own(method):
    parameters = {
        'gamma': 0.2,
        'rho': 9.0,
        'radius': 8.0,
        'clip': 0.07,
        'forgetting': 0.9,
        'bins': 6,
        'pseudo_count': 0.5,
    }
    assert create(method, **parameters).parameters() == parameters
    configured = create(method, bins=6)
    configured.configure(**parameters)
    assert configured.state() == create(method, **parameters).state()


@methods
def test_wrapped_parameters_change_while_it_runs(method):
    calibrator, wrapped = learned(method), create(WRAPPED[method])
    state, parameters = calibrator.state(), wrapped.parameters()
    state = {**state, **state['wrapped'], 'method': wrapped.name, 'parameters': parameters}
    wrapped.restore(state)
    for one in (calibrator, wrapped):
        one.configure(rho=7.0, radius=0.5)
    assert calibrator.state()['wrapped'].items() <= wrapped.state().items()


@methods
def test_bins_cannot_change_while_it_runs(method):
    calibrator = learned(method)
    before = calibrator.state()
    with pytest.raises(ValueError, match=f'bins of {method} cannot change while it runs'):
        calibrator.configure(bins=20, gamma=0.5)
    assert calibrator.state() == before
    calibrator.configure(bins=10, gamma=0.5)
    assert calibrator.parameters()['gamma'] == 0.5


@methods
@pytest.mark.parametrize(
    ('parameters', 'sentence'),
    [
        ({'bins': 1}, 'bins must be a whole number >= 2 and <= 1000, not 1'),
        ({'bins': 2.5}, 'bins must be a whole number'),
        ({'pseudo_count': -0.1}, 'pseudo_count must be >= 0'),
        ({'clip': 0.5}, 'clip must be'),
        ({'bin': 20}, "no parameter 'bin', did you mean 'bins'"),
    ],
)
def test_value_out_of_range_is_refused_and_nothing_changes(method, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        create(method, **parameters)
    calibrator = learned(method)
    before = calibrator.state()
    with pytest.raises(ValueError, match=sentence):
        calibrator.configure(**{'gamma': 0.2, **parameters})
    assert calibrator.state() == before


@methods
@pytest.mark.parametrize(('p', 'y'), [(-0.1, 1), (1.1, 1), (math.nan, 1), (0.4, 2), (0.4, None)])
@pytest.mark.parametrize('with_ticket', [False, True])
def test_bad_sample_is_refused_and_changes_nothing(method, p, y, with_ticket):
    calibrator = learned(method)
    before = calibrator.state()
    ticket = calibrator.issue(0.4)[1] if with_ticket else None
    with pytest.raises(ValueError, match='must be'):
        calibrator.update(p, y, ticket)
    assert calibrator.state() == before


@pytest.mark.parametrize(('method', 'ticket'), [('tops', math.nan), ('tobs', (math.nan, 0.1))])
def test_update_that_is_not_finite_changes_nothing(method, ticket):
    calibrator = learned(method)
    before = calibrator.state()
    with pytest.raises(UpdateNotFinite):
        calibrator.update(0.4, 1, ticket)
    assert calibrator.state() == before


@methods
def test_issue_and_predict_keep_nothing(method):
    calibrator = learned(method)
    before = calibrator.state()
    assert calibrator.issue(0.4)[0] == calibrator.predict(0.4)
    assert calibrator.state() == before


@methods
def test_reset_is_a_new_start(method):
    calibrator = learned(method, rho=7.0, bins=4)
    calibrator.reset()
    assert calibrator.state() == create(method, rho=7.0, bins=4).state()
