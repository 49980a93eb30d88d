# SPDX-License-Identifier: Apache-2.0
"""What became of the messages of a pipeline, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class PipelineCounts:
    """What came in and what became of it, but for the counts that the matcher keeps.

    Attributes
    ----------
    messages : int
        Messages of many predictions that came.
    predictions, labels : int
        Predictions and labels that came, refused ones included; of a message of many each.
    no_opinion, unstamped : int
        Predictions that hold no probability, or no stamp.
    empty_labels : int
        Labels that hold no value.
    learned, failed_updates, held_back : int
        Matches that were learned, that the calibrator did not take, and that were not learned
        since too many labels were refused.
    missed : int
        True objects that no prediction was about.
    ambiguous : int
        Labels of which nobody can tell which object of its message they are about.
    unplaced : int
        Predictions that no label can find, as their box has no size or is not finite.
    without_value : int
        Labels whose prediction held no probability or was refused.
    labels_since_match : int
        Labels since one found its prediction, refused ones left aside.
    refused : Counter
        Refused messages by reason.
    """

    messages: int = 0
    predictions: int = 0
    labels: int = 0
    no_opinion: int = 0
    unstamped: int = 0
    empty_labels: int = 0
    learned: int = 0
    failed_updates: int = 0
    held_back: int = 0
    missed: int = 0
    ambiguous: int = 0
    unplaced: int = 0
    without_value: int = 0
    labels_since_match: int = 0
    refused: Counter[str] = field(default_factory=Counter)
