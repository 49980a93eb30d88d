# SPDX-License-Identifier: Apache-2.0
"""Labels that hold until the next one. Predictions are named p…, labels l…."""

from __future__ import annotations

import pytest
from matching_streams import feed, flush, make

from calib_node.core.matching import MatchCounts


@pytest.mark.parametrize(
    ('stream', 'matches'),
    [
        ('l100 p100 p150 l200', ['p100 l100', 'p150 l100']),
        ('p100 p150 l100 l200', ['p100 l100', 'p150 l100']),
        ('l100 l200 p100 p150', ['p100 l100', 'p150 l100']),
        ('l100 p150 p140 l145', ['p140 l100']),
        ('l100 p99 l200', []),
        ('l100 p200 l200', []),
        ('l100 p100 p200 l200 l200a p250 l300', ['p100 l100', 'p200 l200', 'p250 l200']),
        ('l200 p150 p250 l100', ['p150 l100']),
        ('l100 l200 p150a p150b', ['p150a l100', 'p150b l100']),
    ],
    ids=[
        'as they come',
        'late labels',
        'early labels',
        'disordered',
        'before all labels',
        'under the last label',
        'duplicate label',
        'older label after a newer',
        'equal stamps',
    ],
)
def test_label_holds_from_its_stamp_until_the_next_label(stream, matches):
    assert feed(make(policy='hold'), stream) == matches


def test_flush_decides_what_the_last_label_holds_for():
    matcher = make(policy='hold')
    assert feed(matcher, 'p90 l100 p110 p200') == []
    assert flush(matcher) == ['p110 l100', 'p200 l100']
    assert matcher.counts == MatchCounts(matched=2, expired=1)
    assert matcher.pending_predictions == matcher.pending_labels == 0


def test_decided_is_decided():
    matcher = make(policy='hold')
    assert feed(matcher, 'l100 p150 l200') == ['p150 l100']
    assert feed(matcher, 'l140 p160 p145 l210') == ['p160 l140', 'p145 l140']


def test_label_holds_for_a_horizon_at_most():
    matcher = make(policy='hold')
    feed(matcher, 'l100 p1100 p1101 l1150')
    assert flush(matcher) == []
    assert matcher.counts == MatchCounts(matched=1, expired=1, unmatched=1)


def test_label_that_no_other_follows_within_a_horizon_still_held():
    matcher = make(policy='hold')
    matches = feed(matcher, 'l0 p500 p900 p1200 l1300')
    assert matches + flush(matcher) == ['p500 l0', 'p900 l0']


def test_prediction_at_the_horizon_takes_the_label_that_held():
    matcher = make(policy='hold')
    assert feed(matcher, 'l0 p50 p1040') == []
    assert feed(matcher, 'p1051') == ['p50 l0']
    assert matcher.counts.expired == 0


def test_label_that_can_hold_for_nothing_more_is_dropped():
    matcher = make(policy='hold')
    feed(matcher, 'l0 p1100')
    assert (matcher.pending_labels, matcher.counts.unmatched) == (1, 0)
    feed(matcher, 'p1101')
    assert (matcher.pending_labels, matcher.counts.unmatched) == (0, 1)


def test_label_that_others_follow_is_dropped_with_the_last_prediction_it_could_hold_for():
    matcher = make(policy='hold')
    feed(matcher, 'l100 l200 l300 p290')
    assert matcher.pending_labels == 3
    feed(matcher, 'p300')
    assert (matcher.pending_labels, matcher.counts.unmatched) == (2, 1)
    feed(matcher, 'p400')
    assert (matcher.pending_labels, matcher.counts.unmatched) == (1, 1)


def test_jump_back_clears_both_sides():
    matcher = make(policy='hold')
    feed(matcher, 'l900 p1000 p1010 p909')
    assert matcher.counts == MatchCounts(expired=2, unmatched=1, jumps_back=1)
    assert feed(matcher, 'l905 l950') == ['p909 l905']


def test_capacity_bounds_both_sides_oldest_first():
    matcher = make(policy='hold', capacity=2)
    feed(matcher, 'p100 p110 p120 l90 l105 l300')
    assert matcher.counts == MatchCounts(matched=2, expired=1, unmatched=1)
    assert matcher.pending_labels == 2
