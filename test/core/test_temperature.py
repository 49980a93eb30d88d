# SPDX-License-Identifier: Apache-2.0
"""Temperature scaling that learns online, of two classes."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.calibrators import StateError, UpdateNotFinite, create

probabilities = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1e-300, 0.5, 0.99, 1.0])
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=30)
PAIRS = [(0.8, 0), (0.3, 1), (0.95, 1), (0.999, 0), (0.02, 0)]
parameter_sets = st.fixed_dictionaries(
    {
        'gamma': st.sampled_from([1e-6, 0.1, 1.0, 1e6]),
        'rho': st.sampled_from([0.01, 1.0, 100.0, 1e6]),
        'radius': st.sampled_from([1e-6, 0.5, 2.0, 100.0]),
        'clip': st.sampled_from([1e-9, 0.01, 0.3]),
        'forgetting': st.sampled_from([1.0, 0.99, 0.5]),
    }
)


def learned(pairs=PAIRS, **parameters):
    calibrator = create('temperature', **parameters)
    for p, y in pairs:
        calibrator.update(p, y)
    return calibrator


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def written_out(pairs, gamma=0.1, rho=100.0, radius=100.0, clip=0.01, forgetting=1.0):
    """Return beta and A from the definition."""
    beta, matrix = 1.0, rho
    for p, y in pairs:
        p = min(max(p, clip), 1 - clip)
        x = math.log(p / (1 - p))
        g = (sigmoid(beta * x) - y) * x
        matrix = forgetting * matrix + (1 - forgetting) * rho + g * g
        beta = min(max(beta - g / matrix / gamma, 1e-3), radius)
    return beta, matrix


def test_first_step_by_hand():
    x = math.log(4)
    calibrator = learned([(0.8, 0)])
    beta = 1 - 0.8 * x / (0.1 * (100 + (0.8 * x) ** 2))
    assert calibrator.beta == pytest.approx(beta, rel=1e-14)
    assert calibrator.temperature == 1 / calibrator.beta
    assert calibrator.predict(0.8) == pytest.approx(sigmoid(beta * x), rel=1e-14)


@pytest.mark.parametrize(
    'parameters',
    [
        {},
        {'rho': 1.0},
        {'rho': 1.0, 'radius': 1.2},
        {'gamma': 1.0, 'forgetting': 0.9, 'rho': 5.0},
        {'clip': 1e-9},
        {'clip': 0.3},
    ],
)
def test_it_is_the_newton_step_in_one_dimension(parameters):
    generator = np.random.default_rng(0)
    pairs = [(p, int(generator.random() < p**2)) for p in generator.random(300).tolist()]
    state = learned(pairs, **parameters).state()
    assert [state['beta'], state['A']] == pytest.approx(written_out(pairs, **parameters), rel=1e-9)


@given(samples, parameter_sets)
def test_every_update_stays_sound_and_comes_back_through_yaml(pairs, parameters):
    calibrator = learned(pairs, **parameters)
    assert 0 < calibrator.beta <= parameters['radius']
    assert calibrator.beta >= min(1e-3, parameters['radius'])
    assert calibrator.state()['A'] >= parameters['rho'] * (1 - 1e-12)
    text = yaml.safe_dump(calibrator.state())
    other = create('temperature', **parameters)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    for p, y in PAIRS:
        calibrator.update(p, y)
        other.update(p, y)
    assert other.state() == calibrator.state()
    assert other.predict(0.7) == calibrator.predict(0.7)


@given(samples, probabilities, probabilities)
def test_order_and_the_middle_stay(pairs, p, other):
    calibrator = learned(pairs, rho=1.0)
    low, high = sorted((p, other))
    assert calibrator.predict(low) <= calibrator.predict(high)
    assert calibrator.predict(0.5) == 0.5
    assert calibrator.predict(p) + calibrator.predict(1 - p) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize('clip', [0.01, 1e-9])
@pytest.mark.parametrize('forgetting', [1.0, 0.99])
def test_a_model_that_is_always_sure_and_always_wrong(clip, forgetting):
    calibrator = learned([(1.0, 0)] * 100_000, clip=clip, forgetting=forgetting)
    assert calibrator.beta == 1e-3
    assert 0.5 < calibrator.predict(1.0) < 0.51


def test_it_finds_the_temperature_of_an_overconfident_model():
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 2, 20_000)
    labels = generator.random(20_000) < 1 / (1 + np.exp(-logits / 2))
    p = 1 / (1 + np.exp(-logits))
    calibrator = learned(zip(p.tolist(), labels.astype(int).tolist()), clip=1e-6)
    assert calibrator.temperature == pytest.approx(2.0, rel=0.1)


def test_ticket_holds_the_logit_that_was_issued():
    late, prompt = create('temperature', clip=0.1), create('temperature', clip=0.1)
    _, ticket = late.issue(0.02)
    late.configure(clip=0.001)
    late.update(0.02, 1, ticket)
    prompt.update(0.02, 1)
    assert late.beta == prompt.beta


def test_late_label_is_learned_at_the_current_temperature():
    late = create('temperature')
    (_, first), (_, second) = late.issue(0.8), late.issue(0.3)
    late.update(0.3, 1, second)
    late.update(0.8, 0, first)
    assert late.state() == learned([(0.3, 1), (0.8, 0)]).state()


def test_live_changes():
    calibrator = learned()
    beta, matrix = calibrator.beta, calibrator.state()['A']
    calibrator.configure(rho=30.0)
    assert calibrator.state()['A'] == pytest.approx(matrix - 70.0, rel=1e-14)
    assert calibrator.beta == beta
    calibrator.configure(radius=0.3)
    assert calibrator.beta == 0.3
    calibrator.configure(radius=100.0)
    assert calibrator.beta == 0.3
    calibrator.reset()
    assert calibrator.state() == create('temperature', rho=30.0).state()


def test_rounding_never_leaves_less_than_rho():
    calibrator = create('temperature', rho=1e12)
    calibrator.update(0.5, 1)
    calibrator.configure(rho=0.0126)
    assert calibrator.state()['A'] == 0.0126


def test_own_parameters_win():
    calibrator = create('temperature', rho=30.0, radius=0.4)
    calibrator.restore(learned().state())
    assert calibrator.beta == 0.4
    assert calibrator.state()['A'] == pytest.approx(learned().state()['A'] - 70.0, rel=1e-14)
    assert calibrator.updates == 5
    assert calibrator.parameters()['rho'] == 30.0


DAMAGES = {
    **{
        f'{key} {kind}': {key: value}
        for key in ('beta', 'A')
        for kind, value in {
            'NaN': math.nan,
            'infinite': math.inf,
            'null': None,
            'a bool': True,
            'a string': '1',
            '0': 0.0,
            'negative': -1.0,
            'huge': 10**400,
        }.items()
    },
    'beta outside its radius': {'beta': 100.1},
    'A below its rho': {'A': 99.9},
    'updates null': {'updates': None},
    'parameters null': {'parameters': None},
    'parameters of another': {'parameters': {'window': 10}},
}


@pytest.mark.parametrize('key', ['beta', 'A', 'updates', 'parameters'])
def test_state_without_a_field_is_refused(key):
    calibrator = learned()
    before = calibrator.state()
    state = learned(PAIRS[:2]).state()
    del state[key]
    with pytest.raises(StateError, match=key):
        calibrator.restore(state)
    assert calibrator.state() == before


@pytest.mark.parametrize('damage', DAMAGES)
def test_unsound_state_is_refused_and_changes_nothing(damage):
    calibrator = learned()
    before = copy.deepcopy(calibrator.state())
    with pytest.raises(StateError, match=damage.split()[0]):
        calibrator.restore({**learned(PAIRS[:2]).state(), **DAMAGES[damage]})
    assert calibrator.state() == before


@pytest.mark.parametrize('p', [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
@pytest.mark.parametrize('ticket', [None, 0.3])
def test_probability_outside_is_refused(p, ticket):
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
        calibrator.issue(p)
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\]'):
        calibrator.update(p, 1, ticket)
    assert calibrator.state() == before


@pytest.mark.parametrize('y', [2, -1, 0.5, math.nan, None, '1'])
def test_label_that_is_neither_0_nor_1_is_refused(y):
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match='a label must be 0 or 1'):
        calibrator.update(0.4, y)
    assert calibrator.state() == before


@pytest.mark.parametrize('ticket', [math.nan, 1e200])
def test_update_that_is_not_finite_changes_nothing(ticket):
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(UpdateNotFinite):
        calibrator.update(0.4, 0, ticket)
    assert calibrator.state() == before
