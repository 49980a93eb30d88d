# SPDX-License-Identifier: Apache-2.0
"""What Online Platt Scaling promises for any input; test_platt_reference.py has the values."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import UpdateNotFinite, create
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.numerics.newton import is_positive_definite

EDGES = [0.0, 5e-324, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]
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
    """Return an OPS that has learned a stream."""
    calibrator = create('ops', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
    return calibrator


def with_map(a: float, b: float, clip: float = 0.01):
    """Return an OPS of a given map."""
    calibrator = create('ops', radius=1e9, clip=clip)
    calibrator.restore({**calibrator.state(), 'a': a, 'b': b, 'updates': 1})
    return calibrator


@given(
    probabilities,
    probabilities,
    st.floats(1e-12, 1e6),
    st.floats(-1e3, 1e3),
    st.sampled_from([1e-9, 0.01, 0.499]),
)
def test_larger_p_never_maps_lower_while_a_is_positive(p, other, a, b, clip):
    calibrator = with_map(a, b, clip)
    low, high = sorted((p, other))
    assert calibrator.predict(low) <= calibrator.predict(high)


@pytest.mark.parametrize(
    ('a', 'b'), [(1.0, 0.0), (0.3, 2.0), (40.0, -3.0), (1e4, 0.1), (7.0, 36.0)]
)
def test_neighbouring_floats_keep_their_order(a, b):
    calibrator = with_map(a, b, clip=1e-9)
    for start in (1e-9, 0.02, 0.3, 0.5 - 2**-54 * 1000, 0.7, 1.0 - 2**-30):
        p, previous = start, 0.0
        for _ in range(2000):
            q = calibrator.predict(p)
            assert q >= previous
            p, previous = math.nextafter(p, 2.0), q


def test_p_beyond_the_clip_maps_as_the_clip():
    calibrator = learned(clip=0.05)
    assert calibrator.predict(0.0) == calibrator.predict(0.05)
    assert calibrator.predict(1.0) == calibrator.predict(0.95)


@given(samples, parameter_sets)
def test_state_comes_back_bit_for_bit_through_yaml(stream, parameters):
    calibrator = learned(stream, **parameters)
    text = yaml.safe_dump(calibrator.state())
    other = create('ops', **parameters)
    other.restore(yaml.safe_load(text))
    assert yaml.safe_dump(other.state()) == text
    for p in EDGES:
        assert other.predict(p) == calibrator.predict(p)


@settings(max_examples=200)
@given(samples, parameter_sets)
@example([(1.0, 0), (0.0, 1)] * 10, {'gamma': 1e-6, 'radius': 1e-3, 'clip': 1e-9})
@example([(1.0, 0), (1.0, 1)] * 10, {'gamma': 1e6, 'radius': 1e4, 'clip': 0.499})
def test_every_update_stays_sound(stream, parameters):
    calibrator = create('ops', **parameters)
    for p, y in stream:
        calibrator.update(p, y)
        assert 0.0 <= calibrator.predict(p) <= 1.0
        assert math.hypot(calibrator.a, calibrator.b) <= calibrator.parameters()['radius'] * (
            1 + 1e-12
        )
        (a00, a01), (a10, a11) = calibrator.A
        assert a01 == a10
        assert is_positive_definite(a00, a01, a11)
    assert calibrator.updates == len(stream)


@pytest.mark.parametrize('clip', [0.01, 1e-9])
@pytest.mark.parametrize('forgetting', [1.0, 0.99])
def test_a_model_that_is_always_sure_and_always_wrong(clip, forgetting):
    calibrator = learned([(1.0, 0)] * 100_000, clip=clip, forgetting=forgetting)
    assert 0.0 < calibrator.predict(1.0) < 0.001
    assert calibrator.updates == 100_000


@pytest.mark.parametrize('rho', [1e-20, 0.01, 1.0, 1e12, 1e20])
def test_every_rho_that_is_accepted_learns_and_can_be_saved(rho):
    if rho not in CALIBRATOR_LIMITS['rho']:
        with pytest.raises(ValueError, match='rho must be'):
            create('ops', rho=rho)
        return
    generator = random.Random(1)
    for _ in range(20):
        calibrator = create('ops', rho=rho)
        for _ in range(4):
            calibrator.update(generator.random(), generator.randint(0, 1))
        create('ops', rho=rho).restore(calibrator.state())


def test_rounding_never_wears_the_smallest_rho_out():
    """Gradients of one direction alone leave the other eigenvalue of A at rho for ever."""
    generator = random.Random(1)
    stream = [(1.0, int(generator.random() < 0.5)) for _ in range(300_000)]
    calibrator = learned(stream, rho=CALIBRATOR_LIMITS['rho'].low, radius=1e6, clip=0.001)
    (a00, a01), (_, a11) = calibrator.A
    determinant = Fraction(a00) * Fraction(a11) - Fraction(a01) ** 2
    smaller = float(determinant / (Fraction(a00) + Fraction(a11)))
    assert smaller == pytest.approx(calibrator.parameters()['rho'], rel=0.1)


def test_ticket_holds_the_features_that_were_issued():
    late, prompt = create('ops', clip=0.1), create('ops', clip=0.1)
    _, ticket = late.issue(0.02)
    late.configure(clip=0.001)
    late.update(0.02, 1, ticket)
    prompt.update(0.02, 1)
    assert (late.a, late.b, late.A) == (prompt.a, prompt.b, prompt.A)


def test_late_label_is_learned_at_the_current_parameters():
    late = create('ops')
    _, first = late.issue(0.8)
    _, second = late.issue(0.3)
    late.update(0.3, 1, second)
    late.update(0.8, 0, first)
    assert late.state() == learned([(0.3, 1), (0.8, 0)]).state()


def test_error_of_a_sure_and_right_forecast_keeps_its_digits():
    calibrator = with_map(10.0, 0.0)
    calibrator.update(0.99, 1)
    error = 0.99**-10 * 0.01**10
    assert calibrator.b == pytest.approx(error / (0.1 * 100.0), rel=1e-9)


def test_new_rho_shifts_the_matrix():
    calibrator = learned(rho=100.0)
    before = np.array(calibrator.A)
    calibrator.configure(rho=30.0)
    np.testing.assert_allclose(calibrator.A, before - 70.0 * np.eye(2), rtol=1e-14)
    # The first gradient does not depend on rho.
    one_step = learned([(0.8, 0)], rho=100.0)
    one_step.configure(rho=30.0)
    np.testing.assert_allclose(one_step.A, learned([(0.8, 0)], rho=30.0).A, rtol=1e-14)


def test_smaller_radius_projects_at_once():
    calibrator = learned()
    assert math.hypot(calibrator.a, calibrator.b) > 0.5
    calibrator.configure(radius=0.5)
    assert math.hypot(calibrator.a, calibrator.b) == pytest.approx(0.5, rel=1e-15)
    before = calibrator.a, calibrator.b
    calibrator.configure(radius=200.0)
    assert (calibrator.a, calibrator.b) == before


@pytest.mark.parametrize(
    ('name', 'value'), [('gamma', 0.5), ('clip', 0.2), ('forgetting', 0.9), ('radius', 3)]
)
def test_configured_parameter_acts_as_if_given_at_the_start(name, value):
    configured = create('ops')
    configured.configure(**{name: value})
    given_at_start = create('ops', **{name: value})
    for calibrator in (configured, given_at_start):
        calibrator.update(0.9, 0)
    assert configured.state() == given_at_start.state()


@pytest.mark.parametrize(
    ('parameters', 'sentence'),
    [
        ({'gamma': 0.0}, r'gamma must be >= 1e-12 and <= 1e\+12, not 0.0'),
        ({'rho': -1.0}, r'rho must be >= 0.01 and <= 1e\+12, not -1.0'),
        ({'radius': math.inf}, r'radius must be >= 1e-06 and <= 1e\+12, not inf'),
        ({'clip': 0.5}, 'clip must be >= 1e-09 and < 0.5, not 0.5'),
        ({'clip': 0.0}, 'clip must be >= 1e-09 and < 0.5, not 0.0'),
        ({'forgetting': 0.0}, 'forgetting must be > 0 and <= 1, not 0.0'),
        ({'forgetting': 1.1}, 'forgetting must be > 0 and <= 1, not 1.1'),
        ({'gamma': math.nan}, r'gamma must be .*, not nan'),
        ({'gamma': '0.1'}, r"gamma must be .*, not '0.1'"),
        ({'gamma': True}, r'gamma must be .*, not True'),
        ({'gamma': 10**400}, r'gamma must be .*, not 1'),
    ],
)
def test_value_out_of_range_is_refused_and_nothing_changes(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        create('ops', **parameters)
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match=sentence):
        calibrator.configure(**{'gamma': 0.2, 'rho': 50.0, 'radius': 0.1, **parameters})
    assert calibrator.state() == before


def test_unknown_parameter_is_refused_and_nothing_changes():
    calibrator = learned()
    before = calibrator.state()
    with pytest.raises(ValueError, match="ops has no parameter 'gama'"):
        calibrator.configure(rho=50.0, gama=0.2)
    assert calibrator.state() == before
    with pytest.raises(ValueError, match="ops has no parameter 'gama', did you mean 'gamma'"):
        create('ops', gama=0.2)


def test_only_a_smaller_radius_projects():
    calibrator = create('ops', radius=0.5)
    calibrator.configure(gamma=0.2)
    assert calibrator.a == 1.0
    calibrator.configure(radius=0.4)
    assert calibrator.a == pytest.approx(0.4, rel=1e-15)


def test_unknown_method_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"no method 'opps', did you mean 'ops'\? \(methods: ops"):
        create('opps')


@pytest.mark.parametrize('p', [-1e-9, 1.0 + 1e-9, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('ticket', [None, 0.3], ids=['without ticket', 'with ticket'])
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
        calibrator.update(0.4, 1, math.nan)
    assert calibrator.state() == before


def test_reset_is_a_new_start():
    calibrator = learned(rho=7.0)
    calibrator.reset()
    assert calibrator.state() == create('ops', rho=7.0).state()
