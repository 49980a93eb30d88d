# SPDX-License-Identifier: Apache-2.0
"""Whatever became of the state file, the node starts, says so, keeps it and uses the one before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from .harness import SECOND, World
from .privileges import obey_permissions, skip_where_they_do_not_hold
from .states import kept, state_text

WHOLE = state_text(9)
# What else is refused, and by which sentence, is told by the tests of the core.
DAMAGE: dict[str, tuple[str, str]] = {
    'empty': ('', 'it is not a table of fields'),
    'cut between lines': (WHOLE[: WHOLE.index('updates')], 'updates must be a whole number'),
    'NaN': (state_text(9, b=float('nan')), 'b must be a finite number, not nan'),
    'of another version': (state_text(9, version=2), 'version is 2'),
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
