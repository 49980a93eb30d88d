# SPDX-License-Identifier: Apache-2.0
"""What every method is held to, of one probability and of one per class: the cases and checks.

Those with contexts are held to the same.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from calib_node.core.calibrators import CALIBRATORS, StateError, create, create_multiclass
from calib_node.core.calibrators.contexts.forms import FORMS

EDGES = [0.0, 5e-324, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9, 1.0 - 2**-53, 1.0]
BRISK = {'window': 20, 'refit_every': 10, 'warmup': 20, 'context_capacity': 3}
"""So that a short stream sees windows run over, a warm-up end and contexts without a place."""

Parameters = dict[str, Any]
Sample = tuple[Any, int]


class InContexts:
    """A calibrator that is asked in a context, which follows from the probability."""

    def __init__(self, calibrator: Any) -> None:
        self.calibrator = calibrator

    def __getattr__(self, name: str) -> Any:
        if name == 'calibrator' or name.startswith('__'):
            raise AttributeError(name)
        return getattr(self.calibrator, name)

    def context_of(self, p: Any) -> tuple[Any, ...]:
        number = zlib.crc32(repr(p).encode()) % 15
        return ('abcde'[number % 5], number // 5)[: len(self.calibrator.contexts)]

    def predict(self, p: Any) -> Any:
        return self.calibrator.predict(p, self.context_of(p))

    def issue(self, p: Any) -> Any:
        return self.calibrator.issue(p, self.context_of(p))

    def issue_many(self, values: Any) -> Any:
        contexts = [self.context_of(p if np.ndim(p) else float(p)) for p in values]
        return self.calibrator.issue_many(values, contexts)

    def update(self, p: Any, y: Any, ticket: Any = None) -> None:
        self.calibrator.update(p, y, ticket, self.context_of(p))


@dataclass(frozen=True)
class Case:
    """A method of one probability (classes is 1) or of one per class, with contexts or none."""

    method: str
    classes: int
    contexts: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = '' if self.classes == 1 else f' of {self.classes} classes'
        return f'{self.method}{of}' + ''.join(f' by {name}' for name in self.contexts)

    @property
    def names(self) -> set[str]:
        """Names of the method's parameters."""
        names = set(signature(CALIBRATORS[self.method]).parameters)
        if self.contexts:
            names.add('context_capacity')
        if self.contexts and self.method in FORMS:
            names.add('context_rho')
        return names

    def own(self, parameters: Parameters) -> Parameters:
        """Return those of the parameters that the method has."""
        return {name: value for name, value in parameters.items() if name in self.names}

    def make(self, **parameters: Any) -> Any:
        given = {**self.own(BRISK), **parameters, 'contexts': self.contexts}
        if self.classes == 1:
            made: Any = create(self.method, **given)
        else:
            made = create_multiclass(self.method, self.classes, **given)
        return InContexts(made) if self.contexts else made

    def learned(self, samples: list[Sample], **parameters: Any) -> Any:
        calibrator = self.make(**parameters)
        for p, y in samples:
            calibrator.update(p, y)
        return calibrator

    def samples(self, count: int, seed: int = 0) -> list[Sample]:
        """Return samples of a model that is too sure, some of them at the edges."""
        if self.classes == 1:
            generator = random.Random(seed)
            p = [
                generator.choice(EDGES) if number % 7 == 3 else generator.random()
                for number in range(count)
            ]
            return [(x, int(generator.random() < 0.2 + 0.6 * x * x)) for x in p]
        generator = np.random.default_rng(seed)
        rows = generator.dirichlet(np.full(self.classes, 0.5), count)
        rows[3::7] = np.eye(self.classes)[generator.integers(self.classes, size=len(rows[3::7]))]
        softer = (0.05 + rows) / (0.05 + rows).sum(axis=1, keepdims=True)
        return [(row, int(generator.choice(self.classes, p=q))) for row, q in zip(rows, softer)]

    @property
    def probes(self) -> list[Any]:
        """What forecasts are compared on."""
        if self.classes == 1:
            return [*EDGES, 0.3, 0.77]
        return [*np.eye(self.classes), np.full(self.classes, 1.0 / self.classes)]

    def bad_probabilities(self) -> list[Any]:
        if self.classes == 1:
            return [-1e-9, 1.0 + 1e-9, math.nan, math.inf, -math.inf]
        half = [0.5, *[0.5 / (self.classes - 1)] * (self.classes - 1)]
        unfit = [half[:-1], [*half, 0.0], [half], 0.5, ['a'] * self.classes]
        return [*unfit, *([wrong, *half[1:]] for wrong in (-0.1, 1.2, 0.502, 0.498, math.nan))]

    def bad_labels(self) -> list[Any]:
        return [max(self.classes, 2), -1, 0.5, math.nan, math.inf, None, '1']


ALIKE = ('tobs', 'hobs', 'windowed_temperature', 'identity')
"""Methods that others stand for where there are contexts."""

CASES = [
    *[Case(method, classes) for classes in (1, 3) for method in CALIBRATORS],
    *[Case(method, 1, ('class',)) for method in CALIBRATORS if method not in ALIKE],
    *[Case(method, 1, ('class', 'range')) for method in FORMS],
    *[Case(method, 3, ('class',)) for method in ('ops', 'temperature', 'hops')],
]
every_case = pytest.mark.parametrize('case', CASES, ids=str)


def streams(case: Case, most: int = 40) -> st.SearchStrategy[list[Sample]]:
    """Draw streams of any samples."""
    if case.classes == 1:
        p: st.SearchStrategy[Any] = st.floats(0.0, 1.0) | st.sampled_from(EDGES)
    else:
        weights = st.floats(1e-6, 1.0) | st.sampled_from([1e-300, 1e-9, 1e9])
        rows = st.lists(weights, min_size=case.classes, max_size=case.classes)
        p = rows.map(lambda row: np.array(row) / np.sum(row))
    return st.lists(st.tuples(p, st.integers(0, max(case.classes, 2) - 1)), max_size=most)


def decades(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


def parameter_sets(case: Case) -> st.SearchStrategy[Parameters]:
    """Draw parameters of the method from all of what is in use, and from beyond it."""
    known: dict[str, st.SearchStrategy[Any]] = {
        'gamma': decades(-6, 6),
        'rho': decades(-2, 6),
        'radius': decades(-3, 4),
        'clip': decades(-9, -0.302 if case.classes == 1 else -0.5),
        'forgetting': st.sampled_from([1.0, 0.999, 0.9, 1e-6]) | st.floats(0.01, 1.0),
        'bins': st.integers(2, 30),
        'pseudo_count': st.sampled_from([0.0, 5e-324, 0.3, 1.0, 1e6]),
        'seed': st.integers(0, 2**32 - 1),
        'window': st.integers(10, 20),
        'refit_every': st.integers(1, 30),
        'warmup': st.integers(1, 30),
        'context_capacity': st.integers(1, 6),
        'context_rho': decades(-2, 6),
    }
    return st.fixed_dictionaries(
        {name: known.get(name, st.booleans()) for name in sorted(case.names)}
    )


def forecasts_of(case: Case, calibrator: Any) -> list[Any]:
    return [np.asarray(calibrator.predict(p)).tolist() for p in case.probes]


def assert_probabilities(q: Any) -> None:
    assert np.min(q) >= 0.0
    assert np.max(q) <= 1.0
    if np.ndim(q):
        assert np.sum(q) == pytest.approx(1.0, abs=1e-12)


def leaves(value: Any) -> Iterator[Any]:
    """Yield what is in a state at any depth, but for the tables and lists that hold it."""
    if type(value) is dict:
        assert all(type(key) is str for key in value)
        for part in value.values():
            yield from leaves(part)
    elif type(value) is list:
        for part in value:
            yield from leaves(part)
    else:
        yield value


def assert_plain(state: Any) -> None:
    """Expect Python's own types alone, and finite numbers."""
    for leaf in leaves(state):
        assert type(leaf) in (int, float, bool, str, type(None)), (leaf, type(leaf))
        assert type(leaf) is not float or math.isfinite(leaf)


def assert_sound(case: Case, calibrator: Any) -> None:
    """Expect forecasts that are probabilities, and a state that another one takes as its own."""
    state = calibrator.state()
    assert_plain(state)
    other = case.make(**calibrator.parameters())
    other.restore(state)
    # Of many classes, each has a seed of its own.
    assert other.state() == state
    assert forecasts_of(case, other) == forecasts_of(case, calibrator)
    for p in case.probes:
        assert_probabilities(calibrator.predict(p))


def refusal(calibrator: Any, state: Any) -> str:
    """Return why a state is refused, or nothing if it is taken."""
    try:
        calibrator.restore(state)
    except StateError as error:
        return str(error)
    return ''


def assert_sentence(sentence: str, about: Any = '') -> None:
    assert len(sentence.split()) > 4, (about, sentence)
    assert '\n' not in sentence, about
    assert len(sentence) < 600, (about, sentence)


def places(value, path=()):
    """Return the way to every field of a state; of a list the first, one within and the last."""
    found = [path] if path else []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = sorted({0, len(value) // 2, len(value) - 1} & set(range(len(value))))
    else:
        keys = []
    for key in keys:
        found += places(value[key], (*path, key))
    return found


def at(value, path):
    """Return what is at the end of a path."""
    for key in path:
        value = value[key]
    return value


def changed(value, path, part):
    """Return a state with another part at the end of a path, `...`: none; nothing is changed."""
    if not path:
        return part
    copied = value.copy()
    new = changed(value[path[0]], path[1:], part)
    if new is ...:
        del copied[path[0]]
    else:
        copied[path[0]] = new
    return copied
