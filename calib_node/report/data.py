# SPDX-License-Identifier: Apache-2.0
"""What a report is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class ReportError(Exception):
    """Why there is no report: one sentence that names the thing and the remedy."""


@dataclass
class Samples:
    """Matches, in the order of learning.

    Attributes
    ----------
    stamp : ndarray of int, shape (n,)
        Nanoseconds.
    raw, published : ndarray of float, shape (n,) or (n, K)
        Probabilities before and after calibration.
    label : ndarray of int, shape (n,)
        0 or 1, or the index of the class.
    delay : ndarray of float, shape (n,), or None
        Seconds from the stamp to the learning of the label; NaN where that is unknown.
    contexts : dict of str to list of str
        For each context variable its value in each match.
    """

    stamp: Integers
    raw: Floats
    published: Floats
    label: Integers
    delay: Floats | None = None
    contexts: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.label)

    @property
    def classes(self) -> int:
        """Number of probabilities; 1: that of the positive class."""
        return 1 if self.raw.ndim == 1 else self.raw.shape[1]

    def judged(self, p: Floats) -> tuple[Floats, Integers]:
        """Return probabilities and whether it was so.

        Of several classes that is the largest of them, and whether its class was the true one.

        Parameters
        ----------
        p : ndarray of float, shape (n,) or (n, K)
            `raw` or `published`.
        """
        if self.classes == 1:
            return p, self.label
        return p.max(axis=1), (p.argmax(axis=1) == self.label).astype(np.int64)


@dataclass
class ReportData:
    """What is known; whatever is not stays None or empty, and the page says so.

    Attributes
    ----------
    title, source : str
        What it is about, and where it comes from.
    samples : Samples or None
    figures : mapping of str to str
        Those of the status.
    sentences : list of str
        Those of the status, the gravest first.
    state : dict or None
        What was learned.
    path : list of (int, dict of str to float)
        Figures of the calibrator by stamp.
    parameters : str
        The YAML that was used.
    comparison : list of list of str
        A table of methods, its header first.
    bins : dict of str to ndarray of float, shape (m, 3)
        Where there are no samples: under raw and calibrated the count, mean probability and
        frequency of each bin that is not empty.
    """

    title: str
    source: str
    samples: Samples | None = None
    figures: Mapping[str, str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    state: dict[str, Any] | None = None
    path: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    parameters: str = ''
    comparison: list[list[str]] = field(default_factory=list)
    bins: dict[str, Floats] = field(default_factory=dict)
