# SPDX-License-Identifier: Apache-2.0
"""Which object a label is about, by box and by centre, against the rules word for word."""

from __future__ import annotations

from math import dist, isfinite
from typing import Any

import numpy as np
import pytest
from frames import boxes, frame

from calib_node.core.matching import assignment
from calib_node.core.matching.assignment import Assigned, Assignment
from calib_node.core.matching.frames import IssuedFrame
from calib_node.core.matching.places import intersection_over_union
from calib_node.core.samples import LabelFrame

NAN = float('nan')
UNIT = (0.0, 0.0, 1.0, 1.0)


def issued(values: Any, usable: Any = None, **columns: Any) -> IssuedFrame:
    one = frame(1, values, **columns)
    here = np.ones(len(one.values), bool) if usable is None else np.array(usable, bool)
    return IssuedFrame(one, here, one.values, one.values, [None] * len(one.values))


def labels(values: Any, **columns: Any) -> LabelFrame:
    return LabelFrame(1, list(values), **columns)


def box_iou(a: Any, b: Any) -> float:
    """As in a textbook."""
    if not all(map(isfinite, (*a, *b))):
        return 0.0
    area_a = max(a[2] - a[0], 0.0) * max(a[3] - a[1], 0.0)
    area_b = max(b[2] - b[0], 0.0) * max(b[3] - b[1], 0.0)
    if area_a == 0.0 or area_b == 0.0:
        return 0.0
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    both = max(wide, 0.0) * max(high, 0.0)
    return both / (area_a + area_b - both)


def by_the_rules(
    scores: Any, names: Any, places: Any, truth: LabelFrame, close: Any, least: float
) -> tuple[dict[int, Any], int]:
    """Return outcomes by index, and how many true objects were missed."""
    outcome: dict[int, Any] = {}
    free = set(range(len(truth.values)))
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        best = None
        for speaks in (True, False):
            for j, value in enumerate(truth.values):
                if (value is not None) is not speaks or truth.names[j] != names[i]:
                    continue
                if speaks and j not in free:
                    continue
                how = close(places[i], truth.places[j])
                if how >= least and (best is None or how > best[0]):
                    best = (how, j)
            if best is not None:
                break
        if best is None:
            outcome[i] = 0.0
        else:
            outcome[i] = truth.values[best[1]]
            free.discard(best[1])
    missed = sum(truth.values[j] is not None for j in free)
    return {i: y for i, y in outcome.items() if y is not None}, missed


def random_case(generator: np.random.Generator, size: int) -> tuple[Any, Any, Any, LabelFrame]:
    def objects(count: int) -> tuple[Any, list[str]]:
        corner = generator.integers(0, 5, (count, 2)) / 2.0
        extent = generator.integers(2, 5, (count, 2)) / 2.0
        return np.hstack([corner, corner + extent]), generator.choice(['a', 'b'], count).tolist()

    count, true_count = generator.integers(0, size, 2)
    places, names = objects(count)
    true_places, true_names = objects(true_count)
    values = generator.choice([1.0, 1.0, 1.0, 0.0, None], true_count).tolist()
    scores = generator.integers(1, 10, count) / 10.0
    return scores, names, places, labels(values, names=true_names, places=true_places)


@pytest.mark.parametrize(
    'count', [500, pytest.param(10_000, marks=pytest.mark.slow)], ids=['some', 'many']
)
@pytest.mark.parametrize('objects', ['iou', 'distance'])
def test_labels_are_those_of_the_rules_on_random_messages(objects, count):
    generator = np.random.default_rng(8)
    found = 0
    for _ in range(count):
        scores, names, places, truth = random_case(generator, 14)
        if objects == 'iou':
            close, least = box_iou, 0.5
        else:
            places, truth.places = places[:, :2], truth.places[:, :2]
            close, least = (lambda a, b: -dist(a, b)), -1.0
        assigned = Assignment(objects)(issued(scores, names=names, places=places), truth)
        outcome, missed = by_the_rules(scores, names, places, truth, close, least)
        assert dict(assigned.pairs) == outcome
        assert assigned.missed == missed
        assert [i for i, _ in assigned.pairs] == sorted(outcome)
        found += sum(y == 1.0 for y in outcome.values())
    assert found > count / 2


@pytest.mark.parametrize('objects', ['iou', 'distance'])
def test_many_pairs_are_told_as_few(objects, monkeypatch):
    generator = np.random.default_rng(9)
    cases = [random_case(generator, 14) for _ in range(300)]

    def tell(partial: bool) -> list[Assigned]:
        assign = Assignment(objects, partial=partial)
        all_told = []
        for scores, names, places, truth in cases:
            columns = 4 if objects == 'iou' else 2
            true_places = truth.places[:, :columns].copy()
            true_places[::5] = NAN if partial else true_places[::5]
            one = issued(scores, names=names, places=places[:, :columns])
            all_told.append(
                assign(one, labels(truth.values, names=truth.names, places=true_places))
            )
        return all_told

    few = tell(False), tell(True)
    monkeypatch.setattr(assignment, 'AT_ONCE', -1)
    assert (tell(False), tell(True)) == few
    assert any(y for told in few[1] for _, y in told.pairs)


def test_the_surest_takes_the_true_one_first_and_the_next_is_wrong():
    places = boxes(UNIT, (0.0, 0.0, 1.0, 1.1), (5.0, 5.0, 6.0, 6.0))
    assigned = Assignment('iou')(
        issued([0.6, 0.9, 0.8], places=places), labels([1.0], places=boxes(UNIT))
    )
    assert assigned == Assigned([(0, 0.0), (1, 1.0), (2, 0.0)])


def test_with_partial_labels_what_they_do_not_explain_has_no_label():
    places = boxes(UNIT, (5.0, 5.0, 6.0, 6.0))
    truth = labels([1.0, 1.0], places=boxes(UNIT, (8.0, 8.0, 9.0, 9.0)))
    assigned = Assignment('iou', partial=True)(issued([0.6, 0.9], places=places), truth)
    assert assigned == Assigned([(0, 1.0)], missed=1, reason='far')


def test_classes_do_not_compete():
    places = boxes(UNIT, UNIT)
    truth = labels([1.0], names=['car'], places=boxes(UNIT))
    one = issued([0.9, 0.6], names=['truck', 'car'], places=places)
    assert Assignment('iou')(one, truth).pairs == [(0, 0.0), (1, 1.0)]
    assert Assignment('iou')(one, labels([1.0], places=boxes(UNIT))).pairs == [(0, 1.0), (1, 0.0)]


def test_what_says_nothing_comes_last_and_explains_any_number():
    places = boxes(UNIT, UNIT, UNIT)
    truth = labels([None, 1.0], places=boxes(UNIT, (0.0, 0.0, 1.0, 1.2)))
    assigned = Assignment('iou')(issued([0.9, 0.8, 0.7], places=places), truth)
    assert assigned == Assigned([(0, 1.0)])


BAD = [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, -1.0, 1.0), (NAN, 0.0, 1.0, 1.0)]


@pytest.mark.parametrize('bad', BAD)
def test_a_prediction_without_a_place_has_no_label(bad):
    one = issued([0.9, 0.6], places=boxes(bad, UNIT))
    truth = labels([1.0], places=boxes(UNIT))
    assert Assignment('iou')(one, truth) == Assigned([(1, 1.0)], unplaced=1)


@pytest.mark.parametrize('bad', BAD)
def test_a_true_object_without_a_place_may_be_any_of_its_class(bad):
    places = boxes(UNIT, (5.0, 5.0, 6.0, 6.0), UNIT)
    one = issued([0.9, 0.8, 0.7], names=['car', 'car', 'dog'], places=places)
    truth = labels([1.0, 1.0], names=['car', 'car'], places=boxes(bad, UNIT))
    assert Assignment('iou')(one, truth) == Assigned([(2, 0.0)], ambiguous=2)
    nothing = labels([None, 1.0], names=['car', 'car'], places=boxes(bad, UNIT))
    assert Assignment('iou')(one, nothing) == Assigned([(2, 0.0)], ambiguous=1)
    partial = Assignment('iou', partial=True)(one, truth)
    assert (partial.pairs, partial.missed) == ([(0, 1.0)], 1)


def test_why_a_true_object_was_missed():
    def reason(truth: LabelFrame, values: Any = (0.9,), place: Any = UNIT, **more: Any) -> str:
        one = issued(list(values), places=boxes(*[place] * len(values)), **more)
        return Assignment('iou')(one, truth).reason

    true, named = labels([1.0], places=boxes(UNIT)), ['car']
    told = labels([1.0], places=boxes(UNIT), names=['Car'])
    assert reason(true) == ''
    assert reason(true, values=()) == reason(true, usable=[False]) == 'empty'
    assert reason(told, names=named) == 'class'
    assert reason(true, place=BAD[0]) == 'unplaced'
    assert reason(true, place=(7.0, 7.0, 8.0, 8.0)) == 'far'


def test_at_exactly_the_threshold_it_is_the_object():
    one = issued([0.9, 0.8], places=np.array([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]))
    truth = labels([1.0], places=np.array([[0.0, 1.0, 0.0]]))
    assert Assignment('distance', distance=1.0)(one, truth).pairs == [(0, 1.0), (1, 0.0)]
    assert Assignment('distance', distance=0.999)(one, truth).pairs == [(0, 0.0), (1, 0.0)]
    half = labels([1.0], places=boxes((0.0, 0.0, 1.0, 0.5)))
    assert Assignment('iou')(issued([0.9], places=boxes(UNIT)), half).pairs == [(0, 1.0)]


def test_what_holds_no_probability_takes_no_true_object():
    places = boxes(UNIT, UNIT)
    one = issued([NAN, 0.6], usable=[False, True], places=places)
    assert Assignment('iou')(one, labels([1.0], places=boxes(UNIT))).pairs == [(1, 1.0)]


def test_nothing_at_all():
    none = boxes()
    assert Assignment('iou')(issued([], places=none), labels([], places=none)) == Assigned()
    one = labels([1.0], places=boxes(UNIT))
    assert Assignment('iou')(issued([], places=none), one) == Assigned(missed=1, reason='empty')
    wrong = Assignment('iou')(issued([0.7], places=boxes(UNIT)), labels([], places=none))
    assert wrong == Assigned([(0, 0.0)])


def test_of_several_classes_only_what_is_explained_has_a_label():
    rows = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]
    one = issued(rows, places=boxes(UNIT, (5.0, 5.0, 6.0, 6.0)))
    assert Assignment('iou')(one, labels([2.0], places=boxes(UNIT))).pairs == [(0, 2.0)]


def test_messages_of_different_length_tell_nothing_in_order():
    assert Assignment('order')(issued([0.5, 0.6]), labels([1.0])) == Assigned(ambiguous=1)
    assert Assignment('order')(issued([0.5, 0.6]), labels([None, 1.0])) == Assigned([(1, 1.0)])


def test_many_boxes_are_compared_in_parts():
    generator = np.random.default_rng(3)
    corner = generator.uniform(0.0, 1000.0, (3000, 2))
    places = np.hstack([corner, corner + 5.0])
    truth = labels([1.0] * 1000, places=places[:1000])
    assigned = Assignment('iou')(issued(generator.uniform(0, 1, 3000), places=places), truth)
    assert len(assigned.pairs) == 3000
    assert sum(y for _, y in assigned.pairs) + assigned.missed == 1000
    assert intersection_over_union(places[:2], places[:2])[0, 0] == 1.0
