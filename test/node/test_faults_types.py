# SPDX-License-Identifier: Apache-2.0
"""Messages of other types that hold nothing to learn from, or nothing at all."""

from __future__ import annotations

from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, Pose, PoseArray
from rclpy.serialization import serialize_message
from std_msgs.msg import Float32, String

from .harness import EXECUTORS, World
from .statuses import read, refused
from .typed import Typed

WARN, ERROR = DiagnosticStatus.WARN, DiagnosticStatus.ERROR
ARRIVAL = {'raw.stamping': 'arrival', 'label.stamping': 'arrival'}
ENOUGH = 20
"""So many messages say something about all that come."""


def last(talk: Typed, things: str) -> int:
    """Return how many of the messages of an input the last status looks at."""
    return min(talk.figure(things), 100)


def test_names_without_a_positive_class(world: World):
    talk = Typed(world, Float32, String, ARRIVAL)
    for name in ('car', ''):
        why = f"the field holds no number ({name!r}); set positive_class to the name that counts"
        # A name sent before may still be under way.
        talk.send_until(
            lambda why=why: talk.client.statuses and why in talk.client.status.message,
            Float32(data=0.5),
            String(data=name),
        )
        number = last(talk, 'labels')
        level = ERROR if number == 100 else WARN
        read(talk.client.status, level, refused(number, number, 'labels', why))
    assert talk.figure('learned') == 0


def test_a_positive_class_that_is_spelt_otherwise(world: World):
    talk = Typed(world, Float32, String, {**ARRIVAL, 'positive_class': 'Car'})
    number = Float32(data=0.9)
    talk.send_until(lambda: talk.figure('labels') >= ENOUGH, number, String(data='car'))
    read(
        talk.client.status,
        WARN,
        f'none of the last {last(talk, "labels")} labels is the positive_class \'Car\', so each '
        "counts as 0; there is 'car': set positive_class to the name as it is published",
    )
    talk.send_until(lambda: talk.figure('refused: empty_name') > 0, number, String(data=''))
    why = 'the name of the class is empty; publish the name of the class, or no label'
    empty = talk.figure('refused: empty_name')
    read(talk.client.status, WARN, refused(empty, last(talk, 'labels'), 'labels', why))
    # Once it was there a rare class is no fault.
    talk.send_until(
        lambda: 'positive_class' not in talk.client.status.message, number, String(data='Car')
    )


def test_paths_that_lead_beyond_an_array_and_then_somewhere(world: World):
    paths = {
        'raw.value_field': 'poses[0].position.x',
        'label.value_field': 'status[0].values[0].value',
    }
    talk = Typed(world, PoseArray, DiagnosticArray, paths)
    assert talk.answered(PoseArray()) == PoseArray()
    talk.send_until(
        lambda: min(talk.figure('predictions'), talk.figure('labels')) >= ENOUGH,
        PoseArray(),
        # Empty below an element that is there.
        DiagnosticArray(status=[DiagnosticStatus()]),
    )
    sentences = [
        f'{side}.value_field {paths[f"{side}.value_field"]!r} led to nothing in all of the last '
        f'{last(talk, things)} {things}: the array is empty or shorter; set it to an element that '
        'is there'
        for side, things in (('raw', 'predictions'), ('label', 'labels'))
    ]
    read(talk.client.status, WARN, '; '.join(sentences))
    assert all(message == PoseArray() for message in talk.heard)

    poses, truth = PoseArray(poses=[Pose()]), DiagnosticArray()
    poses.header.stamp.sec = truth.header.stamp.sec = 7
    poses.poses[0].position.x = 0.8
    truth.status = [DiagnosticStatus(values=[KeyValue(value='False')])]
    talk.send_until(talk.learned, poses, truth)
    # The last of the empty ones may be under way.
    talk.send_until(lambda: any(pose.position.x < 0.8 for pose in talk.heard[-1].poses), poses)
    talk.send_until(lambda: 'led to nothing' not in talk.client.status.message, poses, truth)


def wrong_bytes(message: Any) -> list[bytes]:
    """Return bytes that are not the message."""
    whole = serialize_message(message)
    start = whole[:4]
    return [
        *(whole[:length] for length in range(4, len(whole), 4)),
        start + b'\xff' * 60,
        start + b'\xff\xff\xff\x7f' + bytes(40),
        b'\x00\x07\xff\xff' + whole[4:],
        b'\xff' * 64,
        start + (4).to_bytes(4, 'little') + b'\xff\xfe\xfd\x00',
    ]


@pytest.mark.parametrize('executor', EXECUTORS)
def test_bytes_of_another_message_end_nothing(world: World, executor):
    parameters = {'raw.value_field': 'point.x', 'positive_class': 'car', 'executor': executor}
    talk = Typed(world, PointStamped, String, {**parameters, 'label.stamping': 'arrival'})
    good = PointStamped()
    good.point.x = 0.8
    talk.answered(good)
    talk.send_until(lambda: talk.figure('labels'), good, String(data='car'))
    for publisher, message in ((talk.raw, good), (talk.labels, String(data='car'))):
        for data in wrong_bytes(message):
            publisher.publish(data)
    heard, labels = len(talk.heard), talk.figure('labels')
    # The middleware drops what it cannot read; what comes after it is heard.
    talk.send_until(
        lambda: len(talk.heard) > heard + 50 and talk.figure('labels') > labels + 50,
        good,
        String(data='car'),
    )
    talk.process.stop()
