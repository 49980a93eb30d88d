# SPDX-License-Identifier: Apache-2.0
"""What several robots, or several recordings, have learned, as one state to start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.calibrators.temperature import LOWEST_BETA
from calib_node.core.ranges import Interval, check_number
from calib_node.core.samples import Floats
from calib_node.core.state.fields import StateError

# What each method learns by its Newton steps, and where it starts.
STARTS = {
    'ops': {'a': 1.0, 'b': 0.0},
    'beta': {'a': 1.0, 'b': 1.0, 'c': 0.0},
    'temperature': {'beta': 1.0},
}
CAPS = Interval(1)


def merge_states(states: Sequence[Mapping[str, Any]], cap: float | None = None) -> dict[str, Any]:
    """Return one state of several that each learned from the same start.

    Every state is a quadratic form of its losses around what it has learned, (θ_i, A_i). The forms
    are added, less the start that each of them has in it, so that a state of many labels counts for
    more than one of few:

        A = ρI + s ΣG_i,  θ = (ρI + ΣG_i)⁻¹ (ΣA_i θ_i - (N - 1) ρ θ_0),  G_i = A_i - ρI

    Parameters
    ----------
    states : sequence of mapping
        As `Calibrator.state` returns them, or the documents of state files, of one method with one
        set of parameters: 'ops', 'beta' or 'temperature', without contexts.
    cap : float, optional
        So many labels the merged state weighs at most, s = min(1, cap / labels), so that a new
        robot that differs from the others moves away from it the sooner. None: all of them.

    Returns
    -------
    dict
        A state for `Calibrator.restore`. Of one state without a cap it is that state.

    Raises
    ------
    StateError
        If there is none, one is not sound, or they do not go together.
    ValueError
        If `cap` is below 1.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> robots = [create('ops'), create('ops')]
    >>> for robot, label in zip(robots, (0, 1)):
    ...     robot.update(0.8, label)
    >>> merged = merge_states([robot.state() for robot in robots])
    >>> merged['updates'], [round(robot.a, 4) for robot in robots], round(merged['a'], 4)
    (2, [0.8911, 1.0277], 0.9184)
    """
    if cap is not None:
        cap = check_number('cap', cap, CAPS)
    if not states:
        raise StateError('there is no state to merge')
    restored = [_restored(state, number) for number, state in enumerate(states, 1)]
    first = restored[0]
    for number, state in enumerate(restored, 1):
        for key in ('method', 'classes', 'parameters'):
            if state.get(key) != first.get(key):
                raise StateError(
                    f'state {number} is of {key} {state.get(key)!r}, and state 1 of '
                    f'{first.get(key)!r}: states of one method with the same parameters can be '
                    'merged'
                )
    labels = _labels(restored)
    scale = 1.0 if cap is None or not labels else min(1.0, cap / labels)
    merged = dict(first)
    if len(restored) > 1 or scale < 1.0:
        merged.update(_merged(restored, scale))
    merged['updates'] = labels
    return merged


def _restored(state: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a state as a calibrator gives it that has taken it over."""
    method, classes = state.get('method'), state.get('classes', 1)
    if method not in STARTS:
        raise StateError(
            f'state {number} is of method {method!r}, which has nothing to add up: '
            f'{", ".join(STARTS)} can be merged'
        )
    if 'contexts' in state:
        raise StateError(f'state {number} has contexts, which cannot be merged')
    parameters = state.get('parameters')
    if not isinstance(parameters, dict):
        raise StateError(f'state {number} has no parameters')
    try:
        if classes == 1:
            calibrator: Any = create(method, **parameters)
        else:
            calibrator = create_multiclass(method, classes, **parameters)
        calibrator.restore(dict(state))
    except StateError as error:
        raise StateError(f'state {number} is not sound: {error}') from None
    except (TypeError, ValueError) as error:
        raise StateError(f'the parameters of state {number} are not sound: {error}') from None
    found: dict[str, Any] = calibrator.state()
    return found


def _merged(states: list[dict[str, Any]], scale: float) -> dict[str, Any]:
    """Return what is learned of several sound states of one method."""
    first = states[0]
    if 'calibrators' in first:
        each = zip(*(state['calibrators'] for state in states))
        own = [{**one[0], **_merged(list(one), scale), 'updates': _labels(one)} for one in each]
        return {'calibrators': own}
    starts, rho = STARTS[first['method']], first['parameters']['rho']
    size, radius = len(starts), first['parameters']['radius']
    # One set for a single probability, one for each class of several that have their own.
    thetas = np.array([[state[name] for name in starts] for state in states], np.float64)
    thetas = np.moveaxis(thetas.reshape(len(states), size, -1), 2, 1)
    matrices = np.array([state['A'] for state in states], np.float64)
    matrices = matrices.reshape(*thetas.shape, size)
    found = [
        _sum(thetas[:, k], matrices[:, k], np.array([*starts.values()]), rho, scale)
        for k in range(thetas.shape[1])
    ]
    if size == 1:
        within = [np.clip(theta, LOWEST_BETA, radius) for theta, _ in found]
    else:
        within = [theta * min(1.0, radius / (np.linalg.norm(theta) or 1.0)) for theta, _ in found]
    learned: dict[str, Any] = {}
    for index, name in enumerate(starts):
        values = [float(theta[index]) for theta in within]
        learned[name] = values if isinstance(first[name], list) else values[0]
    tables = [matrix.tolist() for _, matrix in found]
    learned['A'] = tables if len(found) > 1 else tables[0]
    if size == 1:
        learned['A'] = tables[0][0][0]
    return learned


def _sum(
    thetas: Floats, matrices: Floats, start: Floats, rho: float, scale: float
) -> tuple[Floats, Floats]:
    """Return θ and A of several, thetas of shape (N, d) and matrices of shape (N, d, d)."""
    identity = np.eye(len(start))
    gained = (matrices - rho * identity).sum(axis=0)
    pulled = np.einsum('nij,nj->i', matrices, thetas) - (len(thetas) - 1) * rho * start
    theta = np.linalg.solve(rho * identity + gained, pulled)
    if len(thetas) == 1:
        theta = thetas[0]
    matrix = rho * identity + scale * gained
    return theta, (matrix + matrix.T) / 2.0


def _labels(states: Sequence[Mapping[str, Any]]) -> int:
    return sum(state['updates'] for state in states)
