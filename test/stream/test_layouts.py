# SPDX-License-Identifier: Apache-2.0
"""What cannot be is refused at the start, in one sentence that says what to set."""

from __future__ import annotations

from typing import Any

import pytest

from calib_node.stream.columns import Form
from calib_node.stream.layouts import label_layout, prediction_layout
from calib_node.stream.settings import Settings

from .messages import Messages, make

ARRAY = 'vision_msgs/Detection2DArray'
SOLID = 'vision_msgs/Detection3DArray'
TRACKS = 'my_msgs/Tracks'
OF_TRACKS = {
    'raw.type': TRACKS,
    'raw.stamp_field': 'stamp',
    'raw.value_field': 'tracks[].existence',
    'label.type': TRACKS,
    'label.stamp_field': 'stamp',
    'label.value_field': 'tracks[].seen',
    'match.objects': 'order',
}


def refusal(**given: Any) -> str:
    with pytest.raises(ValueError, match=r'.') as error:
        make(**given)
    sentence = str(error.value)
    assert '\n' not in sentence
    return sentence


def of_tracks(**given: Any) -> dict[str, Any]:
    given = {name.replace('__', '.'): value for name, value in given.items()}
    return {**OF_TRACKS, **given}


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        (
            {'match__objects': 'single'},
            "raw.value_field: 'tracks[].existence' leads to several objects, and match.objects is "
            'single: set it to id, order, iou or distance, or name one element, such as '
            'tracks[0].existence',
        ),
        (
            {'match__objects': 'single', 'raw__value_field': 'tracks[0].existence'},
            "label.value_field: 'tracks[].seen' leads to several objects",
        ),
        ({'match__objects': 'iou'}, 'match.objects is iou: set raw.box_field to the path of'),
        (
            {'match__objects': 'iou', 'raw__box_field': 'tracks[].corners'},
            'match.objects is iou: set label.box_field',
        ),
        ({'match__objects': 'distance'}, 'is distance: set raw.position_field to the path of its'),
        ({'match__objects': 'id'}, 'match.objects is id: set raw.id_field to the path of the id'),
        (
            {'match__objects': 'id', 'match__policy': 'hold'},
            'match.policy is hold, which is for labels of whole messages',
        ),
        (
            {'raw__type': 'std_msgs/msg/Float64MultiArray', 'raw__value_field': ''},
            'match.objects is order, and a stamped array holds one object: set raw.type',
        ),
        ({'raw__value_field': ''}, f'raw.value_field must name the field of {TRACKS}'),
        ({'raw__value_field': 'tracks[]'}, 'does not hold a number but my_msgs/Track'),
        ({'raw__value_field': 'tracks[].corners'}, 'tracks[].corners[] is each of them'),
        ({'raw__value_field': 'tracks[].percent'}, 'set raw.scale to the numbers that mean 0 and'),
        ({'label__value_field': ''}, 'set label.value_field to the path of the label of an object'),
        ({'label__value_field': 'tracks[].uuid'}, 'holds uint8[16], and a label is a number'),
        ({'raw__class_field': 'tracks[].corners'}, 'raw.class_field: '),
        (
            {'match__objects': 'id', 'raw__id_field': 'tracks[].existence', 'label__id_field': 'x'},
            'holds float, and not a text or a whole number or bytes',
        ),
        (
            {'raw__value_field': 'tracks[0].existence', 'raw__class_field': 'tracks[].label'},
            "raw.class_field: 'tracks[].label' leads to each at 1 level, and raw.value_field, "
            "'tracks[0].existence', only at 0",
        ),
        ({'classes': 3}, "'tracks[].existence' does not hold an array of numbers but float"),
        (
            {'class_names': ['a', 'b'], 'raw__class_field': 'ids'},
            "raw.class_field: 'ids' holds uint64[]",
        ),
        (
            {
                'match__objects': 'id',
                'classes': 4,
                'raw__value_field': 'tracks[].corners',
                'raw__id_field': 'tracks[].probabilities[0]',
                'label__id_field': 'tracks[].label',
            },
            'not a text or a whole number or bytes',
        ),
        (
            {'class_names': ['a', 'b'], 'raw__class_field': 'tracks[0].label'},
            "raw.class_field: 'tracks[0].label' must name the class of each of the numbers",
        ),
        ({'raw__stamp_field': 'tracks[].existence'}, 'leads to several stamps'),
        ({'raw__stamp_field': 'tracks'}, "raw.stamp_field: 'tracks' is not a"),
        ({'raw__stamp_field': ''}, 'has no header: set raw.stamp_field'),
        ({'raw__type': 'no_msgs/Such'}, "there is no message type 'no_msgs/Such'"),
        (
            {'match__objects': 'iou', 'raw__box_field': 'tracks[].place', 'label__box_field': 'x'},
            'holds geometry_msgs/Point, and a box is a message with center, size_x and size_y, or',
        ),
        (
            {
                'match__objects': 'distance',
                'raw__position_field': 'tracks[].corners',
                'label__position_field': 'x',
            },
            "raw.position_field: 'tracks[].corners' holds float[4], and a point is a message",
        ),
        ({'contexts': ['range']}, "contexts names 'range': set context.range.field to the path"),
        ({'contexts': ['class']}, "contexts names 'class': set context.class.field to the path"),
        ({'contexts': ['a b']}, "'a b' cannot be the name of a context"),
        ({'contexts': ['rho']}, "'rho' cannot be the name of a context"),
        (
            {'contexts': ['r', 'r'], 'context__r__field': 'tracks[].place'},
            "contexts names 'r' twice",
        ),
        (
            {
                'contexts': ['r'],
                'context__r__field': 'tracks[].place.x',
                'context__r__edges': [5.0, 1.0, 1.0],
            },
            'context.r.edges must rise from one to the next, as in [1.0, 5.0], not [5.0, 1.0, 1.0]',
        ),
        (
            {'contexts': ['r'], 'context__r__field': 'tracks[].place.x'},
            'holds double: set context.r.edges',
        ),
        (
            {'contexts': ['r'], 'context__r__field': 'tracks[].seen', 'context__r__edges': [1]},
            'holds boolean, which context.r.edges cannot divide: leave them out',
        ),
        (
            {'contexts': ['r'], 'context__r__field': 'tracks[].probabilities[].x'},
            "context.r.field: 'tracks[].probabilities[].x' has no field 'x'",
        ),
        (
            {'contexts': ['r'], 'context__r__field': 'tracks[].bytes[]'},
            "context.r.field: 'tracks[].bytes[]' leads to each at 2 levels, and raw.value_field",
        ),
    ],
)
def test_what_does_not_go_together(given, words):
    assert words in refusal(**of_tracks(**given))


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({'preset': 'vision_msgs/Detection2D'}, "did you mean 'vision_msgs/Detection2DArray'?"),
        (
            {'preset': 'vision_msgs/Classification'},
            "'results[].score' leads to several objects, and match.objects is single",
        ),
        ({'preset': 'vision_msgs/Classification'}, 'class_names where they are the classes of one'),
        ({'contexts': ['r'], 'context.r.field': 'data'}, 'a stamped array has none'),
        ({'class_names': ['a', 'b', 'c'], 'classes': 2}, 'leave classes out'),
        ({'class_names': ['a']}, 'class_names has one name'),
        ({'class_names': ['a', 'a']}, 'can mean one thing only'),
        ({'class_names': ['a', 'b'], 'label.positive': ['a']}, 'for labels of two classes'),
        ({'positive_class': 'a', 'label.negative': ['b']}, 'set it or the lists, not both'),
        ({'label.positive': ['a'], 'label.ignore': ['a']}, "'a' of label.ignore is in label.posi"),
        ({'raw.scale': [1, 1]}, 'raw.scale is the two numbers that mean 0 and 1, which cannot'),
        ({'classes': 3, 'raw.link': 'logit'}, 'publish the softmax of the logits'),
    ],
)
def test_what_cannot_be(given, words):
    assert words in refusal(**{name.replace('.', '__'): value for name, value in given.items()})


def layouts(given: dict[str, Any]) -> Any:
    settings = Settings.from_mapping(given)
    for of_side in (prediction_layout, label_layout):
        yield [
            (c.name, c.path.text, c.form == Form.TEXT)
            for c in of_side(Messages(), settings).columns
        ]


def test_the_columns_of_detections():
    score, name = (f'detections[].results[].hypothesis.{end}' for end in ('score', 'class_id'))
    box = [
        (f'sized box.{number}', f'detections[].bbox.{end}', False)
        for number, end in enumerate(('center.position.x', 'center.position.y', 'size_x', 'size_y'))
    ]
    assert list(layouts({'preset': ARRAY})) == [
        [('value', score, False), ('class', name, True), *box],
        [('class', name, True), *box],
    ]
    centre = [
        (f'position.{n}', f'detections[].bbox.center.position.{axis}', False)
        for n, axis in enumerate('xyz')
    ]
    assert list(layouts({'preset': SOLID})) == [
        [('value', score, False), ('class', name, True), *centre],
        [('class', name, True), *centre],
    ]
    by_id = [('id.0', 'detections[].id', True)]
    assert list(layouts({'preset': ARRAY, 'match.objects': 'id'})) == [
        [('value', score, False), ('class', name, True), *by_id],
        [('class', name, True), *by_id],
    ]


def test_a_preset_is_overridden_path_by_path_and_as_a_whole_by_another_type():
    settings = Settings.from_mapping({'preset': ARRAY, 'raw.box_field': 'detections[].b'})
    assert (settings.raw.box_field, settings.label.box_field) == (
        'detections[].b', 'detections[].bbox'
    )  # fmt: skip
    settings = Settings.from_mapping(
        {'preset': ARRAY, 'label.type': TRACKS, 'label.box_field': 'tracks[].corners'}
    )
    assert settings.raw.class_field
    assert settings.label.class_field == settings.label.id_field == ''
    assert settings.notes == ()


def test_columns_of_contexts():
    given = of_tracks(
        contexts=['class', 'range', 'seen', 'size'],
        raw__class_field='tracks[].label',
        context__range__field='tracks[].place',
        context__range__edges=[10, 20],
        context__seen__field='tracks[].seen',
        context__size__field='tracks[].corners[3]',
        context__size__edges=[1.5],
    )
    columns, _ = layouts(given)
    assert columns[2:] == [
        ('context.class', 'tracks[].label', True),
        ('context.range.0', 'tracks[].place.x', False),
        ('context.range.1', 'tracks[].place.y', False),
        ('context.range.2', 'tracks[].place.z', False),
        ('context.seen', 'tracks[].seen', True),
        ('context.size', 'tracks[].corners[3]', False),
    ]


def test_the_deepest_column_of_labels_without_a_value_leads():
    _, columns = layouts(
        {
            'preset': ARRAY,
            'match.objects': 'id',
            'label.id_field': 'header.frame_id, detections[].id',
        }
    )
    assert [name for name, _, _ in columns] == ['class', 'id.1', 'id.0']


@pytest.mark.parametrize(
    'name',
    [
        'raw.scale', 'raw.missing', 'match.iou', 'match.distance', 'label.partial', 'raw.id_field',
        'label.box_field', 'label.position_field', 'label.class_field', 'raw.class_field',
        'context.capacity', 'context.rho',
    ],
)  # fmt: skip
def test_what_does_nothing_is_warned_about(name):
    values = {
        'raw.scale': [0, 2],
        'raw.missing': 'no_opinion',
        'match.iou': 0.25,
        'match.distance': 2.5,
        'label.partial': True,
        'context.capacity': 5,
        'context.rho': 5.0,
    }
    given = {name: values.get(name, 'a.b')}
    if name == 'raw.scale':
        given['raw.link'] = 'logit'
    (note,) = Settings.from_mapping(given).notes
    assert note.startswith(f'the parameter {name!r} has no effect with')


def test_a_code_for_no_opinion_that_is_a_probability_too_is_warned_about():
    given = {'raw.scale': [0, 255], 'raw.no_opinion': [-1, 255]}
    (note,) = Settings.from_mapping(given).notes
    assert 'raw.no_opinion holds 255, which is a probability too by raw.scale [0.0, 255.0]' in note
    assert Settings.from_mapping({**given, 'raw.scale': [0, 254]}).notes == ()


def test_a_context_that_is_not_named_in_contexts_is_unknown():
    settings = Settings.from_mapping({'context.range.field': 'a'})
    assert settings.unknown == ('context.range.field',)
