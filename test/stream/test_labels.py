# SPDX-License-Identifier: Apache-2.0
"""What a label means by the lists, by the names of the classes, and by default."""

from __future__ import annotations

import numpy as np
import pytest

from calib_node.core.refusal import Refused
from calib_node.stream.labels import LabelReader


def refusal(reader: LabelReader, value: object) -> str:
    with pytest.raises(Refused) as refused:
        reader(value)
    return f'{refused.value.reason}: {refused.value}'


@pytest.mark.parametrize(
    ('entry', 'values'),
    [
        ('SUCCESS', ['SUCCESS']),
        ('True', [True, 'True', 'true', 1, '1', b'\x01']),
        ('-1', [-1, -1.0, '-1', '-1.0', np.int8(-1)]),
        ("b'\\x07'", [b'\x07', 7, "b'\\x07'"]),
        ('255', [255, 255.0, '255', b'\xff', np.uint8(255)]),
        ('0.5', [0.5, np.float32(0.5)]),
        ('nan', ['nan']),
        ('', ['']),
    ],
)
def test_an_entry_of_a_list_is_a_text_or_a_number_by_its_value(entry, values):
    for value in values:
        assert LabelReader(positive=[entry], negative=['no'])(value) == 1.0
        assert LabelReader(positive=['yes'], negative=[entry])(value) == 0.0
        reader = LabelReader(positive=['yes'], negative=['no'], ignore=[entry])
        assert (reader(value), reader.ignored) == (None, 1)


def test_an_unlisted_value_is_refused_with_the_lists():
    reader = LabelReader(positive=['SUCCESS', '4'], negative=['-1'], ignore=['255'])
    sentence = refusal(reader, 'success')
    assert sentence == (
        "bad_label: the label is in no list: label.positive ['SUCCESS', '4'], label.negative "
        "['-1'], label.ignore ['255'] ('success')"
    )
    for value in (1, 0, True, 5.0, float('nan'), '1', b'\x01'):
        assert refusal(reader, value).startswith('bad_label')
    assert refusal(reader, None).startswith('not_a_number')
    assert reader.ignored == 0


def test_by_default_any_number_is_for_the_pipeline_to_judge():
    reader = LabelReader(ignore=['255'])
    assert (reader(7), reader('7.0'), reader(b'\x07'), reader(255)) == (7.0, 7.0, 7.0, None)
    assert refusal(reader, 'car') == "not_a_number: the field holds no number ('car')"


def test_an_entry_means_one_thing():
    for given in (
        {'positive': ['1', 'x'], 'negative': ['x']},
        {'positive': ['1'], 'negative': ['0'], 'ignore': ['1.0']},
        {'ignore': ['True']},
        {'positive_class': 'car', 'ignore': ['car']},
        {'class_names': ['car', 'bus'], 'ignore': ['bus']},
        {'class_names': ['car', 'car']},
    ):
        with pytest.raises(ValueError, match='too, and can mean one thing only'):
            LabelReader(**given)


def test_the_positive_class_and_what_is_ignored():
    reader = LabelReader('car', ignore=['UNKNOWN', '255'])
    assert [reader(name) for name in ('car', 'bus', 'UNKNOWN', '1', '255')] == [
        1.0, 0.0, None, 0.0, None
    ]  # fmt: skip
    assert reader(255) is None
    assert reader(1) == 1.0
    assert (list(reader.names), reader.positive_seen) == (['car', 'bus', '1'], True)
    assert refusal(reader, '').startswith('empty_name')


def test_names_of_classes():
    reader = LabelReader(class_names=['car', 'bus', 'dog'], ignore=['none'])
    assert [reader(value) for value in ('car', 'dog', 'none', 2, 7)] == [0.0, 2.0, None, 2.0, 7.0]
    assert refusal(reader, 'cat') == (
        "bad_label: the label is none of class_names ['car', 'bus', 'dog'] ('cat')"
    )
    assert refusal(reader, '1').startswith('bad_label')


def test_classes_that_are_numbers_go_by_their_value():
    reader = LabelReader(class_names=['5', '7'], ignore=['0'])
    assert [reader(value) for value in (5, 7.0, '7', np.uint8(5), 0)] == [0.0, 1.0, 1.0, 0.0, None]
    assert refusal(reader, 1).startswith('bad_label')


def test_whether_a_number_stands_for_itself():
    assert LabelReader().plain
    assert LabelReader('car').plain
    assert LabelReader(class_names=['car', 'bus']).plain
    assert not LabelReader(ignore=['255']).plain
    assert not LabelReader(positive=['2']).plain
    assert not LabelReader(class_names=['5', '7']).plain


def test_names_of_objects_that_are_ignored():
    reader = LabelReader(ignore=['DontCare'])
    assert (reader.ignores('car'), reader.ignores('DontCare'), reader.ignored) == (False, True, 1)
