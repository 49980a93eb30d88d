# SPDX-License-Identifier: Apache-2.0
"""What every method promises: forecasts, tickets, refusals, and the same from the same."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from contract import (
    CASES,
    Case,
    assert_probabilities,
    assert_sentence,
    assert_sound,
    every_case,
    forecasts_of,
    parameter_sets,
    streams,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import UpdateNotFinite
from calib_node.core.calibrators.contexts.forms import FORMS
from calib_node.core.evaluate import forecasts


def same(q, other) -> bool:
    return np.array_equal(q, other)


@pytest.mark.slow
@every_case
@settings(max_examples=10)
@given(data=st.data())
def test_any_stream_with_any_parameters_keeps_it_sound(case, data):
    calibrator = case.make(**data.draw(parameter_sets(case)))
    stream = data.draw(streams(case))
    for q in forecasts(calibrator, stream):
        assert_probabilities(q)
    assert calibrator.updates == len(stream)
    assert_sound(case, calibrator)


@pytest.mark.slow
@every_case
@settings(max_examples=10)
@given(data=st.data())
def test_labels_in_any_order_keep_it_sound(case, data):
    calibrator, waiting = case.make(), []
    for p, y in data.draw(streams(case)):
        q, ticket = calibrator.issue(p)
        assert_probabilities(q)
        waiting.append((p, y, ticket))
        while waiting and data.draw(st.booleans()):
            calibrator.update(*waiting.pop(data.draw(st.integers(0, len(waiting) - 1))))
    assert_sound(case, calibrator)


@every_case
@pytest.mark.parametrize('delay', [0, 20])
def test_the_same_stream_gives_the_same_to_the_last_bit(case, delay):
    one, other = case.make(), case.make()
    samples = case.samples(100)
    assert same(forecasts(one, samples, delay), forecasts(other, samples, delay))
    assert other.state() == one.state()


@every_case
def test_copies_learn_alike_and_apart(case):
    calibrator = case.learned(case.samples(70))
    other = copy.deepcopy(calibrator)
    kept = other.state()
    more = case.samples(40, seed=1)
    expected = forecasts(calibrator, more)
    assert other.state() == kept
    assert same(forecasts(other, more), expected)
    assert other.state() == calibrator.state()


@every_case
def test_looking_leaves_no_trace(case):
    """Nor does it use up a random number, of which some are due by now."""
    calibrator = case.learned(case.samples(300))
    before = calibrator.state()
    for p in case.probes:
        q = calibrator.predict(p)
        assert same(q, calibrator.predict(p))
        assert calibrator.state() == before
        assert same(calibrator.issue(p)[0], q)
        before = calibrator.state()


@every_case
def test_many_at_once_are_as_one_by_one(case):
    samples = case.samples(60)
    together, apart = (case.learned(samples[:30]) for _ in range(2))
    p = np.array([p for p, _ in samples], np.float64)
    q, tickets = together.issue_many(p)
    issued = [apart.issue(p) for p, _ in samples]
    assert q == pytest.approx(np.array([q for q, _ in issued]), abs=1e-12)
    for i, ((p_i, y), (_, ticket)) in enumerate(zip(samples, issued)):
        together.update(p_i, y, tickets[i])
        apart.update(p_i, y, ticket)
    for p_i, _ in samples:
        assert together.predict(p_i) == pytest.approx(apart.predict(p_i), abs=1e-9)


@every_case
def test_many_at_once_of_which_one_is_none_are_refused(case):
    calibrator = case.make()
    p = np.array([p for p, _ in case.samples(3)], np.float64)
    for bad in (1.5, float('nan')):
        p[1] = bad
        with pytest.raises(ValueError, match='within'):
            calibrator.issue_many(p)
    q, tickets = calibrator.issue_many(p[:0])
    assert (q.shape, len(tickets)) == (p[:0].shape, 0)


@every_case
def test_a_label_without_a_ticket_is_that_of_a_forecast_issued_just_now(case):
    samples = case.samples(100)
    with_ticket, without = case.make(), case.learned(samples)
    forecasts(with_ticket, samples)
    assert without.state() == with_ticket.state()


@every_case
def test_a_ticket_is_not_changed_by_what_is_learned(case):
    """So it can be kept as long as a label may take, and learned from as if it were new."""
    calibrator = case.learned(case.samples(70))
    other = copy.deepcopy(calibrator)
    p = case.samples(1)[0][0]
    ticket, copied = calibrator.issue(p)[1], copy.deepcopy(other.issue(p)[1])
    for sample in case.samples(40, seed=1):
        calibrator.update(*sample)
        other.update(*sample)
    calibrator.update(p, 1, ticket)
    other.update(p, 1, copied)
    assert other.state() == calibrator.state()


def learned_of(state):
    """Return a state without the parameters, which are not learned."""
    if isinstance(state, dict):
        return {key: learned_of(part) for key, part in state.items() if key != 'parameters'}
    return [learned_of(part) for part in state] if isinstance(state, list) else state


# Tracking counts in the bin of the map as it is now, and has a test of its own. The calibrator of
# a new context, at the end of a chain, issues when it is made.
@pytest.mark.parametrize(
    'case',
    [
        case
        for case in CASES
        if 'clip' in case.names and case.method not in ('tops', 'tobs')
        if not case.contexts or case.method in FORMS
    ],
    ids=str,
)
def test_a_ticket_holds_what_was_issued_though_the_clip_changes(case):
    late, prompt = case.make(clip=0.1), case.make(clip=0.1)
    p = 0.02 if case.classes == 1 else [0.96, 0.02, 0.02]
    ticket = late.issue(p)[1]
    late.configure(clip=0.001)
    late.update(p, 1, ticket)
    prompt.update(p, 1)
    assert learned_of(late.state()) == learned_of(prompt.state())


# With contexts the forecasts as issued are a part of the state, and another test is for that.
@pytest.mark.parametrize(
    'case',
    [
        Case(method, classes)
        for classes in (1, 3)
        for method in (
            *('ops', 'beta', 'temperature'),
            *('windowed_platt', 'isotonic', 'windowed_temperature'),
        )
    ],
    ids=str,
)
def test_a_late_label_is_learned_at_the_parameters_as_they_are_now(case):
    samples = case.samples(60)
    late = case.make()
    tickets = [late.issue(p)[1] for p, _ in samples]
    for (p, y), ticket in reversed(list(zip(samples, tickets))):
        late.update(p, y, ticket)
    assert late.state() == case.learned(samples[::-1]).state()


@every_case
def test_reset_is_a_new_start(case):
    calibrator, fresh = case.learned(case.samples(70)), case.make()
    calibrator.reset()
    assert calibrator.state() == fresh.state()
    samples = case.samples(40, seed=1)
    assert same(forecasts(calibrator, samples), forecasts(fresh, samples))
    assert calibrator.state() == fresh.state()


@every_case
def test_it_has_the_name_the_classes_and_the_count_that_are_said(case):
    calibrator = case.learned(case.samples(25))
    assert (calibrator.name, calibrator.classes) == (case.method, case.classes)
    assert calibrator.updates == 25
    figures = calibrator.figures()
    assert figures['updates'] == 25
    assert all(np.isfinite(value) for value in figures.values())


@every_case
@pytest.mark.parametrize('with_ticket', [False, True], ids=['without ticket', 'with ticket'])
def test_a_bad_probability_is_refused_in_a_sentence_and_changes_nothing(case, with_ticket):
    calibrator = case.learned(case.samples(49))
    ticket = calibrator.issue(case.probes[-1])[1] if with_ticket else None
    before = calibrator.state()
    for p in case.bad_probabilities():
        for call in (
            calibrator.predict,
            calibrator.issue,
            lambda p: calibrator.update(p, 1, ticket),
        ):
            with pytest.raises(ValueError, match='probabilit') as refused:
                call(p)
            assert_sentence(str(refused.value), p)
            assert calibrator.state() == before


@every_case
@pytest.mark.parametrize('with_ticket', [False, True], ids=['without ticket', 'with ticket'])
def test_a_bad_label_is_refused_in_a_sentence_and_changes_nothing(case, with_ticket):
    calibrator = case.learned(case.samples(49))
    p = case.probes[-1]
    ticket = calibrator.issue(p)[1] if with_ticket else None
    before = calibrator.state()
    for y in case.bad_labels():
        with pytest.raises(ValueError, match=r'a label .*must be') as refused:
            calibrator.update(p, y, ticket)
        assert_sentence(str(refused.value), y)
        assert calibrator.state() == before


def spoiled(ticket, value):
    """Yield a ticket again and again, each time with another of its numbers replaced."""
    if isinstance(ticket, float):
        yield value
    elif isinstance(ticket, np.ndarray):
        for place in range(ticket.size):
            changed = ticket.copy()
            changed.flat[place] = value
            yield changed
    elif isinstance(ticket, tuple | list):
        for place, part in enumerate(ticket):
            for changed in spoiled(part, value):
                parts = [*ticket[:place], changed, *ticket[place + 1 :]]
                yield ticket._make(parts) if hasattr(ticket, '_make') else type(ticket)(parts)


@every_case
@pytest.mark.parametrize('value', [np.nan, np.inf, -1e308, 1e200])
def test_an_update_that_would_not_be_finite_changes_nothing(case: Case, value):
    calibrator = case.learned(case.samples(70))
    p = case.samples(1)[0][0]
    _, ticket = calibrator.issue(p)
    for changed in spoiled(ticket, value):
        before, ahead = calibrator.state(), forecasts_of(case, calibrator)
        try:
            calibrator.update(p, 0, changed)
        except UpdateNotFinite as error:
            assert_sentence(str(error))
            assert calibrator.state() == before
            assert forecasts_of(case, calibrator) == ahead
        else:
            assert np.isfinite(value), f'{changed} was learned from'
            assert_sound(case, calibrator)
