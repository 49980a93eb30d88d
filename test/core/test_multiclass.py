# SPDX-License-Identifier: Apache-2.0
"""One-vs-rest: one binary calibrator per class, and the outputs renormalised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import (
    CALIBRATORS,
    OneVsRest,
    UpdateNotFinite,
    create,
    create_multiclass,
)
from calib_node.core.evaluate import forecasts

# A mixture of all of them takes its time. 'temperature' has one parameter for all classes.
FAST = [name for name in CALIBRATORS if name != 'mixture']
ONE_VS_REST = [name for name in FAST if name != 'temperature']


def drawn(classes, n, seed=0, sharpness=0.5):
    """Return n samples of a model that is too sure."""
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.full(classes, sharpness), size=n)
    softer = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    return p, [int(generator.choice(classes, p=row)) for row in softer]


def learn(calibrator, p, labels):
    """Return the forecasts, each made before its label is learned."""
    return np.array(forecasts(calibrator, zip(p, labels)))


def learned(method, count):
    """Return a calibrator of three classes that has learned."""
    calibrator = create_multiclass(method, classes=3)
    learn(calibrator, *drawn(3, count))
    return calibrator


@settings(max_examples=15)
@given(
    st.integers(2, 6),
    st.fixed_dictionaries(
        {
            'gamma': st.sampled_from([0.1, 1.0]),
            'rho': st.sampled_from([1.0, 100.0]),
            'radius': st.sampled_from([0.3, 0.9, 1.5, 100.0]),
            'clip': st.sampled_from([1e-6, 0.001, 0.1]),
            'forgetting': st.sampled_from([1.0, 0.99, 0.5]),
        }
    ),
    st.integers(0, 5),
)
def test_ops_of_all_classes_at_once_is_ops_of_each(classes, parameters, seed):
    p, labels = drawn(classes, 60, seed, sharpness=0.2)
    together = create_multiclass('ops', classes=classes, **parameters)
    each = [create('ops', **parameters) for _ in range(classes)]
    for row, label in zip(p, labels):
        q, ticket = together.issue(row)
        single = np.array([binary.predict(x) for binary, x in zip(each, row.tolist())])
        np.testing.assert_allclose(q, single / single.sum(), rtol=0, atol=1e-12)
        together.update(row, label, ticket)
        for k, binary in enumerate(each):
            binary.update(float(row[k]), int(k == label))
        np.testing.assert_allclose(together.a, [b.a for b in each], rtol=0, atol=1e-10)
        np.testing.assert_allclose(together.b, [b.b for b in each], rtol=0, atol=1e-10)
        np.testing.assert_allclose(together.A, [b.A for b in each], rtol=1e-10, atol=1e-12)


def test_ops_of_all_classes_to_twelve_digits_over_a_long_stream():
    p, labels = drawn(5, 1000)
    together = create_multiclass('ops', classes=5)
    each = OneVsRest([create('ops', clip=0.002) for _ in range(5)])
    np.testing.assert_allclose(
        learn(together, p, labels), learn(each, p, labels), rtol=0, atol=1e-12
    )


def both(method):
    """Return a calibrator of three classes and the three binary ones that it stands for."""
    together = create_multiclass(method, classes=3)
    own = together.parameters()
    seeds = [{'seed': own['seed'] + k} if 'seed' in own else {} for k in range(3)]
    return together, [create(method, **{**own, **seed}) for seed in seeds]


@pytest.mark.parametrize('method', ONE_VS_REST)
def test_every_method_is_one_vs_rest_of_itself(method):
    p, labels = drawn(3, 120)
    together, each = both(method)
    for row, label, q in zip(p, labels, learn(together, p, labels)):
        single = np.zeros(3)
        for k, binary in enumerate(each):
            single[k], ticket = binary.issue(float(row[k]))
            binary.update(float(row[k]), int(k == label), ticket)
        expected = single / single.sum() if single.sum() else row / row.sum()
        np.testing.assert_allclose(q, expected, rtol=0, atol=1e-12)
    assert together.updates == 120
    assert together.name == method


@pytest.mark.parametrize('method', ['ops', 'temperature', 'identity'])
def test_a_thousand_classes(method):
    p, labels = drawn(1000, 20)
    q = learn(create_multiclass(method, classes=1000), p, labels)
    np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_first_forecast_is_the_input():
    for method in ('ops', 'temperature', 'identity', 'isotonic', 'beta'):
        calibrator = create_multiclass(method, classes=3)
        np.testing.assert_allclose(calibrator.predict([0.7, 0.2, 0.1]), [0.7, 0.2, 0.1], rtol=1e-12)
        np.testing.assert_allclose(
            calibrator.predict([0.7004, 0.2, 0.1]), np.array([0.7004, 0.2, 0.1]) / 1.0004, rtol=2e-4
        )


def test_all_zero_gives_the_input_as_probabilities():
    calibrator = create_multiclass('isotonic', classes=2, smooth=False, refit_every=2)
    for label in (0, 1, 1, 0):
        calibrator.update([0.45, 0.55], label)
    binary = [create('isotonic', smooth=False, refit_every=1) for _ in range(2)]
    for own in binary:
        own.update(0.5, 0)
    calibrator = OneVsRest(binary)
    assert calibrator.predict([0.25, 0.7495]).tolist() == pytest.approx(
        [0.25 / 0.9995, 0.7495 / 0.9995], rel=1e-15
    )


def test_clip_is_small_where_classes_are_many():
    assert create_multiclass('ops', classes=100).parameters()['clip'] == 1e-4
    assert create_multiclass('beta', classes=4).parameters()['clip'] == 0.0025
    assert create_multiclass('ops', classes=100, clip=0.1).parameters()['clip'] == 0.1
    assert create_multiclass('beta', classes=4, clip=0.1).parameters()['clip'] == 0.1
    p = np.full(100, 0.01 / 99)
    p[3] = 0.99
    assert create_multiclass('ops', classes=100).predict(p)[3] == pytest.approx(0.99, abs=1e-3)
    assert create_multiclass('ops', classes=100, clip=0.01).predict(p)[3] < 0.51


@pytest.mark.parametrize('method', ONE_VS_REST)
def test_labels_that_come_late_bring_the_ticket_of_each_class(method):
    together, each = both(method)
    waiting = []
    for row, label in zip(*drawn(3, 90)):
        tickets = [binary.issue(x)[1] for binary, x in zip(each, row.tolist())]
        waiting.append((row, label, together.issue(row)[1], tickets))
        if len(waiting) > 10:
            row, label, ticket, tickets = waiting.pop(0)
            together.update(row, label, ticket)
            for k, binary in enumerate(each):
                binary.update(float(row[k]), int(k == label), tickets[k])
    assert together.updates == 80
    q = np.array([binary.predict(x) for binary, x in zip(each, (0.5, 0.3, 0.2))])
    np.testing.assert_allclose(together.predict([0.5, 0.3, 0.2]), q / q.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ('p', 'sentence'),
    [
        ([0.5, 0.5], '3 probabilities are expected, one per class, not 2'),
        ([0.4, 0.2, 0.2, 0.2], '3 probabilities are expected, one per class, not 4'),
        ([[0.5, 0.3, 0.2]], r'3 probabilities are expected, .* not an array of shape \(1, 3\)'),
        (0.5, r'3 probabilities are expected, .* not an array of shape \(\)'),
        ([0.5, 0.6, -0.1], r'a probability must be within \[0, 1\], not -0.1'),
        ([1.2, 0.0, 0.0], r'a probability must be within \[0, 1\], not 1.2'),
        ([0.5, math.nan, 0.5], r'a probability must be within \[0, 1\], not nan'),
        ([0.5, math.inf, 0.5], r'a probability must be within \[0, 1\], not inf'),
        ([0.5, 0.3, 0.202], r'the probabilities must sum to 1, not to 1.00'),
        ([0.5, 0.3, 0.198], r'the probabilities must sum to 1, not to 0.998'),
        (['a', 'b', 'c'], r"probabilities must be numbers, not \['a', 'b', 'c'\]"),
        ([0.5, [0.3], 0.2], 'probabilities must be numbers, not'),
    ],
)
def test_wrong_probabilities_get_a_sentence(p, sentence):
    with pytest.raises(ValueError, match=sentence):
        create_multiclass('ops', classes=3).predict(p)


@pytest.mark.parametrize(
    ('label', 'sentence'),
    [
        (3, 'a label of 3 classes must be from 0 to 2, not 3'),
        (-1, 'a label of 3 classes must be from 0 to 2, not -1'),
        (1.5, 'a label must be a whole number, not 1.5'),
        (math.nan, 'a label must be a whole number, not nan'),
        (math.inf, 'a label must be a whole number, not inf'),
        (None, 'a label must be a whole number, not None'),
        ('1', "a label must be a whole number, not '1'"),
    ],
)
def test_wrong_label_gets_a_sentence(label, sentence):
    with pytest.raises(ValueError, match=sentence):
        create_multiclass('ops', classes=3).update([0.5, 0.3, 0.2], label)


def test_whole_numbers_of_any_type_are_labels():
    expected = create_multiclass('ops', classes=3)
    expected.update([0.5, 0.3, 0.2], 2)
    for label in (2.0, np.int64(2), np.float32(2), np.uint8(2)):
        calibrator = create_multiclass('ops', classes=3)
        calibrator.update(np.float32([0.5, 0.3, 0.2]).astype(float), label)
        calibrator = create_multiclass('ops', classes=3)
        calibrator.update([0.5, 0.3, 0.2], label)
        assert calibrator.state() == expected.state()


@pytest.mark.parametrize('classes', [1, 0, 1001, 2.5, '3', True])
@pytest.mark.parametrize('method', ['ops', 'identity', 'temperature'])
def test_wrong_number_of_classes_gets_a_sentence(method, classes):
    with pytest.raises(ValueError, match='classes must be a whole number >= 2 and <= 1000, not'):
        create_multiclass(method, classes=classes)


def test_update_of_a_worn_out_matrix_changes_nothing():
    calibrator = create_multiclass('ops', classes=3)
    calibrator._state[3] = 1e6
    before = calibrator.state()
    with pytest.raises(UpdateNotFinite, match='no longer positive definite'):
        calibrator.update([0.5, 0.3, 0.2], 1)
    assert calibrator.state() == before


def test_own_parameters_of_ops_win():
    state = learned('ops', 40).state()
    calibrator = create_multiclass('ops', classes=3, rho=30.0, radius=0.5, clip=0.01)
    calibrator.restore(state)
    assert np.hypot(calibrator.a, calibrator.b).max() <= 0.5 * (1 + 1e-15)
    shifted = np.array(state['A']) - 70.0 * np.eye(2)
    np.testing.assert_allclose(calibrator.A, shifted, rtol=1e-12)
    for k in range(3):
        binary = create('ops', rho=30.0, radius=0.5)
        binary.restore(
            {
                'method': 'ops',
                'a': state['a'][k],
                'b': state['b'][k],
                'A': state['A'][k],
                'updates': 40,
                'parameters': state['parameters'],
            }
        )
        assert (calibrator.a[k], calibrator.b[k]) == pytest.approx((binary.a, binary.b), rel=1e-12)


def test_live_changes_of_ops():
    calibrator = learned('ops', 40)
    before = calibrator.A
    calibrator.configure(rho=30.0)
    np.testing.assert_allclose(calibrator.A, before - 70.0 * np.eye(2), rtol=1e-12)
    calibrator.configure(radius=0.5)
    assert np.hypot(calibrator.a, calibrator.b).max() == pytest.approx(0.5, rel=1e-14)
    a = calibrator.a
    calibrator.configure(radius=50.0, gamma=1.0, forgetting=0.9, clip=0.02)
    np.testing.assert_array_equal(calibrator.a, a)
    assert calibrator.parameters() == {
        'gamma': 1.0,
        'rho': 30.0,
        'radius': 50.0,
        'clip': 0.02,
        'forgetting': 0.9,
    }


def test_change_that_one_class_refuses_changes_no_class():
    calibrator = learned('beta', 40)
    state = calibrator.state()
    broken = calibrator._calibrators[2]
    broken.configure = lambda **_: (_ for _ in ()).throw(ValueError('no'))
    with pytest.raises(ValueError, match='no'):
        calibrator.configure(gamma=0.5)
    del broken.configure
    assert calibrator.state() == state


def test_each_class_has_a_seed_of_its_own():
    calibrator = create_multiclass('hops', classes=3, seed=2**32 - 2)
    seeds = [s['parameters']['seed'] for s in calibrator.state()['calibrators']]
    assert seeds == [2**32 - 2, 2**32 - 1, 0]
    assert calibrator.parameters()['seed'] == 2**32 - 2
    calibrator.configure(gamma=0.5)
    assert [s['parameters']['seed'] for s in calibrator.state()['calibrators']] == seeds
