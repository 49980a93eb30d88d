# SPDX-License-Identifier: Apache-2.0
"""Detections over the middleware are calibrated as the core alone does, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import count
from typing import Any

import numpy as np
import pytest
from stream.plain_cdr import serialize

from calib_node.core.calibrators import create
from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.matching import create_matcher
from calib_node.core.matching.assignment import Assignment
from calib_node.core.samples import Frame, LabelFrame
from calib_node.ros.messages import InstalledMessages

from .harness import EXECUTORS, SECOND, World
from .interfaces import interfaces
from .typed import Typed

PRESET = 'vision_msgs/Detection2DArray'
MS = 1_000_000
CLASSES = ('car', 'bus', 'dog')
SECONDS = count(1)


def as_they_are(message: Any) -> Any:
    """Return a message that is published as an object, so that the node reads its bytes."""
    return message


def big_endian(message: Any) -> bytes:
    """Return the bytes of a machine that no walk is written for: the node reads an object."""
    kind = type(message)
    name = f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
    return serialize(InstalledMessages(), name, message, order='>')


READINGS = [as_they_are, big_endian]


def detections(stamp: int, rng: np.random.Generator, number: int, truth: bool = False) -> Any:
    """Return detections of three results each, or of the true class alone."""
    vision, _ = interfaces()
    array = vision.Detection2DArray()
    array.header.frame_id = 'camera'
    array.header.stamp.sec, array.header.stamp.nanosec = divmod(stamp, SECOND)
    for place in rng.permutation(number).tolist():
        one = vision.Detection2D(id=f'track {place}')
        one.bbox.center.position.x, one.bbox.center.theta = 10.0 * place, 0.5
        one.bbox.size_x, one.bbox.size_y = 8.0, 6.0
        names = rng.permutation(CLASSES)[: 1 if truth else 3].tolist()
        for name, score in zip(names, rng.uniform(size=3).tolist()):
            result = vision.ObjectHypothesisWithPose()
            result.hypothesis.class_id, result.hypothesis.score = name, 1.0 if truth else score
            result.pose.pose.position.z, result.pose.covariance[35] = score, 7.0
            one.results.append(result)
        array.detections.append(one)
    return array


def rows(message: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the hypotheses, and what the core is told of each."""
    found, names, places = [], [], []
    for one in message.detections:
        x, y = one.bbox.center.position.x, one.bbox.center.position.y
        for result in one.results:
            found.append(result.hypothesis)
            names.append(result.hypothesis.class_id)
            places.append([x - 4.0, y - 3.0, x + 4.0, y + 3.0])
    return found, {'names': names, 'places': np.array(places).reshape(-1, 4)}


def core() -> FramePipeline[Any]:
    matcher = create_matcher('nearest', 10 * MS, 60 * SECOND, SECOND, 10_000, 'iou')
    return FramePipeline(create('ops'), matcher, Assignment('iou'))


def connect(talk: Typed, prediction: Any, label: Any) -> None:
    """Let both sides hear each other, by messages without a stamp, of which nothing is learned."""
    talk.send_until(lambda: talk.heard, prediction)
    talk.send_until(lambda: talk.figure('refused: zero_stamp') > 0, prediction, label)


def answer_to(talk: Typed, message: Any) -> Any:
    """Publish one prediction and return what comes back for it."""

    def mine() -> Any:
        return next((m for m in talk.heard if m.header.stamp == stamp), None)

    talk.raw.publish(message[1])
    stamp = message[0].header.stamp
    return talk.client.spin_until(mine, 'the answer')


@pytest.mark.parametrize('reading', READINGS)
@pytest.mark.parametrize('executor', EXECUTORS)
def test_each_value_is_that_of_the_core_and_all_else_untouched(
    world: World, executor: str, reading: Callable[[Any], Any]
):
    vision, _ = interfaces()
    rng = np.random.default_rng(3)
    kind = vision.Detection2DArray
    talk = Typed(world, kind, kind, {'preset': PRESET, 'executor': executor})
    connect(talk, detections(0, rng, 1), detections(0, rng, 1, truth=True))
    pipeline, changed = core(), 0
    for number in (5, 1, 0, 40, 8):
        stamp = next(SECONDS) * SECOND + 123_456_789
        message, truth = detections(stamp, rng, number), detections(stamp, rng, number, truth=True)
        expected = deepcopy(message)
        found, columns = rows(expected)
        values = np.array([hypothesis.score for hypothesis in found])
        published = pipeline.predict_frame(Frame(stamp, values, **columns)).published
        for hypothesis, value in zip(found, published.tolist(), strict=True):
            changed += hypothesis.score != value
            hypothesis.score = value
        assert answer_to(talk, (message, reading(message))) == expected
        labels, label_columns = rows(truth)
        talk.labels.publish(reading(truth))
        pipeline.label_frame(LabelFrame(stamp, [1.0] * len(labels), **label_columns))
        learned = pipeline.counts.learned
        talk.client.spin_until(lambda n=learned: talk.figure('learned') == n, 'what was learned')
    assert pipeline.counts.learned == 3 * 54
    assert changed > 100
    figures = talk.client.figures()
    assert figures['missed objects'] == str(pipeline.counts.missed)
    assert figures['a'] == repr(pipeline.calibrator.a)


@pytest.mark.parametrize('reading', READINGS)
def test_integers_are_rounded_to_the_nearest_step(world: World, reading: Callable[[Any], Any]):
    _, shapes = interfaces()
    scaled = {'raw.value_field': 'cells[]', 'raw.scale': [0.0, 100.0], 'raw.no_opinion': [-1.0]}
    labels = {
        'label.value_field': 'cells[]',
        'label.positive': ['1'],
        'label.negative': ['0'],
        'label.ignore': ['-1'],
    }
    given = {**scaled, **labels, 'match.objects': 'order'}
    talk = Typed(world, shapes.Scores, shapes.Scores, given)

    def message(stamp: int, *cells: int) -> Any:
        one = shapes.Scores(cells=list(cells), scores=[0, 255], score=7, margin=-3)
        one.header.stamp.sec = stamp
        return one

    connect(talk, message(0, 50), message(0, 1))
    pipeline = FramePipeline(
        create('ops'),
        create_matcher('nearest', 10 * MS, 60 * SECOND, SECOND, 10_000, 'order'),
        Assignment('order'),
    )
    cells = [0, 37, -1, 100, 101, 64, 99, -2]
    values = np.array(cells) / 100.0
    nothing = np.array(cells) == -1
    for _ in range(5):
        second = next(SECONDS)
        sent = message(second, *cells)
        answer = pipeline.predict_frame(Frame(second * SECOND, values, nothing))
        expected = deepcopy(sent)
        for index in np.flatnonzero(answer.calibrated).tolist():
            expected.cells[index] = round(100.0 * answer.published[index])
        assert answer_to(talk, (sent, reading(sent))) == expected
        # Of what is ignored, refused or has no opinion nothing is learned.
        truth = [1, 1, 1, 0, 1, -1, 1, 1]
        talk.labels.publish(reading(message(second, *truth)))
        pipeline.label_frame(
            LabelFrame(second * SECOND, [None if y < 0 else float(y) for y in truth])
        )
        learned = pipeline.counts.learned
        talk.client.spin_until(lambda n=learned: talk.figure('learned') == n, 'what was learned')
    assert learned == 20
    assert expected.cells[1] != 37
    assert [expected.cells[n] for n in (2, 4, 7)] == [-1, 101, -2]
    figures = talk.client.figures()
    assert (figures['ignored labels'], figures['no opinion']) == ('5', '5')
    assert figures['refused: out_of_range'] == '10'


@pytest.mark.parametrize('objects', ['iou', 'id'])
def test_no_objects_and_ten_thousand(world: World, objects: str):
    """On both sides, with boxes of four numbers."""
    _, shapes = interfaces()
    kind = shapes.NamedDetections
    paths = {'id_field': 'id', 'class_field': 'class_name', 'box_field': 'corners'}
    given: dict[str, Any] = {
        f'{side}.{name}': f'detections[].{path}'
        for side in ('raw', 'label')
        for name, path in paths.items()
    }
    given |= {'raw.value_field': 'detections[].score', 'match.objects': objects}
    talk = Typed(world, kind, kind, given)

    def message(second: int, number: int) -> Any:
        array = kind()
        array.header.stamp.sec = second
        for index in range(number):
            one = shapes.NamedDetection(class_name='car', score=(1 + index % 7) / 8, id=str(index))
            one.corners[:] = [10.0 * index, 0.0, 10.0 * index + 8.0, 6.0]
            array.detections.append(one)
        return array

    connect(talk, message(0, 1), message(0, 1))
    many = 10_000
    for number in (0, many, 0):
        sent = message(next(SECONDS), number)
        answer = answer_to(talk, (sent, sent))
        assert [one.id for one in answer.detections] == [one.id for one in sent.detections]
        given_scores, found = ([one.score for one in m.detections] for m in (sent, answer))
        np.testing.assert_allclose(found, given_scores, atol=1e-12)
        talk.labels.publish(sent)
    talk.client.spin_until(lambda: talk.figure('learned') == many, 'what was learned')
    figures = talk.client.figures()
    assert (figures['missed objects'], figures['ambiguous labels']) == ('0', '0')
    last = message(next(SECONDS), 9)
    assert answer_to(talk, (last, last)).detections[3].score > 0.5
