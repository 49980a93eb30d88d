# SPDX-License-Identifier: Apache-2.0
"""A signal ends the node within a second, and nothing learned is lost or torn."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from calib_node.core.calibrators import create
from calib_node.core.state import read_document, restore_document

from .harness import EXECUTORS, SECOND, World

SLOWEST = 3.0
"""Seconds to the end; a second on a machine that does nothing else."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Load:
    """Publishes a prediction and its label about a thousand times a second, in a thread."""

    def __init__(self, client) -> None:
        self._client = client
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        i = 0
        while not self._over.wait(0.001):
            i += 1
            stamp = 1_700_000_000 * SECOND + i * 1_000_000
            self._client.predict(stamp, 0.1 + 0.8 * (i % 7) / 7)
            self._client.label(stamp, i % 2)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def assert_clean_end(world: World, node, started: float) -> None:
    code = node.wait(SLOWEST)
    assert time.monotonic() - started < SLOWEST
    assert code == 0, node.output
    assert 'Traceback' not in node.output
    calibrator = create('ops')
    restore_document(calibrator, read_document(world.state_path()))
    assert node.output.count(']: saved to') == 1


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('executor', EXECUTORS)
@pytest.mark.parametrize('twice', [False, True], ids=['once', 'twice'])
def test_a_signal_under_load_ends_and_saves(world: World, executor, number, twice):
    node, client = world.connected({'executor': executor})
    with Load(client):
        client.spin_until(lambda: int(client.figures()['learned']) > 100, 'learning')
        started = time.monotonic()
        node.send(number)
        if twice:
            time.sleep(0.05)
            node.send(number)
        assert_clean_end(world, node, started)
    seen = int(client.figures()['learned'])
    assert world.state()['updates'] >= seen
    assert not world.state_path().with_name('calib_node.yaml.tmp').exists()


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('executor', EXECUTORS)
def test_the_file_holds_every_update_that_was_seen(world: World, executor, number):
    node, client = world.connected({'executor': executor})
    for i in range(1, 6):
        client.teach(i * SECOND, 0.9, 0)
    # A label off its prediction by less than the tolerance waits until it is decided at the end.
    client.ask(10 * SECOND, 0.9)
    client.label(10 * SECOND + 1_000_000, 0)
    client.wait_for_figure('pending labels', 1)
    started = time.monotonic()
    node.send(number)
    assert_clean_end(world, node, started)
    calibrator = create('ops')
    for _ in range(5):
        calibrator.update(0.9, 0)
    ticket = calibrator.issue(0.9)[1]
    calibrator.update(0.9, 0, ticket)
    state = world.state()
    assert {key: state[key] for key in calibrator.state()} == calibrator.state()


@pytest.mark.parametrize('executor', EXECUTORS)
def test_an_idle_node_ends_at_once(world: World, executor):
    node = world.start({'executor': executor})
    started = time.monotonic()
    node.send(signal.SIGINT)
    assert_clean_end(world, node, started)


def test_a_signal_of_the_first_moments_ends_the_node_too(world: World):
    node = world.spawn({'state.enabled': True})
    node.wait_for('nothing learned yet')
    node.send(signal.SIGTERM)
    assert node.wait() == 0
