# SPDX-License-Identifier: Apache-2.0
"""Values and stamps by their field paths, in messages of the types that are installed."""

from __future__ import annotations

from array import array as typed_array
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import PointStamped, Pose, PoseArray, PoseWithCovarianceStamped
from std_msgs.msg import Bool, Byte, Float32, Float32MultiArray, Float64, Int32, String

from calib_node.core.calibrators import create_multiclass
from calib_node.core.refusal import Refused
from calib_node.ros.messages import InstalledMessages
from calib_node.stream.codecs import label_codec, prediction_codec
from calib_node.stream.labels import LabelReader
from calib_node.stream.settings import Settings

from .harness import SECOND, World, array, pipeline
from .typed import Typed

MESSAGES = InstalledMessages()
ARRIVAL = {'raw.stamping': 'arrival', 'label.stamping': 'arrival', 'match.tolerance': 0.5}


def codec(side: str, classes: int = 1, **given: Any) -> Any:
    settings = Settings.from_mapping({side: given, 'classes': classes})
    if side == 'raw':
        return prediction_codec(MESSAGES, settings)
    return label_codec(MESSAGES, settings, LabelReader(''))


# Messages as they are


@pytest.mark.parametrize('name', ['nowhere_msgs/msg/Thing', 'std_msgs/msg/Thing', 'Float64', ''])
def test_a_type_that_is_not_installed_is_named(name):
    with pytest.raises(ValueError, match=f'no message type {name!r} here'):
        MESSAGES.fields(name)


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


@pytest.mark.parametrize(
    ('message', 'expected'),
    [
        (Bool(data=True), 1.0),
        (Bool(data=False), 0.0),
        (Byte(data=b'\x01'), 1.0),
        (Byte(data=b'\x00'), 0.0),
        (String(data='True'), 1.0),
        (String(data='false'), 0.0),
    ],
)
def test_truth_values_bytes_and_their_texts_are_labels(message, expected):
    reader = codec('label', type=f'std_msgs/msg/{type(message).__name__}', stamping='arrival')
    assert reader.decode(message)[1] == expected


SCORES = {'type': 'std_msgs/msg/Float32MultiArray', 'value_field': 'data', 'stamping': 'arrival'}


def test_an_array_of_single_precision_is_read_and_stays_one():
    reader = codec('raw', classes=3, **SCORES)
    message = Float32MultiArray(data=[0.5, 0.3, 0.2])
    message.layout.data_offset = 4
    stamp, values, carrier = reader.decode(message)
    assert (stamp, values.dtype) == (0, np.float64)
    sent = reader.encode(carrier, np.array([0.7, 0.2, 0.1]))
    assert (sent.data.typecode, sent.layout.data_offset) == ('f', 4)
    assert sent.data == typed_array('f', [0.7, 0.2, 0.1])
    # What came in is learned and scored later, and must not change by what went out.
    assert values.tolist() == typed_array('f', [0.5, 0.3, 0.2]).tolist()
    assert reader.decode(Float32MultiArray())[:2] == (0, None)


def test_an_array_of_double_precision_is_written_bit_for_bit():
    reader = codec('raw', classes=3, **{**SCORES, 'type': 'std_msgs/msg/Float64MultiArray'})
    thirds = np.full(3, 1.0 / 3.0)
    sent = reader.encode(reader.decode(array([0.7, 0.2, 0.1]))[2], thirds)
    assert sent.data == typed_array('d', thirds)


def test_an_array_of_fixed_size_keeps_its_type():
    path = {'type': 'geometry_msgs/msg/PoseWithCovarianceStamped', 'value_field': 'pose.covariance'}
    reader = codec('raw', classes=36, **path)
    message = PoseWithCovarianceStamped()
    message.header.stamp.sec, message.header.frame_id = 5, 'map'
    message.pose.covariance[0] = 1.0
    stamp, values, carrier = reader.decode(message)
    assert (stamp, values.tolist()) == (5 * SECOND, [1.0] + [0.0] * 35)
    sent = reader.encode(carrier, np.full(36, 1.0 / 36.0))
    assert isinstance(sent.pose.covariance, np.ndarray)
    assert sent.pose.covariance.tolist() == [1.0 / 36.0] * 36
    assert (sent.header.frame_id, values[0]) == ('map', 1.0)
    with pytest.raises(ValueError, match=r"'pose.covariance' holds 36 numbers, not 3"):
        codec('raw', classes=3, **path)


def test_a_stamp_beyond_its_array_is_refused():
    # Of goals, of which there may be none.
    goals = 'action_msgs/msg/GoalStatusArray'
    reader = codec(
        'label',
        type=goals,
        value_field='status_list[0].status',
        stamp_field='status_list[0].goal_info.stamp',
    )
    with pytest.raises(Refused, match='its path leads beyond an array') as refusal:
        reader.decode(MESSAGES.deserializer(goals)(b'\x00\x01\x00\x00' + bytes(4)))
    assert refusal.value.reason == 'bad_stamp'


# At the start

POSES = {'raw.type': 'geometry_msgs/msg/PoseArray'}
STATUS = {'raw.type': 'diagnostic_msgs/msg/DiagnosticArray'}


@pytest.mark.parametrize(
    ('parameters', 'sentence'),
    [
        (
            {'raw.type': 'nowhere_msgs/msg/Thing'},
            "there is no message type 'nowhere_msgs/msg/Thing' here; types are written "
            'package/msg/Type, and their package must be installed and sourced',
        ),
        (
            {'raw.type': 'std_msgs/msg/Float32'},
            'std_msgs/msg/Float32 has no header: set raw.stamp_field to the field that holds its '
            'stamp, or raw.stamping to publication or arrival',
        ),
        (
            {**POSES},
            'raw.value_field must name the field of geometry_msgs/msg/PoseArray that holds the '
            'value (its fields: header, poses)',
        ),
        (
            {**POSES, 'raw.value_field': 'poses[0].x'},
            "raw.value_field: 'poses[0].x' has no field 'x' (fields here: position, orientation)",
        ),
        (
            {**POSES, 'raw.value_field': 'poses[0].positon.x'},
            "raw.value_field: 'poses[0].positon.x' has no field 'positon', did you mean "
            "'position'? (fields here: position, orientation)",
        ),
        (
            {**STATUS, 'raw.value_field': 'status[0].message'},
            "raw.value_field: 'status[0].message' does not hold a floating point number but "
            'string, so a probability cannot be written back',
        ),
        (
            {**STATUS, 'raw.value_field': 'status[0].level'},
            "raw.value_field: 'status[0].level' does not hold a floating point number but octet, "
            'so a probability cannot be written back',
        ),
        (
            {
                'raw.type': 'std_msgs/msg/Float64MultiArray',
                'raw.value_field': 'layout.dim[0].size',
                'raw.stamping': 'arrival',
            },
            "raw.value_field: 'layout.dim[0].size' does not hold a floating point number but "
            'uint32, so a probability cannot be written back: set raw.scale to the numbers that '
            'mean 0 and 1, such as [0.0, 100.0]',
        ),
        (
            {
                **POSES,
                'raw.value_field': 'poses[0].position.x',
                'raw.stamp_field': 'poses[0].position',
            },
            "raw.stamp_field: 'poses[0].position' is not a builtin_interfaces/Time nor "
            '[sec, nanosec], but geometry_msgs/Point',
        ),
        (
            {'label.type': 'diagnostic_msgs/msg/DiagnosticArray', 'label.value_field': 'status'},
            "label.value_field: 'status' holds diagnostic_msgs/DiagnosticStatus[], and a label is "
            'a number, a truth value or a name',
        ),
    ],
)
def test_what_cannot_be_read_ends_the_start_with_a_sentence(world: World, parameters, sentence):
    assert world.refused(parameters).endswith(f'cannot start: {sentence}')


# Over the middleware


def test_a_header_and_a_named_class(world: World):
    talk = Typed(
        world,
        PointStamped,
        KeyValue,
        {
            'raw.value_field': 'point.x',
            'label.value_field': 'value',
            'label.stamping': 'arrival',
            'positive_class': 'ground',
            'match.tolerance': 0.5,
        },
    )

    def point() -> PointStamped:
        message = PointStamped()
        message.header.stamp = talk.client.node.get_clock().now().to_msg()
        message.point.x, message.point.y = 0.8, 3.0
        return message

    answer = talk.answered(point).point
    assert (answer.x, answer.y) == (pipeline().calibrator.predict(0.8), 3.0)
    # They go on until a prediction is past a label by the tolerance.
    talk.send_until(talk.learned, point, KeyValue(key='patch', value='wall'))
    talk.send_until(lambda: talk.heard[-1].point.x < 0.79, point)


def test_stamps_of_publication_run_on_the_single_threaded_executor(world: World):
    stamping = {'raw.stamping': 'publication', 'label.stamping': 'publication'}
    talk = Typed(world, Float32, Bool, {**stamping, 'match.tolerance': 0.5})
    assert talk.process.wait_for('executor=single is used')
    assert talk.answered(Float32(data=0.5)) == Float32(data=0.5)
    talk.send_until(talk.learned, Float32(data=0.5), Bool(data=True))
    talk.send_until(lambda: talk.heard[-1].data > 0.5, Float32(data=0.5))


@pytest.mark.parametrize(
    ('label', 'rises'),
    [
        (Byte(data=b'\x01'), True),
        (Byte(data=b'\x00'), False),
        (String(data='True'), True),
        (String(data='False'), False),
    ],
)
def test_bytes_and_texts_of_truth_values_are_learned(world: World, label, rises):
    talk = Typed(world, Float32, type(label), ARRIVAL)
    assert talk.answered(Float32(data=0.5)) == Float32(data=0.5)
    talk.send_until(talk.learned, Float32(data=0.5), label)
    talk.send_until(lambda: talk.heard[-1].data != 0.5, Float32(data=0.5))
    assert (talk.heard[-1].data > 0.5) is rises


def test_scores_in_an_array_and_the_index_of_the_class(world: World):
    several = {'classes': 3, 'raw.value_field': 'data'}
    talk = Typed(world, Float32MultiArray, Int32, {**ARRIVAL, **several})
    p = typed_array('f', [0.7, 0.2, 0.1])
    answer = talk.answered(Float32MultiArray(data=p)).data
    expected = create_multiclass('ops', 3).predict(np.array(p, np.float64))
    assert answer == typed_array('f', expected)
    talk.send_until(talk.learned, Float32MultiArray(data=p), Int32(data=2))
    talk.send_until(lambda: talk.heard[-1].data[2] > p[2], Float32MultiArray(data=p))
