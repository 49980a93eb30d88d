# SPDX-License-Identifier: Apache-2.0
"""A signal ends the node, and nothing learned is lost or torn."""

from __future__ import annotations

import signal
import time

import pytest

from calib_node.core.calibrators import create
from calib_node.core.state.disk import read_document
from calib_node.core.state.document import restore_document

from .harness import DEADLINE, EXECUTORS, SECOND, World
from .load import Load

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def assert_clean_end(node) -> None:
    assert node.wait(DEADLINE) == 0, node.output
    assert 'Traceback' not in node.output


def assert_saved(world: World, node) -> None:
    calibrator = create('ops')
    restore_document(calibrator, read_document(world.state_path()))
    assert node.output.count(']: saved to') == 1
    assert not world.state_path().with_name('calib_node.yaml.tmp').exists()


def send(node, number: signal.Signals, twice: bool) -> None:
    """Send a signal, or two of them 50 ms apart."""
    node.send(number)
    if twice:
        time.sleep(0.05)
        node.send(number)


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('executor', EXECUTORS)
@pytest.mark.parametrize('twice', [False, True], ids=['once', 'twice'])
@pytest.mark.parametrize('pause', [0.001, 0.0], ids=['load', 'overload'])
def test_a_signal_under_load_ends_and_saves(world: World, executor, number, twice, pause):
    node, client = world.connected({'executor': executor}, fresh=True)
    with Load(client, pause):
        client.spin_until(lambda: int(client.figures()['learned']) > 100, 'learning')
        send(node, number, twice)
        assert_clean_end(node)
    seen = int(client.figures()['learned'])
    assert_saved(world, node)
    assert world.state()['updates'] >= seen


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('twice', [False, True], ids=['once', 'twice'])
def test_a_signal_under_load_ends_though_nothing_can_be_saved(world: World, number, twice):
    """Below a file there is no place for another one, for root neither."""
    (world.folder / 'file').touch()
    path = world.folder / 'file' / 'state.yaml'
    node, client = world.connected(
        {'state.file': str(path), 'state.autosave_period': 0.05}, fresh=True
    )
    with Load(client):
        client.spin_until(lambda: int(client.figures()['learned']) > 100, 'learning')
        failures = node.output.count('cannot be saved')
        send(node, number, twice)
        assert_clean_end(node)
    assert node.output.count('cannot be saved') > failures > 0
    assert str(path) in node.lines[-1]


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('executor', EXECUTORS)
def test_the_file_holds_every_update_that_was_seen(world: World, executor, number):
    node, client = world.connected({'executor': executor}, fresh=True)
    for i in range(1, 6):
        client.teach(i * SECOND, 0.9, 0)
    # A label off its prediction by less than the tolerance waits until it is decided at the end.
    client.ask(10 * SECOND, 0.9)
    client.label(10 * SECOND + 1_000_000, 0)
    client.wait_for_figure('pending labels', 1)
    node.send(number)
    assert_clean_end(node)
    assert_saved(world, node)
    calibrator = create('ops')
    for _ in range(5):
        calibrator.update(0.9, 0)
    ticket = calibrator.issue(0.9)[1]
    calibrator.update(0.9, 0, ticket)
    state = world.state()
    assert {key: state[key] for key in calibrator.state()} == calibrator.state()


@pytest.mark.parametrize('executor', EXECUTORS)
def test_an_idle_node_ends_at_once(world: World, executor):
    node = world.start({'executor': executor}, fresh=True)
    node.send(signal.SIGINT)
    assert_clean_end(node)
    assert_saved(world, node)


def test_a_signal_of_the_first_moments_ends_the_node_too(world: World):
    node = world.spawn({'state.enabled': True}, fresh=True)
    node.wait_for('nothing learned yet')
    node.send(signal.SIGTERM)
    assert node.wait() == 0
