# SPDX-License-Identifier: Apache-2.0
"""The codecs of stamped arrays read and write what the middleware does, byte for byte."""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from calib_node.core.refusal import Refused
from calib_node.ros.messages import InstalledMessages
from calib_node.stream.codec import to_stamp
from calib_node.stream.input_parameters import STAMPED_ARRAY
from calib_node.stream.stamped_array import StampedArray, StampedProbabilities

from .harness import SECOND, array, decoded

DESERIALIZE = InstalledMessages().deserializer(STAMPED_ARRAY)
ONE, SEVERAL = StampedArray(DESERIALIZE), StampedProbabilities(DESERIALIZE)
NAN, INF = math.nan, math.inf
SECONDS = st.integers(0, 2**33 - 1)
NANOSECONDS = st.integers(0, SECOND - 1)
PROBABILITIES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20)
HYPOTHESIS = settings(derandomize=True, deadline=None, database=None, max_examples=200)
EACH = pytest.mark.parametrize('codec', [ONE, SEVERAL], ids=['one', 'several'])


def bits(numbers: Any) -> list[bytes]:
    return [struct.pack('<d', number) for number in np.atleast_1d(numbers)]


def reason(codec: Any, data: bytes) -> str:
    """Return why bytes are refused."""
    with pytest.raises(Refused) as refusal:
        codec.decode(data)
    return refusal.value.reason


def assert_read_or_refused(codec: Any, data: bytes) -> None:
    # A refusal checks its reason itself, and any other exception fails the test.
    with suppress(Refused):
        stamp, value, _ = codec.decode(data)
        assert 0 <= stamp < 2**33 * SECOND
        if value is not None:
            assert np.asarray(value).dtype == np.float64


def both_shapes(data: list[float]) -> list[tuple[type, bytes]]:
    """Return the bytes that are read as they are, and those that are read as an object."""
    plain, with_dimension = array(data), array(data, sizes=[len(data)])
    return [(bytes, serialize_message(plain)), (object, serialize_message(with_dimension))]


@HYPOTHESIS
@given(SECONDS, NANOSECONDS, st.lists(st.floats(), min_size=1, max_size=20))
@example(0, 0, [0.5])
@example(2**33 - 1, SECOND - 1, [NAN])
@example(5, 7, [NAN, INF, -0.0])
def test_bytes_and_object_read_the_same(sec, nanosec, values):
    for codec in (ONE, SEVERAL) if len(values) == 1 else (SEVERAL,):
        for kind, data in both_shapes([sec, nanosec, *values]):
            stamp, read, carrier = codec.decode(data)
            assert isinstance(carrier, kind)
            assert stamp == sec * SECOND + nanosec
            assert bits(read) == bits(values)


@HYPOTHESIS
@given(SECONDS, NANOSECONDS, PROBABILITIES, st.randoms(use_true_random=False))
def test_only_the_values_are_replaced(sec, nanosec, values, rng):
    calibrated = np.array([rng.random() for _ in values])
    for codec, answer in [(SEVERAL, calibrated)] + [(ONE, calibrated[0])] * (len(values) == 1):
        for _, data in both_shapes([sec, nanosec, *values]):
            out = codec.encode(codec.decode(data)[2], answer)
            message = decoded(out) if isinstance(out, bytes) else out
            assert bits(message.data) == bits([sec, nanosec, *calibrated])
            assert message.layout == decoded(data).layout


@HYPOTHESIS
@given(st.binary(max_size=80))
@example(b'')
@example(b'\x00\x01\x00\x00')
@example(b'\x00\x01\x00\x00' + b'\xff' * 44)
@example(b'\x00\x01\x00\x00\xff\xff\xff\x7f')
def test_any_bytes_are_read_or_refused(data):
    for codec in (ONE, SEVERAL):
        assert_read_or_refused(codec, data)


@HYPOTHESIS
@given(st.integers(0, 43), st.integers(0, 255))
@example(12, 4)
def test_any_changed_byte_is_read_or_refused(position, byte):
    for codec, values in ((ONE, [0.5]), (SEVERAL, [0.5, 0.25, 0.25])):
        data = bytearray(serialize_message(array([5, 7, *values])))
        data[position] = byte
        assert_read_or_refused(codec, bytes(data))


@EACH
def test_padding_is_ignored(codec):
    data = bytearray(serialize_message(array([5, 7, 0.5])))
    data[16:20] = b'\xde\xad\xbe\xef'
    stamp, value, carrier = codec.decode(bytes(data))
    assert (stamp, bits(value)) == (5 * SECOND + 7, bits(0.5))
    assert isinstance(carrier, bytes)


@EACH
def test_truncated_bytes_are_undecodable(codec):
    whole = serialize_message(array([5, 7, 0.5]))
    for length in range(len(whole)):
        assert reason(codec, whole[:length]) == 'undecodable', length


def test_big_endian_bytes_are_read():
    data = struct.pack('>HH3I4x3d', 0, 0, 0, 0, 3, 5.0, 7.0, 0.3)
    stamp, value, carrier = ONE.decode(data)
    assert (stamp, value) == (5 * SECOND + 7, 0.3)
    assert list(ONE.encode(carrier, 0.25).data) == [5.0, 7.0, 0.25]


@EACH
def test_no_value_is_none(codec):
    assert codec.decode(serialize_message(array([5, 7])))[:2] == (5 * SECOND + 7, None)


def test_several_values_are_too_many_for_one_and_their_stamp_is_known():
    with pytest.raises(Refused, match='2 instead of 1') as refusal:
        ONE.decode(serialize_message(array([1, 2, 0.5, 0.5])))
    assert (refusal.value.reason, refusal.value.stamp) == ('wrong_length', SECOND + 2)


@EACH
@pytest.mark.parametrize(
    ('data', 'layout', 'expected'),
    [
        ([], {}, 'too_short'),
        ([1], {}, 'too_short'),
        ([1, 2, 0.5], {'offset': 1}, 'layout'),
        ([1, 2, 0.5], {'sizes': [2]}, 'layout'),
        ([1, 2, 0.5], {'sizes': [4]}, 'layout'),
        ([1, 2, 0.5], {'sizes': [0]}, 'layout'),
        ([1, 2, 0.5], {'sizes': [3, 1]}, 'layout'),
        ([1.5, 2, 0.5], {}, 'bad_stamp'),
        ([1, 2.5, 0.5], {}, 'bad_stamp'),
        ([-1, 2, 0.5], {}, 'bad_stamp'),
        ([1, -2, 0.5], {}, 'bad_stamp'),
        ([1, 1e9, 0.5], {}, 'bad_stamp'),
        ([1e300, 2, 0.5], {}, 'bad_stamp'),
        ([2.0**33, 2, 0.5], {}, 'bad_stamp'),
        ([NAN, 2, 0.5], {}, 'bad_stamp'),
        ([1, NAN, 0.5], {}, 'bad_stamp'),
        ([INF, 2, 0.5], {}, 'bad_stamp'),
        ([1, INF, 0.5], {'sizes': [3]}, 'bad_stamp'),
        ([-INF, 2, 0.5], {}, 'bad_stamp'),
    ],
)
def test_what_is_not_a_stamped_array_is_refused(codec, data, layout, expected):
    assert reason(codec, serialize_message(array(data, **layout))) == expected


@HYPOTHESIS
@given(st.floats(), st.floats())
def test_stamps_are_whole_or_refused(seconds, nanoseconds):
    whole = (
        0 <= seconds < 2**33
        and 0 <= nanoseconds < 1e9
        and seconds == int(seconds)
        and nanoseconds == int(nanoseconds)
    )
    if whole:
        assert to_stamp(seconds, nanoseconds) == int(seconds) * SECOND + int(nanoseconds)
    else:
        with pytest.raises(Refused):
            to_stamp(seconds, nanoseconds)
