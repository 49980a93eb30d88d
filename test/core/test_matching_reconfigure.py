# SPDX-License-Identifier: Apache-2.0
"""Every setting of matching may change while it runs."""

from __future__ import annotations

import pytest
from matching_streams import SETTINGS, feed, flush, make

from calib_node.core.matching import MatchCounts, create_matcher, reconfigure


def test_larger_tolerance_finds_the_matches_that_wait():
    matcher = make()
    assert feed(matcher, 'p100 p200 l130') == []
    same, matches = reconfigure(matcher, **{**SETTINGS, 'tolerance': 30})
    assert same is matcher
    assert matches == [('p100', 'l130')]


@pytest.mark.parametrize('changed', [{'policy': 'exact'}, {'tolerance': 3}])
def test_smaller_tolerance_holds_for_labels_that_wait(changed):
    matcher = make()
    feed(matcher, 'p100 l106 p110')
    assert reconfigure(matcher, **{**SETTINGS, **changed}) == (matcher, [])
    assert feed(matcher, 'p200') == []
    assert flush(matcher) == []


def test_smaller_horizon_and_capacity_hold_at_once():
    matcher = make()
    feed(matcher, 'p100 p200 p300 p400 l5000 l6000 l7000')
    reconfigure(matcher, **{**SETTINGS, 'horizon': 150})
    assert matcher.pending_predictions == 2
    reconfigure(matcher, **{**SETTINGS, 'capacity': 1})
    assert (matcher.pending_predictions, matcher.pending_labels) == (1, 1)
    assert matcher.counts == MatchCounts(expired=3, unmatched=2)


def test_smaller_disorder_gives_labels_up_at_once():
    matcher = make()
    feed(matcher, 'p100 p200 l150')
    reconfigure(matcher, **{**SETTINGS, 'max_disorder': 30})
    assert (matcher.pending_labels, matcher.counts.unmatched) == (0, 1)


@pytest.mark.parametrize(
    ('before', 'after', 'decided'),
    [('nearest', 'hold', 'p100 l102'), ('hold', 'exact', 'p105 l102')],
)
def test_to_or_from_hold_what_waits_is_decided_and_matching_starts_anew(before, after, decided):
    matcher = make(policy=before)
    assert feed(matcher, 'p100 p105 l102') == []
    fresh, matches = reconfigure(matcher, **{**SETTINGS, 'policy': after})
    assert [' '.join(match) for match in matches] == [decided]
    assert fresh.counts == MatchCounts(matched=1, expired=1)
    assert feed(fresh, 'p5 l5 l9') == ['p5 l5']
    assert fresh.counts.matched == 2


def test_unknown_policy_is_refused_and_nothing_changes():
    wrong = {**SETTINGS, 'policy': 'closest', 'tolerance': 0}
    sentence = "the match policy must be one of exact, nearest, hold, not 'closest'"
    with pytest.raises(ValueError, match=sentence):
        create_matcher(**wrong)
    matcher = make()
    with pytest.raises(ValueError, match=sentence):
        reconfigure(matcher, **wrong)
    assert feed(matcher, 'p100 l104 p114') == ['p100 l104']
