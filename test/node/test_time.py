# SPDX-License-Identifier: Apache-2.0
"""Simulated time comes, stands still, steps back or never comes, and the node goes on."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool

from .harness import EXECUTORS, SECOND, Client, World, pipeline

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN

CLOCKS_OF_TIMERS = """
import rclpy
from calib_node.ros.node import CalibrationNode

rclpy.init()
node = CalibrationNode()
print(*(timer.clock.clock_type.name for timer in node.timers))
node.close()
node.destroy_node()
rclpy.shutdown()
"""


class Simulator:
    """Publishes simulated time to the node of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._publisher = client.node.create_publisher(Clock, '/clock', 10)

    def set(self, seconds: int) -> None:
        """Let the time be this from now on, and wait until the diagnostics say so."""
        tick = Clock()
        tick.clock.sec = seconds

        def simulated() -> bool:
            self._publisher.publish(tick)
            return last_stamp(self._client) == (seconds, 0)

        self._client.spin_until(simulated, f'diagnostics with the stamp {seconds}')


def last_stamp(client: Client) -> tuple[int, int]:
    stamp = client.statuses[-1][0].header.stamp if client.statuses else Clock().clock
    return stamp.sec, stamp.nanosec


def assert_it_goes_on(world: World, client: Client, core, stamp: int) -> None:
    """Expect predictions, matches, diagnostics, figures and autosaves as at any other time."""
    for i in range(2):
        assert client.teach(stamp + i * SECOND, 0.9, 0) == core.predict(0.9)
        core.update(0.9, 0)
    heard = len(client.ece)
    client.spin_until(lambda: len(client.ece) > heard + 2, 'ECE')

    def saved() -> bool:
        return world.state_path().exists() and world.state()['updates'] == core.updates

    client.spin_until(saved, 'autosave')
    client.next_status()


@pytest.mark.parametrize('executor', EXECUTORS)
def test_simulated_time_stands_still_and_steps_back_and_the_node_goes_on(world: World, executor):
    _, client = world.connected(
        {
            'use_sim_time': True,
            'executor': executor,
            'ece.period': 0.02,
            'state.autosave_period': 0.05,
        }
    )
    core = pipeline().calibrator
    simulator = Simulator(client)
    simulator.set(1000)
    assert client.wait_for_status(OK)
    # No time comes while this is done.
    assert_it_goes_on(world, client, core, 1000 * SECOND)
    assert last_stamp(client) == (1000, 0)

    simulator.set(10)
    assert_it_goes_on(world, client, core, 10 * SECOND)
    assert last_stamp(client) == (10, 0)
    assert client.figure('jumps back in time') == 1

    simulator.set(11)
    assert_it_goes_on(world, client, core, 12 * SECOND)
    assert last_stamp(client) == (11, 0)


@pytest.mark.parametrize('executor', EXECUTORS)
def test_without_any_clock_the_node_goes_on_and_says_so(world: World, executor):
    client = world.client()
    world.start(
        {
            'use_sim_time': True,
            'executor': executor,
            'ece.period': 0.02,
            'state.autosave_period': 0.05,
        }
    )
    client.connect()
    assert_it_goes_on(world, client, pipeline().calibrator, 1_700_000_000 * SECOND)
    assert last_stamp(client) == (0, 0)
    client.wait_for_status(WARN, 'use_sim_time is true, but nothing has come on /clock')
    Simulator(client).set(1000)
    client.wait_for_status(OK)


def test_simulated_time_can_be_switched_on_and_off_while_running(world: World):
    _, client = world.connected()
    simulator = Simulator(client)
    assert abs(last_stamp(client)[0] - time.time()) < 60
    client.set('use_sim_time', True)
    simulator.set(1000)
    client.set('use_sim_time', False)
    client.next_status()
    assert abs(last_stamp(client)[0] - time.time()) < 60


def test_stamps_of_arrival_are_in_simulated_time(world: World):
    client = world.client()
    on_arrival = {'label.type': 'std_msgs/msg/Bool', 'label.stamping': 'arrival'}
    world.start({'use_sim_time': True, **on_arrival})
    truth = world.stranger().create_publisher(Bool, 'labels', 10)
    simulator = Simulator(client)
    for matched, now in enumerate((1000, 5, 6), 1):
        simulator.set(now)
        client.spin_until(client.raw_publisher.get_subscription_count, 'node')
        client.ask(now * SECOND, 0.9)

        def match(expected: str = str(matched)) -> bool:
            # The first may come before the node knows of its publisher, and others are duplicates.
            truth.publish(Bool(data=False))
            return client.figures()['matched'] == expected

        client.spin_until(match, f'match {matched}')
    assert client.figure('jumps back in time') == 1


def test_every_timer_is_on_a_steady_clock(world: World):
    done = subprocess.run(
        [sys.executable, '-c', CLOCKS_OF_TIMERS],
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == 3 * ['STEADY_TIME']


# The parameter


@pytest.mark.parametrize('value', [1, 'true', 0.5])
def test_use_sim_time_that_is_no_bool_ends_the_start(world: World, value):
    assert f'use_sim_time must be true or false, not {value!r}' in world.refused(
        {'use_sim_time': value}
    )


def test_use_sim_time_in_an_atomic_change_that_is_refused_stays(world: World):
    _, client = world.connected()
    for bad in ({'gamma': -1.0}, {'match.policy': 'neerest'}, {'method': 'beta'}):
        assert not client.set_all({'use_sim_time': True, **bad}).successful
        client.next_status()
        assert abs(last_stamp(client)[0] - time.time()) < 60
        assert client.get('use_sim_time') == [False]
    (result,) = client.set_each({'use_sim_time': 1})
    assert not result.successful
    assert result.reason
    result = client.set_all({'gamma': 0.5, 'use_sim_time': 1})
    assert not result.successful
    assert client.get('gamma') == [0.1]
    assert client.ask(SECOND, 0.9) == pipeline().calibrator.predict(0.9)
