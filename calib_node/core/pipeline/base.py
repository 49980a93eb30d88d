# SPDX-License-Identifier: Apache-2.0
"""What pipelines of one probability and of several have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, Protocol

from calib_node.core.calibrators import UpdateNotFinite
from calib_node.core.matching import Matcher, reconfigure
from calib_node.core.pipeline.figures import Figures
from calib_node.core.refusal import Refused
from calib_node.core.samples import PLACEHOLDER, Issued, Label, Match, P, Prediction

OVERSHOOT = 1e-6
"""A probability this far outside [0, 1] is taken as rounding and clamped."""

# Between two messages a processor forgets the code of the last, so that a batch costs little more
# than one sample; the figures are read far more seldom than samples come.
SCORED_AT_ONCE = 32


@dataclass
class PipelineCounts:
    """What came in and what became of it, but for the counts that the matcher keeps."""

    predictions: int = 0
    labels: int = 0
    no_opinion: int = 0
    unstamped: int = 0
    empty_labels: int = 0
    learned: int = 0
    failed_updates: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    labels_since_match: int = 0


class Forecaster(Protocol[P]):
    """What a pipeline asks of its calibrator."""

    def issue(self, p: P, /) -> tuple[P, Any]:
        """Return what `p` is calibrated to, and the ticket for its label."""

    def update(self, p: P, y: int, ticket: Any = None, /) -> None:
        """Learn that the forecast made of `p` had outcome `y`."""

    def reset(self) -> None:
        """Forget everything learned."""


class BasePipeline(ABC, Generic[P]):
    """All of a pipeline but for what a prediction is: a float, or an array of several classes.

    Parameters
    ----------
    calibrator : Forecaster
        Learns and maps.
    matcher : Matcher
        Finds the prediction of a label.
    bins, window : int
        Of the rolling figures.
    learning : bool
        False: match and score, but do not update. Those pairs are never learned later.
    """

    def __init__(
        self,
        calibrator: Forecaster[P],
        matcher: Matcher[Issued[P], int],
        bins: int = 15,
        window: int = 1000,
        learning: bool = True,
    ) -> None:
        self.calibrator = calibrator
        self.matcher = matcher
        self.learning = learning
        self.counts = PipelineCounts()
        self.update_error = ''
        self.set_window(bins, window)

    @property
    @abstractmethod
    def classes(self) -> int:
        """Number of probabilities in a prediction; 1: that of the positive class."""

    @abstractmethod
    def _new_figures(self, bins: int, window: int) -> Figures[P]:
        """Return the figures of an empty window."""

    @abstractmethod
    def _checked(self, raw: P, stamp: int) -> P:
        """Return what came in, rounding taken away, or refuse it by `_refuse_prediction`."""

    @abstractmethod
    def _class_of(self, value: float) -> int:
        """Return the class of a label that is neither 0 nor 1.

        Raises
        ------
        Refused
            If there is no such class.
        """

    def set_window(self, bins: int, window: int) -> None:
        """Start the rolling figures anew with other bins or another window."""
        self.score_error = ''
        self._unscored: list[tuple[P, P, int]] = []
        self._raw = self._new_figures(bins, window)
        self._calibrated = self._new_figures(bins, window)

    @property
    def raw(self) -> Figures[P]:
        """Figures of the probabilities as they came in."""
        self._score()
        return self._raw

    @property
    def calibrated(self) -> Figures[P]:
        """Figures of the probabilities as they were published."""
        self._score()
        return self._calibrated

    def _score(self) -> None:
        unscored, self._unscored = self._unscored, []
        for raw, published, y in unscored:
            try:
                # What went out first: what came in has been checked, so both are added or none.
                self._calibrated.add(published, y)
                self._raw.add(raw, y)
            except Exception as error:
                self.score_error = f'a match could not be scored: {_told(error)}'

    def predict(self, prediction: Prediction[P]) -> Prediction[P]:
        """Return the calibrated prediction, and learn from labels that came before it.

        A prediction of no opinion comes back unchanged. One with no stamp is calibrated, but no
        label can belong to it.

        Raises
        ------
        Refused
            If it is no probability; it is counted, and nothing is learned from it.
        """
        counts = self.counts
        counts.predictions += 1
        raw = prediction.probability
        stamp = prediction.stamp
        if raw is None:
            counts.no_opinion += 1
            self._keep_place(stamp)
            return prediction
        raw = self._checked(raw, stamp)
        published, ticket = self.calibrator.issue(raw)
        if stamp:
            pairs = self.matcher.add_prediction(stamp, (raw, published, ticket))
            if pairs:
                self._learn(pairs)
        else:
            counts.unstamped += 1
        return Prediction(stamp, published)

    def label(self, label: Label) -> list[Match[P]]:
        """Take a label in; return what was matched, learned and scored.

        Raises
        ------
        Refused
            If the label has no stamp or is no class; it is counted and leaves no trace.
        """
        counts = self.counts
        counts.labels += 1
        value = label.value
        if value is None:
            counts.empty_labels += 1
            return []
        if label.stamp == 0:
            self.refuse('zero_stamp')
            raise Refused('zero_stamp')
        if value == 0.0:
            y = 0
        elif value == 1.0:
            y = 1
        else:
            try:
                y = self._class_of(value)
            except Refused as refusal:
                self.refuse(refusal.reason)
                raise
        pairs = self.matcher.add_label(label.stamp, y)
        if not pairs:
            counts.labels_since_match += 1
            return []
        return self._learn(pairs)

    def refuse(self, reason: str) -> None:
        """Count a refused message by its reason."""
        self.counts.refused[reason] += 1

    def flush(self) -> list[Match[P]]:
        """Decide all labels that wait, as at a shutdown or the end of a recording."""
        return self._learn(self.matcher.flush())

    def configure_matching(
        self, policy: str, tolerance: int, horizon: int, max_disorder: int, capacity: int
    ) -> list[Match[P]]:
        """Change the matcher's parameters; return the matches that follow from it."""
        self.matcher, pairs = reconfigure(
            self.matcher, policy, tolerance, horizon, max_disorder, capacity
        )
        return self._learn(pairs)

    def reset(self) -> None:
        """Forget what was learned and start the figures anew; pending predictions stay."""
        self.calibrator.reset()
        self.update_error = ''
        self.set_window(self._raw.bins, self._raw.window)

    def _refuse_prediction(self, refusal: Refused, stamp: int) -> NoReturn:
        self.refuse(refusal.reason)
        self._keep_place(stamp)
        raise refusal

    def _keep_place(self, stamp: int) -> None:
        """Let the label of a prediction that teaches nothing find it, not a neighbour."""
        if stamp:
            self._learn(self.matcher.add_prediction(stamp, PLACEHOLDER))

    def _learn(self, pairs: list[tuple[Issued[P], int]]) -> list[Match[P]]:
        matches = []
        counts = self.counts
        for (raw, published, ticket), y in pairs:
            counts.labels_since_match = 0
            if raw is None:
                continue
            if self.learning:
                try:
                    self.calibrator.update(raw, y, ticket)
                    counts.learned += 1
                    self.update_error = ''
                except Exception as error:
                    # One bad pair must not stop the next, whatever is wrong with it.
                    counts.failed_updates += 1
                    self.update_error = _told(error)
            self._unscored.append((raw, published, y))
            matches.append(Match(raw, published, y))
        if len(self._unscored) >= SCORED_AT_ONCE:
            self._score()
        return matches


def _told(error: Exception) -> str:
    """Return what went wrong; of what no calibrator should raise the kind too."""
    if isinstance(error, UpdateNotFinite):
        return str(error)
    return f'{type(error).__name__}: {error}'
