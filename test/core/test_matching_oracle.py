# SPDX-License-Identifier: Apache-2.0
"""The matcher against a brute-force oracle: same matches, same order, same counts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_oracle import HoldOracle, Oracle

from calib_node.core.matching import Matcher, create_matcher, reconfigure

Event = tuple[str, Any]
"""('p', stamp) for a prediction, ('l', stamp) for a label, ('c', settings) for a change of them."""


def feed(side: Matcher | Oracle, event: Event, item: int) -> list[tuple[int, int]]:
    kind, value = event
    if kind == 'p':
        return side.add_prediction(value, item)
    if kind == 'l':
        return side.add_label(value, item)
    if isinstance(side, Oracle):
        return side.configure(**value)
    same, matches = reconfigure(side, **value)
    assert same is side
    return matches


def compare(events: list[Event], **settings_of_both: Any) -> Matcher:
    """Feed both with the events, compare them after each, and flush them."""
    matcher = create_matcher(**settings_of_both)
    hold = settings_of_both['policy'] == 'hold'
    oracle = (HoldOracle if hold else Oracle)(**settings_of_both)
    for number, event in enumerate(events):
        assert feed(matcher, event, number) == feed(oracle, event, number), (number, event)
        check_counts(matcher, oracle)
    assert matcher.flush() == oracle.flush()
    check_counts(matcher, oracle)
    return matcher


def check_counts(matcher: Matcher, oracle: Oracle) -> None:
    counts = asdict(matcher.counts)
    assert counts == {name: getattr(oracle, name) for name in counts}
    assert matcher.pending_predictions == oracle.pending_predictions
    assert matcher.pending_labels == oracle.pending_labels


def check_books(matcher: Matcher, events: list[Event]) -> None:
    """After a flush each prediction and each label has come to one end, and one only."""
    counts = matcher.counts
    sent = Counter(kind for kind, _ in events)
    assert matcher.pending_predictions == matcher.pending_labels == 0
    assert sent['p'] == counts.matched + counts.expired
    assert sent['l'] == counts.matched + counts.unmatched + counts.duplicate


@st.composite
def small_settings(draw: st.DrawFn) -> dict[str, Any]:
    horizon = draw(st.integers(1, 25))
    return {
        'policy': draw(st.sampled_from(['nearest', 'exact'])),
        'tolerance': draw(st.integers(0, 5)),
        'horizon': horizon,
        'max_disorder': draw(st.integers(0, horizon)),
        'capacity': draw(st.sampled_from([1, 2, 3, 5, 1000])),
    }


def events_within(span: int) -> st.SearchStrategy[list[Event]]:
    return st.lists(st.tuples(st.sampled_from('pl'), st.integers(-span, span)), max_size=60)


@st.composite
def advancing_events(draw: st.DrawFn) -> list[Event]:
    """Return predictions in near order with leaps, labels around them, changes of settings."""
    clock = 0
    events: list[Event] = []
    steps = st.integers(0, 6) | st.sampled_from([-60, 60, -3, -2, -1])
    for kind, step in draw(st.lists(st.tuples(st.sampled_from('pppplllllc'), steps), max_size=80)):
        if kind == 'p':
            clock += step
            events.append(('p', clock))
        elif kind == 'l':
            events.append(('l', clock + draw(st.integers(-12, 8))))
        else:
            events.append(('c', draw(small_settings())))
    return events


@pytest.mark.slow
@settings(max_examples=600)
@given(events_within(15) | events_within(50) | advancing_events(), small_settings())
def test_any_stream(events, both):
    check_books(compare(events, **both), events)


@pytest.mark.slow
@settings(max_examples=300)
@given(events_within(15) | events_within(50), st.integers(0, 40))
def test_any_stream_on_hold(events, max_disorder):
    compare(
        events,
        policy='hold',
        tolerance=5,
        horizon=1000,
        max_disorder=max_disorder,
        capacity=1000,
    )


def recorded_stream(count: int, seed: int) -> list[Event]:
    """Return what a robot might send, at 100 Hz and in units of 0.1 ms, in order of arrival."""
    generator = random.Random(seed)
    arrivals: list[tuple[float, Event]] = []
    stamp, arrival = 1_000_000, 0.0
    for _ in range(count):
        stamp += 100 + generator.randint(-10, 10)
        arrival += 100.0
        chance = generator.random()
        if chance < 0.001:
            stamp -= generator.choice([5_000, 50_000])  # a jump back
        elif chance < 0.002:
            stamp += 30_000  # further ahead than the horizon
        elif chance < 0.01:
            arrivals.append((arrival, ('p', stamp + generator.choice([40_000, -700]))))
        if generator.random() < 0.98:  # 2 % of the predictions are lost
            arrivals.append((arrival + generator.choice([0, 0, 0, 250]), ('p', stamp)))
            if generator.random() < 0.01:
                arrivals.append((arrival + 1, ('p', stamp)))
        if generator.random() < 0.9:
            labelled = stamp + generator.choice([0, 0, generator.randint(-70, 70)])
            delay = generator.choice([-150.0, 50.0, 2_000.0, 9_000.0])
            if chance > 0.7:  # a burst of labels
                delay = 3_000.0 - arrival % 3_000.0
            arrivals.append((arrival + delay, ('l', labelled)))
            if generator.random() < 0.05:
                arrivals.append((arrival + delay + generator.choice([0, 500]), ('l', labelled)))
    return [event for _, event in sorted(arrivals, key=lambda pair: pair[0])]


@pytest.mark.slow
@pytest.mark.parametrize('policy', ['nearest', 'exact'])
def test_long_stream(policy):
    events = recorded_stream(10_500, seed=7)
    assert len(events) > 20_000
    matcher = compare(
        events, policy=policy, tolerance=60, horizon=10_000, max_disorder=1_000, capacity=90
    )
    check_books(matcher, events)
    counts = asdict(matcher.counts)
    assert counts['matched'] > 1_000
    assert all(counts.values()), 'the stream left something untried'


@pytest.mark.parametrize('policy', ['nearest', 'exact'])
def test_books_of_a_stream_of_the_usual_size(policy):
    events = recorded_stream(20_000, seed=3)
    matcher = create_matcher(policy, 60, 600_000, 10_000, 10_000)
    for number, event in enumerate(events):
        feed(matcher, event, number)
        assert matcher.pending_predictions >= 0
        assert matcher.pending_labels >= 0
    matcher.flush()
    check_books(matcher, events)
