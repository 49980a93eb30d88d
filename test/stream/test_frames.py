# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects: what is read, what is learned, and what goes out."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

from calib_node.core.calibrators import create

from .messages import SECOND, built, header, heard, make, said, sent, stamped
from .objects import (
    ARRAY,
    FAR,
    LEFT,
    RIGHT,
    TRACKS,
    at,
    detection,
    detections,
    of_tracks,
    scores,
    seen,
    tracks,
)


def test_detections_labelled_by_boxes_with_a_preset_alone():
    stream = make(preset=ARRAY, method='ops')
    matches = seen(stream)
    first = detections(at(1), detection(LEFT, car=0.75, bus=0.5), detection(RIGHT, car=0.25))
    assert scores(stream.on_prediction(first)) == [0.75, 0.5, 0.25]
    stream.on_label(detections(at(1), detection(LEFT, car=1.0), detection(FAR, car=1.0)))
    stream.on_prediction(detections(at(2)))
    assert matches == [('', 0.75, 1), ('', 0.5, 0), ('', 0.25, 0)]
    counts = stream.pipeline.counts
    assert (counts.messages, counts.predictions, counts.labels, counts.missed) == (2, 3, 2, 1)
    by_itself = create('ops')
    for _, raw, label in matches:
        by_itself.update(raw, label)
    answer = stream.on_prediction(detections(at(3), detection(LEFT, car=0.75, bus=0.5)))
    assert scores(answer) == pytest.approx([by_itself.predict(p) for p in (0.75, 0.5)], abs=1e-12)


def test_all_else_of_a_message_is_untouched():
    stream = make(preset=ARRAY)
    given = detections(at(1), detection(LEFT, 'a', car=0.75, bus=0.5), detection(RIGHT, 'b'))
    stream.on_prediction(given)
    stream.on_label(detections(at(1), detection(LEFT, bus=1.0)))
    stream.on_prediction(detections(at(2)))
    message = detections(at(3), detection(LEFT, 'a', car=0.75, bus=0.5), detection(RIGHT, 'b'))
    answer = heard(ARRAY, stream.on_prediction(message))
    wanted = copy.deepcopy(heard(ARRAY, message))
    for one, other in zip(wanted.detections[0].results, answer.detections[0].results):
        assert one.hypothesis.score != other.hypothesis.score
        one.hypothesis.score = other.hypothesis.score
    assert answer == wanted


def test_an_object_that_is_refused_goes_out_as_it_came():
    stream = make(preset=ARRAY)
    message = detections(
        at(1), detection(LEFT, car=0.75), detection(RIGHT, car=1.5), detection(FAR, car=math.nan)
    )
    np.testing.assert_equal(scores(stream.on_prediction(message)), [0.75, 1.5, math.nan])
    counts = stream.pipeline.counts
    assert counts.predictions == 3
    assert counts.refused == {'out_of_range': 1, 'not_finite': 1}
    assert said(stream.status(), '2 of the last 3 predictions were refused')
    assert stream.tell == [
        (1, 'a prediction is refused: the probability is outside [0, 1] (1.5)'),
        (1, 'a prediction is refused: the value is not finite (nan)'),
    ]


def test_no_objects_at_all():
    stream = make(preset=ARRAY)
    empty = detections(at(1))
    assert stream.on_prediction(empty) == empty
    stream.on_label(empty)
    stream.on_prediction(detections(at(2)))
    assert stream.pipeline.counts.messages == 2
    assert stream.pipeline.matcher.counts.matched == 1


def test_boxes_of_which_only_some_are_labelled():
    stream = make(preset=ARRAY, label__partial=True)
    matches = seen(stream)
    stream.on_prediction(detections(at(1), detection(LEFT, car=0.75), detection(RIGHT, car=0.25)))
    stream.on_label(detections(at(1), detection(LEFT, car=1.0)))
    stream.on_prediction(detections(at(2)))
    assert matches == [('', 0.75, 1)]


def test_true_boxes_hold_for_each_message_until_the_next_true_boxes():
    stream = make(preset=ARRAY, match__policy='hold')
    matches = seen(stream)
    stream.on_label(detections(at(1), detection(LEFT, car=1.0)))
    for number in (1, 2, 3):
        score = number / 4
        stream.on_prediction(detections(at(number), detection(LEFT, car=score)))
    stream.on_label(detections(at(3), detection(RIGHT, car=1.0)))
    assert matches == [('', 0.25, 1), ('', 0.5, 1)]
    stream.close()
    assert matches == [('', 0.25, 1), ('', 0.5, 1), ('', 0.75, 0)]


def test_objects_whose_class_is_to_be_ignored():
    stream = make(preset=ARRAY, label__ignore=['crowd'])
    matches = seen(stream)
    stream.on_prediction(detections(at(1), detection(LEFT, crowd=0.75), detection(RIGHT, car=0.25)))
    stream.on_label(detections(at(1), detection(LEFT, crowd=1.0), detection(RIGHT, car=1.0)))
    stream.on_prediction(detections(at(2)))
    assert matches == [('', 0.25, 1)]
    assert stream.status().figures['ignored labels'] == '1'


def test_ids_with_labels_one_by_one_whose_class_is_the_label():
    stream = make(preset=ARRAY, match__objects='id')
    matches = seen(stream)
    stream.on_prediction(
        detections(at(1), detection(LEFT, 'a', car=0.75, bus=0.25), detection(RIGHT, 'b', car=0.5))
    )
    stream.on_label(detections(at(1), detection(LEFT, 'b', bus=1.0)))
    assert matches == [('b', 0.5, 0)]
    stream.on_label(detections(at(1), detection(LEFT, 'a', car=1.0)))
    assert matches == [('b', 0.5, 0), ('a', 0.75, 1), ('a', 0.25, 0)]
    stream.on_label(detections(at(1), detection(LEFT, '', car=1.0)))
    assert stream.pipeline.counts.refused == {'empty_id': 1}


def test_ids_of_several_fields_and_of_bytes():
    stream = of_tracks(
        match__objects='id',
        raw__id_field='tracks[].uuid, ids[]',
        label__id_field='tracks[].uuid, ids[]',
    )
    matches = seen(stream)
    one, other = {'uuid': [1] * 16, 'existence': 0.25}, {'uuid': [255] * 16, 'existence': 0.75}
    stream.on_prediction(tracks(at(1), one, other, ids=[7, 8]))
    stream.on_label(tracks(at(1), {'uuid': [255] * 16, 'seen': True}, ids=[8]))
    stream.on_label(tracks(at(1), {'uuid': [255] * 16, 'seen': True}, ids=[7]))
    assert matches == [('ff' * 16 + '/8', 0.75, 1)]


def test_objects_by_their_order():
    stream = of_tracks()
    matches = seen(stream)
    stream.on_prediction(tracks(at(1), {'existence': 0.25}, {'existence': 0.75}))
    stream.on_label(tracks(at(1), {'seen': True}, {'seen': False}))
    assert matches == [('', 0.25, 1), ('', 0.75, 0)]
    stream.on_prediction(tracks(at(2), {'existence': 0.25}))
    stream.on_label(tracks(at(2), {'seen': True}, {'seen': False}))
    assert len(matches) == 2
    assert stream.pipeline.counts.ambiguous == 2


def test_whole_numbers_on_a_scale_with_codes_for_no_opinion():
    stream = of_tracks(
        raw__value_field='tracks[].percent',
        raw__scale=[0, 100],
        raw__no_opinion=[255],
        label__value_field='tracks[].label',
        label__positive=['1'],
        label__negative=['-1'],
        label__ignore=['0'],
    )
    matches = seen(stream)
    for number in range(1, 30):
        stream.on_prediction(
            tracks(at(number), {'percent': 75}, {'percent': 255}, {'percent': 101})
        )
        stream.on_label(tracks(at(number), {'label': -1}, {'label': 1}, {'label': 1}))
    assert {m[1:] for m in matches} == {(0.75, 0)}
    answer = heard(TRACKS, stream.on_prediction(tracks(at(40), {'percent': 75}, {'percent': 255})))
    wanted = stream.pipeline.calibrator.predict(0.75)
    assert [t.percent for t in answer.tracks] == [round(100 * wanted), 255]
    stream.on_label(tracks(at(40), {'label': 0}, {'label': 3}))
    figures = stream.status().figures
    assert (figures['ignored labels'], figures['refused: bad_label']) == ('1', '1')
    assert figures['no opinion'] == '30'
    assert figures['refused: out_of_range'] == '29'


def test_the_same_numbers_as_one_by_one():
    """A scale and contexts of one object, and of many, come to the same."""
    rng = np.random.default_rng(4)
    values, labels = rng.uniform(size=(50, 3)), rng.uniform(size=(50, 3)) < 0.4
    many = of_tracks()
    matches = seen(many)
    by_itself = create('ops')
    for number in range(50):
        row = values[number].astype(np.float32).tolist()
        answer = many.on_prediction(tracks(at(number), *({'existence': p} for p in row)))
        published = [t.existence for t in heard(TRACKS, answer).tracks]
        assert published == pytest.approx([by_itself.predict(p) for p in row], abs=1e-7)
        many.on_label(tracks(at(number), *({'seen': bool(y)} for y in labels[number])))
        for p, y in zip(row, labels[number]):
            by_itself.update(p, int(y))
    assert len(matches) == 150


def named(stamp: int, **given: float) -> bytes:
    return detections(stamp, detection(LEFT, 'a', **given))


NAMED = {
    'preset': ARRAY,
    'class_names': ['car', 'bus', 'dog'],
    'match__objects': 'id',
}


def test_classes_of_an_object_by_their_names():
    stream = make(**NAMED)
    found: list[Any] = []
    stream.pipeline.on_match.append(lambda m: found.append((m.raw.tolist(), m.label)))
    assert stream.settings.classes == 3
    message = named(at(1), dog=0.5, car=0.25)
    assert scores(stream.on_prediction(message)) == pytest.approx([0.5, 0.25])
    stream.on_label(named(at(1), bus=1.0))
    assert found == [([0.25, 0.25, 0.5], 1)]
    answer = scores(stream.on_prediction(named(at(2), dog=0.5, car=0.25)))
    published = stream.pipeline.calibrator.predict(np.array([0.25, 0.25, 0.5]))
    assert answer == pytest.approx([published[2], published[0]], abs=1e-12)


def test_classes_that_are_left_out_may_make_no_opinion():
    stream = make(raw__missing='no_opinion', **NAMED)
    message = named(at(1), dog=0.5, car=0.25)
    assert stream.on_prediction(message) == message
    assert stream.pipeline.counts.no_opinion == 1
    stream.on_prediction(named(at(2), dog=0.5, car=0.25, bus=0.25))
    assert stream.pipeline.counts.no_opinion == 1


def test_class_names_nobody_listed():
    stream = make(**NAMED)
    message = named(at(1), dog=0.5, cat=0.25)
    assert stream.on_prediction(message) == message
    assert said(stream.status(), "none of class_names ['car', 'bus', 'dog'] ('cat')", 'add it')
    stream.on_label(named(at(1), cat=1.0))
    assert said(stream.status(), 'last 1 labels', "none of class_names ['car', 'bus', 'dog']")


def test_a_classifier_with_names():
    stream = make(preset='vision_msgs/Classification', class_names=['road', 'grass', 'water'])
    kind = 'vision_msgs/Classification'

    def message(stamp: int, **given: float) -> bytes:
        results = [{'class_id': name, 'score': p} for name, p in given.items()]
        return sent(kind, header=header(stamp), results=results)

    found: list[Any] = []
    stream.pipeline.on_match.append(lambda m: found.append((m.raw.tolist(), m.label)))
    stream.on_prediction(message(at(1), water=0.5, road=0.5))
    stream.on_label(heard(kind, message(at(1), grass=1.0)))
    assert found == [([0.5, 0.0, 0.5], 1)]
    answer = heard(kind, stream.on_prediction(message(at(2), water=0.5, road=0.5)))
    assert [r.class_id for r in answer.results] == ['water', 'road']
    assert answer.results[0].score < 0.5
    empty = message(at(3))
    assert stream.on_prediction(empty) == empty
    assert stream.pipeline.counts.no_opinion == 1
    twice = sent(kind, header=header(at(4)), results=[{'class_id': 'road', 'score': 0.5}] * 2)
    assert stream.on_prediction(twice) is None
    assert stream.pipeline.counts.refused == {'class_twice': 1}


def test_probabilities_of_several_objects_in_the_order_of_the_classes():
    stream = of_tracks(
        classes=2, raw__value_field='tracks[].probabilities', label__value_field='tracks[].label'
    )
    message = tracks(
        at(1), {'probabilities': [0.25, 0.75]}, {'probabilities': [1.0]}, {'probabilities': []}
    )
    stream.on_prediction(message)
    stream.on_label(tracks(at(1), {'label': 0}, {'label': 1}, {'label': 1}))
    counts = stream.pipeline.counts
    assert (counts.learned, counts.no_opinion, counts.refused) == (1, 1, {'wrong_length': 1})
    answer = heard(TRACKS, stream.on_prediction(message))
    assert answer.tracks[0].probabilities[0] > 0.25
    assert [t.probabilities.tolist() for t in answer.tracks[1:]] == [[1.0], []]


def test_one_object_of_many_by_its_id_and_what_is_missing():
    """One that is not there is no opinion, never 0."""
    stream = make(
        raw__type=ARRAY,
        raw__value_field='detections[id=door].results[0].hypothesis.score',
    )
    message = detections(at(1), detection(LEFT, 'wall', a=0.25), detection(LEFT, 'door', a=0.75))
    assert scores(stream.on_prediction(message)) == [0.25, 0.75]
    assert stream.pipeline.recent_predictions.values() == [0.75]
    gone = detections(at(2), detection(LEFT, 'wall', a=0.25))
    assert stream.on_prediction(gone) == gone
    assert stream.pipeline.counts.no_opinion == 1


def test_a_stamp_of_two_whole_numbers_and_an_element_told_by_its_name():
    stream = make(
        raw__type='my_msgs/Joints',
        raw__stamp_field='stamp',
        raw__value_field='position[name=elbow]',
        label__type='my_msgs/Joints',
        label__stamp_field='stamp',
        label__value_field='ok[name=elbow]',
    )
    matches = seen(stream)
    names = {'name': ['hip', 'elbow'], 'stamp': list(divmod(at(1), SECOND))}
    answer = stream.on_prediction(sent('my_msgs/Joints', position=[0.5, 0.25], **names))
    assert heard('my_msgs/Joints', answer).position.tolist() == [0.5, 0.25]
    stream.on_label(sent('my_msgs/Joints', ok=[False, True], **names))
    assert matches == [('', 0.25, 1)]


def test_a_stamp_that_is_no_time_is_refused_and_the_message_kept_out():
    stream = of_tracks()
    bad = sent(TRACKS, stamp={'sec': -1}, tracks=[{'existence': 0.5}])
    assert stream.on_prediction(bad) is None
    assert stream.pipeline.counts.refused == {'bad_stamp': 1}
    assert stream.on_prediction(b'nonsense') is None
    stream.on_label(b'nonsense')
    assert stream.pipeline.counts.refused['undecodable'] == 2


def test_what_was_taken_and_then_fails_is_counted_and_told(monkeypatch):
    stream = of_tracks()

    def fail(*_: Any) -> None:
        raise RuntimeError('no')

    monkeypatch.setattr(stream.prediction, 'encode', fail)
    assert stream.on_prediction(tracks(at(1), {'existence': 0.5})) is None
    counts = stream.pipeline.counts
    assert (counts.predictions, counts.refused) == (1, {'unreadable': 1})
    assert said(stream.status(), 'all of the last 1 predictions were refused', "RuntimeError: 'no'")


def test_received_stamps_and_the_offset_of_labels():
    stream = of_tracks(
        raw__stamping='arrival',
        label__stamping='arrival',
        raw__stamp_field='',
        label__stamp_field='',
        label__offset=-1.0,
    )
    stream.on_prediction(tracks(0, {'existence': 0.5}), received=at(1))
    stream.on_label(tracks(0, {'seen': True}), received=at(11))
    assert stream.pipeline.counts.learned == 1


def test_message_objects_are_built_as_the_middleware_does():
    assert built(TRACKS).tracks == []


CONTEXTS = {
    'contexts': ['class', 'range'],
    'raw__class_field': 'tracks[].label',
    'context__range__field': 'tracks[].place',
    'context__range__edges': [5, 10],
}
NEAR, EDGE, AWAY = {'x': 3.0, 'y': 0.0, 'z': 4.0 - 1e-9}, {'x': 3.0, 'z': 4.0}, {'y': -11.0}


def test_contexts_of_objects():
    stream = of_tracks(**CONTEXTS)
    found: list[Any] = []
    stream.pipeline.on_match.append(lambda m: found.append((m.context, m.label)))
    places = (NEAR, EDGE, AWAY, {'x': math.nan})
    stream.on_prediction(
        tracks(at(1), *({'existence': 0.5, 'label': 7, 'place': place} for place in places))
    )
    stream.on_label(tracks(at(1), *({'seen': True} for _ in places)))
    assert [context for context, _ in found] == [('7', 0), ('7', 1), ('7', 2), ('7', None)]
    figures = stream.status().figures
    shown = figures['context class 7, range >= 10']
    assert shown.startswith('1 labels, ECE 0.')
    assert 'offset +' in shown
    assert figures['contexts'] == '4'
    assert [name for name in figures if name.startswith('context ')] == [
        'context class 7, range < 5', 'context class 7, range 5 to 10',
        'context class 7, range >= 10', 'context class 7, range unknown',
    ]  # fmt: skip


def test_contexts_learn_what_is_their_own():
    stream = of_tracks(**CONTEXTS)
    rng = np.random.default_rng(1)
    near = {'existence': 0.5, 'place': NEAR}
    away = {'existence': 0.5, 'place': AWAY}
    for number in range(1, 400):
        stream.on_prediction(tracks(at(number), near, away))
        truth = [{'seen': bool(rng.uniform() < share)} for share in (0.9, 0.1)]
        stream.on_label(tracks(at(number), *truth))
    answer = heard(TRACKS, stream.on_prediction(tracks(at(500), near, away)))
    assert [t.existence for t in answer.tracks] == pytest.approx([0.9, 0.1], abs=0.05)


def test_more_contexts_than_the_capacity_share_one_which_is_said():
    stream = of_tracks(context__capacity=2, **CONTEXTS)
    objects = [{'existence': 0.5, 'label': label} for label in range(4)]
    stream.on_prediction(tracks(at(1), *objects))
    stream.on_label(tracks(at(1), *({'seen': True} for _ in objects)))
    assert said(stream.status(), 'more contexts than context.capacity 2', 'set it higher')
    assert 'context of all others' in stream.status().figures


def test_contexts_of_one_object():
    stream = make(
        raw__type='my_msgs/Joints',
        raw__stamp_field='stamp',
        raw__value_field='position[0]',
        contexts=['first', 'rank'],
        context__first__field='name[0]',
        context__rank__field='rank',
        context__rank__edges=[0.5],
    )
    found: list[Any] = []
    stream.pipeline.on_match.append(lambda m: found.append((m.context, m.raw, m.label)))
    for number, given in enumerate(({'name': ['hip'], 'rank': 1}, {'rank': -1})):
        answer = stream.on_prediction(
            sent('my_msgs/Joints', stamp=list(divmod(at(number), SECOND)), position=[0.25], **given)
        )
        assert heard('my_msgs/Joints', answer).position.tolist() == pytest.approx([0.25], abs=0.1)
        stream.on_label(stamped(at(number), 1))
    assert found == [(('hip', 1), 0.25, 1), ((None, 0), 0.25, 1)]
    assert 'context first hip, rank >= 0.5' in stream.status().figures
    nothing = sent('my_msgs/Joints', stamp=list(divmod(at(3), SECOND)))
    assert stream.on_prediction(nothing) == nothing
    assert stream.pipeline.counts.no_opinion == 1


def test_labels_that_nobody_can_tell_are_noted_or_warned_about():
    stream = of_tracks()
    for number in range(1, 5):
        stream.on_prediction(tracks(at(number), {'existence': 0.5}))
        stream.on_label(tracks(at(number), {'seen': True}, {'seen': True}))
    status = stream.status()
    assert said(
        status, '8 of the last 8 labels came in messages of another length', 'match.objects to id'
    )
    assert status.figures['ambiguous labels'] == '8'
    for number in range(5, 20):
        stream.on_prediction(tracks(at(number), {'existence': 0.5}))
        stream.on_label(tracks(at(number), {'seen': True}))
    status = stream.status()
    assert status.level == 0
    assert '8 of the last 23 labels came in messages of another length' in status.notes[-1]


def test_ids_that_are_twice_in_a_message():
    stream = make(preset=ARRAY, match__objects='id')
    stream.on_prediction(
        detections(at(1), detection(LEFT, 'a', car=0.5), detection(LEFT, 'a', car=0.5))
    )
    stream.on_label(detections(at(1), detection(LEFT, 'a', car=1.0)))
    assert said(stream.status(), '1 labels were of an id that is twice', 'an id of its own')


def test_true_objects_that_no_prediction_finds():
    stream = make(preset=ARRAY)
    for number in range(1, 30):
        stream.on_prediction(detections(at(number), detection(LEFT, car=0.5)))
        stream.on_label(detections(at(number), detection(LEFT, Car=1.0)))
    assert said(
        stream.status(),
        'none of the last 29 true objects was found by a prediction, as none was of their class',
        'let predictions and labels have the same class names',
    )
    assert stream.status().figures['missed objects'] == '29'
    stream.on_prediction(detections(at(30), detection(LEFT, car=0.5)))
    stream.on_label(detections(at(30), detection(LEFT, car=1.0)))
    assert 'true objects' not in stream.status().message


def test_live_parameters_change_with_objects_and_contexts():
    stream = of_tracks(**CONTEXTS)
    settings = stream.settings.changed({'gamma': 0.5, 'match.tolerance': 0.5, 'label.offset': 1.0})
    stream.check(settings)
    stream.configure(settings)
    assert stream.pipeline.calibrator.parameters()['gamma'] == 0.5
    stream.on_prediction(tracks(at(11), {'existence': 0.5}))
    stream.on_label(tracks(at(4), {'seen': True}))
    stream.on_prediction(tracks(at(30), {'existence': 0.5}))
    assert stream.pipeline.counts.learned == 1


def test_what_contexts_learned_is_saved_and_goes_on(tmp_path):
    state = {'state__enabled': True, 'state__file': str(tmp_path / 'state.yaml')}
    before = of_tracks(**CONTEXTS, **state)
    before.keep('/calib_node', {})
    message = tracks(at(50), {'existence': 0.5, 'place': NEAR}, {'existence': 0.5, 'place': AWAY})
    for number in range(1, 20):
        before.on_prediction(tracks(at(number), {'existence': 0.5, 'place': NEAR}))
        before.on_label(tracks(at(number), {'seen': True}))
    before.close()
    after = of_tracks(**CONTEXTS, **state)
    after.keep('/calib_node', {})
    assert after.on_prediction(message) == before.on_prediction(message) != message
    after.close()
