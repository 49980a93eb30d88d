# SPDX-License-Identifier: Apache-2.0
"""What somebody makes of the file while the node runs costs nothing of what it learns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from .harness import SECOND, World
from .states import kept, state_text


def overwritten(path: Path) -> None:
    path.write_text(state_text(5))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize('change', [overwritten, cut])
@pytest.mark.parametrize('end', ['save_state', 'stop'])
def test_a_file_that_was_changed_is_kept_and_written_again(world: World, change, end):
    path = world.state_path()
    node, client = world.connected({'state.autosave_period': 0.0})
    for number in range(1, 4):
        client.teach(number * SECOND, 0.9, 0)
    client.trigger('save_state')
    learned = world.state()
    change(path)
    changed = path.read_bytes()
    if end == 'stop':
        node.stop()
        assert node.said('[INFO]', f'saved to {path}')
    else:
        answer = client.trigger('save_state')
        assert (answer.success, answer.message) == (True, f'saved to {path}')
    assert {**world.state(), 'saved_at': ''} == {**learned, 'saved_at': ''}
    aside = kept(path, 'replaced')
    assert aside.read_bytes() == changed
    told = f'what was there is kept as {aside}'
    assert node.said('[WARN]', told) if end == 'stop' else node.wait_for('[WARN]', told)


def test_a_folder_in_its_place_is_an_error_at_once_until_it_is_moved_away(world: World):
    path = world.state_path()
    node, client = world.connected({'state.autosave_period': 0.0})
    client.teach(SECOND, 0.9, 0)
    client.trigger('save_state')
    path.unlink()
    path.mkdir()
    answer = client.trigger('save_state')
    assert not answer.success
    assert answer.message.endswith(f'this is no regular file ({path}); move it away')
    node.wait_for('[ERROR]', answer.message)
    client.wait_for_status(DiagnosticStatus.ERROR, answer.message)
    path.rmdir()
    assert client.trigger('save_state').success
    client.wait_for_status(DiagnosticStatus.OK)
    assert world.state()['updates'] == 1
