# SPDX-License-Identifier: Apache-2.0
"""Every parameter is declared, described, checked, and taken or refused; none is ignored."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import ReliabilityPolicy

from calib_node.core.calibrators import CALIBRATORS
from calib_node.ros.declaration import of_other_methods
from calib_node.ros.parameter_files import not_for
from calib_node.ros.parameter_text import to_markdown, to_yaml
from calib_node.ros.parameters import BY_NAME, TABLE, Spec

from .harness import SECOND, World, pipeline

OF_OTHER_METHODS = [spec for spec in TABLE if spec.name in of_other_methods('ops')]
LIVE = [spec for spec in TABLE if spec.live and spec not in OF_OTHER_METHODS]
AT_START = [spec for spec in TABLE if not spec.live]
NUMBERS = [spec for spec in LIVE if type(spec.default) in (int, float)]
CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'calib.yaml'


def other(spec: Spec):
    """Return a valid value that is not the default."""
    if spec.choices:
        return next((choice for choice in spec.choices if choice != spec.default), spec.default)
    if isinstance(spec.default, bool):
        return not spec.default
    if isinstance(spec.default, str):
        return 'another'
    if isinstance(spec.default, int):
        return spec.default + 1
    return next(v for v in (spec.default / 2, 0.25) if v != spec.default and v in spec.limits)


def outside(spec: Spec) -> list:
    """Return the nearest values outside each end of the range, and what is no number at all."""
    limits, kind = spec.limits, type(spec.default)
    values = []
    if limits.low > -math.inf:
        values.append(kind(limits.low) if limits.low_open else step(kind(limits.low), -1))
    if limits.high < math.inf:
        values.append(kind(limits.high) if limits.high_open else step(kind(limits.high), 1))
    if kind is float:
        values += [math.nan, math.inf, -math.inf]
    return values


def edges(spec: Spec) -> list:
    """Return the least and the greatest value that a parameter may have."""
    limits, kind = spec.limits, type(spec.default)
    values = []
    if limits.low > -math.inf:
        values.append(step(kind(limits.low), 1) if limits.low_open else kind(limits.low))
    if limits.high < math.inf:
        values.append(step(kind(limits.high), -1) if limits.high_open else kind(limits.high))
    return values


def step(value, direction: int):
    """Return the next number of the kind of `value`."""
    if isinstance(value, int):
        return value + direction
    return math.nextafter(value, direction * math.inf)


@pytest.fixture(scope='module')
def client(shared: World):
    """Client of one node with every parameter at its default, but for the diagnostics' period."""
    return shared.connected()[1]


@pytest.fixture
def restored(client):
    """The client; afterwards every live parameter is back at its default."""
    yield client
    defaults = {spec.name: spec.default for spec in LIVE} | {'diagnostics.period': 0.02}
    result = client.set_all(defaults)
    assert result.successful, result.reason


@pytest.fixture
def anew(restored):
    """The client of a node that has learned nothing yet."""
    restored.trigger('reset')
    return restored


STAMPS = iter(range(1000 * SECOND, 10**9 * SECOND, SECOND))
SAMPLES = [(0.9, 0), (0.8, 0), (0.7, 1), (0.95, 0), (0.2, 1)]


# The table


def test_every_parameter_is_declared_with_its_default_and_no_other(client):
    ours = set(client.list_parameters()) - {'use_sim_time', 'start_type_description_service'}
    overrides = {name for name in ours if name.startswith('qos_overrides.')}
    assert ours - overrides == set(BY_NAME)
    names = [spec.name for spec in TABLE if spec.name != 'diagnostics.period']
    assert client.get(*names) == [BY_NAME[name].default for name in names]


def test_every_parameter_is_described(client):
    for spec, descriptor in zip(TABLE, client.describe(*BY_NAME), strict=True):
        assert descriptor.name == spec.name
        assert descriptor.read_only is not spec.live
        assert descriptor.description.startswith(spec.meaning)
        assert spec.unit in descriptor.description
        assert descriptor.additional_constraints == spec.range


@pytest.mark.parametrize('spec', LIVE, ids=lambda spec: spec.name)
def test_live_parameters_take_a_change(restored, spec):
    value = other(spec)
    restored.set(spec.name, value)
    assert restored.get(spec.name) == [value]


def test_parameters_of_the_start_refuse_a_change(client):
    results = client.set_each({spec.name: other(spec) for spec in AT_START})
    for spec, result in zip(AT_START, results, strict=True):
        assert not result.successful, spec.name
        assert 'read-only' in result.reason
    assert client.get(*(s.name for s in AT_START)) == [s.default for s in AT_START]


@pytest.mark.parametrize(
    'spec', [s for s in OF_OTHER_METHODS if s.live], ids=lambda spec: spec.name
)
def test_a_parameter_of_another_method_refuses_a_change(client, spec):
    (same, changed) = client.set_each({spec.name: spec.default}) + client.set_each(
        {spec.name: other(spec)}
    )
    assert same.successful
    assert not changed.successful
    assert f'{spec.name!r} has no effect with method ops' in changed.reason
    assert client.get(spec.name) == [spec.default]


@pytest.mark.parametrize('spec', NUMBERS, ids=lambda spec: spec.name)
def test_numbers_out_of_range_are_refused_by_name(restored, spec):
    for value in outside(spec):
        (before,) = restored.get(spec.name)
        (result,) = restored.set_each({spec.name: value})
        assert not result.successful, value
        assert spec.name in result.reason
        assert restored.get(spec.name) == [before]


@pytest.mark.parametrize('spec', NUMBERS, ids=lambda spec: spec.name)
def test_the_ends_of_the_range_are_taken(restored, spec):
    for value in edges(spec):
        restored.set(spec.name, value)
        assert restored.get(spec.name) == [value]


@pytest.mark.parametrize('spec', LIVE, ids=lambda spec: spec.name)
def test_values_of_another_type_are_refused(restored, spec):
    wrong = 'text' if not isinstance(spec.default, str) else 1
    (result,) = restored.set_each({spec.name: wrong})
    assert not result.successful
    assert 'type' in result.reason


def test_misspelt_choices_are_refused_with_the_nearest(restored):
    for name, value, hint in [
        ('on_invalid', 'pas', "'pass'"),
        ('match.policy', 'neerest', "'nearest'"),
    ]:
        (result,) = restored.set_each({name: value})
        assert not result.successful
        assert name in result.reason
        assert f'did you mean {hint}' in result.reason


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


def test_unknown_parameters_are_refused(client):
    (result,) = client.set_each({'gama': 0.5})
    assert not result.successful


def test_parameters_cannot_be_deleted(client):
    (result,) = client.set_each({'gamma': None})
    assert not result.successful
    assert client.get('gamma') == [0.1]


@pytest.mark.parametrize(
    ('given', 'taken'),
    # A text is what `ros2 param set` makes of an exponent, unless it has both dot and sign.
    [(1, 1.0), (2**53 - 1, None), ('1e-1', 0.1), ('1.5E1', 15.0), ('+.5e+1', 5.0), ('2e0', 2.0)]
    + [(text, None) for text in ('1e', 'e1', '1e400', '-1e1', '0.5', '1_0e1', ' 1e1', '', 'nan')],
)
def test_what_is_given_for_a_float_is_the_float_or_refused(restored, given, taken):
    (result,) = restored.set_each({'gamma': given})
    assert result.successful is (taken is not None)
    assert result.reason or result.successful
    (value,) = restored.get('gamma')
    assert isinstance(value, float)
    assert value == (taken if result.successful else 0.1)


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
        assert result.reason
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


# What a change does. Every test starts learning anew with stamps of its own.

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
    restored.statuses.clear()
    restored.get('gamma')
    assert len(restored.statuses) <= 1
    restored.set('diagnostics.period', 0.02)
    restored.spin_until(lambda: len(restored.statuses) > 3, 'diagnostics')


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


# At the start


def test_the_config_file_is_what_the_table_gives():
    assert CONFIG.read_text() == to_yaml()


def test_the_markdown_table_has_a_row_for_each_parameter():
    rows = to_markdown().splitlines()[2:]
    assert [row.split('`')[1] for row in rows] == list(BY_NAME)


def test_the_config_file_is_taken_without_a_warning(world: World):
    node = world.start(None, '--params-file', str(CONFIG), quick=False)
    assert not node.warnings
    ready = node.said('ready:')
    assert all(f'{spec.name}={spec.default!r}' in ready for spec in TABLE)


def test_the_ready_line_names_topics_and_effective_parameters(world: World):
    node = world.start({'gamma': 1, 'ece.bins': 7}, namespace='/r1')
    ready = node.said('ready:')
    for words in (
        'raw_probabilities is /r1/raw_probabilities',
        'labels is /r1/labels',
        'calibrated_probabilities is /r1/calibrated_probabilities',
        'gamma=1.0',
        'ece.bins=7',
        "method='ops'",
    ):
        assert words in ready


NOTATIONS = """\
/**:
  ros__parameters:
    gamma: 1e-1
    rho: 1e1
    radius: +1.0
    clip: .25
    forgetting: 1.E-1
    match: {tolerance: 2, horizon: 0x10, max_disorder: "1e-3", capacity: +7}
    ece: {warn: 5.0e-1, bins: 0x10}
    label: {offset: -.5}
"""


def test_every_notation_of_a_number_in_yaml_is_taken(world: World):
    path = world.folder / 'notations.yaml'
    path.write_text(NOTATIONS)
    client = world.client()
    arguments = ['-p', 'ece.period:=1e1', '-p', 'diagnostics.stale_after:=2']
    node = world.start(None, '--params-file', str(path), *arguments)
    assert not node.warnings
    expected = {
        'gamma': 0.1,
        'rho': 10.0,
        'radius': 1.0,
        'clip': 0.25,
        'forgetting': 0.1,
        'match.tolerance': 2.0,
        'match.horizon': 16.0,
        'match.max_disorder': 0.001,
        'match.capacity': 7,
        'ece.warn': 0.5,
        'ece.bins': 16,
        'label.offset': -0.5,
        'ece.period': 10.0,
        'diagnostics.stale_after': 2.0,
    }
    values = client.get(*expected)
    assert values == list(expected.values())
    assert [type(value) for value in values] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    ('name', 'text', 'shown'),
    [
        ('gamma', '.inf', 'inf'),
        ('gamma', '.nan', 'nan'),
        ('gamma', '1e400', "'1e400'"),
        ('gamma', '"0.1"', "'0.1'"),
        ('ece.bins', '1e1', '10.0'),
        ('ece.bins', '9223372036854775808', '9.2'),
        ('positive_class', 'no', 'False'),
    ],
)
def test_what_is_no_such_number_in_yaml_is_refused_by_name(world: World, name, text, shown):
    path = world.folder / 'parameters.yaml'
    path.write_text(f'/**:\n  ros__parameters:\n    {name}: {text}\n')
    sentence = world.refused(None, '--params-file', str(path))
    assert f'{name} must be ' in sentence
    assert f', not {shown}' in sentence


@pytest.mark.parametrize(
    ('key', 'arguments'),
    [
        ('/**', ['-r', '__node:=other', '-r', '__ns:=/a/b']),
        ('other', ['-r', '__node:=other']),
        ('/a/b/other', ['-r', '__node:=other', '-r', '__ns:=/a/b']),
        ('/**/calib_node', ['-r', '__ns:=/a/b']),
    ],
)
def test_yaml_takes_under_any_name_and_namespace(world: World, key, arguments):
    file = world.parameters_file({key: {'ros__parameters': {'gamma': 0.75}}})
    node = world.start(None, *file, *arguments)
    assert 'gamma=0.75' in node.said('ready:')
    assert not node.warnings


@pytest.mark.parametrize(
    ('keys', 'arguments'),
    [
        (['calib_node'], ['-r', '__ns:=/r1']),
        (['calib_node', '/r2/**'], ['-r', '__node:=front']),
    ],
)
def test_a_file_for_other_nodes_alone_is_warned_about(world: World, keys, arguments):
    file = world.parameters_file({key: {'ros__parameters': {'gamma': 0.75}} for key in keys})
    node = world.start(None, *file, *arguments)
    assert 'gamma=0.1' in node.said('ready:')
    (warning,) = node.warnings
    assert file[1] in warning
    assert all(f'/{key.strip("/")}' in warning for key in keys)


@pytest.mark.parametrize(
    ('section', 'fits'),
    [
        ('/**', '/n /r1/n /r1/a/n /r1/m'),
        ('**', '/n /r1/n /r1/a/n /r1/m'),
        ('/*', '/n'),
        ('n', '/n'),
        ('/r1/n', '/r1/n'),
        ('/*/n', '/r1/n'),
        ('/**/n', '/n /r1/n /r1/a/n'),
        ('/r1/*', '/r1/n /r1/m'),
        ('/r1/**', '/r1/n /r1/a/n /r1/m'),
        ('/**/a/**', '/r1/a/n'),
        ('/r1', ''),
    ],
)
def test_sections_of_a_file_fit_the_nodes_that_rclpy_gives_them_to(tmp_path, section, fits):
    path = tmp_path / 'parameters.yaml'
    path.write_text(f'{section}:\n  ros__parameters:\n    gamma: 1.0\n')
    arguments = ['calib_node', '--ros-args', '--params-file', str(path)]
    nodes = ['/n', '/r1/n', '/r1/a/n', '/r1/m']
    assert [node for node in nodes if not not_for(node, arguments)] == fits.split()


def test_sections_may_be_nested_by_namespace(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text('r1:\n  n:\n    ros__parameters:\n      gamma: 1.0\n')
    arguments = ['--ros-args', '--params-file', str(path), '--']
    assert not not_for('/r1/n', arguments)
    (warning,) = not_for('/n', arguments)
    assert 'only for /r1/n' in warning
    assert not not_for('/n', ['--', *arguments[1:]])


def test_unknown_keys_are_warned_about_with_the_nearest(world: World):
    content = {'gama': 0.5, 'ece': {'bin': 3}, 'use_sim_time': False}
    client = world.client()
    node = world.start(None, *world.parameters_file({'/**': {'ros__parameters': content}}))
    assert node.said('WARN', "'gama' is unknown", "did you mean 'gamma'?")
    assert node.said('WARN', "'ece.bin' is unknown", "did you mean 'ece.bins'?")
    assert not node.said('WARN', 'use_sim_time')
    assert 'gamma=0.1' in node.said('ready:')
    client.wait_for_status(DiagnosticStatus.WARN, "'gama' is unknown", "'ece.bin' is unknown")


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'gamma': -1}, ['gamma must be', '>', 'not -1']),
        ({'gamma': 'fast'}, ['gamma must be', "'fast'"]),
        ({'gamma': [0.1, 0.2]}, ['gamma must be']),
        ({'rho': float('nan')}, ['rho must be']),
        ({'method': 'opps'}, ['method must be', "'opps'", "did you mean 'ops'?"]),
        ({'ece.bins': 0}, ['ece.bins must be', '>= 1', 'not 0']),
        ({'learning': 1}, ['learning must be', 'true or false']),
        ({'qos.reliability': 'relaible'}, ['qos.reliability must be', "did you mean 'reliable'?"]),
        ({'state.file': 1}, ['state.file must be', 'text']),
    ],
    ids=lambda value: '='.join(map(str, *value.items())) if isinstance(value, dict) else '',
)
def test_a_bad_parameter_ends_the_start_with_one_sentence(world: World, parameters, words):
    file = world.parameters_file({'/**': {'ros__parameters': parameters}})
    sentence = world.refused(None, *file)
    assert all(word in sentence for word in words), sentence
    assert not world.processes[0].said('ready:')


@pytest.mark.parametrize(
    ('arguments', 'word'),
    [
        (['--params-file', '/nowhere/parameters.yaml'], '/nowhere/parameters.yaml'),
        (['-r', '__ns:=not a namespace'], 'not a namespace'),
        (['-p', 'qos_overrides./labels.subscription.reliability:=relaible'], 'relaible'),
        (['-p', 'qos_overrides./labels.subscription.depth:=deep'], 'deep'),
    ],
    ids=['no such file', 'namespace', 'QoS', 'depth'],
)
def test_bad_ros_arguments_end_the_start_with_one_sentence(world: World, arguments, word):
    assert word in world.refused(None, *arguments)


@pytest.mark.parametrize(
    ('text', 'word'), [('gamma: [0.1', 'broken.yaml'), ('gamma: []', 'parameter')]
)
def test_a_broken_parameters_file_ends_the_start_with_one_sentence(world: World, text, word):
    path = world.folder / 'broken.yaml'
    path.write_text(f'/**:\n  ros__parameters:\n    {text}\n')
    assert word in world.refused(None, '--params-file', str(path))


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('gamma', True),
        ('gamma', '1e400'),
        ('gamma', '1_000'),
        ('gamma', 'null'),
        ('gamma', [0.1]),
        ('gamma', 10**400),
        ('positive_class', 1),
        ('method', 1),
        ('ece.bins', 15.0),
        ('ece.bins', True),
        ('learning', 'yes'),
        ('learning', None),
        ('executor', 'event'),
        ('qos.durability', 'Volatile'),
    ],
)
def test_the_table_refuses_values_of_another_type_or_spelling(name, value):
    with pytest.raises(ValueError, match=f'^{name} must be'):
        BY_NAME[name].check(value)


@pytest.mark.parametrize('spec', NUMBERS + [s for s in AT_START if s.limits], ids=lambda s: s.name)
def test_the_table_refuses_every_value_out_of_range(spec):
    for value in outside(spec):
        with pytest.raises(ValueError, match=f'^{spec.name} must be'):
            spec.check(value)
    assert spec.check(spec.default) == spec.default


def test_every_method_of_the_core_can_be_chosen():
    assert BY_NAME['method'].choices == tuple(CALIBRATORS)


def test_qos_overrides_take_for_their_topic_alone_and_others_are_warned_about(world: World):
    client = world.client()
    node = world.start(
        {
            'qos_overrides./raw_probabilities.subscription.reliability': 'best_effort',
            'qos_overrides./ece.publisher.reliability': 'best_effort',
            'qos_overrides./raw_probabilitys.subscription.depth': 5,
        }
    )
    warning = node.said('WARN', 'qos_overrides./raw_probabilitys.subscription.depth')
    assert 'names no topic of this node' in warning
    assert not node.said('qos_overrides./raw_probabilities.', 'names no topic')
    client.wait_for_status(DiagnosticStatus.WARN, 'qos_overrides./raw_probabilitys')
    reliability = {
        topic: client.endpoint(topic).qos_profile.reliability
        for topic in ('/raw_probabilities', '/labels', '/calibrated_probabilities', '/ece')
    }
    assert reliability == {
        '/raw_probabilities': ReliabilityPolicy.BEST_EFFORT,
        '/labels': ReliabilityPolicy.RELIABLE,
        '/calibrated_probabilities': ReliabilityPolicy.RELIABLE,
        '/ece': ReliabilityPolicy.BEST_EFFORT,
    }
