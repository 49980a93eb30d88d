# SPDX-License-Identifier: Apache-2.0
"""What was learned is kept, restored, set aside and never lost."""

from __future__ import annotations

import stat
from itertools import count
from pathlib import Path

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.calibrators import create
from calib_node.core.state.document import make_document

from .harness import SECOND, Client, World, wait_until
from .privileges import obey_permissions, skip_where_they_do_not_hold

SECONDS = count(1)


def teach(client: Client, number: int, start: int = 1) -> None:
    """Let the node learn `number` overconfident predictions, a second apart."""
    for i in range(start, start + number):
        client.teach(i * SECOND, 0.9, i % 2)


def write_state(path: Path, updates: int, node: str = '/calib_node') -> dict:
    """Write the file that a node saves after so many updates; return what it holds."""
    calibrator = create('ops')
    for i in range(updates):
        calibrator.update(0.9, i % 2)
    document = {**make_document(calibrator, node), 'saved_at': '2024-01-01T00:00:00+00:00'}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return document


def set_aside(world: World, why: str) -> list[Path]:
    path = world.state_path()
    return sorted(path.parent.glob(f'{path.name}.{why}-*'))


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


def test_load_state_goes_back_to_what_was_saved(world: World):
    _, client = world.connected()
    teach(client, 2)
    saved = client.ask(20 * SECOND, 0.7)
    client.trigger('save_state')
    teach(client, 3, start=21)
    assert client.ask(40 * SECOND, 0.7) != saved
    answer = client.trigger('load_state')
    assert answer.success
    assert 'loaded 2 updates' in answer.message
    assert client.ask(41 * SECOND, 0.7) == saved
    assert client.figure('updates') == 2


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
    (before,) = set_aside(world, 'before-reset')
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
    (before,) = set_aside(world, 'before-reset')
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


# Bad files at the start


def test_a_bad_file_is_set_aside_and_its_backup_is_used(world: World):
    path = world.state_path()
    write_state(path, 7)
    path.rename(path.with_name(path.name + '.bak'))
    path.write_text('a: torn')
    node, client = world.connected()
    assert node.said('ERROR', str(path), 'bad')
    assert client.figure('updates') == 7
    (aside,) = set_aside(world, 'corrupt')
    assert aside.read_text() == 'a: torn'
    client.wait_for_status(DiagnosticStatus.ERROR, str(path), aside.name, '.bak')
    assert client.trigger('save_state').success
    client.wait_for_status(DiagnosticStatus.OK)
    assert world.state()['updates'] == 7


def test_without_a_sound_backup_learning_starts_anew(world: World):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b'\xff\xfe\x00')
    path.with_name(path.name + '.bak').write_text('{')
    node, client = world.connected()
    assert node.said('ERROR', 'learning starts anew')
    assert client.figure('updates') == 0
    assert client.ask(SECOND, 0.7) == create('ops').predict(0.7)
    client.wait_for_status(DiagnosticStatus.ERROR)
    assert len(set_aside(world, 'corrupt')) == 1


def test_a_backup_survives_a_crash_right_after_it_was_used(world: World):
    path = world.state_path()
    write_state(path, 7)
    path.rename(path.with_name(path.name + '.bak'))
    path.write_text('a: torn')
    world.start().kill()
    _, client = world.connected()
    assert client.figure('updates') == 7


def test_a_folder_given_as_the_file_is_not_moved(world: World):
    folder = world.folder / 'models'
    folder.mkdir()
    (folder / 'precious').touch()
    node = world.spawn({'state.file': str(folder)})
    wait_until(lambda: node.said('ready:') or not node.running, 'start or its refusal')
    assert (folder / 'precious').exists()


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
    assert 'in use by another process' in sentence
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


# A folder that cannot be written


def test_an_unwritable_folder_is_an_error_until_it_can_be_written(world: World):
    locked = world.folder / 'locked'
    locked.mkdir()
    locked.chmod(0o555)
    skip_where_they_do_not_hold(locked)
    node, client = world.connected(
        {'state.file': str(locked / 'state.yaml')}, preexec_fn=obey_permissions
    )
    assert node.said('WARN', 'without a lock')
    teach(client, 2)
    answer = client.trigger('save_state')
    assert not answer.success
    assert str(locked) in answer.message
    client.wait_for_status(DiagnosticStatus.ERROR, 'cannot be saved', str(locked))
    assert client.ask(20 * SECOND, 0.5)
    locked.chmod(0o777)
    assert client.trigger('save_state').success
    client.spin_until(lambda: client.next_status().level != DiagnosticStatus.ERROR, 'success')
    assert yaml.safe_load((locked / 'state.yaml').read_text())['updates'] == 2
    locked.chmod(0o555)
    teach(client, 1, start=40)
    node.stop()
    assert node.said('ERROR', 'cannot be saved')
