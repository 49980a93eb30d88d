# SPDX-License-Identifier: Apache-2.0
"""Messages of other packages, as detectors, trackers and radios send them, over the middleware."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from rclpy.serialization import deserialize_message, serialize_message

from calib_node.ros.messages import InstalledMessages

from .harness import World, pipeline
from .interfaces import interfaces
from .typed import Typed

UUID = bytes(range(240, 256))
STAMP = {'sec': 12, 'nanosec': 34}


def header(at: Any, **stamp: int) -> Any:
    """Return the message with a stamp in its header, or at its root."""
    time = at.header.stamp if hasattr(at, 'header') else at.stamp
    time.sec, time.nanosec = (stamp or STAMP).values()
    return at


def hypothesis(name: str, score: float) -> Any:
    vision, _ = interfaces()
    return vision.ObjectHypothesis(class_id=name, score=score)


def detections(dimensions: int, *scores: float) -> Any:
    """Return a Detection2DArray or Detection3DArray of two hypotheses each."""
    vision, _ = interfaces()
    kind = getattr(vision, f'Detection{dimensions}D')
    array = header(getattr(vision, f'Detection{dimensions}DArray')())
    for number, score in enumerate(scores):
        detection = header(kind(id=str(number)))
        for name, value in (('person', score), ('car', 1.0 - score)):
            result = vision.ObjectHypothesisWithPose(hypothesis=hypothesis(name, value))
            result.pose.pose.position.x = 3.0
            detection.results.append(result)
        if dimensions == 2:
            detection.bbox.center.position.y, detection.bbox.size_x = 5.0, 7.0
        else:
            detection.bbox.center.position.y, detection.bbox.size.z = 5.0, 7.0
        array.detections.append(detection)
    return array


def classification() -> Any:
    vision, _ = interfaces()
    results = [hypothesis('wall', 0.75), hypothesis('ground', 0.25)]
    return header(vision.Classification(results=results))


def tracked_objects() -> Any:
    _, shapes = interfaces()
    person = shapes.Candidate(label=shapes.Candidate.PEDESTRIAN, probability=0.75)
    one = shapes.TrackedObject(existence_probability=0.5, classification=[person])
    one.uuid[:] = list(UUID)
    return header(shapes.TrackedObjects(objects=[one]))


def traffic_lights() -> Any:
    _, shapes = interfaces()
    red = shapes.LightElement(color=shapes.LightElement.RED, confidence=0.75)
    return header(shapes.TrafficLights(groups=[shapes.LightGroup(id=2**40, elements=[red])]))


def named_detections() -> Any:
    _, shapes = interfaces()
    one = shapes.NamedDetection(class_id=3, class_name='dog', score=0.75, id='7')
    one.corners[:] = [1.0, 2.0, 3.0, 4.0]
    return header(shapes.NamedDetections(detections=[one]))


def balls() -> Any:
    _, shapes = interfaces()
    ball = shapes.Ball(confidence=shapes.Confidence(confidence=0.75))
    ball.center.x = 3.0
    return header(shapes.Balls(balls=[ball]))


def joints() -> Any:
    _, shapes = interfaces()
    return header(shapes.Joints(name=['elbow', 'wrist'], position=[0.75, 0.5]))


def tracks() -> Any:
    _, shapes = interfaces()
    return header(shapes.Tracks(tracks=[shapes.Track(source='left', id=-1, confidence=0.75)]))


# What the node does today: one number by its path.
PREDICTIONS = {
    'Detection2DArray': (
        lambda: detections(2, 0.75, 0.5),
        'detections[0].results[0].hypothesis.score',
    ),
    'Detection3DArray': (
        lambda: detections(3, 0.75, 0.5),
        'detections[0].results[0].hypothesis.score',
    ),
    'Detection2D': (
        lambda: detections(2, 0.75).detections[0],
        'results[0].hypothesis.score',
    ),
    'Classification': (classification, 'results[0].score'),
    'TrackedObjects': (tracked_objects, 'objects[0].classification[0].probability'),
    'TrafficLights': (traffic_lights, 'groups[0].elements[0].confidence'),
    'NamedDetections': (named_detections, 'detections[0].score'),
    'Balls': (balls, 'balls[0].confidence.confidence'),
    'Joints': (joints, 'position[0]'),
    'Tracks': (tracks, 'tracks[0].confidence'),
}


def put(message: Any, path: str, value: float) -> None:
    """Put a number where a path leads that has no index but 0."""
    *steps, last = path.replace('[0]', '.0').split('.')
    for step in steps:
        message = message[0] if step == '0' else getattr(message, step)
    if last == '0':
        message[0] = value
    else:
        setattr(message, last, value)


@pytest.mark.parametrize('name', PREDICTIONS)
def test_a_value_is_calibrated_and_all_else_comes_back_as_it_was(world: World, name: str):
    make, path = PREDICTIONS[name]
    expected = make()
    stamp_field = '' if hasattr(expected, 'header') else 'stamp'
    paths = {'raw.value_field': path, 'raw.stamp_field': stamp_field}
    # The clip makes the first answer another number than what came in.
    talk = Typed(world, type(expected), parameters={**paths, 'clip': 0.375})
    calibrated = pipeline(clip=0.375).calibrator.predict(0.75)
    assert calibrated == pytest.approx(0.625)
    put(expected, path, calibrated)
    # Single precision rounds on the way.
    expected = deserialize_message(serialize_message(expected), type(expected))
    assert talk.answered(make()) == expected


def test_an_outcome_by_number_is_a_label(world: World):
    _, shapes = interfaces()
    talk = Typed(
        world,
        shapes.Tracks,
        shapes.TrackOutcome,
        {
            'raw.value_field': 'tracks[0].confidence',
            'label.value_field': 'outcome',
            'positive_class': str(shapes.TrackOutcome.SUCCESS),
        },
    )
    seconds = iter(range(1, 10_000))

    def both() -> tuple[Any, Any]:
        stamp = {'sec': next(seconds), 'nanosec': 0}
        outcome = shapes.TrackOutcome(outcome=shapes.TrackOutcome.SUCCESS)
        return header(tracks(), **stamp), header(outcome, **stamp)

    def send() -> bool:
        prediction, label = both()
        talk.raw.publish(prediction)
        talk.labels.publish(label)
        return talk.learned()

    talk.client.spin_until(send, 'what was learned')


def test_every_kind_of_field_goes_through_the_middleware(world: World):
    _, shapes = interfaces()
    kind = shapes.Everything
    sent = kind(
        flag=True,
        octet=b'\xfe',
        letter=200,
        single=0.5,
        tiny=-128,
        port=65_535,
        text='naïve ✓',
        half=-32_768,
        wide='wïde',
        count=2**32 - 1,
        name='8 letter',
        large=-(2**63),
        small=255,
        huge=2**64 - 1,
        number=-(2**31),
        flags=[True, False, True],
        octets=[b'\x01'],
        switches=[True, False, True],
        bounded=[0.25, 0.5],
        doubles=[0.1, 0.2, 0.3],
        numbers=[1, 2**64 - 1],
        texts=['', 'a', 'bc'],
        two_texts=['d', ''],
        names=['e'],
        wides=['f', 'ghi'],
        nothings=[shapes.Nothing()] * 3,
        candidate=shapes.Candidate(label=7, probability=0.5),
        few=[shapes.NamedDetection(class_name='odd')],
        detections=named_detections().detections * 2,
        odd=3,
        score=0.75,
    )
    talk = Typed(world, kind, parameters={'raw.value_field': 'score', 'raw.stamping': 'arrival'})
    answer = talk.answered(sent)
    assert answer.score == pipeline().calibrator.predict(0.75)
    answer.score = sent.score
    assert answer == sent


def test_ids_of_sixteen_bytes_and_two_integers_for_a_stamp_are_as_they_were_sent():
    _, shapes = interfaces()
    back = deserialize_message(serialize_message(tracked_objects()), shapes.TrackedObjects)
    assert bytes(back.objects[0].uuid) == UUID
    ranges = shapes.Ranges(anchor=[1], range_ok=['True'], rx_pwr=[-80.0])
    ranges.stamp[:] = [12, 34]
    data = serialize_message(ranges)
    assert struct.unpack_from('<2q', data, 4) == (12, 34)
    assert deserialize_message(data, shapes.Ranges) == ranges


def test_the_definitions_are_those_of_the_packages():
    """As vision_msgs 4 has them, which the presets go by."""
    interfaces()
    fields = InstalledMessages().fields
    assert dict(fields('vision_msgs/msg/Detection2D')) == {
        'header': 'std_msgs/Header',
        'results': 'sequence<vision_msgs/ObjectHypothesisWithPose>',
        'bbox': 'vision_msgs/BoundingBox2D',
        'id': 'string',
    }
    assert dict(fields('vision_msgs/msg/BoundingBox2D')) == {
        'center': 'vision_msgs/Pose2D',
        'size_x': 'double',
        'size_y': 'double',
    }
    assert dict(fields('vision_msgs/msg/ObjectHypothesis')) == {
        'class_id': 'string',
        'score': 'double',
    }
