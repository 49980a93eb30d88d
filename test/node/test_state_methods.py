# SPDX-License-Identifier: Apache-2.0
"""What one method has learned waits for it while the node runs with another."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from .harness import SECOND, World
from .states import kept, state_text


def test_to_another_method_and_back(world: World):
    client = world.client()
    path = world.state_path()
    node = world.start()
    client.connect()
    for number in range(1, 4):
        client.teach(number * SECOND, 0.9, 0)
    answered = client.ask(10 * SECOND, 0.7)
    node.stop()
    learned = path.read_bytes()
    for method, other, updates in (('beta', 'ops', 0), ('ops', 'beta', 3)):
        node = world.start({'method': method})
        assert node.said('[INFO]', f"what method '{other}' has learned is kept as {path}.method-")
        assert not node.said('[ERROR]')
        assert not node.warnings
        client.connect()
        client.wait_for_status(DiagnosticStatus.OK)
        assert client.figure('updates') == updates
        if updates:
            assert client.ask(20 * SECOND, 0.7) == answered
        node.stop()
    assert path.read_bytes() == learned


@pytest.mark.parametrize(('before', 'after'), [(3, 4), (3, 1), (1, 3)])
def test_another_number_of_classes(world: World, before, after):
    path = world.state_path()
    client = world.client()
    node = world.start({'classes': before})
    client.connect()
    client.send_raw([1.0, 0.0, *[1.0 / before] * before])
    client.label(SECOND, 0)
    client.wait_for_figure('updates', 1)
    node.stop()
    learned = path.read_bytes()
    node = world.start({'classes': after})
    assert not node.said('[ERROR]')
    client.connect()
    assert client.figure('updates') == 0
    client.wait_for_status(DiagnosticStatus.OK)
    node.stop()
    suffix = f'-classes-{before}' if before > 1 else ''
    assert path.with_name(f'{path.name}.method-ops{suffix}').read_bytes() == learned
    assert world.state().get('classes', 1) == after


def test_a_method_that_this_release_does_not_know(world: World):
    path = world.state_path()
    path.parent.mkdir(parents=True)
    text = state_text(3, method='of_the_future')
    path.write_text(text)
    node = world.start()
    assert node.said('[INFO]', 'nothing learned yet', "what method 'of_the_future' has learned")
    assert not node.said('[ERROR]')
    assert path.with_name(f'{path.name}.method-of_the_future').read_text() == text


def test_load_state_of_another_method_changes_and_moves_nothing(world: World):
    path = world.state_path()
    node, client = world.connected({'state.autosave_period': 0.0})
    client.teach(SECOND, 0.9, 0)
    client.trigger('save_state')
    text = state_text(7, method='beta')
    path.write_text(text)
    before = sorted(path.parent.iterdir())
    answer = client.trigger('load_state')
    assert not answer.success
    assert f"{path} holds what method 'beta' has learned" in answer.message
    assert (sorted(path.parent.iterdir()), path.read_text()) == (before, text)
    assert client.figure('updates') == 1
    node.stop()
    # What was put there is kept by the save at the end.
    assert kept(path, 'replaced').read_text() == text
    assert world.state()['updates'] == 1
