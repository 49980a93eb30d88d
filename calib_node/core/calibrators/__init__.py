# SPDX-License-Identifier: Apache-2.0
"""The calibrators, by name."""

from __future__ import annotations

from inspect import signature
from typing import Any

from calib_node.core.calibrators.base import Calibrator, StateError
from calib_node.core.calibrators.newton import UpdateNotFinite
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.limits import check_names, nearest_name

CALIBRATORS: dict[str, type[Any]] = {
    'ops': OnlinePlattScaling,
}

__all__ = [
    'CALIBRATORS',
    'Calibrator',
    'OnlinePlattScaling',
    'StateError',
    'UpdateNotFinite',
    'create',
]


def create(name: str, **parameters: float) -> Calibrator:
    """Make the calibrator called `name`.

    Parameters
    ----------
    name : str
        A key of `CALIBRATORS`.
    **parameters : float
        The method's own parameters.

    Raises
    ------
    ValueError
        If there is no such method or a parameter is outside its range.

    Examples
    --------
    >>> calibrator = create('ops', gamma=0.1)
    >>> q, ticket = calibrator.issue(0.8)
    >>> calibrator.update(0.8, 0, ticket)
    >>> calibrator.updates
    1
    """
    if name not in CALIBRATORS:
        hint = nearest_name(name, CALIBRATORS)
        known = ', '.join(CALIBRATORS)
        raise ValueError(f'there is no method {name!r}{hint} (methods: {known})')
    method = CALIBRATORS[name]
    check_names(name, parameters, signature(method).parameters)
    calibrator: Calibrator = method(**parameters)
    return calibrator
