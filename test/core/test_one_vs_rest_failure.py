# SPDX-License-Identifier: Apache-2.0
"""Where the update of one class fails, no class has learned."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from calib_node.core.calibrators import (
    CALIBRATORS,
    OneVsRest,
    UpdateNotFinite,
    create,
    create_multiclass,
)

GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.dirichlet([0.5] * 3, size=60)
LABELS = [int(GENERATOR.choice(3, p=row)) for row in ROWS]
NEWTON = ['ops', 'beta', 'temperature', 'tops', 'tobs', 'hops', 'hobs']


def learned(method, n=40):
    """Return one-vs-rest of a method in the middle of a stream, whatever the method."""
    calibrator = OneVsRest([create(method) for _ in range(3)])
    learn(calibrator, 0, n)
    return calibrator


def learn(calibrator, start, end):
    for row, label in zip(ROWS[start:end], LABELS[start:end]):
        calibrator.update(row, label, calibrator.issue(row)[1])


def spoil(ticket):
    """Return a ticket of a binary method with its first number that is a float made NaN."""
    if isinstance(ticket, float):
        return math.nan
    if isinstance(ticket, np.ndarray):
        return np.full_like(ticket, math.nan)
    parts = list(ticket)
    at = next(i for i, part in enumerate(parts) if not isinstance(part, int))
    parts[at] = spoil(parts[at])
    return type(ticket)(*parts) if hasattr(ticket, '_fields') else tuple(parts)


@pytest.mark.parametrize('method', [*NEWTON, 'ensemble', 'mixture'])
@pytest.mark.parametrize('failing', [0, 1, 2])
def test_ticket_that_no_forecast_was_made_of(method, failing):
    calibrator = learned(method)
    row = [0.5, 0.3, 0.2]
    good = calibrator.issue(row)[1]
    before = copy.deepcopy(calibrator.state())
    bad = [spoil(ticket) if k == failing else ticket for k, ticket in enumerate(good)]
    with pytest.raises(UpdateNotFinite, match=f'^of class {failing}: '):
        calibrator.update(row, 1, bad)
    assert calibrator.state() == before
    # It goes on as if nothing had been.
    other = learned(method)
    other.issue(row)
    learn(calibrator, 40, 60)
    learn(other, 40, 60)
    assert calibrator.state() == other.state()


def extreme(calibrator, k):
    """Give a class a matrix that no step survives, as only a strange state file could."""
    binary = calibrator._calibrators[k]
    newton = getattr(binary, 'wrapped', binary)
    newton._state = tuple(1e200 if value >= 1.0 else value for value in newton._state)


@pytest.mark.parametrize('method', ['beta', 'tops', 'tobs', 'hops', 'hobs'])
@pytest.mark.parametrize('with_ticket', [True, False])
def test_state_that_no_step_survives(method, with_ticket):
    calibrator = learned(method)
    extreme(calibrator, 2)
    row = ROWS[50]
    for label in range(3):
        ticket = calibrator.issue(row)[1] if with_ticket else None
        before = copy.deepcopy(calibrator.state())
        choices = games(calibrator)
        with pytest.raises(UpdateNotFinite, match=r'^of class 2: '):
            calibrator.update(row, label, ticket)
        assert calibrator.state() == before
        assert games(calibrator) == choices


def games(calibrator):
    """Return what the games of hedging would choose, and the next random numbers."""
    return [
        ({i: game.choice for i, game in binary._games.items()}, binary._uniform)
        for binary in calibrator._calibrators
        if hasattr(binary, '_games')
    ]


@pytest.mark.parametrize('method', ['hops', 'hobs'])
def test_game_of_a_ticket_that_does_not_exist(method):
    calibrator = learned(method)
    row = [0.5, 0.3, 0.2]
    ticket = calibrator.issue(row)[1]
    before = copy.deepcopy(calibrator.state())
    ticket[2] = (ticket[2][0], 10, 3)
    with pytest.raises(ValueError, match='no game and point'):
        calibrator.update(row, 1, ticket)
    assert calibrator.state() == before


@pytest.mark.parametrize('method', CALIBRATORS)
@pytest.mark.parametrize('count', [0, 2, 4])
def test_ticket_of_another_number_of_classes(method, count):
    calibrator = learned(method, 5)
    before = copy.deepcopy(calibrator.state())
    with pytest.raises(UpdateNotFinite, match=f'the ticket is of {count} classes, not 3'):
        calibrator.update([0.5, 0.3, 0.2], 1, [None] * count)
    assert calibrator.state() == before


@pytest.mark.parametrize('method', CALIBRATORS)
def test_classes_have_learned_equally_much_or_the_state_is_refused(method):
    state = create_multiclass(method, 3).state()
    if 'calibrators' in state:
        state['calibrators'][1]['updates'] = 1
        with pytest.raises(ValueError, match=r'class 1'):
            create_multiclass(method, 3).restore(state)
