# SPDX-License-Identifier: Apache-2.0
"""Several nodes in one process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from calib_node.ros.fleet import node_names
from calib_node.ros.parameter_files import not_for

from .harness import SECOND, Client, NodeProcess, World, pipeline

FLEET = ('front', 'rear')
PAIR = ('raw_probabilities', 'labels', 'calibrated_probabilities')


def own_topics(names: tuple[str, ...] = FLEET) -> dict[str, str]:
    """Return the remaps that give each node topics of its own."""
    return {f'{name}:{topic}': f'{name}/{topic}' for name in names for topic in PAIR}


def client_of(world: World, name: str) -> Client:
    return world.client(name=name, topics={topic: f'{name}/{topic}' for topic in PAIR})


def started(world: World, *arguments: object, **options: object) -> NodeProcess:
    """Start the fleet; return once all of it is ready."""
    node = world.spawn(*arguments, nodes=FLEET, remaps=own_topics(), **options)
    for name in FLEET:
        node.wait_for(f'[{name}]: ready:')
    return node


@pytest.mark.parametrize('stop', [signal.SIGINT, signal.SIGTERM])
def test_each_node_learns_serves_and_saves_for_itself(world: World, stop):
    file = world.parameters_file(
        {
            '/**': {'ros__parameters': {'rho': 2.0}},
            'front': {'ros__parameters': {'gamma': 1.0}},
            'rear': {'ros__parameters': {'gamma': 2.0, 'method': 'ops'}},
        }
    )
    node = started(world, {'state.autosave_period': 0.0}, *file)
    expected = {}
    for name, gamma, label in (('front', 1.0, 0), ('rear', 2.0, 1)):
        client = client_of(world, name)
        assert client.get('gamma', 'rho') == [gamma, 2.0]
        client.connect()
        core = pipeline(gamma=gamma, rho=2.0).calibrator
        for number in range(1, 4):
            assert client.teach(number * SECOND, 0.75, label) == core.predict(0.75)
            core.update(0.75, label)
        expected[name] = core.state()
    front = client_of(world, 'front')
    assert front.trigger('save_state').message == f'saved to {world.state_path("front")}'
    assert not world.state_path('rear').exists()
    front.set('gamma', 0.5)
    expected['front']['parameters']['gamma'] = 0.5
    assert client_of(world, 'rear').get('gamma') == [2.0]
    node.stop(stop)
    assert not node.warnings
    for name, state in expected.items():
        saved = world.state(name)
        assert saved['node'] == f'/{name}'
        assert {key: saved[key] for key in state} == state


def test_what_one_forgets_the_other_knows(world: World):
    started(world)
    front, rear = (client_of(world, name) for name in FLEET)
    for client in (front, rear):
        client.connect()
        client.teach(SECOND, 0.75, 0)
    assert front.trigger('reset').success
    assert (front.figure('updates'), rear.figure('updates')) == (0, 1)


@pytest.mark.parametrize('bad', FLEET)
def test_one_that_cannot_start_ends_the_process_before_any_runs(world: World, bad):
    file = world.parameters_file({bad: {'ros__parameters': {'gamma': -1.0}}})
    sentence = world.refused(None, *file, nodes=FLEET, remaps=own_topics())
    assert f'cannot start: {bad}: gamma must be ' in sentence
    assert not world.processes[-1].said('ready:')


def test_two_that_would_share_a_state_file_are_refused(world: World):
    sentence = world.refused({'state.file': 'one.yaml'}, nodes=FLEET, remaps=own_topics())
    assert 'cannot start: rear: the state file ' in sentence
    assert 'is in use by another node; give each node a state.file of its own' in sentence


def test_a_remap_of_the_name_of_all_is_refused(world: World):
    sentence = world.refused(None, '-r', '__node:=other', nodes=FLEET)
    assert sentence.endswith(
        'cannot start: front: a remap of __node renames it to other; leave it out, since --nodes '
        'has the names'
    )


def test_a_namespace_of_one_of_them(world: World):
    node = world.start(None, '-r', 'rear:__ns:=/trailer', nodes=FLEET)
    assert 'labels is /trailer/labels' in node.wait_for('[trailer.rear]: ready:')
    assert 'labels is /labels' in node.said('[front]: ready:')


def test_one_that_needs_the_single_executor_decides_for_all(world: World):
    file = world.parameters_file(
        {
            'rear': {
                'ros__parameters': {
                    'label': {'type': 'std_msgs/msg/Bool', 'stamping': 'publication'}
                }
            }
        }
    )
    node = world.spawn(None, *file, nodes=FLEET, remaps=own_topics())
    node.wait_for('[front]: executor=single is used, which /rear in this process needs')
    node.wait_for('[rear]: executor=single is used, which stamps of publication need')
    front = client_of(world, 'front')
    front.connect()
    assert front.teach(SECOND, 0.75, 1) == pipeline().calibrator.predict(0.75)


def test_one_name_is_a_node_of_that_name(world: World):
    node = world.start(None, nodes=['front'])
    assert 'front/reliability' in node.said('[front]: ready:')


# The command line


@pytest.mark.parametrize(
    ('words', 'names'),
    [
        ([], ['calib_node']),
        (['--ros-args', '-r', 'a:=b'], ['calib_node']),
        (['--nodes', 'a'], ['a']),
        (['--nodes', 'a', 'b2', '_c', '--ros-args', '-p', 'gamma:=1.0'], ['a', 'b2', '_c']),
        (['--ros-args', '-p', 'gamma:=1.0', '--', '--nodes', 'a', 'b'], ['a', 'b']),
    ],
)
def test_names_on_the_command_line(words, names):
    assert node_names(['calib_node', *words]) == names


@pytest.mark.parametrize(
    ('words', 'sentence'),
    [
        (['--nodes'], '--nodes needs names after it, as in calib_node --nodes front rear'),
        (['--nodes', 'a', 'b', 'a'], '--nodes: a is there twice, and each node needs its own name'),
        (['--nodes', 'a', ''], "--nodes: '' is no name of a node"),
        (['--nodes', '2a'], "--nodes: '2a' is no name of a node"),
        (['--nodes', 'a b'], "--nodes: 'a b' is no name of a node"),
        (['--nodes', '/ns/a'], "'/ns/a' is no name of a node.* given by -r NAME:__ns:=/NAMESPACE"),
        (['--nodes', 'a', 'gamma:=0.2'], "'gamma:=0.2' is no name of a node"),
        (['--nodes', 'a' * 300], 'is no name of a node'),
        (['--nodes', 'a', '--params-file', 'x'], 'the arguments --params-file are not taken'),
        (['a', '--nodes', 'b'], 'the arguments a --nodes b are not taken'),
    ],
)
def test_names_that_cannot_be_are_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        node_names(['calib_node', *words])


def test_the_executable_says_why(world: World):
    done = subprocess.run(
        [sys.executable, '-m', 'calib_node.ros.main', '--nodes', 'a', 'a'],
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert 'cannot start: --nodes: a is there twice' in done.stderr


# Parameter files


@pytest.fixture
def files(tmp_path):
    """Return the arguments that name a file with a section for each of some nodes, a file each."""

    def write(*sections: str) -> list[str]:
        arguments = ['--ros-args']
        for number, section in enumerate(sections):
            path = tmp_path / f'{number}.yaml'
            path.write_text(f'{section}:\n  ros__parameters:\n    gamma: 1.0\n')
            arguments += ['--params-file', str(path)]
        return arguments

    return write


def test_a_file_each_is_no_mistake(files):
    arguments = files('/front', '/rear')
    assert not_for('/front', arguments, ['/rear']) == []
    assert not_for('/rear', arguments, ['/front']) == []


def test_a_file_for_none_of_them_is_warned_about_in_the_same_words(files):
    arguments = files('/**', '/middle')
    (warning,) = not_for('/front', arguments, ['/rear'])
    assert 'has no section for /front or /rear, only for /middle' in warning
    assert not_for('/rear', arguments, ['/front']) == [warning]


def test_a_node_without_a_section_is_warned_about_where_others_have_one(files):
    arguments = files('/front')
    assert not_for('/front', arguments, ['/rear']) == []
    assert not_for('/rear', arguments, ['/front']) == [
        'no parameters file has a section for /rear, only for others'
    ]


def test_each_warning_of_the_files_is_said_once(world: World):
    file = world.parameters_file({'middle': {'ros__parameters': {'gamma': 0.75}}})
    node = started(world, None, *file)
    (warning,) = node.warnings
    assert 'has no section for /front or /rear, only for /middle' in warning
