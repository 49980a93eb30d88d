# SPDX-License-Identifier: Apache-2.0
"""Parameters at the start: what files and arguments give, what is refused, what is warned about."""

from __future__ import annotations

from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import ReliabilityPolicy

from calib_node.ros.parameter_files import not_for
from calib_node.stream.table import TABLE

from .harness import World

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'calib.yaml'


def test_the_config_file_is_taken_without_a_warning(world: World):
    node = world.start(None, '--params-file', str(CONFIG), quick=False)
    assert not node.warnings
    ready = node.said('ready:')
    assert all(f'{spec.name}={spec.default!r}' in ready for spec in TABLE)


@pytest.mark.parametrize(
    ('before', 'after', 'shown'),
    [
        ('method: ops', 'method: beta', 'rho=25.0'),
        ('classes: 1', 'classes: 10', 'clip=0.001,'),
        ('classes: 1', 'classes: 100', 'clip=0.0001,'),
        ('#calibeating.bins: 10', 'calibeating.bins: 20', 'calibeating.bins=20'),
    ],
)
def test_a_copy_of_the_config_file_with_a_line_changed_does_what_it_says(
    world: World, before, after, shown
):
    text = CONFIG.read_text()
    assert text.count(f' {before}\n') == 1
    path = world.folder / 'calib.yaml'
    path.write_text(text.replace(f' {before}\n', f' {after}\n'))
    node = world.start(None, '--params-file', str(path), quick=False)
    assert shown in node.said('ready:')
    assert bool(node.warnings) is after.startswith('calibeating')


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


def test_stamps_of_publication_in_simulated_time_are_warned_about(world: World):
    by_publication = {'label.type': 'std_msgs/msg/Bool', 'label.stamping': 'publication'}
    client = world.client()
    node = world.start(by_publication)
    assert node.wait_for('executor=single is used')
    assert not node.warnings
    (result,) = client.set_each({'use_sim_time': True})
    assert result.successful
    assert 'label.stamping is publication' in result.reason
    node.stop()
    again = world.start({**by_publication, 'use_sim_time': True})
    assert again.said('WARN', 'label.stamping is publication', 'use_sim_time')


def test_unknown_keys_are_warned_about_with_the_nearest(world: World):
    # An empty list is what another node's parameter may be, in a file for all.
    content = {'gama': 0.5, 'ece': {'bin': 3}, 'use_sim_time': False, 'plugins': []}
    client = world.client()
    node = world.start(None, *world.parameters_file({'/**': {'ros__parameters': content}}))
    assert node.said('WARN', "'gama' is unknown", "did you mean 'gamma'?")
    assert node.said('WARN', "'ece.bin' is unknown", "did you mean 'ece.bins'?")
    assert node.said('WARN', "'plugins' is unknown")
    assert not node.said('WARN', 'use_sim_time')
    assert 'gamma=0.1' in node.said('ready:')
    client.wait_for_status(DiagnosticStatus.WARN, "'gama' is unknown", "'ece.bin' is unknown")


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'gamma': -1}, ['gamma must be', '>', 'not -1']),
        ({'gamma': [0.1, 0.2]}, ['gamma must be']),
        ({'qos': {'reliability': 'relaible'}}, ['qos.reliability must be', "mean 'reliable'?"]),
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
    ('text', 'word'),
    [
        ('gamma: [0.1', 'broken.yaml'),
        ('gamma: []', 'gamma must be a number'),
        ('use_sim_time: []', 'use_sim_time must be true or false'),
    ],
)
def test_a_broken_parameters_file_ends_the_start_with_one_sentence(world: World, text, word):
    path = world.folder / 'broken.yaml'
    path.write_text(f'/**:\n  ros__parameters:\n    {text}\n')
    assert word in world.refused(None, '--params-file', str(path))


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
