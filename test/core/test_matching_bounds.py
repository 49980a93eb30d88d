# SPDX-License-Identifier: Apache-2.0
"""What matching keeps and for how long, and how far a label missed."""

from __future__ import annotations

import tracemalloc

import pytest
from matching_streams import feed, flush, make

from calib_node.core.matching import POLICIES, MatchCounts

both_policies = pytest.mark.parametrize('policy', ['nearest', 'exact'])


def test_horizon_bounds_the_predictions():
    matcher = make()
    feed(matcher, 'p100 p600 p1100')
    assert matcher.pending_predictions == 3
    feed(matcher, 'p1101')
    assert (matcher.pending_predictions, matcher.counts.expired) == (3, 1)
    assert feed(matcher, 'l100') == []
    assert matcher.counts.unmatched == 1


def test_disorder_bounds_the_labels():
    """A label is given up once no prediction to come may be within its tolerance."""
    matcher = make()
    feed(matcher, 'p100 l150 p260')
    assert (matcher.pending_labels, matcher.counts.unmatched) == (1, 0)
    feed(matcher, 'p261')
    assert (matcher.pending_labels, matcher.counts.unmatched) == (0, 1)


def test_capacity_bounds_the_predictions_oldest_first():
    matcher = make(capacity=3)
    assert feed(matcher, 'p100 p200 p300 p400 l100 l200') == ['p200 l200']
    assert matcher.counts.expired == 1
    feed(matcher, 'p500')
    assert matcher.pending_predictions == 3


def test_capacity_bounds_predictions_of_one_stamp():
    matcher = make(capacity=2)
    assert feed(matcher, 'p100a p100b p100c l100a l100b') == ['p100b l100a', 'p100c l100b']
    assert matcher.counts.expired == 1


def test_capacity_bounds_the_labels_oldest_first():
    matcher = make(capacity=2)
    assert feed(matcher, 'l300 l100 l200 p100 p200 p300') == ['p200 l200', 'p300 l300']
    assert matcher.counts == MatchCounts(matched=2, expired=1, unmatched=1)


@both_policies
def test_burst_of_labels_for_a_full_buffer_is_not_lost(policy):
    matcher = make(policy=policy, horizon=100_000_000)
    for stamp in range(0, 1_000_000, 100):
        feed(matcher, f'p{stamp}')
    assert matcher.pending_predictions == 10_000
    matches = []
    for stamp in range(999_900, 899_900, -100):
        matches += feed(matcher, f'l{stamp}')
    assert len(matches) == 1_000
    assert matcher.counts == MatchCounts(matched=1_000)


@pytest.mark.slow
@pytest.mark.parametrize('policy', POLICIES)
def test_memory_is_flat(policy):
    matcher = make(policy=policy)

    def run(start: int) -> int:
        for stamp in range(start, start + 10_000):
            matcher.add_prediction(stamp, 'p')
            if stamp % 3 == 0:
                matcher.add_label(stamp - 50, 'l')
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = run(0)
        assert run(10_000) < first + 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ('stream', 'miss'),
    [
        ('', None),
        ('l50', None),
        ('p100 l100', None),
        ('p100 p200 l130', 30),
        ('p100 p200 l170', -30),
        ('p100 p200 l60', -40),
        ('p100 l5000', 4900),
        ('p100 p200 l130 l200', None),
        ('p1000 p1100 l1050 p10', None),
        ('p100 p200 l130 l175', -25),
    ],
)
def test_miss_says_how_far_a_label_was_after_the_nearest_prediction(stream, miss):
    matcher = make()
    feed(matcher, stream)
    assert matcher.miss == miss


def test_label_that_still_waits_within_the_tolerance_has_missed_nothing():
    matcher = make()
    feed(matcher, 'p100 l104')
    assert matcher.miss is None


def test_miss_of_a_label_that_only_a_flush_decides():
    matcher = make()
    feed(matcher, 'p100 l5000')
    flush(matcher)
    assert matcher.miss == 4900


@pytest.mark.parametrize(
    'changed', [{'horizon': 100, 'max_disorder': 50}, {'capacity': 5}], ids=['horizon', 'capacity']
)
def test_label_of_a_prediction_that_was_dropped_never_goes_to_a_neighbour(changed):
    matcher = make(**changed)
    feed(matcher, ' '.join(f'p{stamp}' for stamp in range(10, 130, 10)))
    gone = 120 - 110 if 'horizon' in changed else 70
    assert feed(matcher, f'l{gone}') == []
    assert (matcher.counts.unmatched, matcher.miss) == (1, None)
    assert feed(matcher, f'l{gone + 10}') == [f'p{gone + 10} l{gone + 10}']
