# SPDX-License-Identifier: Apache-2.0
"""The same in small: sequences of a few steps, which shrink to the least that fails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from books import Books
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.matching import POLICIES
from calib_node.core.samples import NANOSECONDS

STEP = NANOSECONDS // 100
START = 1_000 * NANOSECONDS
# So near to each other that they match, miss, repeat and go back, and now and then none at all.
STAMPS = st.integers(-400, 400).map(lambda n: START + n * STEP // 4) | st.sampled_from([0, START])
PROBABILITIES = st.floats(0.0, 1.0) | st.sampled_from(
    [-1e-6, 1.0 + 1e-6, -0.1, 1.5, math.nan, math.inf, 5e-324]
)
LABELS = st.sampled_from([0.0, 1.0])
ODD_LABELS = st.sampled_from([2.0, 3.0, 0.5, -1.0, math.nan])
CHOICES = {'window': [10, 20], 'refit_every': [1, 5], 'warmup': [1, 20]}


def within(name: str) -> st.SearchStrategy[Any]:
    """Return values of a parameter, its ends among them."""
    limits = CALIBRATOR_LIMITS[name]
    if limits is None:
        return st.booleans()
    if name in CHOICES:
        return st.sampled_from(CHOICES[name])
    return st.floats(
        limits.low, limits.high, exclude_min=limits.low_open, exclude_max=limits.high_open
    )


class AnyOrder(RuleBasedStateMachine):
    """All that a node may be sent, in any order."""

    @initialize(
        method=st.sampled_from(list(CALIBRATORS)),
        classes=st.sampled_from([1, 1, 3]),
        policy=st.sampled_from(POLICIES),
    )
    def start(self, method: str, classes: int, policy: str) -> None:
        self.books = Books(method, classes, policy=policy)
        fixed = CALIBRATORS[method].fixed
        names = self.books.pipeline.calibrator.parameters()
        self.changeable = [name for name in names if name not in fixed]
        self.saved = self.books.save()

    @rule(stamp=STAMPS, p=st.none() | PROBABILITIES)
    def predict(self, stamp: int, p: float | None) -> None:
        if self.books.classes == 1 or p is None:
            self.books.predict(stamp, p)
        else:
            self.books.predict(stamp, np.array([p, (1.0 - p) * 0.75, (1.0 - p) * 0.25]))

    @rule(stamp=STAMPS, value=st.none() | LABELS)
    def label(self, stamp: int, value: float | None) -> None:
        self.books.label(stamp, value)

    @rule(stamp=STAMPS, value=ODD_LABELS)
    def odd_label(self, stamp: int, value: float) -> None:
        self.books.label(stamp, value)

    @rule(stamp=STAMPS)
    def refuse_prediction(self, stamp: int) -> None:
        self.books.refuse_prediction(stamp, 'layout')

    @rule(stamp=STAMPS)
    def refuse_label(self, stamp: int) -> None:
        self.books.refuse_label(stamp, 'layout')

    @rule(stamp=STAMPS, p=st.floats(0.0, 1.0), y=st.sampled_from([0.0, 1.0]))
    def pair(self, stamp: int, p: float, y: float) -> None:
        self.predict(stamp, p)
        self.label(stamp, y)

    @rule(
        changes=st.fixed_dictionaries(
            {},
            optional={
                'policy': st.sampled_from(POLICIES),
                'tolerance': st.sampled_from([0, STEP, 10 * STEP]),
                'horizon': st.sampled_from([1, 50 * STEP, 6000 * STEP]),
                'max_disorder': st.sampled_from([0, 10 * STEP, 100 * STEP]),
                'capacity': st.sampled_from([1, 2, 5, 1000]),
            },
        )
    )
    def match_otherwise(self, changes: dict[str, Any]) -> None:
        self.books.configure_matching(**changes)

    @precondition(lambda self: self.changeable)
    @rule(data=st.data())
    def configure(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.changeable))
        self.books.configure(**{name: data.draw(within(name))})

    @rule(bins=st.integers(1, 20), window=st.integers(1, 10))
    def begin_another_window(self, bins: int, window: int) -> None:
        self.books.set_window(bins, window)

    @rule(learning=st.booleans())
    def learn_or_not(self, learning: bool) -> None:
        self.books.pipeline.learning = learning

    @rule()
    def save(self) -> None:
        self.books.check_state()
        self.saved = self.books.save()

    @rule()
    def load(self) -> None:
        self.books.load(self.saved)

    @rule()
    def reset(self) -> None:
        self.books.reset()

    @rule()
    def flush(self) -> None:
        self.books.flush()

    @invariant()
    def adds_up(self) -> None:
        self.books.check()
        self.books.check_scores()

    def teardown(self) -> None:
        self.books.check_state()


AnyOrder.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
test_any_order = AnyOrder.TestCase
