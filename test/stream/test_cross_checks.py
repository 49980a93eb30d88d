# SPDX-License-Identifier: Apache-2.0
"""Parameters that make one another void: each sentence names both, and the value that mends it."""

from __future__ import annotations

import pytest

from calib_node.stream.cross_checks import wall_time_stamps
from calib_node.stream.parameters import ParameterError
from calib_node.stream.settings import Settings

DEFAULTS = Settings.from_mapping({})
BOOL = {'label.type': 'std_msgs/msg/Bool'}


@pytest.mark.parametrize(
    ('given', 'words', 'mended'),
    [
        (
            {'ece.window': 100},
            ('ece.min_samples is 300 and ece.window only 100', 'ece.warn', 'to at least 300'),
            {'ece.window': 300},
        ),
        (
            {'ece.min_samples': 1001},
            ('ece.min_samples is 1001 and ece.window only 1000', 'at most 1000'),
            {'ece.min_samples': 1000},
        ),
        (
            {'ece.window': 14, 'ece.min_samples': 14},
            ('ece.bins is 15 and ece.window only 14',),
            {'ece.bins': 14},
        ),
        (
            {'match.max_disorder': 90.0},
            ('match.max_disorder is 90 s', 'match.horizon, 60 s', 'to at least 90'),
            {'match.horizon': 90.0},
        ),
        (
            {'match.tolerance': 40.0},
            ('match.tolerance is 40 s', 'match.horizon only 60 s', 'to at least 80'),
            {'match.horizon': 80.0},
        ),
        (
            {'diagnostics.period': 10.0},
            ('diagnostics.stale_after is 5 s', 'diagnostics.period of 10 s', 'to at least 10'),
            {'diagnostics.stale_after': 10.0},
        ),
    ],
)
def test_values_that_defeat_one_another_are_named_with_what_mends_them(given, words, mended):
    (note,) = Settings.from_mapping(given).notes
    for word in words:
        assert word in note
    changed = DEFAULTS.changed(given)
    assert changed.notes == (note,)
    assert changed.changed(mended).notes == ()
    assert Settings.from_mapping({**given, **mended}).notes == ()


@pytest.mark.parametrize(
    ('condition', 'name', 'value', 'reason'),
    [
        ({'match.policy': 'exact'}, 'match.tolerance', 0.3, 'with match.policy exact'),
        ({'match.policy': 'hold'}, 'match.tolerance', 0.3, 'with match.policy hold'),
        ({'state.enabled': False}, 'state.file', 'a.yaml', 'with state.enabled false'),
        ({'state.enabled': False}, 'state.autosave_period', 5.0, 'with state.enabled false'),
        ({**BOOL, 'label.stamping': 'arrival'}, 'label.stamp_field', 'a', 'label.stamping arrival'),
        ({'raw.stamping': 'publication'}, 'raw.stamp_field', 'a', 'raw.stamping publication'),
        ({}, 'raw.stamp_field', 'a.stamp', 'with a stamped array'),
        ({}, 'label.stamp_field', 'a.stamp', 'with a stamped array'),
        ({}, 'positive_class', 'ground', 'with label.type std_msgs/msg/Float64MultiArray'),
        ({'label.type': 'std_msgs/Float64MultiArray'}, 'positive_class', 'ground', 'label.type'),
    ],
)
def test_a_value_that_does_nothing_beside_another_is_named(condition, name, value, reason):
    (note,) = Settings.from_mapping({**condition, name: value}).notes
    assert note.startswith(f'the parameter {name!r} has no effect ')
    assert reason in note
    assert Settings.from_mapping(condition).notes == ()


def test_a_path_to_the_stamp_counts_in_a_message_of_another_type():
    assert Settings.from_mapping({**BOOL, 'label.stamp_field': 'stamp'}).notes == ()
    assert Settings.from_mapping({**BOOL, 'positive_class': 'ground'}).notes == ()


@pytest.mark.parametrize(
    ('condition', 'name', 'value'),
    [
        ({'match.policy': 'exact'}, 'match.tolerance', 0.3),
        ({'state.enabled': False}, 'state.autosave_period', 5.0),
    ],
)
def test_a_change_that_would_do_nothing_is_refused_with_the_reason(condition, name, value):
    settings = Settings.from_mapping(condition)
    with pytest.raises(ParameterError, match=f'^{name!r} has no effect with '):
        settings.changed({name: value})


def test_a_change_that_makes_another_parameter_count_is_taken_with_it():
    exact = Settings.from_mapping({'match.policy': 'exact'})
    both = exact.changed({'match.policy': 'nearest', 'match.tolerance': 0.3})
    assert both.match.tolerance == 0.3
    (note,) = both.changed({'match.policy': 'exact'}).notes
    assert "'match.tolerance' has no effect with match.policy exact, only with nearest" in note


def test_stamps_of_publication_are_wall_time_and_need_the_single_executor():
    assert wall_time_stamps(DEFAULTS) == []
    assert DEFAULTS.executor_used == 'events'
    settings = Settings.from_mapping({**BOOL, 'label.stamping': 'publication'})
    (note,) = wall_time_stamps(settings)
    assert 'label.stamping is publication' in note
    assert 'use_sim_time' in note
    assert settings.executor_used == 'single'
