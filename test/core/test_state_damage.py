# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with a saved state, of every method: one sentence, and nothing changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from saved_states import NODE

from calib_node.core.calibrators import (
    CALIBRATORS,
    StateError,
    UpdateNotFinite,
    create,
    create_multiclass,
)
from calib_node.core.state.document import from_yaml, make_document, restore_document, to_yaml

UPDATES = 57
KINDS = [(method, classes) for method in CALIBRATORS for classes in (1, 3)]
WRONG = (None, nan, inf, -inf, 'much', '1', [], {}, [[1.0]], {'a': 1.0})
"""What is no value of any field, but for `ALLOWED`."""

EXTREME = (True, False, -1, 0, 0.5, 1e308, -1e308, 5e-324, 2**63 - 1)
"""What some fields may be and others not."""

ALLOWED = {'calibrates': None, 'games': []}
"""What is in `WRONG` and yet may be: not decided yet, no game begun."""

WITHOUT_MATRIX = ('ensemble', 'windowed_platt', 'isotonic', 'windowed_temperature', 'identity')


def made(method: str, classes: int) -> Any:
    return create(method) if classes == 1 else create_multiclass(method, classes)


def samples(classes: int, seed: int = 3) -> Iterator[tuple[Any, int]]:
    generator = random.Random(seed)
    while True:
        if classes == 1:
            yield generator.random(), generator.randrange(2)
        else:
            p = np.array([generator.random() for _ in range(classes)])
            yield p / p.sum(), generator.randrange(classes)


def taught(method: str, classes: int, updates: int = UPDATES) -> Any:
    """Return a calibrator that has learned enough for every field to hold something."""
    calibrator = made(method, classes)
    for _, (p, y) in zip(range(updates), samples(classes)):
        q, ticket = calibrator.issue(p)
        assert np.all(np.isfinite(q))
        calibrator.update(p, y, ticket)
    return calibrator


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """Yield the path of everything within a state; of a list the first and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        # The states of classes are alike.
        ends = {0} if path == ('calibrators',) else {0, len(value) - 1}
        for index in sorted(ends - {len(value), -1}):
            yield from places(value[index], (*path, index))


def at(state: Any, path: tuple) -> Any:
    for key in path:
        state = state[key]
    return state


def damaged(state: dict, path: tuple, value: Any) -> dict:
    state = deepcopy(state)
    at(state, path[:-1])[path[-1]] = value
    return state


def without(state: dict, path: tuple) -> dict:
    state = deepcopy(state)
    del at(state, path[:-1])[path[-1]]
    return state


def longer(state: dict, path: tuple) -> dict:
    state = deepcopy(state)
    at(state, path).append(deepcopy(at(state, path)[-1]))
    return state


def negative(value: Any) -> Any:
    return [negative(item) for item in value] if isinstance(value, list) else -value


def outputs(calibrator: Any, classes: int) -> list:
    probabilities = [p for _, (p, _) in zip(range(3), samples(classes))]
    return [np.array(calibrator.predict(p)).tolist() for p in probabilities]


class Refusing:
    """A calibrator that has learned something else and must keep it."""

    def __init__(self, method: str, classes: int) -> None:
        self.calibrator = taught(method, classes, 5)
        self.classes = classes
        self.before = self.now()

    def now(self) -> tuple:
        return deepcopy(self.calibrator.state()), outputs(self.calibrator, self.classes)

    def refuses(self, state: dict) -> str:
        """Return the sentence of a refusal that changed nothing, or an empty text."""
        try:
            self.calibrator.restore(state)
        except StateError as error:
            sentence = str(error)
            assert sentence
            assert '\n' not in sentence
            assert len(sentence) < 500
            assert self.now() == self.before
            return sentence
        accepted, self.calibrator = self.calibrator, deepcopy(self.calibrator)
        check_sound(accepted, self.classes)
        self.calibrator.restore(self.before[0])
        return ''


def check_sound(calibrator: Any, classes: int) -> None:
    """A state that was accepted is one to go on from, to save and to come back to."""
    state = calibrator.state()
    again = made(calibrator.name, classes)
    again.restore(from_yaml(to_yaml(state)))
    assert again.state() == state
    for _, (p, y) in zip(range(3), samples(classes)):
        q = np.array(calibrator.predict(p))
        assert np.all((q >= 0.0) & (q <= 1.0))
        try:
            calibrator.update(p, y)
        except UpdateNotFinite:
            continue


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_a_field_that_is_missing_at_any_depth(method, classes):
    state = taught(method, classes).state()
    one = Refusing(method, classes)
    for path in places(state):
        if isinstance(path[-1], str):
            assert one.refuses(without(state, path)), path
        else:
            one.refuses(without(state, path))


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_a_value_that_is_none_at_any_depth(method, classes):
    state = taught(method, classes).state()
    one = Refusing(method, classes)
    for path in places(state):
        for value in WRONG:
            if value == at(state, path) or ALLOWED.get(path[-1], ...) == value:
                continue
            assert one.refuses(damaged(state, path, value)), (path, value)


@pytest.mark.parametrize('method', CALIBRATORS)
def test_a_value_out_of_bounds_is_refused_or_harmless(method):
    state = taught(method, 1).state()
    one = Refusing(method, 1)
    for path in places(state):
        for value in EXTREME:
            one.refuses(damaged(state, path, value))


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_a_list_that_is_too_long_or_too_short(method, classes):
    state = taught(method, classes).state()
    one = Refusing(method, classes)
    for path in places(state):
        if isinstance(at(state, path), list) and at(state, path):
            last = (*path, len(at(state, path)) - 1)
            refusals = one.refuses(longer(state, path)), one.refuses(without(state, last))
            # Of games there may be fewer than outcomes, and of samples any number.
            assert all(refusals) or path[-1] in ('games', 'p', 'y'), path


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_a_matrix_that_is_not_positive_definite_or_not_symmetric(method, classes):
    state = taught(method, classes).state()
    one = Refusing(method, classes)
    matrices = [path for path in places(state) if path[-1] == 'A']
    for path in matrices:
        matrix = at(state, path)
        assert one.refuses(damaged(state, path, negative(matrix)))
        assert one.refuses(damaged(state, path, negative(negative(matrix)))) == ''
        # The multiclass `ops` saves the three numbers that say all.
        if isinstance(matrix, list) and (classes, path) != (3, ('A',)):
            assert one.refuses(damaged(state, (*path, 0, 1), matrix[0][1] + 1.0))
    assert matrices or method in WITHOUT_MATRIX


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_every_method_refuses_the_states_of_others(method, classes):
    one = Refusing(method, classes)
    for other, number in KINDS:
        if (other, number) != (method, classes):
            document = make_document(taught(other, number, 2), NODE)
            with pytest.raises(StateError, match=r'^it was saved (by method|with classes)'):
                restore_document(one.calibrator, document)
    assert one.now() == one.before


def text_of(method: str, classes: int, updates: int) -> str:
    document = make_document(taught(method, classes, updates), NODE)
    return to_yaml({**document, 'saved_at': '2026-01-01T00:00:00+00:00'})


@pytest.mark.parametrize('method', CALIBRATORS)
def test_a_file_that_is_cut_at_any_byte_is_refused_or_whole(method):
    text = text_of(method, 1, 4)
    whole = from_yaml(text)
    del whole['saved_at']
    # Of a long one, some hundred places between its beginning and its end.
    between = range(500, len(text) - 500, 1 + len(text) // 500)
    for length in [*range(500), *between, *range(max(500, len(text) - 500), len(text))]:
        calibrator = create(method)
        start = calibrator.state()
        try:
            restore_document(calibrator, from_yaml(text[:length]))
        except StateError:
            assert calibrator.state() == start
        else:
            assert make_document(calibrator, NODE) == whole


@pytest.mark.parametrize(('method', 'classes'), KINDS)
def test_a_file_with_a_wrong_byte_is_refused_or_sound(method, classes):
    """A digit may turn into another one; nothing else gets through."""
    text = text_of(method, classes, 4)
    generator = random.Random(method)
    refusals = []
    for _ in range(150):
        place = generator.randrange(len(text))
        wrong = chr(generator.choice((generator.randrange(32, 127), 10, 0)))
        calibrator = made(method, classes)
        try:
            restore_document(calibrator, from_yaml(text[:place] + wrong + text[place + 1 :]))
        except StateError as error:
            refusals.append(str(error))
        else:
            check_sound(calibrator, classes)
    assert refusals
    assert not [sentence for sentence in refusals if '\n' in sentence]


@pytest.mark.parametrize('number', ['0x' + 'f' * 5000, '9' * 5000, '1' + ':00' * 3000, '2' * 20])
@pytest.mark.parametrize('field', ['updates', 'version', 'b', 'gamma'])
def test_a_number_too_long_to_be_told(number, field):
    text = text_of('ops', 1, 3)
    old = next(line for line in text.splitlines() if f'{field}: ' in line)
    value = old.partition(f'{field}: ')[2].partition(',')[0].strip('{}')
    text = text.replace(f'{field}: {value}', f'{field}: {number}')
    with pytest.raises(StateError) as refusal:
        restore_document(create('ops'), from_yaml(text))
    assert len(str(refusal.value)) < 500
