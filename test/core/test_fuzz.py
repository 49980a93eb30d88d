# SPDX-License-Identifier: Apache-2.0
"""A million random messages, changes and calls: nothing crashes, and the books add up.

``CALIB_NODE_FUZZ_SEED=1 pytest test/core/test_fuzz.py`` sends another million.
"""

from __future__ import annotations

import os
import random

import pytest
from books import Books
from traffic import Traffic

from calib_node.core.calibrators import CALIBRATORS

SEED = os.environ.get('CALIB_NODE_FUZZ_SEED', '0')
MILLION = 1_000_000
SOME, OF_ONE, OF_SEVERAL = 2_000, 60_000, 10_000
CASES = {(method, classes): OF_ONE if classes == 1 else OF_SEVERAL
         for method in CALIBRATORS for classes in (1, 3)}  # fmt: skip
# The default method gets what is left of the million.
CASES['ops', 1] += max(MILLION - sum(CASES.values()), 0)


def run(method, classes, number):
    books = Books(method, classes)
    traffic = Traffic(books, random.Random(f'{method} {classes} {SEED}'))
    for sent in range(1, number + 1):
        traffic.step()
        if sent % 10 == 0:
            books.check()
        if sent % 1000 == 0:
            books.check_scores()
            books.check_state()
    assert books.learned > number // 20, 'hardly anything was learned'
    if number > SOME:
        assert books.held_back > 0
    assert min(books.refused[reason] for reason in ('not_finite', 'out_of_range', 'bad_label')) > 0
    books.flush()
    books.check()
    books.check_scores()


@pytest.mark.parametrize(
    ('method', 'classes'), [('ops', 1), ('ops', 3), ('mixture', 1), ('tops', 3)]
)
def test_some_thousand_messages_changes_and_calls(method, classes):
    run(method, classes, SOME)


@pytest.mark.slow
@pytest.mark.parametrize(('case', 'number'), CASES.items(), ids=str)
def test_a_million_messages_changes_and_calls(case, number):
    run(*case, number)


def test_there_are_a_million():
    assert sum(CASES.values()) >= MILLION
