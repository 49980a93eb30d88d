# SPDX-License-Identifier: Apache-2.0
"""The probabilities of the classes of objects, from the numbers that a message lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import Refused, brief
from calib_node.stream.columns import Bools, Floats

Indices = NDArray[np.intp]


@dataclass
class Placement:
    """Where the numbers of a message went.

    Attributes
    ----------
    values : ndarray of float, shape (n, K)
        The probabilities of the objects.
    absent : ndarray of bool, shape (n,), or None
        The objects without an opinion.
    refused : dict of int to Refused
        By index, the objects whose numbers cannot be told apart.
    objects, classes : ndarray of int
        The object and the class of each number of the message.
    placed : ndarray of bool
        Which numbers were placed.
    """

    values: Floats
    absent: Bools | None
    objects: Indices
    classes: Indices
    placed: Bools
    refused: dict[int, Refused] = field(default_factory=dict)

    def taken(self, published: Floats, calibrated: Bools) -> tuple[Floats, Bools]:
        """Return what each number of the message becomes, and which of them change."""
        return published[self.objects, self.classes], calibrated[self.objects] & self.placed


def by_names(
    values: Floats,
    nothing: Bools,
    names: Sequence[str],
    sizes: Sequence[int],
    index: Mapping[str, int],
    share: bool,
) -> Placement:
    """Place each number by the name of its class.

    Parameters
    ----------
    values : ndarray of float, shape (m,)
        The numbers of the objects, one object after the other.
    nothing : ndarray of bool, shape (m,)
        Which of them say nothing.
    names : sequence of str of length m
        The classes they are of.
    sizes : sequence of int of length n
        How many numbers each object has.
    index : mapping of str to int
        The K classes.
    share : bool
        Whether classes that are not listed share what is left of 1; otherwise an object without
        all of its classes has no opinion.

    Examples
    --------
    >>> placed = by_names(np.array([0.7, 0.2]), np.array([False, False]), ['b', 'a'], [2],
    ...                   {'a': 0, 'b': 1, 'c': 2}, share=True)
    >>> placed.values.round(2).tolist()
    [[0.2, 0.7, 0.1]]
    """
    count, k = len(sizes), len(index)
    objects = np.repeat(np.arange(count), sizes)
    classes = np.array([index.get(name, -1) for name in names], np.intp)
    placed = (classes >= 0) & ~nothing
    result = Placement(np.zeros((count, k)), None, objects, np.maximum(classes, 0), placed)
    for row in np.flatnonzero(classes < 0).tolist():
        result.refused[int(objects[row])] = Refused(
            'unknown_class', brief(names[row]), f'the class is none of class_names {list(index)}'
        )
    listed = np.zeros((count, k), np.intp)
    np.add.at(listed, (objects[placed], classes[placed]), 1)
    for number in np.flatnonzero((listed > 1).any(axis=1)).tolist():
        twice = list(index)[int(np.argmax(listed[number] > 1))]
        result.refused.setdefault(number, Refused('class_twice', brief(twice)))
    result.values[objects[placed], classes[placed]] = values[placed]
    missing = listed == 0
    absent = missing.all(axis=1) if share else missing.any(axis=1)
    if absent.any():
        result.absent = absent
    some = missing.any(axis=1) & ~absent
    if some.any():
        left = np.maximum(1.0 - result.values.sum(axis=1), 0.0)
        each = left / np.maximum(missing.sum(axis=1), 1)
        result.values = np.where(missing & some[:, None], each[:, None], result.values)
    return result


def in_order(values: Floats, nothing: Bools, sizes: Sequence[int], classes: int) -> Placement:
    """Place the numbers of each object in the order of the classes, as in `by_names`.

    An object without numbers has no opinion, and one with other than K is refused.
    """
    count = len(sizes)
    objects = np.repeat(np.arange(count), sizes)
    lengths = np.array(sizes, np.intp)
    starts = np.cumsum(lengths) - lengths
    within = np.arange(len(values)) - starts[objects]
    right = lengths[objects] == classes
    result = Placement(
        np.zeros((count, classes)), None, objects, np.minimum(within, classes - 1), right
    )
    result.values[objects[right], within[right]] = values[right]
    absent = lengths == 0
    np.logical_or.at(absent, objects, nothing)
    if absent.any():
        result.absent = absent
    for number in np.flatnonzero((lengths != classes) & (lengths > 0)).tolist():
        result.refused[number] = Refused(
            'wrong_length', f'{sizes[number]} instead of {classes}, one per class'
        )
    return result
