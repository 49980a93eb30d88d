# SPDX-License-Identifier: Apache-2.0
"""The rules of matching, one example each. Predictions are named p…, labels l…."""

from __future__ import annotations

import pytest
from matching_streams import feed, flush, make

from calib_node.core.matching import MatchCounts

both_policies = pytest.mark.parametrize('policy', ['nearest', 'exact'])


@both_policies
@pytest.mark.parametrize(
    ('stream', 'matches'),
    [
        ('p100 l100', ['p100 l100']),
        ('p100 p200 l200 l100', ['p200 l200', 'p100 l100']),
        ('l100 p100', ['p100 l100']),
        ('l300 l200 p200 p300', ['p200 l200', 'p300 l300']),
        ('p100 l100 l100a', ['p100 l100']),
    ],
    ids=['prompt', 'late', 'early', 'early, disordered', 'twice'],
)
def test_equal_stamps_match_at_once(policy, stream, matches):
    assert feed(make(policy=policy), stream) == matches


def test_label_is_decided_once_a_prediction_at_or_past_its_tolerance_has_come():
    matcher = make()
    assert feed(matcher, 'p100 l104 p113') == []
    assert feed(matcher, 'p114') == ['p100 l104']


def test_label_that_is_past_already_is_decided_when_it_comes():
    assert feed(make(), 'p100 p200 l104') == ['p100 l104']


def test_labels_do_not_move_event_time():
    matcher = make()
    assert feed(matcher, 'p100 l104 l1000000 l5000000000') == []
    assert matcher.pending_predictions == 1
    assert feed(matcher, 'p114') == ['p100 l104']


@pytest.mark.parametrize(
    ('stream', 'matches'),
    [
        ('p100 p108 p200 l103', ['p100 l103']),
        ('p100 p108 p200 l105', ['p108 l105']),
        ('p100 p108 p200 l104', ['p100 l104']),
        ('p100 p200 l110', ['p100 l110']),
        ('p100 p200 l111', []),
        ('p100 p200 l190', ['p200 l190']),
        ('p100 p200 l189', []),
    ],
    ids=['earlier', 'later', 'tie', 'after', 'too late', 'before', 'too early'],
)
def test_label_takes_the_nearest_within_the_tolerance_and_a_tie_the_earlier(stream, matches):
    assert feed(make(), stream) == matches


def test_exact_takes_equal_stamps_alone():
    matcher = make(policy='exact')
    assert feed(matcher, 'p100 l101 l99 p200 p300') == []
    assert flush(matcher) == []
    assert matcher.counts == MatchCounts(expired=3, unmatched=2)


@pytest.mark.parametrize(
    'stream',
    [
        'p100 p108 p200 l100 l101 l103',
        'p100 p108 l103 l101 p200 l100',
        'p100 l100 l100a l104 p108 p200',
    ],
)
def test_label_whose_nearest_is_taken_is_a_duplicate_and_goes_to_no_neighbour(stream):
    matcher = make()
    assert len(feed(matcher, stream)) == 1
    assert matcher.counts.duplicate == 2
    assert matcher.pending_predictions == 2
    assert flush(matcher) == []


def test_duplicate_prediction_expires():
    matcher = make()
    assert feed(matcher, 'p100 p100a l100 p200 p2000 p2001') == ['p100 l100']
    assert matcher.counts.expired == 2
    assert matcher.pending_predictions == 2


def test_predictions_of_one_stamp_queue():
    matcher = make()
    assert feed(matcher, 'p100a p100b l100a l100b l100c p200') == ['p100a l100a', 'p100b l100b']
    assert matcher.counts.duplicate == 1


def test_labels_of_one_stamp_queue_for_predictions_to_come():
    matcher = make()
    assert feed(matcher, 'p50 l100a l100b p100a p100b') == ['p100a l100a', 'p100b l100b']


def test_decided_is_decided():
    """A nearer prediction that comes out of order afterwards changes nothing."""
    matcher = make()
    assert feed(matcher, 'p100 p120 l108') == ['p100 l108']
    assert feed(matcher, 'p108 p300') == []
    assert matcher.pending_predictions == 3


def test_label_without_a_prediction_waits_for_one_out_of_order():
    matcher = make()
    assert feed(matcher, 'p100 p200 l150') == []
    assert feed(matcher, 'p141') == ['p141 l150']
    assert feed(matcher, 'l160 p260') == []
    assert matcher.pending_labels == 1
    assert feed(matcher, 'p271') == []
    assert matcher.pending_labels == 0
    assert matcher.counts.unmatched == 1


def test_flush_decides_the_rest():
    matcher = make()
    assert feed(matcher, 'p100 p110 l108 l101 l103 l140') == []
    assert flush(matcher) == ['p100 l101', 'p110 l108']
    assert matcher.counts == MatchCounts(matched=2, duplicate=1, unmatched=1)
    assert matcher.pending_predictions == matcher.pending_labels == 0
    assert flush(matcher) == []


def test_jump_back_clears_both_sides():
    matcher = make()
    feed(matcher, 'p1000 p1010 l2000')
    assert feed(matcher, 'p910') == []
    assert matcher.counts.jumps_back == 0
    assert feed(matcher, 'p909') == []
    assert matcher.counts == MatchCounts(expired=3, unmatched=1, jumps_back=1)
    assert feed(matcher, 'l1000 l1010') == []
    assert (matcher.pending_predictions, matcher.pending_labels) == (1, 2)


def test_after_a_jump_back_all_is_as_at_the_start():
    matcher = make()
    for stamp in range(100_000, 105_000, 100):
        feed(matcher, f'p{stamp}')
    matches = []
    for stamp in range(0, 5_000, 100):
        matches += feed(matcher, f'p{stamp} l{stamp + 3}')
    matches += flush(matcher)
    assert matches == [f'p{stamp} l{stamp + 3}' for stamp in range(0, 5_000, 100)]
    assert matcher.counts == MatchCounts(matched=50, expired=50, jumps_back=1)


def test_prediction_far_ahead_moves_time_only_when_confirmed():
    matcher = make()
    feed(matcher, 'p100 p1101')
    assert matcher.pending_predictions == 2
    assert feed(matcher, 'p110 l102 p112') == ['p100 l102']
    assert matcher.counts == MatchCounts(matched=1, expired=1)
    assert feed(matcher, 'p5000 l5000') == []
    assert feed(matcher, 'p4900') == ['p5000 l5000']
    assert matcher.counts == MatchCounts(matched=2, expired=3)
    assert matcher.pending_predictions == 1


def test_flush_takes_a_prediction_far_ahead_that_nothing_contradicts():
    matcher = make()
    assert feed(matcher, 'p100 l103 p5000 l5002') == []
    assert flush(matcher) == ['p100 l103', 'p5000 l5002']
