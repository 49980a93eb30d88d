# SPDX-License-Identifier: Apache-2.0
"""The node among others: names, types and QoS."""

from __future__ import annotations

from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64, Float64MultiArray, String

from calib_node.ros.topics import LABELS, NAMES, RAW, RELIABILITY

from .harness import EXECUTORS, SECOND, Client, World, pipeline

OK, WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN


# Names


TARGETS = {
    'raw_probabilities': '/detector/door',
    'labels': 'truth/door',
    'calibrated_probabilities': 'door/honest',
    'ece': 'door/ece',
    'raw_ece': '/door/raw_ece',
    '~/reliability': 'door/diagram',
    '~/alarm': 'door/alarm',
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
