# SPDX-License-Identifier: Apache-2.0
"""What a change of each live parameter does, at once.

Every test starts learning anew, with stamps of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from calib_node.stream.table import TABLE

from .harness import SECOND, World

STAMPS = iter(range(1000 * SECOND, 10**9 * SECOND, SECOND))
WITH_A_TEST: set[str] = set()


def effect_of(*names: str) -> Callable:
    """Mark a test as that of what a change of these parameters does."""
    WITH_A_TEST.update(names)
    return lambda test: test


def test_the_effect_of_every_live_parameter_has_a_test():
    # The parameters of methods are gone through in the tests of the methods.
    assert {spec.name for spec in TABLE if spec.live and not spec.of_method} == WITH_A_TEST


def test_a_smaller_radius_projects_at_once(anew):
    anew.set('radius', 0.25)
    anew.next_status()
    a, b = float(anew.figures()['a']), float(anew.figures()['b'])
    assert a * a + b * b <= 0.25**2 * (1 + 1e-9)


@effect_of('learning')
def test_learning_false_scores_but_does_not_update(anew):
    anew.set('learning', False)
    anew.teach(next(STAMPS), 0.9, 0)
    anew.wait_for_figure('samples in window', 1)
    assert anew.figure('updates') == 0
    anew.set('learning', True)
    anew.teach(next(STAMPS), 0.9, 0)
    assert anew.figure('updates') == 1


@effect_of('on_invalid')
def test_on_invalid_takes_effect_at_once(anew):
    heard = len(anew.calibrated)
    anew.predict(next(STAMPS), 1.5)
    anew.set('on_invalid', 'pass')
    assert anew.ask(next(STAMPS), 1.25) == 1.25
    assert len(anew.calibrated) == heard + 1


@effect_of('label.offset')
def test_label_offset_is_added_to_label_stamps(anew):
    anew.set('label.offset', -0.25)
    stamp = next(STAMPS)
    anew.ask(stamp, 0.9)
    anew.label(stamp + SECOND // 4, 0)
    anew.wait_for_figure('updates', 1)


@effect_of('match.tolerance')
def test_a_wider_tolerance_decides_labels_that_wait(anew):
    stamp = next(STAMPS)
    anew.ask(stamp, 0.9)
    anew.label(stamp + SECOND // 5, 0)
    anew.ask(next(STAMPS), 0.5)
    assert anew.figure('updates') == 0
    anew.set('match.tolerance', 0.3)
    anew.wait_for_figure('updates', 1)


@effect_of('match.policy')
def test_policy_exact_takes_equal_stamps_alone(anew):
    anew.set('match.policy', 'exact')
    stamp = next(STAMPS)
    anew.ask(stamp, 0.9)
    anew.label(stamp + 1, 0)
    anew.ask(next(STAMPS), 0.5)
    assert anew.figure('updates') == 0
    anew.set('match.policy', 'nearest')
    anew.wait_for_figure('updates', 1)


@effect_of('match.policy')
def test_policy_hold_gives_a_label_to_all_predictions_until_the_next(anew):
    anew.set('match.policy', 'hold')
    stamp = next(STAMPS)
    anew.label(stamp, 1)
    for i in range(1, 4):
        anew.ask(stamp + i * SECOND // 10, 0.5)
    assert anew.figure('updates') == 0
    anew.label(stamp + SECOND // 2, 0)
    anew.wait_for_figure('updates', 3)


@effect_of('match.horizon', 'match.capacity')
def test_a_shorter_horizon_and_a_smaller_capacity_drop_what_waits(anew):
    for _ in range(5):
        anew.ask(next(STAMPS), 0.5)
    assert anew.figure('pending predictions') >= 5
    anew.set('match.horizon', 2.5)
    anew.wait_for_figure('pending predictions', 3)
    anew.set('match.capacity', 1)
    anew.wait_for_figure('pending predictions', 1)


@effect_of('match.max_disorder')
def test_max_disorder_says_what_a_jump_back_is(anew):
    before = anew.figure('jumps back in time')
    anew.ask(next(STAMPS), 0.5)
    stamp = next(STAMPS)
    anew.ask(stamp, 0.5)
    anew.ask(stamp - SECOND // 2, 0.5)
    assert anew.figure('jumps back in time') == before
    anew.set('match.max_disorder', 0.1)
    anew.ask(stamp - SECOND // 4, 0.5)
    assert anew.figure('jumps back in time') == before + 1


@effect_of('ece.bins', 'ece.window')
@pytest.mark.parametrize(('name', 'value'), [('ece.bins', 3), ('ece.window', 2)])
def test_bins_and_window_start_the_window_anew(anew, name, value):
    anew.set('ece.period', 0.02)
    for _ in range(3):
        anew.teach(next(STAMPS), 0.9, 1)
    anew.set('gamma', 0.2)
    assert anew.figure('samples in window') == 3
    anew.set(name, value)
    assert anew.figure('samples in window') == 0
    for _ in range(3):
        anew.teach(next(STAMPS), 0.9, 1)
    bins, window = anew.get('ece.bins', 'ece.window')
    assert anew.figure('samples in window') == min(3, window)
    seen = len(anew.reliability)
    anew.spin_until(lambda: len(anew.reliability) > seen + 1, 'reliability')
    assert len(anew.reliability[-1].data) == 2 * bins * 3


@effect_of('ece.period')
def test_period_of_the_figures_takes_effect_at_once(anew):
    anew.set('ece.period', 1000.0)
    anew.teach(next(STAMPS), 0.9, 1)
    anew.next_status()
    heard = len(anew.ece)
    anew.next_status()
    assert len(anew.ece) == heard
    anew.set('ece.period', 0.02)
    anew.spin_until(lambda: len(anew.ece) > heard + 3, 'ECE')


@effect_of('diagnostics.period')
def test_period_of_the_diagnostics_takes_effect_at_once(restored):
    restored.set('diagnostics.period', 1000.0)
    now = time.time_ns()
    restored.get('gamma')
    assert not [moment for moment in restored.published if moment > now]
    restored.set('diagnostics.period', 0.02)
    restored.next_status()


@effect_of('state.autosave_period')
def test_period_of_the_autosave_takes_effect_at_once(anew, shared: World):
    anew.teach(next(STAMPS), 0.9, 0)
    assert shared.state()['updates'] == 0
    anew.set('state.autosave_period', 0.02)
    anew.spin_until(lambda: shared.state()['updates'] == 1, 'autosave')
    anew.set('state.autosave_period', 0.0)
    anew.teach(next(STAMPS), 0.9, 0)
    anew.next_status()
    assert shared.state()['updates'] == 1


@effect_of('ece.min_samples', 'ece.warn', 'diagnostics.stale_after')
def test_limits_of_the_warnings_take_effect_at_once(anew):
    anew.teach(next(STAMPS), 0.9, 0)
    assert 'ece.warn' not in anew.next_status().message
    anew.set('ece.min_samples', 1)
    assert 'above ece.warn 0.1' in anew.next_status().message
    anew.set('ece.warn', 1.0)
    assert 'ece.warn' not in anew.next_status().message
    anew.set('diagnostics.stale_after', 1e-6)
    assert 'no prediction' in anew.next_status().message


@effect_of('alarm.false_alarm_every', 'alarm.labels')
def test_another_alarm_starts_anew(anew):
    anew.set('alarm.labels', 'independent')
    anew.next_status()
    assert anew.figures()['alarm turns'] == '1'
    anew.set('alarm.false_alarm_every', 0.0)
    anew.next_status()
    assert anew.figures()['alarm'] == 'off'
    anew.set('alarm.false_alarm_every', 1e5)
    anew.set('alarm.labels', 'late')
    anew.next_status()
    assert anew.figures()['alarm turns'] == 'not known yet'
