# SPDX-License-Identifier: Apache-2.0
"""Whatever kind of number a method is fed, its state is Python's own numbers, and the same ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import yaml

from calib_node.core.calibrators import CALIBRATORS, create, create_multiclass

GENERATOR = np.random.default_rng(0)
# Exact in single precision, so that every kind of number says the same.
P = GENERATOR.integers(0, 257, 110) / 256
Y = (GENERATOR.random(110) < P**2).astype(int)
ROWS = GENERATOR.multinomial(256, [0.6, 0.3, 0.1], 70) / 256
CLASSES = [int(GENERATOR.choice(3, p=row)) for row in ROWS]

KINDS = [
    (np.float32, np.int64),
    (np.float64, np.uint8),
    (np.float64, np.bool_),
    (np.float16, np.float32),
    (float, bool),
    (float, float),
]


def fed(method, of_p, of_y, with_ticket):
    parameters = {'warmup': 50} if method == 'ensemble' else {}
    calibrator = create(method, **parameters)
    forecasts = []
    for p, y in zip(P.tolist(), Y.tolist()):
        q, ticket = calibrator.issue(of_p(p))
        forecasts.append(q)
        calibrator.update(of_p(p), of_y(y), ticket if with_ticket else None)
    return calibrator, forecasts


@cache
def as_usual(method):
    return fed(method, float, int, True)


def assert_plain(value):
    """YAML writes no other number, and a subclass of a float is another."""
    if isinstance(value, dict):
        for key, item in value.items():
            assert type(key) is str
            assert_plain(item)
    elif isinstance(value, list):
        for item in value:
            assert_plain(item)
    else:
        assert type(value) in (float, int, bool, str, type(None)), repr(value)


@pytest.mark.parametrize('method', CALIBRATORS)
@pytest.mark.parametrize(('of_p', 'of_y'), KINDS)
def test_state_of_a_binary_method(method, of_p, of_y):
    calibrator, forecasts = fed(method, of_p, of_y, True)
    expected, ordinary = as_usual(method)
    assert_plain(calibrator.state())
    assert {type(q) for q in forecasts} == {float}
    assert {type(v) for v in calibrator.figures().values()} <= {float, int, bool}
    assert forecasts == ordinary
    assert calibrator.state() == expected.state()
    assert yaml.safe_load(yaml.safe_dump(calibrator.state())) == expected.state()


@pytest.mark.parametrize('method', CALIBRATORS)
def test_state_of_a_binary_method_that_is_given_no_ticket(method):
    calibrator, _ = fed(method, np.float32, np.bool_, False)
    assert_plain(calibrator.state())
    assert calibrator.state() == fed(method, float, int, False)[0].state()


@pytest.mark.parametrize('method', CALIBRATORS)
def test_certain_probabilities_may_be_whole_numbers(method):
    calibrator = create(method)
    for p in (0, 1, np.int64(1), True):
        q, ticket = calibrator.issue(p)
        assert type(q) is float
        calibrator.update(p, 1, ticket)
    assert_plain(calibrator.state())


@pytest.mark.parametrize('p', [-0.1, 1.5, np.nan, np.float32(1.5), '0.5', None, 1j])
@pytest.mark.parametrize('method', CALIBRATORS)
def test_what_is_no_probability_gets_a_sentence(method, p):
    if isinstance(p, float | np.floating):
        with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\], not'):
            create(method).update(p, 1)
    with pytest.raises(ValueError, match=r'a probability must be within \[0, 1\], not'):
        create(method).issue(p)


@pytest.mark.parametrize('method', CALIBRATORS)
@pytest.mark.parametrize(
    ('of_row', 'of_label'),
    [(list, np.int64), (np.array, np.uint8), (np.float32, np.float32)],
    ids=['list', 'float64', 'float32'],
)
def test_state_of_a_method_of_many_classes(method, of_row, of_label):
    rows = ROWS[:20] if method == 'mixture' else ROWS
    calibrator, expected = (create_multiclass(method, 3) for _ in range(2))
    for row, label in zip(rows, CLASSES):
        calibrator.update(of_row(row), of_label(label), calibrator.issue(of_row(row))[1])
        expected.update(row.tolist(), label, expected.issue(row.tolist())[1])
    assert_plain(calibrator.state())
    assert {type(v) for v in calibrator.figures().values()} <= {float, int, bool}
    assert calibrator.state() == expected.state()


def test_parameters_given_as_numbers_of_numpy():
    for method in CALIBRATORS:
        own = create(method).parameters()
        of_numpy = {name: np.array([value])[0] for name, value in own.items()}
        calibrator = create(method, **of_numpy)
        assert_plain(calibrator.state())
        assert calibrator.parameters() == own
