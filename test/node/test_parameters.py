# SPDX-License-Identifier: Apache-2.0
"""The node declares the table, and its parameter services take a change whole or refuse it by name.

What the table takes and refuses is tested without a node.
"""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from rcl_interfaces.msg import ParameterType
from rclpy.parameter import Parameter
from spec_values import AT_START, LIVE, NUMBERS, OF_OTHER_METHODS, edges, other, outside, wrong_type

from calib_node.stream.table import BY_NAME, TABLE

from .harness import SECOND, World, pipeline

STAMPS = iter(range(1000 * SECOND, 10**9 * SECOND, SECOND))
TYPES_OF_LISTS = {str: Parameter.Type.STRING_ARRAY, float: Parameter.Type.DOUBLE_ARRAY}
SAMPLES = [(0.9, 0), (0.8, 0), (0.7, 1), (0.95, 0), (0.2, 1)]


# Declared


def test_every_parameter_is_declared_with_its_default_and_no_other(client):
    ours = set(client.list_parameters()) - {'use_sim_time', 'start_type_description_service'}
    overrides = {name for name in ours if name.startswith('qos_overrides.')}
    assert ours - overrides == set(BY_NAME)
    names = [spec.name for spec in TABLE if spec.name != 'diagnostics.period']
    assert client.get(*names) == [BY_NAME[name].default for name in names]


def test_every_parameter_is_described(client):
    for spec, descriptor in zip(TABLE, client.describe(*BY_NAME), strict=True):
        assert descriptor.name == spec.name
        assert (
            descriptor.type
            == TYPES_OF_LISTS.get(
                spec.items, Parameter.Type.from_parameter_value(spec.default)
            ).value
        )
        assert descriptor.read_only is not spec.live
        assert descriptor.description.startswith(spec.meaning)
        assert spec.unit in descriptor.description
        assert descriptor.additional_constraints == spec.range


def test_what_rclpy_declares_besides_takes_effect_or_is_refused_with_a_reason(client):
    names = set(client.list_parameters()) - set(BY_NAME)
    # Its effect is tested with time.
    names.remove('use_sim_time')
    assert any(name.startswith('qos_overrides./labels.') for name in names)
    for name in names:
        (descriptor,) = client.describe(name)
        assert descriptor.read_only, name
        (value,) = client.get(name)
        (result,) = client.set_each({name: value})
        assert not result.successful, name
        assert name in result.reason


# Taken


def test_live_parameters_take_a_change_and_the_ends_of_their_range(restored):
    for spec in LIVE:
        for value in (other(spec), *(edges(spec) if spec in NUMBERS else ()), spec.default):
            restored.set(spec.name, value)
            assert restored.get(spec.name) == [value]


@pytest.mark.parametrize(
    ('given', 'taken'),
    # A text is what `ros2 param set` makes of an exponent, unless it has both dot and sign.
    [(1, 1.0), (2**53 - 1, None), ('1e-1', 0.1), ('1.5E1', 15.0), ('+.5e+1', 5.0), ('2e0', 2.0)]
    + [(text, None) for text in ('1e', 'e1', '1e400', '-1e1', '0.5', '1_0e1', ' 1e1', '', 'nan')],
)
def test_what_is_given_for_a_float_is_the_float_or_refused(restored, given, taken):
    (result,) = restored.set_each({'gamma': given})
    assert result.successful is (taken is not None)
    assert result.successful or result.reason.startswith('gamma must be a number')
    (value,) = restored.get('gamma')
    assert isinstance(value, float)
    assert value == (taken if result.successful else 0.1)
    (descriptor,) = restored.describe('gamma')
    assert descriptor.type == ParameterType.PARAMETER_DOUBLE


def test_a_change_that_contradicts_another_parameter_is_answered_with_that(restored):
    (result,) = restored.set_each({'ece.window': 100})
    assert result.successful
    assert 'ece.min_samples is 300 and ece.window only 100' in result.reason
    assert 'ece.min_samples is 300' in restored.next_status().message
    (result,) = restored.set_each({'ece.min_samples': 100})
    assert result.successful
    assert not result.reason
    assert 'ece.min_samples' not in restored.next_status().message


# Refused


def test_parameters_of_the_start_refuse_a_change(client):
    results = client.set_each({spec.name: other(spec) for spec in AT_START})
    for spec, result in zip(AT_START, results, strict=True):
        assert not result.successful, spec.name
        assert f'{spec.name} is read once, at the start' in result.reason
    assert client.get(*(s.name for s in AT_START)) == [s.default for s in AT_START]


def test_parameters_of_other_methods_refuse_a_change(client):
    live = [spec for spec in OF_OTHER_METHODS if spec.live]
    for same in client.set_each({spec.name: spec.default for spec in live}):
        assert same.successful
    changed = client.set_each({spec.name: other(spec) for spec in live})
    for spec, result in zip(live, changed, strict=True):
        assert not result.successful
        assert f'{spec.name!r} has no effect with method ops' in result.reason
    assert client.get(*(s.name for s in live)) == [s.default for s in live]


def test_a_change_without_effect_is_refused_with_the_reason(restored):
    restored.set('match.policy', 'exact')
    (result,) = restored.set_each({'match.tolerance': 0.5})
    assert not result.successful
    assert "'match.tolerance' has no effect with match.policy exact" in result.reason
    assert restored.get('match.tolerance') == [0.01]


def test_values_out_of_range_or_of_another_type_are_refused_by_name(client):
    for spec in LIVE:
        for value in (wrong_type(spec), [1.5], None, *(outside(spec) if spec in NUMBERS else ())):
            (result,) = client.set_each({spec.name: value})
            assert not result.successful, (spec.name, value)
            assert result.reason.startswith(f'{spec.name} must be '), result.reason
    same = [spec for spec in LIVE if spec.name != 'diagnostics.period']
    assert client.get(*(spec.name for spec in same)) == [spec.default for spec in same]


def test_misspelt_names_and_choices_are_refused_with_the_nearest(client):
    for name, value, hint in [
        ('gama', 0.5, "no parameter 'gama', did you mean 'gamma'?"),
        ('on_invalid', 'pas', "must be one of drop, pass, not 'pas', did you mean 'pass'?"),
        ('unheard.of', 1, "no parameter 'unheard.of'"),
    ]:
        (each,) = client.set_each({name: value})
        together = client.set_all({'gamma': 0.5, name: value})
        for result in (each, together):
            assert not result.successful
            assert hint in result.reason
    assert client.get('gamma') == [0.1]


def test_use_sim_time_of_another_type_is_refused_by_name(client):
    (result,) = client.set_each({'use_sim_time': 1})
    assert not result.successful
    assert 'use_sim_time' in result.reason
    result = client.set_all({'gamma': 0.5, 'use_sim_time': 1})
    assert not result.successful
    assert 'use_sim_time' in result.reason
    assert client.get('gamma', 'use_sim_time') == [0.1, False]


# Whole


@pytest.mark.parametrize(
    'bad',
    [
        {'rho': -1.0},
        {'rho': math.nan},
        {'rho': 'fast'},
        {'ece.bins': 0},
        {'ece.bins': 3.0},
        {'match.policy': 'neerest'},
        {'method': 'ops'},
        {'windowed.window': 20},
        {'unheard.of': 1},
    ],
    ids=str,
)
def test_an_atomic_change_with_one_bad_value_applies_nothing(anew, bad):
    changes = {'gamma': 0.5, 'clip': 0.2, 'match.tolerance': 2.0, 'ece.window': 7}
    before = anew.get(*changes)
    core = pipeline().calibrator
    for _ in range(2):
        result = anew.set_all({**changes, **bad})
        assert not result.successful
        assert next(iter(bad)) in result.reason
        assert anew.get(*changes) == before
        for p, y in SAMPLES:
            assert anew.teach(next(STAMPS), p, y) == core.predict(p)
            core.update(p, y)
    assert anew.figure('samples in window') == 2 * len(SAMPLES)


def test_of_changes_one_by_one_the_good_ones_are_taken(restored):
    results = restored.set_each({'gamma': 0.5, 'rho': -1.0, 'clip': 0.02})
    assert [result.successful for result in results] == [True, False, True]
    assert 'rho' in results[1].reason
    assert restored.get('gamma', 'rho', 'clip') == [0.5, 100.0, 0.02]


SET_FROM_WITHIN = """
import rclpy
from rclpy.parameter import Parameter
from calib_node.ros.node import CalibrationNode

rclpy.init()
node = CalibrationNode()
results = node.set_parameters([Parameter('gamma', value=1), Parameter('rho', value='fast')])
print([result.successful for result in results], results[1].reason)
print(node.stream.pipeline.calibrator.parameters()['gamma'], node.get_parameter('gamma').value)
node.destroy_node()
rclpy.shutdown()
"""


def test_a_program_that_holds_the_node_is_answered_in_the_same_way(world: World):
    done = subprocess.run(
        [sys.executable, '-c', SET_FROM_WITHIN],
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answers, gamma = done.stdout.splitlines()
    assert answers.startswith('[True, False] rho must be a number')
    assert gamma == '1.0 1.0'
