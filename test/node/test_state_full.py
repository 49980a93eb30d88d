# SPDX-License-Identifier: Apache-2.0
"""Where it cannot be saved the node says so at once, each time, goes on, and saves when it can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus
from disks import fill, mount_small_disk

from calib_node.core.calibrators import create
from calib_node.core.state.file import StateFile

from .harness import SECOND, World
from .privileges import obey_permissions, skip_where_they_do_not_hold


def updates_in(path: Path) -> int:
    calibrator = create('ops')
    document, problems = StateFile(path, '/calib_node').recover(calibrator)
    assert not problems
    return calibrator.updates if document else -1


@pytest.fixture
def start(world: World):
    """Start a node whose state is on a small disk of its own, made ready by a function."""

    def run(make_ready=lambda folder: None):
        folder = world.folder / 'small'
        folder.mkdir()

        def before_it_starts() -> None:
            mount_small_disk(folder)
            make_ready(folder)

        try:
            node = world.start(
                {'state.file': str(folder / 'state.yaml'), 'state.autosave_period': 0.05},
                preexec_fn=before_it_starts,
            )
        except subprocess.SubprocessError:
            pytest.skip('this system lets its users mount no file system')
        # As the node sees it.
        return node, Path(f'/proc/{node._process.pid}/root/{folder}/state.yaml')

    return run


def test_a_disk_that_is_full_from_the_start(world: World, start):
    def make_ready(folder: Path) -> None:
        (folder / 'state.yaml').write_text('nonsense')
        fill(folder)

    client = world.client()
    node, path = start(make_ready)
    (error,) = [line for line in node.lines if '[ERROR]' in line and 'is bad' in line]
    assert error.endswith('there is no .bak, so learning starts anew')
    client.connect()
    client.teach(SECOND, 0.9, 0)
    told = node.output.count('No space left on device')
    client.spin_until(lambda: node.output.count('No space left on device') >= told + 3)
    client.wait_for_status(DiagnosticStatus.ERROR, 'cannot be saved', 'No space left on device')
    (bad,) = path.parent.glob('state.yaml.corrupt-*')
    assert bad.read_text() == 'nonsense'
    (path.parent / 'ballast').unlink()
    client.wait_for_status(DiagnosticStatus.OK)
    assert updates_in(path) == 1


def test_a_disk_that_fills_up(world: World, start):
    client = world.client()
    node, path = start()
    client.connect()
    client.teach(SECOND, 0.9, 0)
    client.teach(2 * SECOND, 0.9, 0)
    client.spin_until(lambda: updates_in(path) == 2, 'autosave')
    ballast = fill(path.parent)
    client.teach(3 * SECOND, 0.9, 0)
    client.wait_for_status(DiagnosticStatus.ERROR, 'cannot be saved', 'No space left on device')
    told = node.output.count('No space left on device')
    client.spin_until(lambda: node.output.count('No space left on device') >= told + 3)
    answer = client.trigger('save_state')
    assert not answer.success
    assert 'No space left on device' in answer.message
    # What may not be lost is not given up for what cannot be kept.
    answer = client.trigger('load_state')
    assert not answer.success
    assert 'nothing is loaded' in answer.message
    assert not client.trigger('reset').success
    assert client.figure('updates') == 3
    assert client.ask(4 * SECOND, 0.8)
    assert updates_in(path) == 2
    names = {entry.name for entry in path.parent.iterdir()}
    assert names == {'ballast', 'state.yaml', 'state.yaml.bak', 'state.yaml.lock'}
    ballast.unlink()
    client.wait_for_status(DiagnosticStatus.OK)
    assert updates_in(path) == 3
    fill(path.parent)
    client.teach(5 * SECOND, 0.9, 0)
    node.stop()
    assert 'cannot be saved' in node.lines[-1]


def test_a_folder_that_cannot_be_written(world: World):
    locked = world.folder / 'locked'
    locked.mkdir()
    locked.chmod(0o555)
    skip_where_they_do_not_hold(locked)
    settings = {'state.file': str(locked / 'state.yaml'), 'state.autosave_period': 0.0}
    node, client = world.connected(settings, preexec_fn=obey_permissions)
    assert node.said('WARN', 'without a lock')
    client.teach(SECOND, 0.9, 1)
    answer = client.trigger('save_state')
    assert not answer.success
    assert answer.message.startswith(f'the state cannot be saved to {locked}/state.yaml: ')
    assert answer.message.endswith('; let the node write into its folder, or set state.file')
    client.wait_for_status(DiagnosticStatus.ERROR, answer.message)
    assert client.ask(20 * SECOND, 0.5)
    locked.chmod(0o777)
    assert client.trigger('save_state').success
    client.wait_for_status(DiagnosticStatus.WARN, 'without a lock')
    node.wait_for('WARN', 'again, after 1 save failed')
    assert yaml.safe_load((locked / 'state.yaml').read_text())['updates'] == 1
    locked.chmod(0o555)
    client.teach(40 * SECOND, 0.9, 1)
    node.stop()
    assert node.output.count('cannot be saved') == 2


def test_what_cannot_be_saved_is_told_though_there_are_no_diagnostics(world: World):
    """Below a file there is no place for another one, for root neither."""
    (world.folder / 'file').touch()
    path = world.folder / 'file' / 'state.yaml'
    settings = {
        'state.file': str(path),
        'state.autosave_period': 0.05,
        'diagnostics.period': 86400.0,
    }
    node = world.start(settings)
    node.wait_for('[ERROR]', f'the state cannot be saved to {path}: Not a directory')
    told = node.output.count('cannot be saved')
    node.stop()
    assert node.output.count('cannot be saved') > told
