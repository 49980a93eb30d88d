# SPDX-License-Identifier: Apache-2.0
"""The parameters a method has if none are given, and its figures, of one class and of many."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from calib_node.core.calibrators import (
    CALIBRATORS,
    create,
    create_multiclass,
    default_parameters,
)
from calib_node.core.calibrators.multiclass.base import SHOWN


@pytest.mark.parametrize('method', CALIBRATORS)
def test_they_are_what_a_new_calibrator_has(method):
    assert default_parameters(method) == create(method).parameters()
    assert list(default_parameters(method)) == list(
        inspect.signature(CALIBRATORS[method]).parameters
    )
    for classes in (2, 3, 10, 1000):
        expected = create_multiclass(method, classes).parameters() if classes < 1000 else None
        own = default_parameters(method, classes)
        assert expected in (None, own)
        assert own.keys() == default_parameters(method).keys()
        calibrator = create_multiclass(method, 3, **own)
        assert calibrator.parameters() == own


def test_they_depend_on_the_method_and_on_the_classes():
    assert [default_parameters(m)['rho'] for m in ('ops', 'tops', 'hops')] == [100.0] * 3
    assert [default_parameters(m)['rho'] for m in ('beta', 'tobs', 'hobs')] == [25.0] * 3
    assert default_parameters('ops', 10)['clip'] == pytest.approx(0.001)
    assert default_parameters('windowed_platt', 4)['clip'] == 0.0025
    assert default_parameters('temperature')['clip'] == 0.01
    assert default_parameters('temperature', 10)['clip'] == 1e-9


@pytest.mark.parametrize('classes', [0, 1001, 2.5, '3', None])
def test_wrong_use_gets_a_sentence(classes):
    with pytest.raises(ValueError, match='classes must be a whole number >= 2 and <= 1000, not'):
        default_parameters('ops', classes)
    with pytest.raises(ValueError, match="there is no method 'opps', did you mean 'ops'"):
        default_parameters('opps')


def learned(method, classes, n=8):
    calibrator = create_multiclass(method, classes)
    generator = np.random.default_rng(0)
    for row in generator.dirichlet(np.full(classes, 0.5), n):
        calibrator.update(row, int(generator.integers(classes)), calibrator.issue(row)[1])
    return calibrator


@pytest.mark.parametrize('method', [m for m in CALIBRATORS if m != 'temperature'])
def test_figures_of_few_classes_are_those_of_the_binary_method_by_class(method):
    calibrator = learned(method, 3)
    names = [name for name in create(method).figures() if name != 'updates']
    expected = [f'{name} of class {k}' for name in names for k in range(3)]
    assert list(calibrator.figures()) == [*expected, 'updates']
    assert calibrator.figures()['updates'] == 8


@pytest.mark.parametrize('method', [m for m in CALIBRATORS if m != 'mixture'])
def test_figures_of_many_classes_are_no_more_than_those_of_ten(method):
    calibrator = learned(method, 40)
    figures = calibrator.figures()
    assert len(figures) <= SHOWN * len(create(method).figures())
    assert not [name for name in figures if 'class 1' in name]


def test_figures_say_what_spans_the_classes():
    calibrator = learned('ops', 40)
    figures, a, b = calibrator.figures(), calibrator.a, calibrator.b
    assert figures == {
        'a, least of the classes': a.min(),
        'a, median of the classes': np.median(a),
        'a, largest of the classes': a.max(),
        'b, least of the classes': b.min(),
        'b, median of the classes': np.median(b),
        'b, largest of the classes': b.max(),
        'updates': 8,
    }
    assert learned('temperature', 40).figures().keys() == {'temperature', 'updates'}
    calibrates = create_multiclass('ensemble', 40, warmup=1, auto=False)
    calibrates.update(np.full(40, 1 / 40), 3)
    assert calibrates.figures()['calibrates, number of classes'] == 40


def test_figures_of_a_mixture_are_the_weights_and_the_delay_of_each_class():
    figures = learned('mixture', 3).figures()
    assert [figures[f'delay of labels of class {k}'] for k in range(3)] == [0.0] * 3
    for k in range(3):
        weights = [v for n, v in figures.items() if n.startswith('weight') and n.endswith(str(k))]
        assert len(weights) == 13
        assert sum(weights) == pytest.approx(1.0)
