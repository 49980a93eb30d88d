# SPDX-License-Identifier: Apache-2.0
"""Whose label it is and what it means, over the middleware with messages of other packages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from calib_node.core.calibrators import create, create_multiclass

from .harness import World
from .interfaces import interfaces
from .typed import Typed

SECONDS = count(1)


def stamped(message: Any, second: int) -> Any:
    message.header.stamp.sec = second
    return message


def connect(talk: Typed, prediction: Any, label: Any) -> None:
    """Let both sides hear each other, by messages without a stamp, of which nothing is learned."""
    talk.send_until(
        lambda: talk.heard and talk.figure('refused: zero_stamp') > 0, prediction, label
    )


def answer_to(talk: Typed, message: Any) -> Any:
    """Publish one prediction and return what comes back for it."""
    talk.raw.publish(message)
    stamp = message.header.stamp
    return talk.client.spin_until(
        lambda: next((m for m in talk.heard if m.header.stamp == stamp), None), 'the answer'
    )


def wait_for(talk: Typed, figures: dict[str, int]) -> None:
    for name, value in figures.items():
        talk.client.spin_until(lambda n=name, v=value: talk.figure(n) == v, f'{name} {value}')


def test_classes_by_their_names_are_those_of_the_core(world: World):
    vision, _ = interfaces()
    kind = vision.Classification
    names = ['road', 'grass', 'water']
    given = {'preset': 'vision_msgs/Classification', 'class_names': names}
    talk = Typed(world, kind, kind, {**given, 'label.ignore': ['UNKNOWN']})

    def message(second: int, **results: float) -> Any:
        found = [vision.ObjectHypothesis(class_id=n, score=p) for n, p in results.items()]
        return stamped(kind(results=found), second)

    connect(talk, message(0, road=1.0), message(0, road=1.0))
    calibrator = create_multiclass('ops', 3)
    # Sorted by score, as classifiers publish them, and one class not listed.
    rows = [{'water': 0.5, 'road': 0.375, 'grass': 0.125}, {'grass': 0.75, 'water': 0.125}]
    vectors = [np.array([0.375, 0.125, 0.5]), np.array([0.125, 0.75, 0.125])]
    for number, true_class in enumerate(['road', 'UNKNOWN', 'water', 'road'], 1):
        second, row, vector = next(SECONDS), rows[number % 2], vectors[number % 2]
        answer = answer_to(talk, message(second, **row))
        placed = dict(zip(names, calibrator.predict(vector).tolist(), strict=True))
        assert [(r.class_id, r.score) for r in answer.results] == [(n, placed[n]) for n in row]
        talk.labels.publish(message(second, **{true_class: 1.0}))
        if true_class != 'UNKNOWN':
            calibrator.update(vector, names.index(true_class))
        wait_for(talk, {'learned': number - (number > 1), 'ignored labels': int(number > 1)})
    second = next(SECONDS)
    talk.raw.publish(message(second, road=1.0))
    talk.labels.publish(message(second, swamp=1.0))
    wait_for(talk, {'refused: bad_label': 1})
    assert "none of class_names ['road', 'grass', 'water'] ('swamp')" in talk.client.status.message


def tracks(world: World, **more: Any) -> tuple[Typed, Callable[..., Any], Callable[..., Any]]:
    """Return a node of tracks, whose outcomes come one by one, and what makes the messages."""
    _, shapes = interfaces()
    given = {
        'raw.value_field': 'tracks[].confidence',
        'raw.id_field': 'tracks[].source, tracks[].id',
        'label.id_field': 'source, id',
        'label.value_field': 'outcome',
        'label.positive': ['1'],
        'label.negative': ['2'],
        'label.ignore': ['0'],
        'match.objects': 'id',
        **more,
    }
    talk = Typed(world, shapes.Tracks, shapes.TrackOutcome, given)

    def seen(second: int, **confidences: float) -> Any:
        message = shapes.Tracks()
        for name, confidence in confidences.items():
            source, _, number = name.partition('_')
            message.tracks.append(
                shapes.Track(source=source, id=int(number), confidence=confidence)
            )
        return stamped(message, second)

    def outcome(second: int, name: str, value: int) -> Any:
        source, _, number = name.partition('_')
        return stamped(shapes.TrackOutcome(source=source, id=int(number), outcome=value), second)

    connect(talk, seen(0, left_1=0.5), outcome(0, 'left_1', 1))
    return talk, seen, outcome


def test_ids_of_two_fields_and_an_enumeration_by_its_numbers(world: World):
    _, shapes = interfaces()
    outcomes = shapes.TrackOutcome
    talk, seen, outcome = tracks(world)
    answer_to(talk, seen(10, left_1=0.75, right_1=0.25, left_2=0.5))
    answer_to(talk, seen(11, left_1=0.75))
    told = [
        ('right_1', outcomes.SUCCESS), ('left_1', outcomes.FAILURE),
        ('left_2', outcomes.UNKNOWN), ('right_1', outcomes.FAILURE), ('left_2', 3),
    ]  # fmt: skip
    for name, value in told:
        talk.labels.publish(outcome(10, name, value))
    wait_for(talk, {'learned': 2, 'ignored labels': 1, 'duplicate labels': 1})
    wait_for(talk, {'refused: bad_label': 1})
    assert (
        "the label is in no list: label.positive ['1'], label.negative ['2'], label.ignore ['0']"
        in talk.client.status.message
    )
    calibrator = create('ops')
    for p, y in ((0.25, 1), (0.75, 0)):
        calibrator.update(p, y)
    answer = answer_to(talk, seen(12, left_9=0.75, right_9=0.5))
    expected = [float(np.float32(calibrator.predict(p))) for p in (0.75, 0.5)]
    assert [track.confidence for track in answer.tracks] == expected


def test_ids_of_sixteen_bytes_and_labels_of_each_object(world: World):
    _, shapes = interfaces()
    kind = shapes.TrackedObjects
    given = {
        'raw.value_field': 'objects[].existence_probability',
        'raw.id_field': 'objects[].uuid',
        'label.id_field': 'objects[].uuid',
        'label.value_field': 'objects[].classification[0].label',
        'label.positive': [str(shapes.Candidate.PEDESTRIAN)],
        'label.negative': [str(shapes.Candidate.CAR)],
        'label.ignore': ['255'],
        'match.objects': 'id',
    }
    talk = Typed(world, kind, kind, given)

    def message(second: int, *objects: tuple[int, float, int | None]) -> Any:
        array = stamped(kind(), second)
        for number, existence, label in objects:
            one = shapes.TrackedObject(existence_probability=existence)
            one.uuid[:] = [255] * 15 + [number]
            if label is not None:
                one.classification.append(shapes.Candidate(label=label))
            array.objects.append(one)
        return array

    connect(talk, message(0, (1, 0.5, None)), message(0, (1, 0.5, 7)))
    answer_to(talk, message(5, (1, 0.25, None), (2, 0.75, None), (3, 0.5, None), (4, 0.5, None)))
    talk.labels.publish(message(5, (4, 0.0, None), (3, 0.0, 255), (2, 0.0, 1), (1, 0.0, 7)))
    wait_for(talk, {'learned': 2, 'ignored labels': 1, 'empty labels': 1})
    calibrator = create('ops')
    # In the order of the predictions.
    for p, y in ((0.25, 1), (0.75, 0)):
        calibrator.update(p, y)
    answer = answer_to(talk, message(6, (1, 0.75, None)))
    assert answer.objects[0].existence_probability == np.float32(calibrator.predict(0.75))


@pytest.mark.parametrize('objects', ['iou', 'id', 'order'])
def test_a_preset_with_paths_of_ones_own(world: World, objects: str):
    vision, _ = interfaces()
    kind = vision.Detection2DArray
    given: dict[str, Any] = {
        'preset': 'vision_msgs/Detection2DArray',
        'raw.value_field': 'detections[].results[0].hypothesis.score',
        'raw.class_field': '',
        'label.class_field': '',
        'label.value_field': 'detections[].results[0].hypothesis.class_id',
        'label.positive': ['true_one'],
        'label.negative': ['ghost'],
        'match.objects': objects,
        'match.iou': 0.9,
        'clip': 0.375,
    }
    talk = Typed(world, kind, kind, given)

    def message(second: int, width: float, *names: str) -> Any:
        array = stamped(kind(), second)
        for number, name in enumerate(names):
            one = vision.Detection2D(id=str(number))
            one.bbox.center.position.x, one.bbox.size_x, one.bbox.size_y = 50.0 * number, width, 9.0
            for score in (0.75, 0.125):
                result = vision.ObjectHypothesisWithPose()
                result.hypothesis.class_id, result.hypothesis.score = name, score
                one.results.append(result)
            array.detections.append(one)
        return array

    connect(talk, message(0, 9.0, 'a'), message(0, 9.0, 'ghost'))
    answer = answer_to(talk, message(1, 10.0, 'a', 'b'))
    calibrated = create('ops', clip=0.375).predict(0.75)
    assert calibrated != 0.75
    scores = [[r.hypothesis.score for r in one.results] for one in answer.detections]
    assert scores == [[calibrated, 0.125]] * 2
    talk.labels.publish(message(1, 10.0, 'ghost', 'true_one'))
    wait_for(talk, {'learned': 2})
    # Their overlap is .8, and match.iou asks for more.
    answer_to(talk, message(2, 10.0, 'a', 'b'))
    talk.labels.publish(message(2, 8.0, 'ghost', 'true_one'))
    wait_for(talk, {'learned': 4, 'missed objects': 2 if objects == 'iou' else 0})


def test_what_contexts_learned_outlives_the_node(world: World):
    """Also where it is killed: what was saved is there to the bit."""
    contexts = {
        'contexts': ['source', 'confidence'],
        'context.source.field': 'tracks[].source',
        'context.confidence.field': 'tracks[].confidence',
        'context.confidence.edges': [0.5],
    }
    talk, seen, outcome = tracks(world, **contexts)
    for second in range(10, 30):
        answer_to(talk, seen(second, left_1=0.75, right_1=0.75, right_2=0.25))
        for number, name in enumerate(('left_1', 'right_1', 'right_2')):
            talk.labels.publish(outcome(second, name, 1 + (second + number) % 2))
    wait_for(talk, {'learned': 60})
    ask = {'left_1': 0.75, 'right_1': 0.75, 'right_2': 0.25, 'new_1': 0.625, 'left_2': 0.25}
    answered = [track.confidence for track in answer_to(talk, seen(40, **ask)).tracks]
    assert len({*answered}) == 5
    figures = {n: v for n, v in talk.client.figures().items() if n.startswith('context ')}
    assert len(figures) == 3
    assert talk.client.trigger('save_state').success
    talk.process.kill()
    talk.client.close()
    world.clients.clear()

    again, seen, _ = tracks(world, **contexts)
    assert again.process.said('[INFO]', '60 updates')
    after = [track.confidence for track in answer_to(again, seen(50, **ask)).tracks]
    assert after == answered
    assert again.figure('updates') == 60
    assert again.client.trigger('reset').success
    anew = [track.confidence for track in answer_to(again, seen(51, **ask)).tracks]
    assert anew == list(ask.values())
