# SPDX-License-Identifier: Apache-2.0
"""The recorded answers of a classifier that the package ships, and the samples made of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Answer:
    """What the classifier said about one patch of ground, and the truth.

    Attributes
    ----------
    probability : float
        That the patch is ground to drive on.
    label : int
        1 if it is, else 0.
    """

    probability: float
    label: int


@dataclass(frozen=True)
class Sample:
    """An answer that was published, with what came back.

    Attributes
    ----------
    stamp : int
        Nanoseconds.
    raw : float
        The probability that was published.
    calibrated : float or None
        The probability that came back; None if none did.
    label : int
        The truth, 0 or 1.
    """

    stamp: int
    raw: float
    calibrated: float | None
    label: int


def load_recording() -> list[Answer]:
    """Return the recorded answers in the order in which the classifier was asked."""
    recording = files('calib_node.tools') / 'data' / 'traversable_ground.csv'
    rows = csv.DictReader(recording.read_text(encoding='utf-8').splitlines())
    return [Answer(float(row['probability']), int(row['label'])) for row in rows]
