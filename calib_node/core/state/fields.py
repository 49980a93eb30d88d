# SPDX-License-Identifier: Apache-2.0
"""Fields of a saved state, each checked before it is used."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from calib_node.core.ranges import Interval, as_float
from calib_node.core.refusal import brief

NON_NEGATIVE = Interval(0.0)
ANY = Interval()

COUNTABLE = 2**53
"""From here on a float leaves whole numbers out."""


class StateError(ValueError):
    """A saved state that cannot be used; its text says why in one sentence."""


def table(state: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a field that is a table of fields.

    Returns
    -------
    dict
        The table itself, not a copy.

    Raises
    ------
    StateError
        If it is none; the text names the field and what it holds.
    """
    value = state.get(key)
    if not isinstance(value, dict):
        raise StateError(f'the field {key} is missing or is not a table')
    return value


def whole(state: dict[str, Any], key: str) -> int:
    """Return a field that is a whole number from 0.

    Returns
    -------
    int
        Of any size.

    Raises
    ------
    StateError
        If it is none; the text names the field and what it holds.
    """
    value = state.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise StateError(f'{key} must be a whole number from 0, not {brief(value)}')
    if value >= COUNTABLE:
        raise StateError(f'{key} must be a whole number below 2**53, not {brief(value)}')
    return value


def finite(state: dict[str, Any], key: str, limits: Interval = ANY) -> float:
    """Return a field that is a finite number within `limits`.

    Returns
    -------
    float
        An integer as a float.

    Raises
    ------
    StateError
        If it is none; the text names the field and what it holds.
    """
    number = as_float(state.get(key))
    if not isfinite(number):
        raise StateError(f'{key} must be a finite number, not {brief(state.get(key))}')
    if number not in limits:
        raise StateError(f'{key} must be {limits}, not {brief(number)}')
    return number


def numbers(
    state: dict[str, Any], key: str, length: int | None = None, limits: Interval = ANY
) -> list[float]:
    """Return a field that is a list of finite numbers, of a given length or of any.

    Returns
    -------
    list of float
        Each within `limits`.

    Raises
    ------
    StateError
        If it is none; the text names the field and what it holds.
    """
    values = state.get(key)
    if not isinstance(values, list) or length not in (None, len(values)):
        size = '' if length is None else f'{length} '
        raise StateError(f'{key} must be a list of {size}numbers, not {brief(values)}')
    return [finite({key: value}, key, limits) for value in values]


def rows(
    state: dict[str, Any], key: str, shape: tuple[int | None, int], limits: Interval = ANY
) -> list[list[float]]:
    """Return a field that is a list of rows of finite numbers; None: any number of rows.

    Returns
    -------
    list of list of float
        Of `shape`, each number within `limits`.

    Raises
    ------
    StateError
        If it is none; the text names the field and what it holds.
    """
    values = state.get(key)
    count, width = shape
    if not isinstance(values, list) or count not in (None, len(values)):
        size = '' if count is None else f'{count} '
        raise StateError(f'{key} must be a list of {size}rows of {width} numbers')
    return [numbers({key: row}, key, width, limits) for row in values]


def positive_definite(state: dict[str, Any], key: str, size: int) -> list[list[float]]:
    """Return a field that is a symmetric positive definite matrix.

    Returns
    -------
    list of list of float
        Of shape ``(size, size)``.

    Raises
    ------
    StateError
        If it is none; the text names the field and what it holds.
    """
    values = state.get(key)
    if (
        not isinstance(values, list)
        or [len(r) if isinstance(r, list) else 0 for r in values] != [size] * size
    ):
        raise StateError(f'{key} must be a {size}x{size} matrix')
    matrix = rows(state, key, (size, size))
    if not is_positive_definite(matrix):
        raise StateError(f'{key} must be symmetric and positive definite')
    return matrix


def is_positive_definite(matrix: list[list[float]]) -> bool:
    """Tell whether a matrix is symmetric with positive eigenvalues only.

    Returns
    -------
    bool
        Whatever the scale of its rows.
    """
    array = np.array(matrix)
    diagonal = np.diagonal(array)
    if not np.array_equal(array, array.T) or not np.all(diagonal > 0.0):
        return False
    # With ones on the diagonal no product over- or underflows.
    scale = 1.0 / np.sqrt(diagonal)
    try:
        np.linalg.cholesky(array * scale * scale[:, np.newaxis])
    except np.linalg.LinAlgError:
        return False
    return True
