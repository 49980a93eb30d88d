# SPDX-License-Identifier: Apache-2.0
"""What Online Beta Scaling promises for any input; test_beta_reference.py has the values."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import UpdateNotFinite, create
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.state.fields import is_positive_definite

EDGES = [0.0, 5e-324, 1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]
probabilities = st.floats(0.0, 1.0) | st.sampled_from(EDGES)
samples = st.lists(st.tuples(probabilities, st.integers(0, 1)), max_size=20)


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


parameter_sets = st.fixed_dictionaries(
    {
        'gamma': decades(-6, 6),
        'rho': decades(-2, 6),
        'radius': decades(-3, 4),
        'clip': decades(-9, -0.302),
        'forgetting': st.sampled_from([1.0, 0.999, 0.9, 1e-6]) | st.floats(0.01, 1.0),
    }
)


def learned(stream=((0.8, 0), (0.3, 1), (0.9, 0)), **parameters):
    """Return an Online Beta Scaling that has learned a stream."""
    calibrator = create('beta', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
    return calibrator


def with_map(a: float, b: float, c: float, clip: float = 0.01):
    """Return an Online Beta Scaling of a given map."""
    calibrator = create('beta', radius=1e9, clip=clip)
    calibrator.restore({**calibrator.state(), 'a': a, 'b': b, 'c': c, 'updates': 1})
    return calibrator


def norm(calibrator) -> float:
    return math.hypot(calibrator.a, calibrator.b, calibrator.c)


@given(probabilities)
def test_it_starts_from_the_identity(p):
    assert create('beta', clip=1e-9).predict(p) == pytest.approx(p, rel=1e-12, abs=2e-9)


@given(
    probabilities,
    probabilities,
    st.floats(1e-12, 1e6),
    st.floats(1e-12, 1e6),
    st.floats(-1e3, 1e3),
    st.sampled_from([1e-9, 0.01, 0.499]),
)
def test_larger_p_never_maps_lower_while_a_and_b_are_positive(p, other, a, b, c, clip):
    calibrator = with_map(a, b, c, clip)
    low, high = sorted((p, other))
    assert calibrator.predict(low) <= calibrator.predict(high)


@given(st.floats(0.02, 0.98), st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_map_is_that_of_beta_calibration(p, a, b, c):
    expected = 1 / (1 + 1 / (math.exp(c) * p**a / (1 - p) ** b))
    assert with_map(a, b, c).predict(p) == pytest.approx(expected, rel=1e-12)


def test_p_beyond_the_clip_maps_as_the_clip():
    calibrator = learned(clip=0.05)
    assert calibrator.predict(0.0) == calibrator.predict(0.05)
    assert calibrator.predict(1.0) == calibrator.predict(0.95)


@given(samples, parameter_sets)
def test_state_comes_back_bit_for_bit_through_yaml(stream, parameters):
    calibrator = learned(stream, **parameters)
    text = yaml.safe_dump(calibrator.state())
    other = create('beta', **parameters)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    for one in (calibrator, other):
        one.update(0.7, 1)
    assert other.state() == calibrator.state()


@settings(max_examples=200)
@given(samples, parameter_sets)
@example([(1.0, 0), (0.0, 1)] * 10, {'gamma': 1e-6, 'radius': 1e-3, 'clip': 1e-9})
@example([(1.0, 0), (1.0, 1)] * 10, {'gamma': 1e6, 'radius': 1e4, 'clip': 0.499})
def test_every_update_stays_sound(stream, parameters):
    calibrator = create('beta', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
        assert 0.0 <= calibrator.predict(p) <= 1.0
        assert norm(calibrator) <= calibrator.parameters()['radius'] * (1 + 1e-12)
        assert is_positive_definite(calibrator.A)
    assert calibrator.updates == len(stream)


@pytest.mark.parametrize('clip', [0.01, 1e-9])
@pytest.mark.parametrize('forgetting', [1.0, 0.99])
def test_a_model_that_is_always_sure_and_always_wrong(clip, forgetting):
    calibrator = learned([(1.0, 0)] * 100_000, clip=clip, forgetting=forgetting)
    assert 0.0 < calibrator.predict(1.0) < 0.001
    assert calibrator.updates == 100_000


def test_rounding_never_wears_the_smallest_rho_out():
    """Gradients of one direction alone leave the other eigenvalues of A at rho for ever."""
    generator = random.Random(1)
    rho = CALIBRATOR_LIMITS['rho'].low
    stream = [(1.0, int(generator.random() < 0.5)) for _ in range(100_000)]
    calibrator = learned(stream, rho=rho, radius=1e6, clip=0.001)
    smallest = np.linalg.eigvalsh(calibrator.A)[:2]
    np.testing.assert_allclose(smallest, rho, rtol=0.1)


def test_ticket_holds_the_features_that_were_issued():
    late, prompt = create('beta', clip=0.1), create('beta', clip=0.1)
    _, ticket = late.issue(0.02)
    late.configure(clip=0.001)
    late.update(0.02, 1, ticket)
    prompt.update(0.02, 1)
    assert (late.a, late.b, late.c, late.A) == (prompt.a, prompt.b, prompt.c, prompt.A)


def test_late_label_is_learned_at_the_current_parameters():
    late = create('beta')
    _, first = late.issue(0.8)
    _, second = late.issue(0.3)
    late.update(0.3, 1, second)
    late.update(0.8, 0, first)
    assert late.state() == learned([(0.3, 1), (0.8, 0)]).state()


def test_error_of_a_sure_and_right_forecast_keeps_its_digits():
    calibrator = with_map(10.0, 10.0, 0.0)
    calibrator.update(0.99, 1)
    assert calibrator.c == pytest.approx(99.0**-10 / (0.1 * 25.0), rel=1e-9)


@pytest.mark.parametrize('forgetting', [0.999, 0.95])
def test_forgetting_follows_a_change_that_comes_late(forgetting):
    def samples_until_half_way(**parameters):
        calibrator = learned([(0.8, int(i % 5 != 0)) for i in range(20_000)], **parameters)
        for number in range(20_000):
            if calibrator.predict(0.8) < 0.5:
                return number
            calibrator.update(0.8, int(number % 5 == 0))
        return None

    assert samples_until_half_way(forgetting=forgetting) < samples_until_half_way() / 5


def test_new_rho_shifts_the_matrix():
    calibrator = learned(rho=25.0)
    before = np.array(calibrator.A)
    calibrator.configure(rho=10.0)
    np.testing.assert_allclose(calibrator.A, before - 15.0 * np.eye(3), rtol=1e-14)


def test_smaller_radius_projects_at_once_and_a_larger_one_changes_nothing():
    calibrator = learned()
    calibrator.configure(radius=0.5)
    assert norm(calibrator) == pytest.approx(0.5, rel=1e-15)
    before = calibrator.a, calibrator.b, calibrator.c
    calibrator.configure(radius=200.0)
    assert (calibrator.a, calibrator.b, calibrator.c) == before
    start = create('beta', radius=0.5)
    start.configure(gamma=0.2)
    assert (start.a, start.b, start.c) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ('name', 'value'), [('gamma', 0.5), ('clip', 0.2), ('forgetting', 0.9), ('radius', 3)]
)
def test_configured_parameter_acts_as_if_given_at_the_start(name, value):
    configured = create('beta')
    configured.configure(**{name: value})
    given_at_start = create('beta', **{name: value})
    for calibrator in (configured, given_at_start):
        calibrator.update(0.9, 0)
    assert configured.state() == given_at_start.state()


def test_value_out_of_range_is_refused_and_nothing_changes():
    with pytest.raises(ValueError, match='clip must be'):
        create('beta', clip=0.5)
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match='forgetting must be'):
        calibrator.configure(rho=50.0, radius=0.1, forgetting=0.0)
    assert calibrator.state() == before


@pytest.mark.parametrize('p', [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
@pytest.mark.parametrize('ticket', [None, (-0.1, 2.0)], ids=['without ticket', 'with ticket'])
def test_probability_outside_is_refused(p, ticket):
    calibrator = learned()
    before = calibrator.state()
    sentence = r'a probability must be within \[0, 1\]'
    with pytest.raises(ValueError, match=sentence):
        calibrator.issue(p)
    with pytest.raises(ValueError, match=sentence):
        calibrator.update(p, 1, ticket)
    assert calibrator.state() == before


@pytest.mark.parametrize('y', [2, -1, 0.5, math.nan, None, '1'])
def test_label_that_is_neither_0_nor_1_is_refused(y):
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match='a label must be 0 or 1'):
        calibrator.update(0.4, y)
    assert calibrator.state() == before


def test_update_that_is_not_finite_changes_nothing():
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(UpdateNotFinite):
        calibrator.update(0.4, 1, (math.nan, 0.1))
    assert calibrator.state() == before


def test_reset_is_a_new_start():
    calibrator = learned(rho=7.0)
    calibrator.reset()
    assert calibrator.state() == create('beta', rho=7.0).state()
