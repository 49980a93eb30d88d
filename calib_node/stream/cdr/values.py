# SPDX-License-Identifier: Apache-2.0
"""What lies at the places that a walk found: numbers and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.stream.cdr.program import HEADER, Unknown
from calib_node.stream.cdr.wire import CODES
from calib_node.stream.columns import Floats, Texts
from calib_node.stream.object_reader import nearest_whole, whole_limits

Index = slice | NDArray[np.int64]
"""Of numbers in the bytes of a message, taken as one array of their type; -1: absent."""

DTYPES = {name: np.dtype(f'<{code}') for name, code in CODES.items()}
DTYPES['boolean'] = DTYPES['uint8']
EXACT = 32
"""Bits of the widest whole numbers whose limits are numbers of float64."""

# As of an object, where any float is read and written without a word.
quiet = np.errstate(invalid='ignore', over='ignore')


def index_of(places: list[int], lengths: list[int], stride: int, width: int) -> Index:
    """Return the index of numbers.

    Parameters
    ----------
    places : list of int
        Of all of them, in bytes, or of the first of each regular array that is not empty.
    lengths : list of int
        Of the regular arrays.
    stride : int
        Bytes from one number to the next in a regular array; 0 where there are none.
    width : int
        Bytes of a number.

    Examples
    --------
    >>> index_of([16, 80], [2, 0, 1], 16, 8)
    array([ 2,  4, 10])
    >>> index_of([16], [3], 16, 8)
    slice(2, 8, 2)
    """
    if not stride:
        return np.array(places, np.int64) // width
    step = stride // width
    if len(lengths) == 1:
        first = places[0] // width if places else 0
        return slice(first, first + lengths[0] * step, step)
    sizes = np.array(lengths, np.int64)
    before = np.cumsum(sizes) - sizes
    sizes, before = sizes[sizes > 0], before[sizes > 0]
    firsts = np.array(places, np.int64) // width - before * step
    numbers: NDArray[np.int64] = np.arange(sizes.sum())
    return np.repeat(firsts, sizes) + step * numbers


def as_array(data: bytes | bytearray, name: str) -> NDArray[Any]:
    """Return a message as one array of numbers of some type."""
    dtype = DTYPES[name]
    return np.frombuffer(data, dtype, (len(data) - HEADER) // dtype.itemsize, HEADER)


def pick(data: bytes, name: str, index: Index) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return numbers in their own type, and which are absent, if some are."""
    numbers = as_array(data, name)
    if name == 'boolean':
        numbers = numbers != 0
    if isinstance(index, slice) or not index.size or index.min() >= 0:
        return numbers[index], None
    absent = index < 0
    picked = np.zeros(len(index), numbers.dtype)
    picked[~absent] = numbers[index[~absent]]
    return picked, absent


@quiet
def as_floats(numbers: NDArray[Any], absent: NDArray[np.bool_] | None) -> Floats:
    """Return numbers as float64, those that are absent as NaN."""
    values = numbers.astype(np.float64)
    if absent is not None:
        values[absent] = np.nan
    return values


@quiet
def as_numbers(values: Floats, name: str) -> NDArray[Any]:
    """Return values in the type of a field: the nearest whole numbers of its range, if it is."""
    limits = whole_limits(name)
    if limits is None:
        return values.astype(DTYPES[name])
    if limits[1] < 2**EXACT:
        return np.clip(np.rint(values), *limits).astype(DTYPES[name])
    whole = [nearest_whole(value, *limits) for value in values.tolist()]
    return np.array(whole, DTYPES[name])


def decode(strings: list[bytes]) -> Texts:
    r"""Return strings as texts; bytes that are none are read as U+FFFD.

    All at once, which takes a third of the time.

    Raises
    ------
    Unknown
        If there is a NUL in one, after which others would not read on.

    Examples
    --------
    >>> decode([b'car', b'', b'\xff'])
    ['car', '', '\ufffd']
    """
    if not strings:
        return []
    texts = b'\0'.join(strings).decode('utf-8', 'replace').split('\0')
    if len(texts) != len(strings):
        raise Unknown
    return texts


def hexadecimal(data: bytes, places: list[int], lengths: list[int]) -> Texts:
    """Return arrays of uint8 as texts; places are those of arrays that are not empty."""
    starts = iter(places)
    texts = []
    for length in lengths:
        start = next(starts) + HEADER if length else 0
        texts.append(data[start : start + length].hex())
    return texts
