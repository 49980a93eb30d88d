# SPDX-License-Identifier: Apache-2.0
"""Columns of one level, repeated for the elements of another."""

from __future__ import annotations

import numpy as np
import pytest

from calib_node.stream.columns import Columns, spread

FLAT = Columns((0, 0), 2)
NESTED = Columns((0, 0), 4, [1, 0, 3])


@pytest.mark.parametrize(
    ('columns', 'values', 'level', 'to', 'wanted'),
    [
        (FLAT, 'a', 0, 1, 'aa'),
        (FLAT, 'ab', 1, 1, 'ab'),
        (NESTED, 'a', 0, 1, 'aaa'),
        (NESTED, 'a', 0, 2, 'aaaa'),
        (NESTED, 'abc', 1, 2, 'accc'),
        (NESTED, 'abcd', 2, 2, 'abcd'),
        (Columns((0, 0), 0, []), 'a', 0, 2, ''),
        (Columns((0, 0), 0, []), '', 1, 2, ''),
        (Columns((0, 0), 0, [0, 0]), 'ab', 1, 2, ''),
    ],
)
def test_a_column_is_repeated_for_a_level_further_in(columns, values, level, to, wanted):
    assert spread(list(values), level, columns, to) == list(wanted)
    numbers = np.array([float(ord(value)) for value in values])
    assert spread(numbers, level, columns, to).tolist() == [float(ord(value)) for value in wanted]
