# SPDX-License-Identifier: Apache-2.0
"""States of several robots as one: the sum of what each has learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_node.core.calibrators import StateError, create, create_multiclass
from calib_node.core.calibrators.merge import STARTS, merge_states

METHODS = [*STARTS]


def robot(method: str, seed: int, count: int = 60, classes: int = 1, **parameters: Any) -> Any:
    """Return a calibrator that has learned."""
    rng = np.random.default_rng(seed)
    if classes == 1:
        calibrator: Any = create(method, **parameters)
        for p in rng.uniform(size=count).tolist():
            calibrator.update(p, int(rng.uniform() < p**2))
        return calibrator
    calibrator = create_multiclass(method, classes, **parameters)
    for p in rng.dirichlet(np.ones(classes), size=count):
        calibrator.update(p, int(rng.integers(classes)))
    return calibrator


def close(one: Any, other: Any, tolerance: float = 1e-12) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k], tolerance) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other, [tolerance] * len(one)))
    if isinstance(one, float):
        return abs(one - other) <= tolerance * max(1.0, abs(one))
    return one == other


@pytest.mark.parametrize('classes', [1, 3])
@pytest.mark.parametrize('method', METHODS)
def test_one_state_without_a_cap_is_itself(method: str, classes: int):
    state = robot(method, 1, classes=classes).state()
    assert merge_states([state]) == state


@pytest.mark.parametrize('classes', [1, 3])
@pytest.mark.parametrize('method', METHODS)
def test_a_merged_state_is_one_to_go_on_from(method: str, classes: int):
    robots = [robot(method, seed, 40 * seed, classes) for seed in (1, 2, 3)]
    state = merge_states([one.state() for one in robots])
    calibrator = robot(method, 9, 0, classes)
    calibrator.restore(state)
    assert calibrator.state() == state
    assert calibrator.updates == sum(one.updates for one in robots)


@pytest.mark.parametrize('cap', [None, 20.0])
@pytest.mark.parametrize('method', ['ops', 'beta'])
def test_the_formula(method: str, cap: float | None):
    """Written out on its own, from the definition."""
    states = [robot(method, seed, 30 * seed).state() for seed in (1, 2, 3)]
    names, rho = list(STARTS[method]), states[0]['parameters']['rho']
    start, identity = np.array([*STARTS[method].values()]), np.eye(len(STARTS[method]))
    thetas = [np.array([state[name] for name in names]) for state in states]
    matrices = [np.array(state['A']) for state in states]
    total = sum(matrix - rho * identity for matrix in matrices)
    right = sum(matrix @ theta for matrix, theta in zip(matrices, thetas)) - 2 * rho * start
    share = 1.0 if cap is None else cap / sum(state['updates'] for state in states)
    merged = merge_states(states, cap)
    assert np.allclose(
        [merged[name] for name in names], np.linalg.inv(rho * identity + total) @ right, atol=1e-12
    )
    assert np.allclose(merged['A'], rho * identity + share * total, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.permutations([1, 2, 3, 4]), st.sampled_from(METHODS))
def test_the_order_does_not_matter(order: list[int], method: str):
    states = {seed: robot(method, seed, 20 * seed).state() for seed in (1, 2, 3, 4)}
    one = merge_states([states[seed] for seed in (1, 2, 3, 4)])
    assert close(merge_states([states[seed] for seed in order]), one, 1e-11)


@pytest.mark.parametrize('method', ['ops', 'beta'])
def test_many_labels_count_for_more_than_few(method: str):
    many, few = (robot(method, seed, n).state() for seed, n in ((1, 2000), (2, 5)))
    merged = merge_states([many, few])['a']
    assert abs(merged - many['a']) < abs(merged - few['a'])


@pytest.mark.parametrize('method', METHODS)
def test_a_robot_that_has_learned_nothing_changes_nothing(method: str):
    many, none = (robot(method, seed, n).state() for seed, n in ((1, 500), (2, 0)))
    assert close(merge_states([many, none]), many, 1e-11)


def test_a_cap_leaves_what_was_learned_and_less_of_its_weight():
    state = robot('ops', 1, 500).state()
    capped = merge_states([state], cap=50)
    assert (capped['a'], capped['b']) == (state['a'], state['b'])
    assert np.allclose(
        np.array(capped['A']) - 100 * np.eye(2), (np.array(state['A']) - 100 * np.eye(2)) / 10
    )
    assert merge_states([state], cap=500) == merge_states([state], cap=1e9) == state


def test_a_small_radius_holds():
    states = [robot('ops', seed, 300, radius=0.9).state() for seed in (1, 2)]
    merged = merge_states(states)
    assert np.hypot(merged['a'], merged['b']) <= 0.9 * (1 + 1e-9)


def broken(**changes: Any) -> dict[str, Any]:
    return {**robot('ops', 1).state(), **changes}


@pytest.mark.parametrize(
    ('states', 'words'),
    [
        ([], 'no state'),
        ([create('isotonic').state()], "method 'isotonic'"),
        ([{}], 'method None'),
        ([create('ops', contexts=('class',)).state()], 'contexts'),
        ([broken(a=float('nan'))], 'state 1 is not sound'),
        ([broken(parameters=3)], 'no parameters'),
        ([broken(parameters={'gamma': -1.0})], 'parameters of state 1'),
        ([broken(), robot('beta', 1).state()], 'state 2 is of method'),
        ([broken(), robot('ops', 1, rho=7.0).state()], 'state 2 is of parameters'),
        ([broken(), robot('ops', 1, classes=3).state()], 'state 2 is of classes'),
    ],
)
def test_what_cannot_be_merged(states: list[Any], words: str):
    with pytest.raises(StateError, match=words):
        merge_states(states)


@pytest.mark.parametrize('cap', [0.0, -1.0, float('nan')])
def test_a_cap_that_is_none(cap: float):
    with pytest.raises(ValueError, match='cap'):
        merge_states([broken()], cap)
