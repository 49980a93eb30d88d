# SPDX-License-Identifier: Apache-2.0
"""What was learned is kept, restored, set aside and never lost."""

from __future__ import annotations

import stat
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.calibrators import create

from .harness import SECOND, Client, World
from .states import kept, state_text

SECONDS = count(1)


def teach(client: Client, number: int, start: int = 1) -> None:
    """Let the node learn `number` overconfident predictions, a second apart."""
    for i in range(start, start + number):
        client.teach(i * SECOND, 0.9, i % 2)


def write_state(path: Path, updates: int, **changed: Any) -> dict:
    """Write the file that a node saves after so many updates; return what it holds."""
    text = state_text(updates, **changed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return yaml.safe_load(text)


# Services


def test_save_state_writes_what_is_learned(world: World):
    _, client = world.connected()
    teach(client, 3)
    answer = client.trigger('save_state')
    assert answer.success
    assert str(world.state_path()) in answer.message
    state = world.state()
    assert state['format'] == 'calib_node/state'
    assert state['node'] == '/calib_node'
    assert state['updates'] == 3
    assert repr(state['a']) == client.figures()['a']
    again = client.trigger('save_state')
    assert again.success
    assert 'nothing has changed' in again.message


def test_load_state_goes_back_to_what_was_saved_and_keeps_what_was_learned(world: World):
    _, client = world.connected({'state.autosave_period': 0.0})
    teach(client, 2)
    saved = client.ask(20 * SECOND, 0.7)
    client.trigger('save_state')
    teach(client, 3, start=21)
    assert client.ask(40 * SECOND, 0.7) != saved
    answer = client.trigger('load_state')
    before = kept(world.state_path(), 'before-load')
    assert answer.success
    assert answer.message.startswith(f'loaded 2 updates from {world.state_path()}')
    assert answer.message.endswith(f'what was learned before is kept as {before}')
    assert yaml.safe_load(before.read_text())['updates'] == 5
    assert client.ask(41 * SECOND, 0.7) == saved
    assert client.figure('updates') == 2
    again = client.trigger('load_state')
    assert again.success
    assert 'before' not in again.message


@pytest.fixture(scope='module')
def shared_client(shared: World) -> Client:
    """Client of a node that saves when it is asked to."""
    return shared.connected({'state.autosave_period': 0.0})[1]


@pytest.mark.parametrize(
    'text', ['', '{', 'format: other', None, '\x00', 'a: .nan'], ids=lambda text: repr(text)
)
def test_load_state_with_a_bad_file_changes_and_moves_nothing(shared: World, shared_client, text):
    client = shared_client
    client.teach(next(SECONDS) * SECOND, 0.9, 1)
    client.trigger('save_state')
    path = shared.state_path()
    sound = path.read_text()
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    client.next_status()
    before = client.figures()
    files = sorted(path.parent.iterdir())
    answer = client.trigger('load_state')
    assert not answer.success
    assert answer.message
    client.next_status()
    assert {k: client.figures()[k] for k in 'ab'} == {k: before[k] for k in 'ab'}
    assert sorted(path.parent.iterdir()) == files
    assert text is None or path.read_text() == text
    path.write_text(sound)
    assert client.trigger('load_state').success


def test_reset_moves_the_file_and_keeps_what_is_pending(world: World):
    _, client = world.connected()
    teach(client, 3)
    client.trigger('save_state')
    learned = world.state()
    client.ask(20 * SECOND, 0.6)
    assert client.trigger('reset').success
    client.next_status()
    figures = client.figures()
    assert (figures['a'], figures['b'], figures['updates']) == ('1.0', '0.0', '0')
    assert figures['samples in window'] == '0'
    assert client.ask(21 * SECOND, 0.6) == create('ops').predict(0.6)
    before = kept(world.state_path(), 'before-reset')
    assert yaml.safe_load(before.read_text()) == learned
    assert world.state()['updates'] == 0
    # The forecast from before the reset still waits for its label.
    client.label(20 * SECOND, 0)
    client.wait_for_figure('updates', 1)


def test_reset_keeps_even_what_was_never_saved(world: World):
    _, client = world.connected()
    teach(client, 1)
    assert client.trigger('reset').success
    assert world.state()['updates'] == 0
    before = kept(world.state_path(), 'before-reset')
    assert yaml.safe_load(before.read_text())['updates'] == 1


# Timer


def test_autosave_writes_on_its_timer(world: World):
    _, client = world.connected({'state.autosave_period': 0.05})
    teach(client, 2)
    path = world.state_path()
    client.spin_until(lambda: path.exists() and world.state()['updates'] == 2, 'autosave')
    written = path.stat().st_mtime_ns
    teach(client, 1, start=10)
    client.spin_until(lambda: world.state()['updates'] == 3, 'autosave')
    assert path.stat().st_mtime_ns > written
    backup = yaml.safe_load(path.with_name(path.name + '.bak').read_text())
    assert backup['updates'] < 3


def test_autosave_can_be_switched_on_while_running(world: World):
    _, client = world.connected({'state.autosave_period': 0})
    teach(client, 1)
    assert not world.state_path().exists()
    client.set('state.autosave_period', 0.05)
    client.spin_until(world.state_path().exists, 'autosave')


def test_unchanged_state_is_not_written_again(world: World):
    write_state(world.state_path(), 5)
    inode = world.state_path().stat().st_ino
    node, client = world.connected({'state.autosave_period': 0.01})
    for _ in range(5):
        client.next_status()
    node.stop()
    assert world.state_path().stat().st_ino == inode


# What the file says


def test_a_file_of_another_node_is_taken_with_a_warning(world: World):
    write_state(world.state_path(), 4, node='/other')
    node, client = world.connected()
    assert node.said('WARN', 'another node', '/other')
    assert client.figure('updates') == 4
    client.wait_for_status(DiagnosticStatus.WARN, '/other')


def test_the_parameters_of_the_node_win_over_those_of_the_file(world: World):
    document = write_state(world.state_path(), 6)
    chosen = {'rho': 40.0, 'radius': 0.5}
    calibrator = create('ops', **chosen)
    calibrator.restore(document)
    _, client = world.connected(chosen)
    assert client.ask(SECOND, 0.9) == calibrator.predict(0.9)
    client.trigger('save_state')
    assert world.state()['A'] == calibrator.state()['A']
    assert world.state()['parameters'] == calibrator.parameters()


# Where the file is


def test_a_second_node_on_the_same_file_does_not_start(world: World):
    first = world.start()
    sentence = world.refused()
    assert 'in use by another node' in sentence
    assert str(world.state_path()) in sentence
    assert first.running
    first.stop()
    world.start()


def test_a_killed_node_leaves_no_lock(world: World):
    world.start().kill()
    world.start()


def test_namespaces_have_files_of_their_own(world: World):
    world.start(namespace='/r1').stop()
    world.start(None, '-r', '__node:=front', namespace='/r2/camera').stop()
    world.start().stop()
    assert world.state('r1/calib_node')['node'] == '/r1/calib_node'
    assert world.state('r2/camera/front')['node'] == '/r2/camera/front'
    assert world.state()['node'] == '/calib_node'


def test_relative_and_expanded_paths(world: World):
    world.start({'state.file': 'door.yaml'}).stop()
    assert world.state('door')['updates'] == 0
    world.start({'state.file': '$ROS_HOME/elsewhere/x.yaml'}).stop()
    assert (world.ros_home / 'elsewhere' / 'x.yaml').exists()


def test_the_file_is_for_its_owner_alone(world: World):
    world.start().stop()
    assert stat.S_IMODE(world.state_path().stat().st_mode) == 0o600


def test_state_can_be_switched_off(world: World):
    node, client = world.connected({'state.enabled': False})
    teach(client, 1)
    assert client.figures()['state file'] == 'off'
    for service in ('save_state', 'load_state'):
        answer = client.trigger(service)
        assert not answer.success
        assert 'state.enabled' in answer.message
    assert client.trigger('reset').success
    assert client.figure('updates') == 0
    node.stop()
    assert not (world.ros_home / 'calib_node').exists()


@pytest.mark.parametrize(
    ('setting', 'without', 'sentence'),
    [
        ('', ('HOME', 'ROS_HOME'), 'HOME is not set; set ROS_HOME or state.file'),
        ('~/x.yaml', ('HOME',), "state.file is '~/x.yaml', but HOME is not set"),
        ('$NO_SUCH/x.yaml', (), 'the environment variable NO_SUCH is not set'),
        ('~no_such_user/x.yaml', (), 'there is no user no_such_user'),
    ],
)
def test_a_place_that_cannot_be_is_refused_at_the_start(world: World, setting, without, sentence):
    within = ['env', '-C', str(world.folder), *(f'--unset={name}' for name in without)]
    told = world.refused({'state.file': setting}, within=within)
    assert sentence in told
    assert not [entry for entry in world.folder.rglob('*') if entry.name[0] in '~$']
