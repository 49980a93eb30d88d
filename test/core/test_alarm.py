# SPDX-License-Identifier: Apache-2.0
"""The alarm finds what has changed, seldom what has not, and heeds how late labels are."""

from __future__ import annotations

import copy
import json
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import StateError
from calib_node.core.trust.alarm import CLEARS_AFTER, Alarm
from calib_node.core.trust.detector import BETS, CLIP, MOST, Detector, winnings

EVERY = 1000.0


def sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z))


def logit(q: float) -> float:
    return math.log(q / (1.0 - q))


def feed(alarm: Alarm, seed: int, count: int, bias: float = 0.0, slope: float = 1.0) -> int | None:
    """Add labels of a truth that differs from the forecast; return at which one it was raised."""
    chance = random.Random(seed)
    for number in range(count):
        q = min(max(chance.random(), 0.001), 0.999)
        y = int(chance.random() < sigmoid(slope * logit(q) + bias))
        alarm.add(q, y, 0, 1_000 + alarm.labels)
        if alarm.raised is not None:
            return number + 1
    return None


@pytest.mark.parametrize('y', [0, 1])
@pytest.mark.parametrize('q', [0.0, 1e-9, 0.001, 0.2, 0.5, 0.8, 0.999, 1.0])
def test_what_a_bet_makes_is_the_ratio_of_likelihoods(q: float, y: int):
    clipped = min(max(q, CLIP), 1.0 - CLIP)
    for bet, e in zip(BETS, winnings(np.array([q]), np.array([y]))[0]):
        other = sigmoid(bet.slope * logit(clipped) + bet.shift)
        wanted = other / clipped if y else (1.0 - other) / (1.0 - clipped)
        assert e == pytest.approx(wanted, rel=1e-12)


@given(st.floats(CLIP, 1.0 - CLIP))
def test_of_an_honest_forecast_no_bet_wins_on_average(q: float):
    for one, zero in zip(*winnings(np.array([q, q]), np.array([1, 0]))):
        assert q * one + (1.0 - q) * zero == pytest.approx(1.0, rel=1e-9)


def test_the_detector_is_that_of_the_definition():
    chance = random.Random(1)
    detector, turns = Detector(1e9, 3), [[0.0] * len(BETS) for _ in range(3)]
    for number in range(300):
        q, y = chance.random(), int(chance.random() < 0.5)
        turn = turns[number % 3]
        for index, e in enumerate(winnings(np.array([q]), np.array([y]))[0].tolist()):
            turn[index] = (turn[index] + 1.0) * e
        mean = sum(map(sum, turns)) / (3 * len(BETS))
        detector.every = mean * 3 * (1 + 1e-9)
        assert not detector_would_go(detector, q, y)
        detector.every = mean * 3 * (1 - 1e-9)
        assert detector.add(q, y)
    assert detector.state()['won'] == turns


def detector_would_go(detector: Detector, q: float, y: int) -> bool:
    return copy.deepcopy(detector).add(q, y)


@pytest.mark.parametrize(
    ('bias', 'slope', 'kind'),
    [(-1.0, 1.0, 'too high'), (1.0, 1.0, 'too low'), (0.0, 0.4, 'too sure'),
     (0.0, 2.5, 'too unsure')],
)  # fmt: skip
@pytest.mark.parametrize('before', [0, 3000])
def test_a_change_is_found_and_its_kind_and_place_are_told(
    bias: float, slope: float, kind: str, before: int
):
    alarm = Alarm(1e6, late=False)
    assert feed(alarm, 1, before) is None
    found = feed(alarm, 2, 3000, bias, slope)
    assert found is not None
    assert found < 1500
    raised = alarm.raised
    assert raised.kind == kind
    assert raised.label == alarm.labels == before + found
    assert abs(raised.since_label - before) < 150
    assert raised.since_stamp == (1_000 + raised.since_label - 1 if raised.since_label else 0)


@pytest.mark.slow
def test_false_alarms_are_no_more_frequent_than_said():
    """Of 60 sequences of 20 000 honest labels, with one expected in 100 000."""
    raised = sum(feed(Alarm(100_000.0, late=False), seed, 20_000) is not None for seed in range(60))
    assert raised <= 18


def persistent(seed: int, count: int, late: bool, delay: int = 50) -> bool:
    """Return whether an alarm goes on what is honest for all that can be known."""
    chance, alarm = random.Random(seed), Alarm(100_000.0, late)
    truth, known, forecasts, truths = 0, 0.5, [], []
    stay = (1.0 + (1.0 - 0.02) ** delay) / 2.0
    for number in range(count):
        truth = 1 - truth if chance.random() < 0.01 else truth
        truths.append(truth)
        if number >= delay:
            known = stay if truths[number - delay] else 1.0 - stay
        forecasts.append(known)
        if number >= delay:
            alarm.add(forecasts[number - delay], truths[number - delay], delay)
            if alarm.raised is not None:
                return True
    return False


def test_truth_that_persists_with_late_labels_gives_no_alarm():
    assert not any(persistent(seed, 6000, late=True) for seed in range(6))
    # Without turns it goes at once, though each forecast is honest.
    assert any(persistent(seed, 6000, late=False) for seed in range(6))


@pytest.mark.slow
def test_truth_that_persists_gives_no_alarm_in_forty_runs():
    assert sum(persistent(seed, 5000, late=True) for seed in range(40)) <= 1


def test_late_labels_wait_for_the_delays_to_be_known():
    alarm = Alarm(EVERY, late=True)
    for number in range(99):
        alarm.add(0.9, 0, delay=number % 5)
    assert (alarm.turns, alarm.raised) == (0, None)
    alarm.add(0.9, 0, delay=2)
    assert alarm.turns == 3
    while alarm.raised is None:
        assert alarm.turns == 3, 'it is frozen when the detector is started'
        alarm.add(0.9, 0, delay=40)
    for _ in range(100):
        alarm.add(0.9, 0, delay=40)
    alarm.acknowledge()
    assert alarm.turns == 41


def test_it_clears_once_it_has_been_silent_for_long():
    alarm = Alarm(1e6, late=False)
    feed(alarm, 1, 5000, bias=-1.5)
    raised = alarm.raised
    assert raised is not None
    chance = random.Random(5)
    for number in range(CLEARS_AFTER):
        assert alarm.raised == raised, number
        q = chance.random()
        alarm.add(q, int(chance.random() < q))
    assert alarm.raised is None


def test_it_stays_raised_while_the_error_lasts():
    alarm = Alarm(1e4, late=False)
    feed(alarm, 1, 5000, bias=-1.5)
    raised, chance = alarm.raised, random.Random(6)
    for _ in range(5000):
        q = min(max(chance.random(), 0.001), 0.999)
        alarm.add(q, int(chance.random() < sigmoid(logit(q) - 1.5)))
    assert alarm.raised == raised


def test_it_is_acknowledged():
    alarm = Alarm(1e4, late=False)
    assert not alarm.acknowledge()
    feed(alarm, 1, 5000, bias=-1.5)
    assert alarm.acknowledge()
    assert alarm.raised is None
    assert feed(alarm, 2, 5000, bias=-1.5) is not None


def test_what_is_won_does_not_overflow():
    detector = Detector(1e12)
    for _ in range(20_000):
        detector.add(0.001, 1)
    assert all(0.0 <= value <= MOST for row in detector.state()['won'] for value in row)
    assert detector.add(0.001, 1)


def test_it_is_quiet_until_a_bet_is_about_to_win():
    alarm = Alarm(1e4, late=False)
    assert alarm.is_quiet('too sure', 'too unsure')
    feed(alarm, 1, 5000, slope=0.3)
    assert not alarm.is_quiet('too sure')
    assert alarm.is_quiet('too high')


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 70), min_size=1, max_size=12), st.booleans(), st.integers(0, 9))
def test_many_at_once_are_as_one_by_one(sizes: list[int], late: bool, delay: int):
    chance = random.Random(sum(sizes))
    together, alone = Alarm(60.0, late), Alarm(60.0, late)
    number = 0
    for size in sizes:
        rows = [
            (chance.random(), int(chance.random() < 0.8), delay, number + k) for k in range(size)
        ]
        number += size
        together.add_many(*zip(*rows))
        for row in rows:
            alone.add(*row)
        assert together.state() == alone.state()


# State


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 400), st.booleans(), st.integers(0, 5), st.integers(0, 99))
def test_a_restored_alarm_goes_on_to_the_bit(cut: int, late: bool, delay: int, seed: int):
    whole, first = Alarm(300.0, late), Alarm(300.0, late)
    chance = random.Random(seed)
    samples = [(chance.random(), int(chance.random() < 0.7), delay, n) for n in range(500)]
    for sample in samples[:cut]:
        first.add(*sample)
    second = Alarm(300.0, late)
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    for number, sample in enumerate(samples):
        whole.add(*sample)
        if number >= cut:
            second.add(*sample)
    assert second.state() == whole.state()


def test_other_parameters_start_a_new_detector():
    alarm = Alarm(1e4, late=False)
    feed(alarm, 1, 200)
    other = Alarm(1e5, late=False)
    other.restore(alarm.state())
    assert other.labels == 200
    assert other.state()['detector']['labels'] == 0


def damaged(state: Any, path: tuple[Any, ...] = ()) -> Any:
    """Yield a state with each of its values replaced by what it cannot be."""
    inner = state.items() if isinstance(state, dict) else enumerate(state)
    for key, value in inner:
        for wrong in (None, 'x', -1, float('nan'), [], {}, 2**70, True):
            if type(wrong) is not type(value):
                yield (*path, key), wrong
        if isinstance(value, (dict, list)):
            yield from damaged(value, (*path, key))


def test_each_field_of_a_state_is_checked():
    alarm = Alarm(300.0, late=True)
    chance = random.Random(1)
    for number in range(400):
        alarm.add(chance.random(), int(chance.random() < 0.9), 1, number)
    sound, refused = alarm.state(), 0
    for path, wrong in damaged(sound):
        if path in (('raised',), ('detector',), ('late',)) and wrong is None:
            continue
        bad = json.loads(json.dumps(sound))
        place = bad
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        other = Alarm(300.0, late=True)
        before = other.state()
        try:
            other.restore(bad)
        except StateError:
            refused += 1
            assert other.state() == before
        else:
            other.add(0.5, 1)
    assert refused > 300


@pytest.mark.parametrize('every', [0.0, 0.5, -1.0, float('nan'), float('inf')])
def test_a_rate_that_is_none(every: float):
    with pytest.raises(ValueError, match='every'):
        Alarm(every)
