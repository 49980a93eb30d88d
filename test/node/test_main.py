# SPDX-License-Identifier: Apache-2.0
"""The executable: what it refuses on its command line, what stops it, and what does not."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from .harness import DEADLINE, EXECUTORS, SECOND, World

EXECUTABLE = (sys.executable, '-m', 'calib_node.ros.main')

FAILING_BESIDE_A_SOUND_ONE = """
import sys, threading
import rclpy
from rclpy.node import Node
from calib_node.ros.guarded import GuardedNode
from calib_node.ros.main import make_executor, spin

def fail():
    raise RuntimeError('what nobody foresaw')

def count():
    ticks.append(1)
    if len(ticks) == 20:
        stop.set()

rclpy.init()
stop, ticks = threading.Event(), []
guarded, plain = GuardedNode('guarded'), Node('plain')
executor = make_executor(sys.argv[1], guarded)
executor.add_node(plain)
plain.create_timer(0.001, fail)
guarded.create_timer(0.005, count)
guarded.create_timer(0.005, fail)
spin(executor, guarded, stop)
print('stopped')
rclpy.shutdown()
"""


HANGING_AT_ITS_END = """
import sys
from calib_node.ros import main
from calib_node.ros.node import CalibrationNode

def hang(node):
    node.close()
    while True:
        pass

main.PATIENCE = 1
CalibrationNode.destroy_node = hang
sys.exit(main.main())
"""


@pytest.mark.parametrize('executor', EXECUTORS)
def test_what_gets_out_of_a_callback_is_said_once_and_the_others_go_on(world: World, executor):
    done = subprocess.run(
        [sys.executable, '-c', FAILING_BESIDE_A_SOUND_ONE, executor],
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ['stopped']
    # The events executor says it too.
    said = [line for line in done.stderr.splitlines() if 'cannot be dealt with' in line]
    assert len(said) == 2
    assert sum('what arrived' in line for line in said) == 1
    assert sum('the work of each 0.005 s' in line for line in said) == 1


@pytest.mark.parametrize(
    ('arguments', 'shown'),
    [
        (['--params-file', 'x.yaml'], '--params-file x.yaml'),
        (['gamma:=0.2', '--ros-args', '-p', 'rho:=3.0', '--', 'more'], 'gamma:=0.2 more'),
        (['--help'], '--help'),
    ],
)
def test_arguments_that_are_not_for_ros_are_refused(world: World, arguments, shown):
    done = subprocess.run(
        [*EXECUTABLE, *arguments],
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert f'the arguments {shown} are not taken: put --ros-args first' in done.stderr


def test_a_closed_terminal_stops_the_node_and_it_saves(world: World):
    """The kernel sends SIGHUP, and nothing can be written to the terminal any more."""
    terminal, side = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(side, termios.TIOCSCTTY, 0)

    client = world.client()
    node = subprocess.Popen(
        [*EXECUTABLE, '--ros-args', '-p', 'diagnostics.period:=0.02'],
        env=world.environment(),
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
        preexec_fn=take_terminal,
    )
    try:
        os.close(side)
        client.connect()
        client.teach(SECOND, 0.9, 0)
        os.close(terminal)
        assert node.wait(DEADLINE) == 0
    finally:
        node.kill()
        node.wait()
    assert world.state()['updates'] == 1


def test_a_middleware_that_does_not_end_is_left_behind_once_all_is_saved(world: World):
    client = world.client()
    parameters = ['--ros-args', '-p', 'diagnostics.period:=0.02']
    node = subprocess.Popen(
        [sys.executable, '-c', HANGING_AT_ITS_END, *parameters], env=world.environment()
    )
    try:
        client.connect()
        client.teach(SECOND, 0.9, 0)
        node.terminate()
        assert node.wait(DEADLINE) == -signal.SIGALRM
    finally:
        node.kill()
        node.wait()
    assert world.state()['updates'] == 1


def test_under_nohup_a_closed_terminal_is_ignored(world: World):
    node = world.start(within=['nohup'], stdin=subprocess.DEVNULL)
    status = Path(f'/proc/{node._process.pid}/status').read_text()
    ignored = next(line for line in status.splitlines() if line.startswith('SigIgn'))
    assert int(ignored.split()[1], 16) >> (signal.SIGHUP - 1) & 1
