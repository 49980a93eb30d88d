# SPDX-License-Identifier: Apache-2.0
"""Whatever became of the state file, the node starts, says so, keeps it and uses the one before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticStatus

from calib_node.core.calibrators import create
from calib_node.core.state.document import make_document

from .harness import SECOND, World
from .privileges import obey_permissions, skip_where_they_do_not_hold


def state_text(updates: int, method: str = 'ops', **changed: Any) -> str:
    """Return the text that a node saves after so many updates, some fields changed; ...: none."""
    calibrator = create(method)
    for i in range(updates):
        calibrator.update(0.9, i % 2)
    document = {**make_document(calibrator, '/calib_node'), 'saved_at': '2026-01-01T00:00:00+00:00'}
    document.update(changed)
    kept = {key: value for key, value in document.items() if value is not ...}
    return yaml.safe_dump(kept, sort_keys=False, default_flow_style=None)


WHOLE = state_text(9)
DAMAGE: dict[str, tuple[str, str]] = {
    'empty': ('', 'it is not a table of fields'),
    'cut within a line': (WHOLE[: WHOLE.index('updates') + 4], 'it is not YAML'),
    'cut between lines': (WHOLE[: WHOLE.index('updates')], 'updates must be a whole number'),
    'not YAML': ('a: [1, 2', 'it is not YAML'),
    'a field is missing': (state_text(9, a=...), 'a must be a finite number, not None'),
    'null': (state_text(9, b=None), 'b must be a finite number, not None'),
    'NaN': (state_text(9, b=float('nan')), 'b must be a finite number, not nan'),
    'of a wrong shape': (state_text(9, A=[[100.0, 0.0]]), 'A must be a 2x2 matrix'),
    'not positive definite': (
        state_text(9, A=[[1.0, 2.0], [2.0, 1.0]]),
        'A must be symmetric and positive definite',
    ),
    'of another version': (state_text(9, version=2), 'version is 2'),
    'of another method': (state_text(9, 'beta'), "it was saved by method 'beta'"),
}


def start_on(world: World, sentence: str, **options: Any) -> tuple[Any, Any]:
    """Start a node on a bad file beside a .bak of 7 updates; it must say so once and go on."""
    path = world.state_path()
    path.with_name(f'{path.name}.bak').write_text(state_text(7))
    node, client = world.connected({'state.autosave_period': 0.0}, **options)
    (error,) = [line for line in node.lines if '[ERROR]' in line]
    told = f'the state file {path} is bad: {sentence}'
    assert told in error
    assert error.endswith('the .bak before it is used')
    client.wait_for_status(DiagnosticStatus.ERROR, told, 'the .bak before it is used')
    assert client.figure('updates') == 7
    assert client.ask(SECOND, 0.8)
    return node, client


def kept(path: Path, why: str) -> Path:
    (aside,) = path.parent.glob(f'{path.name}.{why}-*')
    return aside


@pytest.mark.parametrize('kind', DAMAGE)
def test_a_damaged_file(world: World, kind):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    content, sentence = DAMAGE[kind]
    path.write_text(content)
    _, client = start_on(world, sentence)
    assert kept(path, 'corrupt').read_text() == content
    assert client.trigger('save_state').success
    client.wait_for_status(DiagnosticStatus.OK)
    assert world.state()['updates'] == 7


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / 'precious').touch()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize('make', [a_folder, a_pipe])
def test_no_file_but_something_else(world: World, make: Callable[[Path], None]):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    make(path)
    node, client = start_on(world, 'it is no regular file')
    for failures in (1, 2):
        answer = client.trigger('save_state')
        assert not answer.success
        assert 'no regular file' in answer.message
        client.spin_until(lambda n=failures: node.output.count('cannot be saved') >= n)
    client.wait_for_status(DiagnosticStatus.ERROR, 'cannot be saved', 'no regular file')
    assert not path.is_file()
    assert path.is_fifo() or (path / 'precious').exists()
    assert client.ask(2 * SECOND, 0.8)
    node.stop()
    assert node.output.count('cannot be saved') >= 3


def test_a_file_that_may_not_be_read(world: World):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o555)
    skip_where_they_do_not_hold(path.parent)
    path.parent.chmod(0o755)
    path.write_text(WHOLE)
    path.chmod(0)
    _, client = start_on(world, 'it cannot be read: Permission denied', preexec_fn=obey_permissions)
    aside = kept(path, 'unreadable')
    aside.chmod(0o600)
    assert aside.read_text() == WHOLE
    assert client.trigger('save_state').success
    client.wait_for_status(DiagnosticStatus.OK)


def test_a_damaged_file_in_a_folder_that_may_not_be_written(world: World):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    path.write_text('nonsense')
    backup = path.with_name(f'{path.name}.bak')
    backup.write_text(state_text(7))
    path.parent.chmod(0o555)
    skip_where_they_do_not_hold(path.parent)
    node, client = world.connected({'state.autosave_period': 0.05}, preexec_fn=obey_permissions)
    assert node.said('[ERROR]', 'it cannot be set aside: Permission denied', '.bak before it is')
    assert node.said('[WARN]', 'without a lock')
    assert client.figure('updates') == 7
    client.spin_until(lambda: node.output.count('cannot be saved') >= 3)
    client.wait_for_status(DiagnosticStatus.ERROR, 'cannot be saved', 'Permission denied')
    assert client.ask(SECOND, 0.8)
    assert {entry.name for entry in path.parent.iterdir()} == {path.name, backup.name}
    assert path.read_text() == 'nonsense'
    # Once it may be written, both are as they were: the bad one beside, the sound one as .bak.
    path.parent.chmod(0o755)
    client.wait_for_status(DiagnosticStatus.WARN, 'without a lock')
    assert kept(path, 'corrupt').read_text() == 'nonsense'
    assert backup.read_text() == state_text(7)
    assert world.state()['updates'] == 7


def test_load_state_keeps_what_was_learned(world: World):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    path.write_text(state_text(7))
    _, client = world.connected({'state.autosave_period': 0.0})
    client.teach(SECOND, 0.9, 1)
    answer = client.trigger('load_state')
    assert answer.success
    before = kept(path, 'before-load')
    assert answer.message.startswith(f'loaded 7 updates from {path}')
    assert answer.message.endswith(f'what was learned before is kept as {before}')
    assert yaml.safe_load(before.read_text())['updates'] == 8
    assert client.figure('updates') == 7
    again = client.trigger('load_state')
    assert again.success
    assert 'before' not in again.message
