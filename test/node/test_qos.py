# SPDX-License-Identifier: Apache-2.0
"""Whoever publishes, with whatever QoS: heard once, without a loss, or told what to set."""

from __future__ import annotations

import signal
from collections import Counter
from itertools import count

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64, Float64MultiArray

from .harness import EXECUTORS, SECOND, Client, World, array, pipeline
from .load import START, Load

WARN = DiagnosticStatus.WARN
LATCHED = DurabilityPolicy.TRANSIENT_LOCAL
BOTH = {ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT}
INPUT = '/raw_probabilities'


def profile(depth: int = 1000, **policies: object) -> QoSProfile:
    return QoSProfile(depth=depth, **policies)


def wait_until_heard_with(client: Client, expected: set[ReliabilityPolicy]) -> None:
    """Wait until this is what the node's subscriptions to the predictions ask for."""

    def asked_for() -> set[ReliabilityPolicy]:
        infos = client.node.get_subscriptions_info_by_topic(INPUT)
        return {info.qos_profile.reliability for info in infos}

    client.spin_until(lambda: asked_for() == expected, f'subscriptions with {expected}')


# Reliable publishers


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_burst_from_a_reliable_publisher_loses_nothing_though_the_node_is_held_up(
    world: World, executor
):
    node, client = world.connected({'executor': executor})
    stamps = range(START, START + 900 * SECOND, SECOND)
    node.send(signal.SIGSTOP)
    for stamp in stamps:
        client.predict(stamp, 0.8)
    for stamp in stamps:
        client.label(stamp, 0)
    node.send(signal.SIGCONT)
    client.spin_until(lambda: len(client.calibrated) == len(stamps), 'every answer')
    client.wait_for_figure('labels', 900 + int(client.figures()['empty labels']))
    assert client.figures()['refused'] == '0'


@pytest.mark.parametrize('reliability', ['automatic', 'reliable'])
def test_every_latched_label_is_learned(world: World, reliability):
    latched = world.stranger().create_publisher(
        Float64MultiArray, 'labels', profile(durability=LATCHED)
    )
    for number in range(500):
        latched.publish(array([number + 1, 0, 0]))
    client = world.client()
    parameters = {'qos.durability': 'transient_local', 'qos.reliability': reliability}
    world.start({**parameters, 'match.horizon': 3600.0})
    client.wait_for_figure('pending labels', 500)


@pytest.mark.parametrize('executor', EXECUTORS)
def test_what_the_middleware_reports_lost_is_counted(world: World, executor):
    """A best-effort input of a node that is held up, and far more than may wait for it."""
    node, client = world.connected({'executor': executor, 'qos.reliability': 'best_effort'})
    assert client.figures()['lost on raw_probabilities'] == '0'
    node.send(signal.SIGSTOP)
    sent = iter(range(START, 2 * START, SECOND))
    for stamp, _ in zip(sent, range(5000)):
        client.predict(stamp, 0.8)
    node.send(signal.SIGCONT)

    def lost() -> int:
        return int(client.figures()['lost on raw_probabilities'])

    def told() -> bool:
        client.predict(next(sent), 0.8)
        return bool(lost()) or len(client.calibrated) > 100

    client.spin_until(told, 'lost messages')
    client.next_status()
    if not lost():
        pytest.skip('this middleware reports no lost messages')
    predicted = next(sent) - START
    assert lost() + len(client.calibrated) <= predicted // SECOND + client.probes


# Best-effort publishers, and both at once


@pytest.mark.parametrize('executor', EXECUTORS)
def test_publishers_of_both_kinds_come_and_go_and_each_message_is_heard_once(
    world: World, executor
):
    """Reliable predictions go on all the while, and not one is lost or answered twice."""
    _, client = world.connected({'executor': executor, 'match.capacity': 1})
    wait_until_heard_with(client, {ReliabilityPolicy.RELIABLE})
    with Load(client) as load:
        for _ in range(2):
            other = world.stranger()
            be_answered(client, other)
            wait_until_heard_with(client, BOTH)
            other.destroy_node()
            wait_until_heard_with(client, {ReliabilityPolicy.RELIABLE})
    sent = [START + number * 1_000_000 for number in range(1, load.number + 1)]
    client.spin_until(lambda: len(answered(client, START)) >= len(sent), 'every answer')
    client.next_status()
    # With both subscriptions the order of some may be another.
    assert sorted(answered(client, START)) == sent
    assert set(Counter(answered(client, 0)).values()) == {1}


def be_answered(client: Client, other: Node) -> None:
    """Publish predictions of the first seconds with best effort until one is answered."""
    publisher = other.create_publisher(
        Float64MultiArray, INPUT, profile(reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    before = answered(client, 0)
    stamps = count(max(before) // SECOND + 1 if before else 1)

    def came() -> bool:
        publisher.publish(array([next(stamps), 0, 0.5]))
        return len(answered(client, 0)) > len(before)

    client.spin_until(came, 'answer to a best-effort publisher')


def answered(client: Client, start: int) -> list[int]:
    """Return the stamps of the answers, those of the load or those of the first seconds."""
    stamps = [int(m.data[0]) * SECOND + int(m.data[1]) for m in list(client.calibrated)]
    return [stamp for stamp in stamps if (stamp > START) == (start == START)]


@pytest.mark.parametrize(
    'stamping', ['header', 'publication'], ids=['as objects', 'with their publication time']
)
def test_objects_from_both_kinds_of_publishers_are_heard_once(world: World, stamping):
    client = world.client()
    world.start(
        {
            'raw.type': 'geometry_msgs/msg/PointStamped',
            'raw.value_field': 'point.x',
            'raw.stamping': stamping,
        }
    )
    publishers = [
        world.stranger().create_publisher(PointStamped, INPUT, profile(reliability=reliability))
        for reliability in BOTH
    ]
    seconds = count(1)

    def send(publisher) -> None:
        message = PointStamped()
        message.header.stamp.sec = next(seconds)
        message.point.x = 0.5
        publisher.publish(message)

    for publisher in publishers:
        # What the one before has sent must not pass for an answer to this one.
        client.spin_until(lambda: client.statuses, 'diagnostics')
        before = client.steady('predictions')

        def heard(publisher=publisher, before=before) -> bool:
            send(publisher)
            return int(client.figures()['predictions']) > before

        client.spin_until(heard, 'prediction')
    wait_until_heard_with(client, BOTH)
    before = client.steady('predictions')
    for _ in range(50):
        for publisher in publishers:
            send(publisher)
    client.wait_for_figure('predictions', before + 100)
    assert client.steady('predictions') == before + 100


@pytest.mark.parametrize('executor', EXECUTORS)
def test_best_effort_publishers_alone_are_heard_and_learned_from(world: World, executor):
    client = world.client(reliable=False)
    world.start({'executor': executor})
    client.connect()
    core = pipeline().calibrator
    for second in range(1, 20):
        assert client.teach(second * SECOND, 0.9, 0) == core.predict(0.9)
        core.update(0.9, 0)
    assert client.next_status().level == DiagnosticStatus.OK


def test_equal_messages_are_no_copies(world: World):
    """Publishers of both kinds, and a reliable one that says the same again and again."""
    _, client = world.connected()
    world.client(reliable=False).connect()
    before = client.steady('predictions')
    for _ in range(20):
        client.predict(SECOND, 0.5)
    client.wait_for_figure('predictions', before + 20)
    assert client.steady('predictions') == before + 20


# What cannot be heard, and what to set


def test_a_best_effort_publisher_of_what_is_to_be_latched_is_told_of_durability(world: World):
    client = world.client(reliable=False)
    node = world.start({'qos.durability': 'transient_local'})
    node.wait_for('WARN', INPUT, 'set qos.durability to volatile')
    client.wait_for_status(WARN, INPUT, 'set qos.durability to volatile')


def test_latched_and_best_effort_contradict_each_other(world: World):
    sentence = world.refused(
        {'qos.durability': 'transient_local', 'qos.reliability': 'best_effort'}
    )
    assert INPUT in sentence
    assert 'set qos.reliability to automatic' in sentence


def test_an_override_that_contradicts_is_named(world: World):
    override = 'qos_overrides./labels.subscription.reliability'
    sentence = world.refused({'qos.durability': 'transient_local', override: 'best_effort'})
    assert f'set {override} to reliable' in sentence


@pytest.mark.parametrize('name', ['ece', 'calib_node/reliability'])
@pytest.mark.parametrize('namespace', ['', '/r1'])
def test_what_is_said_to_a_subscriber_of_latched_messages_helps(world: World, name, namespace):
    topic = f'{namespace}/{name}'
    kind = Float64 if name == 'ece' else Float64MultiArray
    came: list[object] = []
    client = world.client(namespace=namespace)
    client.node.create_subscription(kind, topic, came.append, profile(durability=LATCHED))
    node = world.start({'ece.period': 0.02}, namespace=namespace)
    override = f'qos_overrides.{topic}.publisher.durability'
    node.wait_for('WARN', f'{topic}: a subscription requests a durability', f'set {override} to')
    client.wait_for_status(WARN, f'set {override} to transient_local')
    node.stop()
    world.start({'ece.period': 0.02, override: 'transient_local'}, namespace=namespace)
    client.statuses.clear()
    client.connect()
    client.teach(SECOND, 0.9, 0)
    client.spin_until(lambda: came, 'latched figure')


@pytest.mark.parametrize(
    ('given', 'remedy'),
    [
        ({'qos.reliability': 'reliable'}, {'qos.reliability': 'automatic'}),
        (
            {f'qos_overrides.{INPUT}.subscription.reliability': 'reliable'},
            {f'qos_overrides.{INPUT}.subscription.reliability': 'best_effort'},
        ),
        ({'qos.durability': 'transient_local'}, {'qos.durability': 'volatile'}),
        (
            {f'qos_overrides.{INPUT}.subscription.durability': 'transient_local'},
            {f'qos_overrides.{INPUT}.subscription.durability': 'volatile'},
        ),
    ],
    ids=['reliability', 'reliability overridden', 'durability', 'durability overridden'],
)
def test_what_is_said_of_a_publisher_that_offers_less_helps(world: World, given, remedy):
    ((name, value),) = remedy.items()
    client = world.client(reliable='durability' in name)
    node = world.start(given)
    node.wait_for('WARN', f'{INPUT}: a publisher offers a', f'set {name} to {value}')
    client.wait_for_status(WARN, f'set {name} to {value}')
    node.stop()
    world.start({**given, **remedy})
    client.statuses.clear()
    client.connect()
