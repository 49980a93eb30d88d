# SPDX-License-Identifier: Apache-2.0
"""Reading serialized bytes gives what reading the object does, whatever the message and bytes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.refusal import Refused
from calib_node.stream.cdr.reader import Place, SerializedReader
from calib_node.stream.cdr.wire import Unsupported
from calib_node.stream.columns import VALUE, Column, Columns, Form, Layout
from calib_node.stream.object_reader import ObjectReader
from calib_node.stream.paths import check_path

from .plain_cdr import HEADER, Tables, deserialize, serialize
from .random_types import ROOT, random_layout, random_tables, random_value

SEEDS = st.integers(0, 2**32)
HYPOTHESIS = settings(derandomize=True, deadline=None, database=None, max_examples=150)
VALUES = (0.0, 0.25, 1.0, 1.5, 2.5, -3.0, 100.5, 1e30)
HOSTILE_BYTES = (0, 1, 2, 255)


class Case:
    """A reader of random types, that notes what it reads as an object."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tables = random_tables(self.random)
        self.layout = random_layout(self.random, self.tables)
        self.objects: list[bytes] = []
        self.reader: SerializedReader | None = None
        if self.layout is not None:
            try:
                self.reader = SerializedReader(self, self.layout)
            except Unsupported:
                return

    def fields(self, type_name: str) -> Any:
        return self.tables.fields(type_name)

    def deserializer(self, type_name: str) -> Any:
        def read(data: bytes) -> Any:
            self.objects.append(data)
            return deserialize(self.tables, type_name, data)

        return read

    def message(self) -> Any:
        return random_value(self.random, self.tables, ROOT)

    def by_object(self, data: bytes) -> Columns:
        try:
            message = deserialize(self.tables, ROOT, data)
        except ValueError as error:
            raise Refused('undecodable', error) from None
        assert self.layout is not None
        return ObjectReader(self.layout).read(message)


def outcome(read: Any, data: bytes) -> Any:
    """Return the columns as what can be compared to the bit, or what was refused."""
    try:
        columns = read(data)
    except Refused as refused:
        return str(refused)
    return comparable(columns)


def comparable(columns: Columns) -> Any:
    numbers = {name: values.tobytes() for name, values in columns.numbers.items()}
    absent = None if columns.absent is None else columns.absent.tolist()
    return columns.stamp, columns.count, columns.sizes, numbers, columns.texts, absent


@HYPOTHESIS
@given(SEEDS)
def test_what_is_read_and_written_is_that_of_the_object(seed):
    case = Case(seed)
    if case.reader is None:
        return
    random, padding = case.random, case.random.randrange(256)
    for message in (case.message() for _ in range(3)):
        data = serialize(case.tables, ROOT, message, padding)
        wanted = outcome(case.by_object, data)
        assert outcome(case.reader.read, data) == wanted
        if isinstance(wanted, str):
            # Arrays of different lengths.
            case.objects.clear()
            continue
        assert not case.objects
        columns = case.reader.read(data)
        values = np.array([random.choice(VALUES) for _ in range(columns.count)])
        which = np.array([random.random() < 0.7 for _ in range(columns.count)], bool)
        if columns.absent is not None:
            which &= ~columns.absent
        objects = ObjectReader(case.layout)
        changed = objects.write(objects.read(message), values, which)
        assert case.reader.write(columns, values, which) == serialize(
            case.tables, ROOT, changed, padding
        )


def broken(random: Random, data: bytes) -> bytes:
    """Return bytes that are cut, changed or prolonged."""
    kind = random.randrange(4)
    if kind == 0:
        return data[: random.randrange(len(data) + 1)]
    if kind == 1:
        return data + random.randbytes(random.randrange(1, 12))
    if kind == 2:
        return HEADER + random.randbytes(random.randrange(100))
    changed = bytearray(data)
    for _ in range(random.randrange(1, 4)):
        changed[random.randrange(len(data))] = random.choice(
            (*HOSTILE_BYTES, random.randrange(256))
        )
    return bytes(changed)


@HYPOTHESIS
@given(SEEDS)
def test_bytes_that_are_broken_are_read_as_the_object_or_refused_as_it_is(seed):
    case = Case(seed)
    if case.reader is None:
        return
    data = serialize(case.tables, ROOT, case.message())
    for _ in range(20):
        changed = broken(case.random, data)
        assert outcome(case.reader.read, changed) == outcome(case.by_object, changed)


def test_most_random_types_are_read_in_their_bytes():
    cases = [Case(seed) for seed in range(200)]
    assert sum(case.reader is not None for case in cases) > 150


SCORES = Tables(
    {
        'm/Scores': {
            'sec': 'int32',
            'nanosec': 'uint32',
            'name': 'string',
            'scores': 'sequence<float>',
        }
    }
)
DATA = (
    b'\x00\x01\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00'
    b'\x03\x00\x00\x00ab\x00?\x02\x00\x00\x00\x00\x00\x80\x3e\x00\x00\x00\x3f'
)


def reader(value: str = 'scores[]', *texts: str) -> SerializedReader:
    def path(text: str) -> Any:
        return check_path(SCORES, 'm/Scores', text, 'a.field')

    columns = [Column(VALUE, path(value), Form.NUMBER)]
    columns += [Column(text, path(text), Form.TEXT) for text in texts]
    layout = Layout('m/Scores', tuple(columns), (path('sec'), path('nanosec')))
    return SerializedReader(SCORES, layout)


def test_bytes_by_the_letter():
    scores = reader('scores[]', 'name')
    columns = scores.read(DATA)
    assert (columns.stamp, columns.count, columns.sizes) == ((5, 7), 2, None)
    assert columns.numbers[VALUE].tolist() == [0.25, 0.5]
    assert columns.texts == {'name': ['ab']}
    answer = scores.write(columns, np.array([9.0, 1.0]), np.array([False, True]))
    assert answer == DATA[:-4] + b'\x00\x00\x80\x3f'


def test_what_was_written_last_is_not_in_the_next_answer():
    scores = reader()
    first, second = scores.read(DATA), scores.read(DATA)
    both = np.array([True, True])
    answers = [scores.write(c, np.full(2, v), both) for c, v in ((first, 0.125), (second, 0.75))]
    assert scores.read(answers[0]).numbers[VALUE].tolist() == [0.125, 0.125]
    assert scores.read(answers[1]).numbers[VALUE].tolist() == [0.75, 0.75]


def test_what_comes_after_the_message_stays():
    columns = reader().read(DATA + b'more')
    answer = reader().write(columns, np.array([0.25, 1.0]), np.array([True, True]))
    assert answer == DATA[:-4] + b'\x00\x00\x80\x3f' + b'more'


def test_padding_at_the_end_is_told_by_the_options():
    padded = DATA[:3] + b'\x02' + DATA[4:] + b'??'
    columns = reader().read(padded)
    assert isinstance(columns.carrier, Place)
    assert columns.numbers[VALUE].tolist() == [0.25, 0.5]
    assert not isinstance(reader().read(padded[:-1]).carrier, Place)


@pytest.mark.parametrize(
    'name', [b'\x03\x00\x00\x00abc?', b'\x03\x00\x00\x00a\x00\x00?'], ids=['no NUL', 'two NUL']
)
def test_a_name_that_others_read_otherwise_is_read_as_an_object(name):
    data = DATA[:12] + name + DATA[20:]
    columns = reader('scores[]', 'name').read(data)
    assert not isinstance(columns.carrier, Place)
    assert columns.texts['name'] == [name[4:7].split(b'\0')[0].decode()]


def test_bytes_that_are_no_text_are_read_as_the_object_reads_them():
    for name in (b'\xff\xfe', b'\xe2\x82', b'\xc3\xa9', b'\xf0\x9f'):
        data = DATA[:16] + name + DATA[18:]
        columns = reader('scores[]', 'name').read(data)
        assert isinstance(columns.carrier, Place)
        assert columns.texts['name'] == [name.decode('utf-8', 'replace')]


@pytest.mark.parametrize('kind', [b'\x00\x00', b'\x00\x03', b'\x00\x07', b'\x01\x01', b''])
def test_other_encodings_are_for_the_object(kind):
    with pytest.raises(Refused) as refused:
        reader().read(kind + DATA[2:])
    assert refused.value.reason == 'undecodable'


TOLD = Tables(
    {
        'm/One': {'name': 'string', 'score': 'float'},
        'm/All': {'all': 'sequence<m/One>', 'names': 'sequence<string>', 'scores': 'float[2]'},
    }
)
TWO_NULS = (
    b'\x00\x01\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00ab\x00\x00\x00\x00\x00\x3f'
    b'\x01\x00\x00\x00\x04\x00\x00\x00ab\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x00'
)


@pytest.mark.parametrize(
    ('path', 'value'), [('all[name=ab].score', 0.5), ('scores[names=ab]', 1.0)]
)
def test_a_telling_name_that_others_read_otherwise_is_read_as_an_object(path, value):
    column = Column(VALUE, check_path(TOLD, 'm/All', path, 'a.field'), Form.NUMBER)
    columns = SerializedReader(TOLD, Layout('m/All', (column,))).read(TWO_NULS)
    assert not isinstance(columns.carrier, Place)
    assert columns.numbers[VALUE].tolist() == [value]


def test_a_length_beyond_all_bytes_takes_no_memory():
    with pytest.raises(Refused):
        reader().read(DATA[:20] + b'\xff\xff\xff\xff' + DATA[24:])
