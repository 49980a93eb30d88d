# SPDX-License-Identifier: Apache-2.0
"""The alarm over the middleware: raised, latched, in the status, acknowledged, and kept."""

from __future__ import annotations

import random
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import DurabilityPolicy, QoSProfile

from .client import Client
from .harness import EXECUTORS, SECOND, World

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
GIVEN = {'alarm.false_alarm_every': 200.0, 'alarm.labels': 'independent', 'learning': False}
OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN


def alarms(client: Client, topic: str = '/calib_node/alarm') -> list[Any]:
    heard: list[Any] = []
    client.node.create_subscription(DiagnosticStatus, topic, heard.append, LATCHED)
    return heard


def teach_many(client: Client, first: int, count: int, truth: float, seed: int = 1) -> None:
    """Publish predictions of .8, labels of another truth, and wait for all of them."""
    chance, matched = random.Random(seed), client.figure('matched')
    for number in range(first, first + count):
        client.predict(number * SECOND // 10 + SECOND, 0.8)
        client.label(number * SECOND // 10 + SECOND, float(chance.random() < truth))
    client.wait_for_figure('matched', matched + count)


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_model_that_has_changed_is_found(world: World, executor: str):
    _, client = world.connected({**GIVEN, 'executor': executor})
    heard = alarms(client)
    client.spin_until(lambda: heard, 'the latched status')
    assert (heard[0].level, heard[0].message) == (OK, 'no alarm')
    teach_many(client, 0, 60, 0.8)
    assert client.figures()['alarm'] == 'silent'
    teach_many(client, 60, 120, 0.1)
    status = client.wait_for_status(WARN, 'the published probabilities have been too high')
    assert status.message.startswith('the published probabilities have been too high since label ')
    assert '~/acknowledge_alarm' in status.message
    client.spin_until(lambda: heard[-1].level == WARN, 'the alarm')
    facts = {pair.key: pair.value for pair in heard[-1].values}
    assert facts['kind'] == 'too high'
    assert 40 <= int(facts['since_label']) <= 70
    assert int(facts['label']) <= 180
    # Who comes later hears it too.
    late = alarms(client)
    client.spin_until(lambda: late and late[-1].level == WARN, 'the latched alarm')
    answer = client.trigger('acknowledge_alarm')
    assert answer.success
    assert answer.message.startswith('cleared: the published probabilities have been too high')
    client.spin_until(lambda: heard[-1].level == OK, 'the end of the alarm')
    assert client.trigger('acknowledge_alarm').message == 'no alarm is raised'


def test_it_is_kept_over_a_restart(world: World):
    process, client = world.connected(GIVEN)
    teach_many(client, 0, 200, 0.1)
    client.wait_for_status(WARN, 'too high')
    before = client.figures()['alarm']
    process.stop()
    kept = world.state()['alarms']
    assert kept['published']['raised']['kind'] == 'too high'
    client.statuses.clear()
    world.start(GIVEN)
    client.wait_for_status(WARN, 'too high')
    assert client.figures()['alarm'] == before
    heard = alarms(client)
    client.spin_until(lambda: heard and heard[-1].level == WARN, 'the alarm of before')


def test_it_can_be_off_and_changed_while_the_node_runs(world: World):
    _, client = world.connected({'alarm.false_alarm_every': 0.0})
    client.teach(SECOND, 0.9, 1)
    assert client.figures()['alarm'] == 'off'
    assert 'so there is no alarm' in client.trigger('acknowledge_alarm').message
    client.set('alarm.false_alarm_every', 500.0)
    client.next_status()
    assert client.figures()['alarm'] == 'silent'
    assert client.figures()['alarm turns'] == 'not known yet'
    client.set('alarm.labels', 'independent')
    client.next_status()
    assert client.figures()['alarm turns'] == '1'
    (result,) = client.set_each({'alarm.false_alarm_every': 0.5})
    assert not result.successful
    assert 'alarm.false_alarm_every is a number of labels' in result.reason


def test_reset_starts_it_anew(world: World):
    _, client = world.connected(GIVEN)
    teach_many(client, 0, 200, 0.1)
    client.wait_for_status(WARN, 'too high')
    assert client.trigger('reset').success
    client.next_status()
    assert client.figures()['alarm'] == 'silent'
