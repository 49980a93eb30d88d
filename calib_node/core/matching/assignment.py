# SPDX-License-Identifier: Apache-2.0
"""Which objects of a message the labels of another are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calib_node.core.matching.frames import IssuedFrame
from calib_node.core.matching.places import has_place, intersection_over_union, nearness
from calib_node.core.samples import Bools, Floats, LabelFrame

AT_ONCE = 100_000
"""So many pairs are compared at once; of more only those that are near each other by their x."""

Indices = NDArray[np.intp]

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
    unplaced : int
        Objects that no label can find, as they have no place.
    reason : {'', 'empty', 'class', 'unplaced', 'far'}
        Why the last one was missed: there was no object, none of its class, none with a place, or
        none close enough.
    """

    pairs: list[tuple[int, float]] = field(default_factory=list)
    missed: int = 0
    ambiguous: int = 0
    unplaced: int = 0
    reason: str = ''


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
            assigned.reason = 'class'
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
    taken many times. Where a true object has no place any of those that nobody explains may be it,
    so that nothing can be told of its class.

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
    whole = not partial and issued.raws.ndim == 1
    outcome: dict[int, float | None] = {}
    taken, ambiguous = np.zeros(count, bool), np.zeros(count, bool)
    placed, true_placed = has_place(places), has_place(true_places)
    usable = issued.usable & placed if len(issued) else issued.usable
    for mine, theirs in _groups(frame.names, labels.names, len(issued), count, told):
        if whole and not true_placed[theirs].all():
            ambiguous[theirs] = speaks[theirs]
            continue
        mine, theirs = mine[usable[mine]], theirs[true_placed[theirs]]
        raws = issued.raws[mine] if issued.raws.ndim == 1 else issued.raws[mine].max(axis=1)
        mine = mine[np.argsort(-raws, kind='stable')]
        for index, near, row in _close(mine, theirs, places, true_places, closeness, least):
            free = row.copy()
            free[taken[near] | ~speaks[near]] = np.nan
            if not np.isnan(free).all():
                best = near[np.nanargmax(free)]
                taken[best] = True
                outcome[index] = labels.values[best]
            elif (~np.isnan(row) & ~speaks[near]).any():
                outcome[index] = None
        if whole:
            for index in mine.tolist():
                outcome.setdefault(index, 0.0)
    missed = np.flatnonzero(speaks & ~taken & ~ambiguous)
    return Assigned(
        [(i, y) for i, y in sorted(outcome.items()) if y is not None],
        len(missed),
        int(ambiguous.sum()),
        int((issued.usable & ~placed).sum()) if len(issued) else 0,
        _why(issued, usable, labels.names[missed[-1]] if told else '') if len(missed) else '',
    )


def _why(issued: IssuedFrame, placed: Bools, name: str) -> str:
    """Return why no object was found for a true one; its class is empty where none is told."""
    some = issued.usable
    if not some.any():
        return 'empty'
    if name:
        some = some & (np.array(issued.frame.names, object) == name)
        if not some.any():
            return 'class'
    return 'far' if (some & placed).any() else 'unplaced'


def _close(
    mine: Indices,
    theirs: Indices,
    places: Floats,
    true_places: Floats,
    closeness: Closeness,
    least: float,
) -> Iterator[tuple[int, Indices, Floats]]:
    """Yield the objects that are close enough to a true one, these, and how close; NaN: not."""
    if len(mine) * len(theirs) <= AT_ONCE:
        close = closeness(places[mine], true_places[theirs])
        close[~(close >= least)] = np.nan
        for row in np.flatnonzero((close >= least).any(axis=1)).tolist():
            yield int(mine[row]), theirs, close[row]
        return
    for index, near in _overlapping(mine, theirs, places, true_places, least):
        row = closeness(places[index : index + 1], true_places[near])[0]
        row[~(row >= least)] = np.nan
        if not np.isnan(row).all():
            yield index, near, row


def _overlapping(
    mine: Indices, theirs: Indices, places: Floats, true_places: Floats, least: float
) -> Iterator[tuple[int, Indices]]:
    """Yield objects and the true ones, in their order, that may be close to them by their x."""
    first, last = true_places[theirs, 0], true_places[theirs, 0]
    low, high = places[mine, 0], places[mine, 0]
    if places.shape[1] == 4:
        last, high = true_places[theirs, 2], places[mine, 2]
    else:
        # Somewhat more than the distance, which was rounded.
        reach = -least + 1e-9 * (np.abs(low) - least)
        low, high = low - reach, high + reach
    order = np.argsort(first, kind='stable')
    widest = float((last - first).max(initial=0.0))
    start = np.searchsorted(first[order], low - widest - 1e-9 * np.abs(low), side='left')
    end = np.searchsorted(first[order], high, side='right')
    for index, i, j in zip(mine.tolist(), start.tolist(), end.tolist()):
        if i < j:
            yield index, theirs[np.sort(order[i:j])]


def _groups(
    names: Sequence[str], true_names: Sequence[str], count: int, true_count: int, told: bool
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the places of objects and of true ones, class by class."""
    if not told:
        yield np.arange(count), np.arange(true_count)
        return
    mine, theirs = np.array(names, object), np.array(true_names, object)
    for name in dict.fromkeys(names):
        yield np.flatnonzero(mine == name), np.flatnonzero(theirs == name)


def _places(places: Floats | None) -> Floats:
    return np.zeros((0, 4)) if places is None else places
