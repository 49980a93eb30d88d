# SPDX-License-Identifier: Apache-2.0
"""A node in somebody else's process and executor, and one whose diagnostics nobody reads."""

from __future__ import annotations

import sys

import pytest

from calib_node.core.calibrators import create

from .harness import SECOND, OtherProcess, World
from .process import run

LABELS = 5
SPIN = f"""
import rclpy
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor

from calib_node.ros.node import CalibrationNode

rclpy.init()
node = CalibrationNode()
executor = EXECUTOR()
executor.add_node(node)
while node.stream.pipeline.counts.learned < {LABELS}:
    executor.spin_once(timeout_sec=0.1)
node.destroy_node()
executor.shutdown()
rclpy.shutdown()
"""


@pytest.mark.parametrize('executor', ['MultiThreadedExecutor', 'SingleThreadedExecutor'])
def test_destroying_the_node_saves_what_was_learned(world: World, executor):
    client = world.client()
    program = [sys.executable, '-c', SPIN.replace('EXECUTOR', executor)]
    quick = ['--ros-args', '-p', 'diagnostics.period:=0.02', '-p', 'state.autosave_period:=0.0']
    process = OtherProcess(run([*program, *quick], world.environment()))
    world.processes.append(process)
    process.wait_for('ready:')
    client.connect()
    expected = create('ops')
    for number in range(1, LABELS):
        assert client.teach(number * SECOND, 0.9, 0) == expected.predict(0.9)
        expected.update(0.9, 0)
    assert not world.state_path().exists()
    client.ask(LABELS * SECOND, 0.9)
    client.label(LABELS * SECOND, 0)
    expected.update(0.9, 0)
    assert process.wait() == 0, process.output
    state = world.state()
    assert {key: state[key] for key in expected.state()} == expected.state()


def test_a_state_that_cannot_be_saved_is_logged_at_once(world: World):
    """Long before the next diagnostics."""
    client = world.client()
    # Not even root can put a file in the place of a folder.
    path = world.folder / 'state.yaml'
    node = world.start(
        {
            'diagnostics.period': 86400.0,
            'diagnostics.stale_after': 86400.0,
            'state.file': str(path),
            'state.autosave_period': 0.05,
        }
    )
    path.mkdir()
    stamps = iter(range(SECOND, 10**6 * SECOND, SECOND))

    def teach() -> None:
        stamp = next(stamps)
        client.predict(stamp, 0.9)
        client.label(stamp, 0)

    client.spin_until(
        lambda: teach() or node.said('[ERROR]', str(path), 'cannot be saved'), 'error'
    )
    assert not client.statuses
