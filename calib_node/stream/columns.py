# SPDX-License-Identifier: Apache-2.0
"""What the objects of a message hold, column by column, whoever reads it: objects or bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calib_node.core.refusal import Refused
from calib_node.stream.paths import Path

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Texts = list[str]

VALUE = 'value'
"""The column of the probabilities, or of the labels."""
CLASS = 'class'
ID = 'id'
BOX = 'box'
SIZED_BOX = 'sized box'
"""Of a box four columns, with .0 to .3: its corners, or its centre, x and y, and its sizes."""
POSITION = 'position'
CONTEXT = 'context'
"""Of a context with its name behind, and of a point one column for each coordinate."""


class Form(Enum):
    """What a column is read as.

    A number is a float64: a truth value is 1 or 0, a byte its number, and one that is absent NaN.
    A text is what a string holds, the digits of a whole number, ``true`` or ``false``, and of
    bytes (the elements of an array of uint8) two hexadecimal digits each; it is empty where it is
    absent.
    """

    NUMBER = 'number'
    TEXT = 'text'


@dataclass(frozen=True)
class Column:
    """A column that is wanted.

    Attributes
    ----------
    name : str
        What it is for, such as ``value``, ``class``, ``id.0`` or ``box.2``.
    path : Path
        Where it is. It leads to one value, or, for a text, to an array of uint8.
    form : Form
        What it is read as.
    """

    name: str
    path: Path
    form: Form


@dataclass(frozen=True)
class Layout:
    """What is read of the messages of a type.

    Attributes
    ----------
    type_name : str
        Of the messages, ``package/msg/Type``.
    columns : tuple of Column
        At least one. The first leads: it says how many objects there are, and no other leads to
        each element at more levels. Where there is a `VALUE` it is the first.
    stamp : tuple of (Path, Path) or None
        To whole seconds and nanoseconds, of no ``[]``; None where the stamp comes from elsewhere.
    """

    type_name: str
    columns: tuple[Column, ...]
    stamp: tuple[Path, Path] | None = None


@dataclass
class Columns:
    """What was read of a message.

    A column has as many rows as there are elements at its own level: one where its path leads to
    no each, one for each element of the outer array, or one for each element of each inner one,
    in the order of the message. `level_sizes` and `spread` go from one to the other.

    Attributes
    ----------
    stamp : tuple of (int, int)
        Seconds and nanoseconds; zeros where the layout has none.
    count : int
        Number of rows of the leading column.
    sizes : list of int or None
        The lengths of the inner arrays, one for each element of the outer one, where the leading
        column goes through two; None otherwise.
    numbers : dict of str to ndarray of float64
        The numbers by column.
    texts : dict of str to list of str
        The texts by column.
    absent : ndarray of bool of shape (count,) or None
        Where the leading column has no value, as a path led beyond an array or to no element;
        None: nowhere. A number that is there may be NaN too.
    carrier : object
        What `Reader.write` writes into.
    """

    stamp: tuple[int, int]
    count: int
    sizes: list[int] | None = None
    numbers: dict[str, Floats] = field(default_factory=dict)
    texts: dict[str, Texts] = field(default_factory=dict)
    absent: Bools | None = None
    carrier: Any = None


class Reader(Protocol):
    """How the objects of the messages of a type are read and written.

    Attributes
    ----------
    layout : Layout
        What is read.
    serialized : bool
        Whether the messages come as bytes.
    """

    layout: Layout
    serialized: bool

    def read(self, message: Any) -> Columns:
        """Return what a message holds.

        Raises
        ------
        Refused
            If the bytes are not the message (``undecodable``), if the path to the stamp ends
            outside an array (``bad_stamp``), or if arrays that are read side by side have
            different lengths (``lengths_differ``, as of `differ`).
        """

    def write(self, columns: Columns, values: Floats, which: Bools) -> Any:
        """Return the message with some of its values replaced, and all else as it came.

        Parameters
        ----------
        columns : Columns
            As read.
        values : ndarray of float64, shape (count,)
            What to write into the field of the column `VALUE`: into one of whole numbers the
            nearest whole number (ties to even), kept within its type.
        which : ndarray of bool, shape (count,)
            The rows to replace; none of them is absent.
        """


def differ(first: Column, second: Column) -> Refused:
    """Return the refusal of a message whose arrays do not go together."""
    return Refused('lengths_differ', f'{first.path.text} and {second.path.text}')


def spread(values: Any, level: int, columns: Columns, to: int) -> Any:
    """Return a column, repeated for the elements of a level further in.

    Parameters
    ----------
    values : ndarray or list of str
        A column.
    level, to : int
        Its own level and the one wanted, 0 to 2, the latter at most that of the leading column.
    columns : Columns
        What it belongs to.

    Examples
    --------
    >>> columns = Columns((0, 0), 3, [1, 0, 2])
    >>> spread(['a', 'b', 'c'], 1, columns, 2), spread(['m'], 0, columns, 1)
    (['a', 'c', 'c'], ['m', 'm', 'm'])
    """
    if level == to:
        return values
    sizes = columns.sizes
    if level == 1:
        times: Any = sizes or []
    else:
        times = columns.count if sizes is None or to == 2 else len(sizes)
    if isinstance(values, np.ndarray):
        return np.repeat(values, times)
    if level == 0:
        return values * times
    return [value for value, n in zip(values, times, strict=True) for _ in range(n)]
