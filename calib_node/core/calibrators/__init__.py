# SPDX-License-Identifier: Apache-2.0
"""The calibrators, by name."""

from __future__ import annotations

from inspect import signature
from typing import Any

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.calibrators.identity import Identity
from calib_node.core.calibrators.newton import UpdateNotFinite
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.calibrators.saved import StateError
from calib_node.core.limits import Parameter, check_names, nearest_name

_CLASSES: tuple[type[Any], ...] = (
    OnlinePlattScaling,
    Identity,
)
CALIBRATORS: dict[str, type[Any]] = {method.name: method for method in _CLASSES}
"""The class of each method; the one place that lists them."""

__all__ = [
    'CALIBRATORS',
    'Calibrator',
    'Identity',
    'OnlinePlattScaling',
    'StateError',
    'UpdateNotFinite',
    'create',
]


def create(name: str, **parameters: Parameter) -> Calibrator:
    """Make the calibrator called `name`.

    Parameters
    ----------
    name : str
        A key of `CALIBRATORS`.
    **parameters : float, int or bool
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
