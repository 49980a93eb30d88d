# SPDX-License-Identifier: Apache-2.0
"""Messages of many objects that are not as they should be, and what is said of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calib_node.stream.status import Level

from .messages import heard, make, said
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

FLAT, NOWHERE, INSIDE_OUT = (
    (10.0, 10.0, 0.0, 4.0),
    (math.nan, 10.0, 4.0, 4.0),
    (10.0, 10.0, -4.0, 4.0),
)
CAR = detection(LEFT, 'a', car=0.75)
DAY = 24 * 3600 * 10
"""As many tenths of a second, of which `at` counts."""


def told(predictions: Any, labels: Any, **given: Any) -> Any:
    """Return a stream that had each of these messages, or none, twenty-nine times."""
    stream = make(**{'preset': ARRAY, **given})
    for number in range(1, 30):
        if predictions is not None:
            message = detections(at(number), *predictions)
            answer = stream.on_prediction(message)
            np.testing.assert_equal(len(scores(answer)), len(scores(message)))
        if labels is not None:
            stream.on_label(detections(at(number), *labels))
    return stream


def warned(stream: Any, *words: str) -> str:
    """Return the only sentence of a status, which must be a warning with these words."""
    status = stream.status()
    assert status.level == Level.WARN, status.message
    assert said(status, *words), status.message
    return status.message


@pytest.mark.parametrize('box', [FLAT, NOWHERE, INSIDE_OUT])
def test_a_predicted_box_that_is_no_place_is_calibrated_and_has_no_label(box):
    stream = told([detection(box, car=0.75), CAR], [CAR])
    assert stream.pipeline.counts.learned == 29
    answer = stream.on_prediction(detections(at(50), detection(box, car=0.75), CAR))
    mapped, other = scores(answer)
    assert mapped == other > 0.75
    assert stream.status().figures['predictions without a place'] == '29'
    (note,) = stream.status().notes
    assert note == (
        '29 of the last 58 predictions have a box of no size or one that is not finite, so that '
        'no label finds them: set raw.box_field to a field that the publisher fills'
    )
    message = warned(told([detection(box, car=0.75)], [CAR]), 'set raw.box_field')
    assert message.startswith('29 of the last 29 predictions have a box of no size')
    assert 'match.iou' not in message


@pytest.mark.parametrize('box', [FLAT, NOWHERE, INSIDE_OUT])
def test_a_true_box_that_is_no_place_teaches_nothing_of_its_class(box):
    stream = told([CAR], [detection(box, car=1.0)])
    counts = stream.pipeline.counts
    assert (counts.learned, counts.refused) == (0, {'bad_place': 29})
    assert warned(stream, 'mend the publisher').startswith(
        'all of the last 29 labels were refused, the last one because the place of the object is '
        'not finite, or its box has no size ('
    )
    now_and_then = make(preset=ARRAY)
    matches = seen(now_and_then)
    for number in range(1, 30):
        now_and_then.on_prediction(detections(at(number), CAR, detection(RIGHT, dog=0.5)))
        place = box if number == 29 else LEFT
        now_and_then.on_label(detections(at(number), detection(place, car=1.0)))
    # That car may be the one that was seen; the dog is wrong in any case.
    assert len(matches) == 57
    assert matches[-1] == ('', 0.5, 0)


def test_a_true_centre_that_is_not_finite_is_refused():
    stream = of_tracks(
        match__objects='distance',
        raw__position_field='tracks[].place',
        label__position_field='tracks[].place',
    )
    stream.on_prediction(tracks(at(1), {'existence': 0.5}))
    stream.on_label(tracks(at(1), {'seen': True, 'place': {'x': math.inf}}))
    assert stream.pipeline.counts.refused == {'bad_place': 1}
    assert stream.pipeline.counts.learned == 0


@pytest.mark.parametrize(
    ('predictions', 'labels'), [([CAR, CAR], [CAR]), ([CAR], [CAR, detection(FAR, 'a', car=0.0)])]
)
def test_an_id_twice_in_a_message(predictions, labels):
    stream = told(predictions, labels, match__objects='id')
    assert stream.pipeline.counts.learned == 0
    message = warned(stream, 'of an id that is twice in a message', 'an id of its own')
    assert message.startswith(f'{29 * len(labels)} of the last {29 * len(labels)} labels')
    others = told(
        [*predictions, detection(RIGHT, 'b', car=0.5)],
        [*labels, detection(RIGHT, 'b', car=1.0)],
        match__objects='id',
    )
    assert others.pipeline.counts.learned == 29


def test_ids_that_come_back_after_a_day_are_of_other_objects():
    stream = make(preset=ARRAY, match__objects='id')
    matches = seen(stream)
    stream.on_prediction(detections(at(1), CAR))
    late = detections(at(1), detection(LEFT, 'a', car=1.0))
    again = detection(LEFT, 'a', car=0.25)
    stream.on_prediction(detections(at(DAY), again))
    # Two in a row, as one alone may be a mistake of the clock.
    stream.on_prediction(detections(at(DAY + 1), again))
    stream.on_label(late)
    assert matches == []
    stream.on_label(detections(at(DAY), detection(LEFT, 'a', bus=1.0)))
    assert matches == [('a', 0.25, 0)]
    assert stream.pipeline.matcher.pending_predictions == 1
    warned(
        told([CAR], [detection(LEFT, 'b', car=1.0)], match__objects='id'),
        'hold no object of their id, such as',
        "'b': let raw.id_field and label.id_field lead to the same ids",
    )


@pytest.mark.parametrize(('objects', 'learned'), [('distance', 10_000), ('id', 5000)])
def test_ten_thousand_objects_in_a_message(objects, learned):
    places = np.random.default_rng(6).uniform(0.0, 10_000.0, (10_000, 2)).tolist()
    objects_seen = [
        {'existence': 0.25 + n % 2 / 2, 'place': {'x': x, 'y': y}}
        for n, (x, y) in enumerate(places)
    ]
    true_ones = [{'seen': True, **objects_seen[n]} for n in range(1, 10_000, 2)]
    stream = of_tracks(
        match__objects=objects,
        match__capacity=100,
        raw__position_field='tracks[].place',
        label__position_field='tracks[].place',
        raw__id_field='ids[]',
        label__id_field='ids[]',
    )
    message = tracks(at(1), *objects_seen)
    assert stream.on_prediction(message) == message
    stream.on_label(tracks(at(1), *true_ones, ids=range(1, 10_000, 2)))
    stream.on_prediction(tracks(at(2)))
    # A message larger than the capacity is kept alone, so that it can be learned at all.
    counts = stream.pipeline.counts
    assert (counts.learned, counts.missed, counts.ambiguous) == (learned, 0, 0)
    answer = heard(TRACKS, stream.on_prediction(tracks(at(3), *objects_seen[:2]))).tracks
    if objects == 'distance':
        assert answer[0].existence < 0.25 < 0.75 < answer[1].existence


@pytest.mark.parametrize('objects', ['iou', 'id'])
def test_no_objects_on_both_sides_is_all_right(objects):
    stream = told([], [], match__objects=objects)
    status = stream.status()
    assert (status.level, stream.pipeline.counts.messages) == (Level.OK, 29)
    assert status.message == 'calibrating; no label matched yet'


def test_no_objects_on_one_side():
    wrong = told([CAR], [])
    assert (wrong.pipeline.counts.learned, wrong.status().level) == (29, Level.OK)
    warned(
        told([], [CAR]),
        'none of the last 29 true objects was found by a prediction, as there was none that counts',
        'publish what it sees',
    )
    warned(told([], [CAR], match__objects='id'), 'the messages of predictions hold no object')


@pytest.mark.parametrize('objects', ['iou', 'id'])
def test_labels_without_a_message_of_predictions(objects):
    warned(told(None, [CAR], match__objects=objects), '29 labels came and none matched: no predict')
    elsewhere = make(preset=ARRAY, match__objects=objects)
    for number in range(2, 60, 2):
        elsewhere.on_prediction(detections(at(number), CAR))
        elsewhere.on_label(detections(at(number + 1), CAR))
    assert elsewhere.pipeline.counts.learned == 0
    warned(elsewhere, '100 ms after the nearest prediction', 'set label.offset to -0.1')


def test_class_names_that_nobody_listed():
    listed: Any = {'class_names': ['car', 'bus'], 'match__objects': 'id'}
    cat = detection(LEFT, 'a', cat=0.5)
    stream = told([cat], None, **listed)
    counts = stream.pipeline.counts
    assert (counts.refused, counts.no_opinion) == ({'unknown_class': 29}, 0)
    warned(stream, "none of class_names ['car', 'bus'] ('cat'); add it to class_names")
    warned(
        told([CAR], [cat], **listed),
        "none of class_names ['car', 'bus'] ('cat'); publish a name of class_names",
    )
    warned(told([CAR], [cat]), 'as none was of their class', 'have the same class names')


def test_contexts_that_are_nan_or_new():
    stream = of_tracks(
        contexts=['kind', 'far'],
        context__kind__field='tracks[].label',
        context__far__field='tracks[].place.x',
        context__far__edges=[5.0],
    )
    objects = [{'existence': 0.5, 'label': 1, 'place': {'x': x}} for x in (1.0, math.nan, math.inf)]
    for number in range(1, 30):
        stream.on_prediction(tracks(at(number), *objects))
        stream.on_label(tracks(at(number), *({'seen': True} for _ in objects)))
    figures = stream.status().figures
    assert [name for name in figures if name.startswith('context ')] == [
        'context kind 1, far < 5', 'context kind 1, far unknown', 'context kind 1, far >= 5',
    ]  # fmt: skip
    new = {'existence': 0.5, 'label': 2, 'place': {'x': 1.0}}
    answer = heard(TRACKS, stream.on_prediction(tracks(at(50), *objects, new))).tracks
    # One that is new leans on what all share.
    assert all(0.6 < track.existence < 1.0 for track in answer)
    assert answer[3].existence < answer[0].existence
    assert stream.status().level == Level.OK


@pytest.mark.parametrize(
    ('given', 'sentence'),
    [
        (
            {'context__height__edges': [80.0, 40.0]},
            'context.height.edges must rise from one to the next, as in [40.0, 80.0], not '
            '[80.0, 40.0]',
        ),
        (
            {'context__height__edges': [40.0, math.nan]},
            'context.height.edges must be a list of numbers, such as [0.0, 1.0], not [40.0, nan]',
        ),
        (
            {'raw__value_field': 'detections[].results[0].hypothesis.score'},
            "raw.class_field: 'detections[].results[].hypothesis.class_id' leads to each at 2 "
            "levels, and raw.value_field, 'detections[].results[0].hypothesis.score', only at 1: "
            'name one element instead, such as [0], or give both as many []',
        ),
        (
            {'raw__value_field': 'detections[].results[].pose.covariance[]'},
            "raw.value_field: 'detections[].results[].pose.covariance[]' has 3 levels of [], and "
            'at most 2 can be read: name one element of the others, such as [0]',
        ),
    ],
    ids=['order', 'NaN', 'fan-out', 'levels'],
)
def test_what_cannot_be_is_refused_at_the_start(given, sentence):
    contexts = {'context__height__field': 'detections[].bbox.size_y', 'contexts': ['height']}
    sound = {'context__height__edges': [40.0, 80.0]}
    make(preset=ARRAY, **contexts, **sound)
    with pytest.raises(ValueError) as raised:
        make(preset=ARRAY, **{**contexts, **sound, **given})
    assert str(raised.value) == sentence
