# SPDX-License-Identifier: Apache-2.0
"""Any message type, by the paths of its fields."""

from __future__ import annotations

from typing import Any

import pytest
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import PointStamped, Pose, PoseArray
from std_msgs.msg import Bool, Float32, Float64, String

from calib_node.core.refusal import Refused
from calib_node.ros.fields import check_path, make_codec, parse_path
from calib_node.stream.table import TABLE

from .harness import SECOND, World, pipeline

DEFAULTS = {spec.name: spec.default for spec in TABLE}


def codec(side: str, **settings: Any) -> Any:
    given = {f'{side}.{key}': value for key, value in settings.items() if key != 'positive_class'}
    others = {'positive_class': settings.get('positive_class', '')}
    return make_codec({**DEFAULTS, **given, **others}, side)


@pytest.mark.parametrize(
    ('path', 'steps'),
    [
        ('data', ['data']),
        ('header.stamp', ['header', 'stamp']),
        ('results[2].hypothesis.score', ['results', 2, 'hypothesis', 'score']),
        ('data[0][1]', ['data', 0, 1]),
    ],
)
def test_a_path_is_its_steps(path, steps):
    assert parse_path(path) == steps


@pytest.mark.parametrize('path', ['', '.data', 'data.', 'data[x]', '[0]', 'a..b', 'a b', 'a[0'])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match='not a field path'):
        parse_path(path)


@pytest.mark.parametrize(
    ('path', 'words'),
    [
        ('pint.x', "no field 'pint', did you mean 'point'"),
        ('point.w', 'fields here: x, y, z'),
        ('point.x.y', "no field 'y'"),
        ('point[0]', 'index where there is no array'),
    ],
)
def test_a_path_that_leads_nowhere_is_named_with_what_there_is(path, words):
    with pytest.raises(ValueError, match=words.replace('[', r'\[')) as caught:
        check_path(PointStamped, path, 'raw.value_field')
    assert str(caught.value).startswith('raw.value_field: ')


def test_a_header_gives_the_stamp_and_only_the_value_is_replaced():
    reader = codec('raw', type='geometry_msgs/msg/PointStamped', value_field='point.x')
    message = PointStamped()
    message.header.stamp.sec, message.header.stamp.nanosec = 12, 34
    message.header.frame_id, message.point.x, message.point.y = 'map', 0.25, 7.0
    stamp, value, carrier = reader.decode(message)
    assert (stamp, value) == (12 * SECOND + 34, 0.25)
    sent = reader.encode(carrier, 0.75)
    assert (sent.header.frame_id, sent.point.x, sent.point.y) == ('map', 0.75, 7.0)


def test_a_place_in_an_array_is_replaced_and_an_empty_array_is_no_opinion():
    reader = codec('raw', type='geometry_msgs/msg/PoseArray', value_field='poses[1].position.z')
    message = PoseArray(poses=[Pose(), Pose()])
    message.poses[1].position.z = 0.5
    _, value, carrier = reader.decode(message)
    assert value == 0.5
    assert reader.encode(carrier, 0.125).poses[1].position.z == 0.125
    assert reader.decode(PoseArray())[:2] == (0, None)


@pytest.mark.parametrize('kind', [Float32, Float64])
def test_the_one_field_of_a_plain_number_needs_no_path(kind):
    reader = codec('raw', type=f'std_msgs/msg/{kind.__name__}', stamping='arrival')
    assert reader.decode(kind(data=0.5))[:2] == (0, 0.5)


@pytest.mark.parametrize(('value', 'expected'), [(True, 1.0), (False, 0.0)])
def test_a_bool_is_a_label(value, expected):
    reader = codec('label', type='std_msgs/msg/Bool', stamping='arrival')
    assert reader.decode(Bool(data=value))[1] == expected


def test_a_name_is_a_label_by_the_positive_class():
    settings = {'type': 'std_msgs/msg/String', 'value_field': 'data', 'stamping': 'arrival'}
    reader = codec('label', positive_class='ground', **settings)
    assert reader.decode(String(data='ground'))[1] == 1.0
    assert reader.decode(String(data='wall'))[1] == 0.0
    with pytest.raises(Refused, match='holds no number'):
        codec('label', **settings).decode(String(data='ground'))


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        ({'type': 'nowhere_msgs/msg/Thing'}, 'no message type'),
        ({'type': 'Float64'}, 'no message type'),
        ({'type': 'std_msgs/msg/Float64'}, 'raw.stamping to publication or arrival'),
        ({'type': 'geometry_msgs/msg/PointStamped'}, 'raw.value_field must name the field'),
        (
            {
                'type': 'geometry_msgs/msg/PointStamped',
                'value_field': 'point.x',
                'stamp_field': 'point',
            },
            'not a builtin_interfaces/Time',
        ),
        (
            {'type': 'std_msgs/msg/Bool', 'stamping': 'arrival'},
            'does not hold a floating point number',
        ),
    ],
)
def test_what_cannot_be_configured_says_what_to_set(settings, words):
    with pytest.raises(ValueError, match=words):
        codec('raw', **settings)


def test_a_type_without_a_stamp_ends_the_start_with_a_sentence(world: World):
    sentence = world.refused({'raw.type': 'std_msgs/msg/Float32'})
    assert 'raw.stamping to publication or arrival' in sentence


def test_a_header_and_a_named_class_over_dds(world: World):
    client = world.client()
    world.start(
        {
            'raw.type': 'geometry_msgs/msg/PointStamped',
            'raw.value_field': 'point.x',
            'label.type': 'diagnostic_msgs/msg/KeyValue',
            'label.value_field': 'value',
            'label.stamping': 'arrival',
            'positive_class': 'ground',
            'match.tolerance': 0.5,
        },
        remaps={
            'raw_probabilities': 'points',
            'labels': 'names',
            'calibrated_probabilities': 'out',
        },
    )
    heard: list[PointStamped] = []
    client.node.create_subscription(PointStamped, 'out', heard.append, 10)
    points = client.node.create_publisher(PointStamped, 'points', 10)
    names = client.node.create_publisher(KeyValue, 'names', 10)

    def send(p: float) -> None:
        message = PointStamped()
        message.header.stamp = client.node.get_clock().now().to_msg()
        message.point.x, message.point.y = p, 3.0
        points.publish(message)
        names.publish(KeyValue(key='patch', value='wall'))

    client.spin_until(lambda: send(0.8) or heard, 'a calibrated point')
    assert (heard[0].point.x, heard[0].point.y) == (pipeline().calibrator.predict(0.8), 3.0)
    # They go on until a prediction is past a label by the tolerance.
    client.spin_until(
        lambda: send(0.8) or (client.statuses and client.figures()['learned'] != '0'),
        'a label learned',
    )


def test_a_stamp_of_publication_runs_on_the_single_threaded_executor(world: World):
    client = world.client()
    world.start(
        {
            'raw.type': 'std_msgs/msg/Float32',
            'raw.stamping': 'publication',
            'label.type': 'std_msgs/msg/Bool',
            'label.stamping': 'publication',
            'match.tolerance': 0.5,
        },
        remaps={
            'raw_probabilities': 'number',
            'labels': 'truth',
            'calibrated_probabilities': 'out',
        },
    )
    heard: list[float] = []
    client.node.create_subscription(Float32, 'out', lambda m: heard.append(m.data), 10)
    numbers = client.node.create_publisher(Float32, 'number', 10)
    truths = client.node.create_publisher(Bool, 'truth', 10)

    def send() -> None:
        numbers.publish(Float32(data=0.5))
        truths.publish(Bool(data=True))

    client.spin_until(lambda: send() or heard, 'a calibrated number')
    # They go on until a prediction is past a label by the tolerance.
    client.spin_until(
        lambda: send() or (client.statuses and client.figures()['learned'] != '0'),
        'a label learned',
    )
