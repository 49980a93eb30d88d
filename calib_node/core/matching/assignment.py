# SPDX-License-Identifier: Apache-2.0
"""Which objects of a message the labels of another are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_node.core.matching.frames import IssuedFrame
from calib_node.core.samples import Floats, LabelFrame

CELLS = 1_000_000
"""Pairs of objects that are compared at once."""

Closeness = Callable[[Floats, Floats], Floats]
"""Makes of places of shape (n, d) and (m, d) how close they are, shape (n, m); NaN: never."""


@dataclass
class Assigned:
    """What the labels of a message say of the objects of another.

    Attributes
    ----------
    pairs : list of (int, float)
        Objects with their labels, in the order of their message.
    missed : int
        Labelled objects that no prediction was about.
    ambiguous : int
        Labels of which nobody can tell which object they are about.
    """

    pairs: list[tuple[int, float]] = field(default_factory=list)
    missed: int = 0
    ambiguous: int = 0


@dataclass(frozen=True)
class Assignment:
    """How the objects of a message are told, where its labels come in one message too.

    Attributes
    ----------
    objects : {'order', 'iou', 'distance'}
        By what.
    iou : float
        Least intersection over union at which a box is that of a true object.
    distance : float
        Largest distance at which a centre is, in the unit of the centres.
    partial : bool
        Whether objects that no label explains have no label, as not all true ones are labelled.
    """

    objects: str
    iou: float = 0.5
    distance: float = 1.0
    partial: bool = False

    def __call__(self, issued: IssuedFrame, labels: LabelFrame) -> Assigned:
        """Return the objects of a message with their labels."""
        if self.objects == 'order':
            return by_order(issued, labels)
        if self.objects == 'iou':
            return by_place(issued, labels, intersection_over_union, self.iou, self.partial)
        return by_place(issued, labels, nearness, -self.distance, self.partial)


def by_order(issued: IssuedFrame, labels: LabelFrame) -> Assigned:
    """Give each label to the object at the same place in its message.

    Where the messages are of different length none can be told.
    """
    if len(issued) != len(labels):
        return Assigned(ambiguous=len(labels))
    return Assigned([(i, y) for i, y in enumerate(labels.values) if y is not None])


def by_key(issued: IssuedFrame, labels: LabelFrame, rows: Sequence[int]) -> Assigned:
    """Give the labels of one id to the objects with that id.

    Parameters
    ----------
    issued : IssuedFrame
        A message that holds the id.
    labels : LabelFrame
        Labels.
    rows : sequence of int
        Those of the id among them.
    """
    positions = issued.positions(labels.keys[rows[0]])
    names, label_names = issued.frame.names, labels.names
    if labels.by_name:
        if len(rows) > 1:
            return Assigned(ambiguous=len(rows))
        if labels.values[rows[0]] is None:
            return Assigned()
        name = label_names[rows[0]]
        if len({names[i] for i in positions}) < len(positions):
            return Assigned(ambiguous=1)
        return Assigned([(i, float(names[i] == name)) for i in positions])
    assigned = Assigned()
    told = bool(names) and bool(label_names)
    seen: set[str] = set()
    for row in rows:
        mine = [i for i in positions if not told or names[i] == label_names[row]]
        name = label_names[row] if told else ''
        twice = name in seen
        seen.add(name)
        if len(mine) > 1 or twice:
            # Of two labels of one object the first may be learned, the second contradicts it.
            assigned.ambiguous += 1
        elif not mine:
            assigned.missed += 1
        else:
            y = labels.values[row]
            if y is not None:
                assigned.pairs.append((mine[0], y))
    assigned.pairs.sort()
    return assigned


def by_place(
    issued: IssuedFrame,
    labels: LabelFrame,
    closeness: Closeness,
    least: float,
    partial: bool,
) -> Assigned:
    """Give each object the label of the true one that is at its place.

    Within a class, by falling raw probability, each object takes the closest true one that is free
    and close enough. Those that say something come first, as in COCO; one that says nothing may be
    taken many times.

    Parameters
    ----------
    issued, labels
        Both with their places.
    closeness : callable
        `intersection_over_union` or `nearness`.
    least : float
        Close enough.
    partial : bool
        Whether an object that takes none has no label; otherwise it is labelled 0.
    """
    frame, count = issued.frame, len(labels)
    places, true_places = _places(frame.places), _places(labels.places)
    speaks = np.array([y is not None for y in labels.values], bool)
    told = bool(frame.names) and bool(labels.names)
    outcome: dict[int, float | None] = {}
    taken = np.zeros(count, bool)
    usable = issued.usable & np.isfinite(places).all(axis=1) if len(issued) else issued.usable
    if closeness is intersection_over_union and len(issued):
        usable = usable & (_areas(places) > 0.0)
    for mine, theirs in _groups(frame.names, labels.names, len(issued), count, told):
        mine = mine[usable[mine]]
        raws = issued.raws[mine] if issued.raws.ndim == 1 else issued.raws[mine].max(axis=1)
        mine = mine[np.argsort(-raws, kind='stable')]
        for index, row in _close(mine, theirs, places, true_places, closeness, least):
            free = row.copy()
            free[taken[theirs] | ~speaks[theirs]] = np.nan
            if not np.isnan(free).all():
                best = theirs[np.nanargmax(free)]
                taken[best] = True
                outcome[index] = labels.values[best]
            elif (~np.isnan(row) & ~speaks[theirs]).any():
                outcome[index] = None
        if not partial and issued.raws.ndim == 1:
            for index in mine.tolist():
                outcome.setdefault(index, 0.0)
    pairs = [(i, y) for i, y in sorted(outcome.items()) if y is not None]
    return Assigned(pairs, missed=int((speaks & ~taken).sum()))


def _close(
    mine: NDArray[Any],
    theirs: NDArray[Any],
    places: Floats,
    true_places: Floats,
    closeness: Closeness,
    least: float,
) -> Iterator[tuple[int, Floats]]:
    """Yield the objects that are close enough to a true one, and how close; NaN: not enough."""
    if not len(theirs):
        return
    step = max(1, CELLS // len(theirs))
    for start in range(0, len(mine), step):
        some = mine[start : start + step]
        close = closeness(places[some], true_places[theirs])
        close[~(close >= least)] = np.nan
        for row in np.flatnonzero((close >= least).any(axis=1)).tolist():
            yield int(some[row]), close[row]


def _groups(
    names: Sequence[str], true_names: Sequence[str], count: int, true_count: int, told: bool
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the places of objects and of true ones, class by class."""
    if not told:
        yield np.arange(count), np.arange(true_count)
        return
    mine, theirs = np.array(names, object), np.array(true_names, object)
    for name in dict.fromkeys(names):
        yield np.flatnonzero(mine == name), np.flatnonzero(theirs == name)


def _places(places: Floats | None) -> Floats:
    return np.zeros((0, 4)) if places is None else places


def _areas(boxes: Floats) -> Floats:
    """Return the areas of boxes; 0 for one of no size."""
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    areas: Floats = np.where((width > 0.0) & (height > 0.0), width * height, 0.0)
    return areas


def intersection_over_union(first: Floats, second: Floats) -> Floats:
    """Return the intersection over union of each two boxes.

    Parameters
    ----------
    first, second : ndarray of float of shape (n, 4) and (m, 4)
        Boxes as x0, y0, x1, y1.

    Returns
    -------
    ndarray of float of shape (n, m)
        From 0 to 1; NaN where both boxes are of no size or one is not finite.

    Examples
    --------
    >>> intersection_over_union(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 3, 2]])).round(4)
    array([[0.3333]])
    """
    with np.errstate(invalid='ignore', divide='ignore', over='ignore'):
        low = np.maximum(first[:, None, :2], second[None, :, :2])
        high = np.minimum(first[:, None, 2:], second[None, :, 2:])
        sides = np.maximum(high - low, 0.0)
        both = sides[..., 0] * sides[..., 1]
        union = _areas(first)[:, None] + _areas(second)[None, :] - both
        ratio: Floats = both / union
    return ratio


def nearness(first: Floats, second: Floats) -> Floats:
    """Return the distance of each two points, less than zero so that more is nearer.

    Parameters
    ----------
    first, second : ndarray of float of shape (n, d) and (m, d)
        Points.

    Returns
    -------
    ndarray of float of shape (n, m)
        Zero or less; NaN where one is not finite.

    Examples
    --------
    >>> nearness(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[-5.]])
    """
    with np.errstate(invalid='ignore', over='ignore'):
        between = first[:, None, :] - second[None, :, :]
        distance: Floats = np.sqrt((between * between).sum(axis=-1))
    return -distance
