# SPDX-License-Identifier: Apache-2.0
"""The node among others: names, QoS, types, diagnostics and figures."""

from __future__ import annotations

import math
import time
from itertools import product
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64, Float64MultiArray, String

from calib_node.core import metrics
from calib_node.ros.diagnostics import Health
from calib_node.ros.topics import LABELS, NAMES, RAW, RELIABILITY

from .harness import EXECUTORS, SECOND, Client, World, pipeline

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
ERROR, STALE = DiagnosticStatus.ERROR, DiagnosticStatus.STALE


# Names


TARGETS = {
    'raw_probabilities': '/detector/door',
    'labels': 'truth/door',
    'calibrated_probabilities': 'door/honest',
    'ece': 'door/ece',
    'raw_ece': '/door/raw_ece',
    '~/reliability': 'door/diagram',
    '/diagnostics': 'door/diagnostics',
}
RESOLVED = {
    name: target if target.startswith('/') else f'/r1/{target}' for name, target in TARGETS.items()
}


def test_every_topic_can_be_remapped_and_put_into_a_namespace(world: World):
    assert set(TARGETS) == set(NAMES)
    client = world.client(namespace='/r1', name='front', topics=TARGETS)
    node = world.start({'ece.period': 0.02}, '-r', '__node:=front', namespace='/r1', remaps=TARGETS)
    client.connect()
    assert client.teach(SECOND, 0.9, 1) == pipeline().calibrator.predict(0.9)
    client.spin_until(lambda: client.ece and client.raw_ece and client.reliability, 'figures')
    assert client.status.hardware_id == '/r1/front'
    assert client.trigger('save_state').success
    for name, resolved in RESOLVED.items():
        assert f'{name} is {resolved}' in node.said('ready:')
        assert client.figures()[f'topic {name}'] == resolved
    unmapped = {'/r1/raw_probabilities', '/r1/labels', '/r1/ece', '/r1/front/reliability'}
    assert not unmapped & dict(client.node.get_topic_names_and_types()).keys()


OWN_SERVICES = ('save_state', 'load_state', 'reset')


def of_node(client: Client) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return topics and services of the client's node with their types, once all are discovered."""
    namespace, _, name = client.full_name.rpartition('/')
    own = {f'{client.full_name}/{service}' for service in OWN_SERVICES}
    topics = {client.full_name + topic[1:] for topic in NAMES if topic.startswith('~')}
    topics |= {f'{namespace}/{topic}' for topic in NAMES if topic[0] not in '~/'}

    def ask() -> Any:
        node = (name, namespace or '/')
        graph = client.node
        try:
            found = dict(graph.get_publisher_names_and_types_by_node(*node))
            found.update(graph.get_subscriber_names_and_types_by_node(*node))
            services = dict(graph.get_service_names_and_types_by_node(*node))
        except NodeNameNonExistentError:
            return None
        return (found, services) if topics <= set(found) and own <= set(services) else None

    return client.spin_until(ask, f'all of {client.full_name} in the graph')


def test_two_robots_share_nothing_but_the_diagnostics(world: World):
    file = world.parameters_file({'/**': {'ros__parameters': {'gamma': 0.5}}})
    robots = {name: world.client(namespace=name) for name in ('/r1', '/r2')}
    nodes = [world.start(None, *file, namespace=name) for name in robots]
    for client in robots.values():
        client.connect()
    robots['/r1'].teach(SECOND, 0.9, 0)
    core = pipeline(gamma=0.5).calibrator
    assert robots['/r2'].ask(SECOND, 0.9) == core.predict(0.9)
    core.update(0.9, 0)
    assert robots['/r1'].ask(2 * SECOND, 0.9) == core.predict(0.9)
    robots['/r1'].set('clip', 0.2)
    assert robots['/r2'].get('clip') == [0.01]
    (topics, services), (other_topics, other_services) = map(of_node, robots.values())
    # The last two are those of every ROS node.
    every = {'/diagnostics', '/rosout', '/parameter_events'}
    assert topics.keys() & other_topics.keys() <= every
    assert '/r1/calib_node/reset' in services
    assert not services.keys() & other_services.keys()
    assert robots['/r1'].trigger('reset').success
    assert robots['/r2'].figure('predictions') > 0
    for node in nodes:
        node.stop()
    assert world.state('r1/calib_node')['node'] == '/r1/calib_node'
    assert world.state('r2/calib_node')['node'] == '/r2/calib_node'
    assert world.state('r1/calib_node')['parameters']['clip'] == 0.2
    assert world.state('r2/calib_node')['parameters']['clip'] == 0.01


def test_the_graph_shows_what_the_documentation_says(world: World):
    client = world.client()
    world.start()
    client.spin_until(lambda: client.statuses, 'diagnostics')
    types = {
        '/raw_probabilities': 'std_msgs/msg/Float64MultiArray',
        '/labels': 'std_msgs/msg/Float64MultiArray',
        '/calibrated_probabilities': 'std_msgs/msg/Float64MultiArray',
        '/ece': 'std_msgs/msg/Float64',
        '/raw_ece': 'std_msgs/msg/Float64',
        '/calib_node/reliability': 'std_msgs/msg/Float64MultiArray',
        '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
    }
    for topic, kind in types.items():
        endpoint = client.endpoint(topic)
        qos = endpoint.qos_profile
        assert endpoint.topic_type == kind
        assert qos.durability == DurabilityPolicy.VOLATILE
        assert qos.reliability == ReliabilityPolicy.RELIABLE, topic
    services = of_node(client)[1]
    for service in OWN_SERVICES:
        assert services[f'/calib_node/{service}'] == ['std_srvs/srv/Trigger']


@pytest.mark.parametrize(
    ('remaps', 'namespace'),
    [
        ({'calibrated_probabilities': 'raw_probabilities'}, ''),
        ({'raw_probabilities': 'x', 'calibrated_probabilities': '/r1/x'}, '/r1'),
        ({'labels': 'raw_probabilities'}, ''),
        ({'labels': 'calibrated_probabilities'}, ''),
        ({'raw_probabilities': 'calib_node/reliability'}, ''),
        ({'labels': '/diagnostics'}, '/r1'),
        ({'raw_ece': 'ece'}, ''),
        ({'ece': 'calibrated_probabilities'}, ''),
    ],
)
def test_two_names_for_one_topic_end_the_start(world: World, remaps, namespace):
    sentence = world.refused(remaps=remaps, namespace=namespace)
    assert 'remap one of them' in sentence
    assert sum(name in sentence for name in NAMES) >= 2


def test_the_node_is_ready_soon(world: World):
    """A second of processor time beyond the import of rclpy, and as much again."""
    node = world.start(fresh=True)
    assert node.processor_seconds() < 3.0


# Others that do not fit


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_best_effort_publisher_for_a_reliable_input_is_reported(world: World, executor):
    client = world.client(reliable=False)
    node = world.start({'qos.reliability': 'reliable', 'executor': executor})
    for topic in ('/raw_probabilities', '/labels'):
        node.wait_for('WARN', f'{topic}: a publisher offers a reliability that is incompatible')
    client.wait_for_status(
        WARN, '/raw_probabilities: client publishes', 'best_effort offered, reliable requested'
    )


def test_a_volatile_publisher_for_a_transient_local_input_is_reported(world: World):
    client = world.client()
    node = world.start({'qos.durability': 'transient_local'})
    node.wait_for('WARN', 'a publisher offers a durability that is incompatible')
    client.wait_for_status(WARN, 'volatile offered, transient_local requested')


def test_a_publisher_of_another_type_is_reported_while_it_is_there(world: World):
    _, client = world.connected()
    stranger = world.stranger()
    publisher = stranger.create_publisher(String, 'labels', 10)
    client.wait_for_status(
        WARN, '/labels: stranger publishes std_msgs/msg/String, not std_msgs/msg/Float64MultiArray'
    )
    stranger.destroy_publisher(publisher)
    client.wait_for_status(OK)


OUTPUTS = {name: name for name in NAMES[2:5]} | {RELIABILITY: 'calib_node/reliability'}


@pytest.mark.parametrize('name', OUTPUTS)
def test_a_subscriber_of_another_type_is_reported(world: World, name):
    _, client = world.connected()
    world.stranger().create_subscription(String, OUTPUTS[name], print, 10)
    client.wait_for_status(WARN, f'/{OUTPUTS[name]}: stranger subscribes to std_msgs/msg/String')


@pytest.mark.parametrize('name', OUTPUTS)
def test_a_subscriber_that_asks_for_another_qos_is_reported(world: World, name):
    node, client = world.connected()
    kind = Float64 if 'ece' in name else Float64MultiArray
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    world.stranger().create_subscription(kind, OUTPUTS[name], print, latched)
    topic = f'/{OUTPUTS[name]}'
    node.wait_for('WARN', f'{topic}: a subscription requests a durability that is incompatible')
    client.wait_for_status(
        WARN, f'{topic}: stranger subscribes to', 'volatile offered, transient_local requested'
    )


def test_wrong_types_are_said_once_though_nobody_hears_the_diagnostics(world: World):
    stranger = world.stranger()
    for name in (RAW, LABELS):
        stranger.create_publisher(String, name, 10)
    node = world.start()
    for name in (RAW, LABELS):
        sentence = f'/{name}: stranger publishes std_msgs/msg/String'
        node.wait_for('WARN', sentence, 'not std_msgs/msg/Float64MultiArray')
    client = world.client()
    client.wait_for_status(WARN, 'stranger publishes')
    for name in (RAW, LABELS):
        assert len([line for line in node.lines if f'/{name}: stranger' in line]) == 1


def test_several_publishers_share_a_calibrator_and_are_counted(world: World):
    _, client = world.connected()
    assert client.figures()['publishers on raw_probabilities'] == '1'
    other = world.client(reliable=False)
    other.connect()
    client.wait_for_figure('publishers on raw_probabilities', 2)
    client.wait_for_figure('publishers on labels', 2)
    client.teach(SECOND, 0.9, 0)
    core = pipeline().calibrator
    core.update(0.9, 0)
    other.spin_until(lambda: other.calibrated, 'output for the other publisher')
    assert other.ask(2 * SECOND, 0.9) == core.predict(0.9)


# Diagnostics


def test_the_status_follows_the_conventions(world: World):
    _, client = world.connected()
    client.teach(SECOND, 0.9, 1)
    status = client.wait_for_status(OK, 'calibrating')
    assert status.name == 'calib_node: calibration'
    assert status.hardware_id == '/calib_node'
    assert all(isinstance(pair.value, str) and pair.key for pair in status.values)
    assert len(client.figures()) == len(status.values)
    header = client.statuses[-1][0].header
    assert abs(header.stamp.sec - time.time()) < 60
    figures = client.figures()
    assert figures['method'] == 'ops'
    assert figures['topic labels'] == '/labels'
    assert figures['state file'] == str(world.state_path())


def test_stale_without_predictions_and_ok_with_them(world: World):
    client = world.client()
    world.start({'diagnostics.stale_after': 0.3})
    client.wait_for_status(STALE, 'no prediction on /raw_probabilities')
    client.connect()

    def ok_while_they_come() -> bool:
        client.predict(SECOND, 0.5)
        return client.status.level == OK

    client.spin_until(ok_while_they_come, 'status OK')
    client.wait_for_status(STALE)


def test_stale_names_the_topic_as_resolved(world: World):
    client = world.client(namespace='/r1', topics={RAW: 'door/raw'})
    remaps = {RAW: 'door/raw', LABELS: '/truth'}
    world.start({'diagnostics.stale_after': 0.3}, namespace='/r1', remaps=remaps)
    client.wait_for_status(STALE, 'no prediction on /r1/door/raw for 0.')
    assert client.figures()[f'topic {LABELS}'] == '/truth'
    assert client.figures()[f'publishers on {RAW}'] == '1'


def test_a_status_has_the_level_of_the_gravest_that_is_wrong():
    levels = []
    for kinds in product(([], ['x']), repeat=3):
        health = Health(*kinds)
        levels.append(health.level())
        assert isinstance(health.level(), bytes)
    assert levels == [OK, STALE, WARN, WARN, ERROR, ERROR, ERROR, ERROR]


def test_error_while_the_state_cannot_be_saved(world: World):
    _, client = world.connected()
    world.state_path().parent.mkdir(parents=True, exist_ok=True)
    # Not even root can put a file in the place of a folder.
    world.state_path().mkdir()
    client.teach(SECOND, 0.9, 0)
    assert not client.trigger('save_state').success
    client.wait_for_status(ERROR, 'cannot be saved', str(world.state_path()))
    world.state_path().rmdir()
    assert client.trigger('save_state').success
    client.wait_for_status(OK)


def test_warn_from_min_samples_on_when_badly_calibrated(world: World):
    client = world.connected({'ece.min_samples': 20, 'ece.warn': 0.3, 'learning': False})[1]
    for i in range(1, 20):
        client.teach(i * SECOND, 0.9, 0)
    assert client.next_status().level == OK
    client.teach(20 * SECOND, 0.9, 0)
    client.wait_for_status(WARN, 'ECE 0.900 is above ece.warn 0.3')


def test_ok_when_well_calibrated(world: World):
    client = world.connected({'ece.min_samples': 10, 'learning': False})[1]
    for i in range(1, 21):
        client.teach(i * SECOND, 0.9, 0 if i % 10 == 0 else 1)
    assert client.next_status().level == OK
    assert client.figures()['ECE'] == '0.000000'


@pytest.mark.parametrize(('offset', 'side'), [(1, 'after'), (-1, 'before')])
def test_labels_that_never_match_are_reported_with_their_distance(world: World, offset, side):
    _, client = world.connected()
    # Predictions every four seconds, labels a second off.
    for i in range(5, 20):
        client.ask(4 * i * SECOND, 0.5)
        if i < 18:
            client.label((4 * i + offset) * SECOND, 1)
    client.wait_for_status(WARN, 'none matched', f'1.000 s {side} the nearest prediction')
    assert client.figure('updates') == 0


# Figures


def test_figures_are_those_of_the_core_and_come_with_the_first_match(world: World):
    client = world.connected({'ece.period': 0.02, 'ece.bins': 4})[1]
    client.ask(SECOND, 0.9)
    client.next_status()
    assert not client.ece
    assert not client.raw_ece
    assert not client.reliability
    assert client.figures()['ECE'] == 'no match yet'
    samples = [(0.9, 0), (0.8, 1), (0.85, 0), (0.1, 1), (0.2, 0), (0.55, 1), (1.0, 0)]
    published = [client.teach((i + 2) * SECOND, *sample) for i, sample in enumerate(samples)]
    raw, labels = zip(*samples, strict=True)
    for heard, p in ((client.raw_ece, raw), (client.ece, published)):
        client.wait_for_last(heard, pytest.approx(metrics.ece(p, labels, bins=4), abs=1e-12))
    # Counts of two diagrams; what is published before the last match holds fewer.
    client.spin_until(
        lambda: client.reliability and sum(client.reliability[-1].data[::3]) == 2 * len(samples),
        'diagrams of all samples',
    )
    message = client.reliability[-1]
    assert [dim.size for dim in message.layout.dim] == [2, 4, 3]
    assert [dim.stride for dim in message.layout.dim] == [24, 12, 3]
    assert [dim.label for dim in message.layout.dim] == [
        'raw,calibrated',
        'bin',
        'count,mean_probability,frequency',
    ]
    expected = []
    for p in (raw, published):
        diagram = metrics.reliability(p, labels, bins=4)
        for row in zip(diagram.count, diagram.mean, diagram.frequency, strict=True):
            expected += row
    assert list(message.data) == pytest.approx(expected, abs=1e-12, nan_ok=True)

    figures = client.figures()
    assert float(figures['ECE']) == pytest.approx(client.ece[-1], abs=1e-6)
    assert float(figures['raw ECE']) == pytest.approx(client.raw_ece[-1], abs=1e-6)
    assert float(figures['raw Brier score']) == pytest.approx(metrics.brier(raw, labels), abs=1e-6)
    assert float(figures['log-loss (clip 0.001)']) == pytest.approx(
        metrics.log_loss(published, labels), abs=1e-6
    )
    assert not any(math.isnan(value) for value in client.ece)


def test_predictions_of_one_stamp_are_warned_of_once(world: World):
    node, client = world.connected()
    for _ in range(3):
        client.ask(5 * SECOND, 0.5)
    client.wait_for_figure('predictions of a stamp already waiting', 2)
    node.wait_for('share a stamp')
    assert len([line for line in node.lines if 'share a stamp' in line]) == 1
