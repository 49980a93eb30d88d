# SPDX-License-Identifier: Apache-2.0
"""Contexts of forecasts that are one probability per class."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from calib_node.core.calibrators import (
    UpdateNotFinite,
    create_multiclass,
)


@pytest.mark.parametrize('method', ['ops', 'beta', 'temperature', 'windowed_platt'])
def test_many_classes_learn_contexts(method):
    generator = np.random.default_rng(2)
    calibrator, plain = (
        create_multiclass(method, 3, **of) for of in ({'contexts': ('camera',)}, {})
    )
    losses = np.zeros(2)
    for number in range(1500):
        p = generator.dirichlet([0.7, 0.7, 0.7])
        camera = number % 2
        # Of one camera it is too sure, or other classes are frequent there.
        softer = 0.3 * p + 0.7 / 3.0 if method == 'temperature' else p * [3.0, 1.0, 0.3]
        truth = p if camera else softer / softer.sum()
        y = int(generator.choice(3, p=truth))
        q, ticket = calibrator.issue(p, (camera,))
        q_plain = plain.predict(p)
        assert q.sum() == pytest.approx(1.0, abs=1e-12)
        calibrator.update(p, y, ticket)
        plain.update(p, y)
        if number >= 500:
            losses -= np.log([q[y], q_plain[y]])
    assert losses[0] < losses[1] - 10.0
    assert [f.count for f in calibrator.context_figures().values()] == [750, 750]
    rows = generator.dirichlet([1.0, 1.0, 1.0], 20)
    contexts = [(i % 3,) for i in range(20)]
    many, tickets = calibrator.issue_many(rows, contexts)
    for row, context, q in zip(rows, contexts, many):
        assert q == pytest.approx(calibrator.predict(row, context), abs=1e-12)
    calibrator.update(rows[0], 1, tickets[0])
    with pytest.raises(ValueError, match='the probabilities must sum to 1'):
        calibrator.issue_many([[0.5, 0.4, 0.2]], [(1,)])


def test_the_likeliest_class_stays_the_likeliest_in_any_context():
    calibrator = create_multiclass('temperature', 3, contexts=('camera',), gamma=0.001)
    generator = np.random.default_rng(4)
    for number in range(300):
        p = generator.dirichlet([1.0, 1.0, 1.0])
        q, ticket = calibrator.issue(p, (number % 3,))
        assert q.argmax() == p.argmax()
        calibrator.update(p, int(p.argmin()) if number % 3 else int(p.argmax()), ticket)


@pytest.mark.parametrize('method', ['ops', 'tops', 'hops', 'temperature'])
def test_where_a_class_fails_no_class_and_no_context_has_learned(method):
    calibrator = create_multiclass(method, 3, contexts=('camera',))
    p = [0.6, 0.3, 0.1]
    calibrator.update(p, 0, calibrator.issue(p, ('a',))[1])
    q, own, context = calibrator.issue(p, ('b',))[1]
    before = calibrator.state()
    if method == 'temperature':
        own, spoiled = np.array(q), (np.full(3, np.nan), own, context)
    else:
        spoiled = (q, [*own[:2], copy.deepcopy(own[2])], context)
        part = spoiled[1][2]
        if method == 'ops':
            spoiled[1][2] = ((math.nan, 1.0), *part[1:])
        else:
            spoiled[1][2] = part._replace(shared_q=math.nan)
    with pytest.raises(UpdateNotFinite):
        calibrator.update(p, 1, spoiled)
    assert calibrator.state() == before
