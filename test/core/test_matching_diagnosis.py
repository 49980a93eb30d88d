# SPDX-License-Identifier: Apache-2.0
"""What is known of labels that find no prediction: the setting that would have helped, and its
value, with which they do.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from matching_streams import SETTINGS, feed, flush, make

from calib_node.core.matching import Matcher, create_matcher, reconfigure
from calib_node.core.matching.base import Gone
from calib_node.core.samples import NANOSECONDS

MS = NANOSECONDS // 1000
USUAL = {
    'policy': 'nearest',
    'tolerance': 10 * MS,
    'horizon': 60 * NANOSECONDS,
    'max_disorder': NANOSECONDS,
    'capacity': 10_000,
}
every_policy = pytest.mark.parametrize('policy', ['exact', 'nearest', 'hold'])
Event = tuple[str, int]


def run(events: Iterable[Event], **changed: object) -> tuple[Matcher, list[Gone | None]]:
    """Feed a matcher; return it and what it says of each label."""
    matcher = create_matcher(**{**USUAL, **changed})
    said = []
    for kind, stamp in events:
        if kind == 'p':
            matcher.add_prediction(stamp, 'p')
        else:
            matcher.add_label(stamp, 'l')
            said.append(matcher.gone)
    return matcher, said


def late_labels(
    stamps: list[int], delay: int, offset: int = 0, every: int = 1, of_one_stamp: int = 1
) -> list[Event]:
    """Return predictions, and some of their labels so many predictions later."""
    events: list[Event] = []
    for number, stamp in enumerate(stamps):
        events += [('p', stamp)] * of_one_stamp
        if number >= delay and number % every == 0:
            events.append(('l', stamps[number - delay] + offset))
    return events


def steady(number: int, period: int = 100 * MS, jitter: int = 0) -> list[int]:
    generator = random.Random(5)
    return [NANOSECONDS + k * period + generator.randint(-jitter, jitter) for k in range(number)]


# Labels that come too late


@pytest.mark.parametrize(
    ('policy', 'offset'),
    [('exact', 0), *((policy, off * MS) for policy in ('nearest', 'hold') for off in (0, 4, -4))],
)
def test_labels_later_than_the_horizon(policy, offset):
    """More than two minutes late, where the horizon is one.

    With `hold` those of less than two would be taken to hold on for what is dropped.
    """
    events = late_labels(steady(3000), delay=1300, offset=offset)
    matcher, said = run(events, policy=policy)
    assert matcher.counts.matched == 0
    assert {gone.capacity for gone in said if gone} == {0}
    late = max(gone.late for gone in said if gone)
    assert late == pytest.approx(130 * NANOSECONDS, abs=20 * MS)
    helped, said = run(events, policy=policy, horizon=late)
    assert said == [None] * 1700
    assert helped.counts.matched >= 1699


@pytest.mark.parametrize('policy', ['exact', 'nearest'])
def test_a_horizon_that_is_a_little_smaller_would_not_do(policy):
    events = late_labels(steady(3000), delay=1300)
    _, said = run(events, policy=policy)
    late = max(gone.late for gone in said if gone)
    matcher, _ = run(events, policy=policy, horizon=late - 2 * USUAL['tolerance'] - 1)
    assert matcher.counts.matched == 0


@every_policy
@pytest.mark.parametrize('of_one_stamp', [1, 3])
@pytest.mark.parametrize('jitter', [0, 20 * MS])
@pytest.mark.parametrize('ratio', [1.3, 2.0, 20.0])
@pytest.mark.parametrize('capacity', [10, 100])
def test_labels_beyond_the_capacity(policy, capacity, ratio, jitter, of_one_stamp):
    delay = int(capacity * ratio / of_one_stamp) + 1
    stamps = steady(3 * delay, jitter=jitter)
    events = late_labels(stamps, delay, every=max(delay // 10, 1), of_one_stamp=of_one_stamp)
    long = 3600 * NANOSECONDS
    matcher, said = run(events, policy=policy, horizon=long, capacity=capacity)
    assert matcher.counts.matched == 0
    needed = [gone.capacity for gone in said if gone]
    assert len(needed) == len(said) > 1
    assert all(gone.late <= long for gone in said if gone)
    helped, said = run(events, policy=policy, horizon=long, capacity=max(needed))
    assert said == [None] * len(needed)
    assert helped.counts.matched >= len(needed) - 1
    # It is no wild guess either.
    kept = (delay + 1) * of_one_stamp
    assert kept <= max(needed) <= 1.5 * kept + 2 * of_one_stamp


def test_the_least_capacity_tells_it_too():
    events = late_labels(steady(60), delay=20)
    _, said = run(events, capacity=1)
    needed = max(gone.capacity for gone in said if gone)
    assert 21 <= needed <= 23
    assert run(events, capacity=needed)[0].counts.matched == 40


@every_policy
def test_labels_beyond_both_need_both(policy):
    """Five minutes late at 100 Hz: 30 000 predictions, where one minute and 10 000 are kept."""
    events = late_labels(steady(40_000, period=10 * MS), delay=30_000, every=100)
    matcher, said = run(events, policy=policy)
    assert matcher.counts.matched == 0
    last = said[-1]
    assert last.late == pytest.approx(300 * NANOSECONDS, abs=10 * MS)
    assert last.capacity == pytest.approx(30_000, rel=0.001)
    for changed in ({'horizon': last.late}, {'capacity': last.capacity}):
        assert run(events, policy=policy, **changed)[0].counts.matched == 0
    helped, said = run(events, policy=policy, horizon=last.late, capacity=last.capacity)
    assert said == [None] * 100
    assert helped.counts.matched >= 99


@every_policy
def test_it_is_known_until_a_match(policy):
    matcher = make(policy=policy, capacity=2)
    feed(matcher, 'p100 p200 p300 p400 l100')
    assert matcher.gone is not None
    assert 300 <= matcher.gone.late <= 310
    assert matcher.gone.capacity >= 4
    assert matcher.miss is None
    feed(matcher, 'l400 p500 l500')
    assert matcher.gone is None


def test_a_jump_back_makes_it_unknown():
    matcher = make(capacity=2)
    feed(matcher, 'p1000 p1100 p1200 l1000')
    assert matcher.gone is not None
    feed(matcher, 'p10')
    assert matcher.gone is None


def test_what_is_not_late_is_not_gone():
    matcher = make(capacity=2)
    # Between two that are kept, after all, and within the tolerance of one that is taken.
    feed(matcher, 'p100 p200 p300 l250 l330 l300 l300a p400')
    assert (matcher.gone, matcher.counts.duplicate) == (None, 1)


# Labels that are off


@pytest.mark.parametrize('offset', [300, -300])
def test_exact_stamps_that_are_nanoseconds_off(offset):
    events = [event for stamp in steady(50) for event in (('p', stamp), ('l', stamp + offset))]
    matcher, said = run(events, policy='exact')
    assert (matcher.counts.matched, set(said)) == (0, {None})
    assert matcher.miss == offset
    assert list(matcher.misses) == [offset] * 10
    helped, said = run(events, tolerance=abs(offset))
    helped.flush()
    assert (helped.counts.matched, helped.miss, list(helped.misses)) == (50, None, [])


def test_misses_are_those_since_the_last_match():
    matcher = make()
    feed(matcher, 'p100 l130 p200 l240 p300 l220 l350 p400')
    assert list(matcher.misses) == [30, 40, 20, 50]
    assert matcher.miss == 50
    feed(matcher, 'l400')
    assert list(matcher.misses) == []
    feed(matcher, 'l430 p500')
    assert list(matcher.misses) == [30]


def test_scattered_labels_are_told_from_shifted_ones():
    generator = random.Random(3)
    scattered = [generator.choice([-40, -20, 30, 45]) * MS for _ in range(200)]
    events = [
        event
        for stamp, off in zip(steady(200), scattered)
        for event in (('p', stamp), ('l', stamp + off))
    ]
    matcher, _ = run(events)
    assert max(matcher.misses) - min(matcher.misses) > 60 * MS
    largest = max(abs(miss) for miss in matcher.misses)
    assert run(events, tolerance=largest)[0].counts.matched > 190


def test_a_flush_tells_of_those_that_waited():
    matcher = make()
    feed(matcher, 'p100 l5000')
    flush(matcher)
    assert list(matcher.misses) == [4900]


# Jumps back in time


def two_publishers(apart: int, number: int = 100) -> list[Event]:
    """Return the predictions of two, the second behind the first."""
    return [
        ('p', stamp)
        for first in steady(number)
        for stamp in (10 * NANOSECONDS + first, 10 * NANOSECONDS + first - apart)
    ]


def test_two_publishers_three_seconds_apart():
    matcher, _ = run(two_publishers(3 * NANOSECONDS))
    assert matcher.counts.jumps_back == 100
    jumps = matcher.jumps_within(100)
    assert jumps == [3 * NANOSECONDS] * 50
    helped, _ = run(two_publishers(3 * NANOSECONDS), max_disorder=max(jumps))
    assert (helped.counts.jumps_back, helped.jumps_within(100)) == (0, [])


def test_jumps_of_several_sizes_need_the_largest():
    events = [
        ('p', 10 * NANOSECONDS + stamp - behind * NANOSECONDS)
        for number, stamp in enumerate(steady(90))
        for behind in (0, 2 + number % 3)
    ]
    matcher, _ = run(events)
    jumps = matcher.jumps_within(100)
    assert (min(jumps), max(jumps)) == (2 * NANOSECONDS, 4 * NANOSECONDS)
    assert run(events, max_disorder=max(jumps))[0].counts.jumps_back == 0


@pytest.mark.parametrize(
    ('after', 'within', 'jumps'), [(0, 1, 1), (98, 100, 1), (99, 100, 1), (100, 100, 0)]
)
def test_jumps_are_those_during_the_last_predictions(after, within, jumps):
    matcher = make()
    feed(matcher, 'p10000 p10010 p5000')
    feed(matcher, ' '.join(f'p{5000 + 10 * k}' for k in range(1, after + 1)))
    assert matcher.jumps_within(within) == [5010] * jumps


def test_predictions_that_have_their_label_count_as_predictions():
    matcher = make()
    feed(matcher, 'p10000 p5000')
    for stamp in range(5010, 6000, 10):
        feed(matcher, f'p{stamp} l{stamp}')
    assert matcher.jumps_within(100) == [5000]
    feed(matcher, 'p6000')
    assert matcher.jumps_within(100) == []


def test_a_bag_that_loops_jumps_once():
    matcher, _ = run([('p', stamp) for stamp in steady(100) * 2])
    assert matcher.jumps_within(1000) == [99 * 100 * MS]


def test_a_change_of_settings_forgets_no_jump():
    matcher = make()
    feed(matcher, 'p10000 p5000')
    reconfigure(matcher, **{**SETTINGS, 'tolerance': 20, 'policy': 'exact'})
    assert matcher.jumps_within(100) == [5000]
