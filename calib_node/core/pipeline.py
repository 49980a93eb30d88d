# SPDX-License-Identifier: Apache-2.0
"""The whole behaviour without ROS: predictions and labels in, calibrated predictions out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, NoReturn

from calib_node.core.calibrators.protocols import PipelineCalibrator
from calib_node.core.counts import PipelineCounts
from calib_node.core.matching import Matcher, reconfigure
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.outcomes import Outcomes, outcomes_of
from calib_node.core.recent import Recent
from calib_node.core.refusal import BAD_VALUES, Refused
from calib_node.core.samples import Issued, Label, Match, P, Prediction

RECENT_PREDICTIONS = 200
RECENT_LABELS = 300
JUDGED = 100
"""So many of the last messages of an input are looked at to judge whether it makes sense."""
FAIR = 0.1
"""Largest share of labels with a bad value at which what is left is still a fair sample."""


class Pipeline(Generic[P]):
    """Calibrates predictions at once and learns from their labels when they come.

    A probability that is an array may not be changed afterwards: it waits for its label.

    Parameters
    ----------
    calibrator : Calibrator or MulticlassCalibrator
        Learns and maps; its number of classes says what a prediction is.
    matcher : Matcher
        Finds the prediction of a label.
    bins, window : int
        Of the rolling scores.
    learning : bool
        False: match and score, but do not update. Those pairs are never learned later.

    Attributes
    ----------
    on_match : list of callable
        Called in turn with each `Match`, in the order of learning; anyone may join.
    scores : RollingScores
        The first of them.
    on_error, on_unlearned : callable
        Called with the sentence where an update is not taken or an observer fails, and with
        probability, label and ticket of each match that is not to be learned.
    counts, matches : PipelineCounts, int
        What became of the messages; how many predictions have had their label.
    recent_predictions, recent_labels : Recent
        What came last.
    update_error, observer_error : str
        Why the last update was not taken, empty after one that was, and the last observer failed.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> from calib_node.core.matching import StampMatcher
    >>> pipeline = Pipeline(create('ops'), StampMatcher())
    >>> pipeline.on_match.append(print)
    >>> pipeline.predict(Prediction(stamp=1, probability=0.8))
    0.8
    >>> pipeline.label(Label(stamp=1, value=0.0))
    Match(stamp=1, key='', context=(), raw=0.8, published=0.8, label=0)
    >>> round(pipeline.predict(Prediction(stamp=2, probability=0.8)), 8)
    0.76075807
    """

    def __init__(
        self,
        calibrator: PipelineCalibrator[P],
        matcher: Matcher[Issued[P], int],
        bins: int = 15,
        window: int = 1000,
        learning: bool = True,
    ) -> None:
        self.calibrator = calibrator
        self.matcher = matcher
        self.learning = learning
        self.outcomes: Outcomes[P] = outcomes_of(calibrator.classes)
        self.counts = PipelineCounts()
        self.update_error = self.observer_error = ''
        self.matches = 0
        self.scores = self.outcomes.scores(bins, window)
        self.on_match: list[Callable[[Match[P]], None]] = [self.scores]
        self.on_error: Callable[[str], None] = _ignore
        self.on_unlearned: Callable[[P, int, Any], None] = _ignore
        self.recent_predictions = Recent(RECENT_PREDICTIONS)
        self.recent_labels = Recent(RECENT_LABELS)
        self._bad_labels: deque[int] = deque()
        self._contextual = calibrator.contextual

    @property
    def classes(self) -> int:
        """Number of probabilities in a prediction; 1: that of the positive class."""
        return self.outcomes.classes

    def predict(self, prediction: Prediction[P]) -> P | None:
        """Return what a prediction is calibrated to, and learn from labels that came before it.

        One with no stamp is calibrated, but no label can belong to it.

        Returns
        -------
        float, ndarray of float of shape (K,), or None
            The calibrated probability, or one per class; None where the model has no opinion.

        Raises
        ------
        Refused
            If it is no probability; it is counted, and nothing is learned from it.
        """
        counts = self.counts
        raw = prediction.probability
        if raw is None:
            counts.predictions += 1
            counts.no_opinion += 1
            self.recent_predictions.items.append(None)
            self._keep_place(prediction.stamp)
            return None
        try:
            checked = self.outcomes.check(raw)
        except Refused as refused:
            refused.stamp = prediction.stamp
            self.refuse_prediction(refused)
            raise
        counts.predictions += 1
        self.recent_predictions.items.append(checked)
        if not self._contextual:
            published, ticket = self.calibrator.issue(checked)
        else:
            calibrator: Any = self.calibrator
            published, ticket = calibrator.issue(checked, prediction.context)
        stamp = prediction.stamp
        if stamp:
            if checked is not raw:
                prediction = Prediction(stamp, checked, prediction.key, prediction.context)
            pairs = self.matcher.add_prediction(
                stamp, (prediction, published, ticket, self.matches)
            )
            if pairs:
                self._learn(pairs)
        else:
            counts.unstamped += 1
        return published

    def label(self, label: Label) -> None:
        """Take a label in, and learn from the matches that it completes.

        Raises
        ------
        Refused
            If the label has no stamp or is no class; it is counted and leaves no trace.
        """
        counts = self.counts
        value = label.value
        if value is None:
            counts.labels += 1
            counts.empty_labels += 1
            self.recent_labels.items.append(None)
            return
        if label.stamp == 0:
            self._refuse_label(Refused('zero_stamp'))
        try:
            y = self.outcomes.index(value)
        except Refused as refused:
            refused.stamp = label.stamp
            self._refuse_label(refused)
        counts.labels += 1
        counts.labels_since_match += 1
        self.recent_labels.items.append(y)
        pairs = self.matcher.add_label(label.stamp, y)
        if pairs:
            self._learn(pairs)

    def refuse_prediction(self, refused: Refused) -> None:
        """Count a prediction that is refused, and keep its place from its neighbour's label."""
        self.counts.predictions += 1
        self.counts.refused[refused.reason] += 1
        self.recent_predictions.refuse(refused)
        self._keep_place(refused.stamp, refused.reason)

    def refuse_label(self, refused: Refused) -> None:
        """Count a label that is refused; while many are, what is left is no fair sample."""
        counts = self.counts
        counts.labels += 1
        counts.refused[refused.reason] += 1
        self.recent_labels.refuse(refused)
        if refused.reason in BAD_VALUES:
            self._bad_labels.append(counts.labels)

    def spoil_prediction(self, refused: Refused) -> None:
        """Count a prediction that was taken in, and of which no message could be made."""
        self.counts.refused[refused.reason] += 1
        self.recent_predictions.spoil(refused)

    def spoil_label(self, refused: Refused) -> None:
        """Count a label that was taken in, and then brought about an error."""
        self.counts.refused[refused.reason] += 1
        self.recent_labels.spoil(refused)

    def _refuse_label(self, refused: Refused) -> NoReturn:
        self.refuse_label(refused)
        raise refused

    @property
    def held_back(self) -> bool:
        """Whether nothing is learned, as too many of the last labels were bad values."""
        bad, labels = self._bad_labels, self.counts.labels
        while bad and bad[0] <= labels - JUDGED:
            bad.popleft()
        return len(bad) > 1 and len(bad) > FAIR * min(labels, JUDGED)

    def flush(self) -> None:
        """Decide all labels that wait, as at a shutdown or the end of a recording."""
        self._learn(self.matcher.flush())

    def configure_matching(
        self, policy: str, tolerance: int, horizon: int, max_disorder: int, capacity: int
    ) -> None:
        """Change the matcher's parameters, and learn from the matches that follow from it."""
        self.matcher, pairs = reconfigure(
            self.matcher, policy, tolerance, horizon, max_disorder, capacity
        )
        self._learn(pairs)

    def reset(self) -> None:
        """Forget what was learned and start the scores anew; pending predictions stay."""
        self.calibrator.reset()
        self.update_error = self.observer_error = ''
        self.scores.restart()

    def _keep_place(self, stamp: int, reason: str = '') -> None:
        """Let the label of a prediction that teaches nothing find it, not a neighbour."""
        if stamp:
            nothing: Any = (Prediction(stamp, None), None, reason, 0)
            self._learn(self.matcher.add_prediction(stamp, nothing))

    def _learn(self, pairs: list[tuple[Issued[P], int]]) -> None:
        counts = self.counts
        for (prediction, published, ticket, before), y in pairs:
            raw = prediction.probability
            if raw is None:
                counts.without_value += 1
                if not ticket:
                    # Of no opinion: its stamp is right, and that of a refused one may be too.
                    counts.labels_since_match = 0
                continue
            counts.labels_since_match = 0
            if not self.learning or (self._bad_labels and self.held_back):
                counts.held_back += self.learning
                self.on_unlearned(raw, y, ticket)
            else:
                try:
                    self.calibrator.update(raw, y, ticket)
                    counts.learned += 1
                    self.update_error = ''
                except Exception as error:
                    # One bad pair must not stop the next, whatever is wrong with it.
                    counts.failed_updates += 1
                    self.update_error = _reason(error)
                    self._tell(f'an update was not taken: {self.update_error}')
            stamp, key, context = prediction.stamp, prediction.key, prediction.context
            match = Match(stamp, key, context, raw, published, y, self.matches - before)
            self.matches += 1
            for observe in self.on_match:
                try:
                    observe(match)
                except Exception as error:
                    # Nor must whoever looks on.
                    self.observer_error = f'an observer of matches failed: {_reason(error)}'
                    self._tell(self.observer_error)

    def _tell(self, sentence: str) -> None:
        # Whoever is told must not stop the next pair either.
        with suppress(Exception):
            self.on_error(sentence)


def _ignore(*_: Any) -> None:
    pass


def _reason(error: Exception) -> str:
    """Return what went wrong; of what no calibrator should raise the kind too."""
    if isinstance(error, UpdateNotFinite):
        return str(error)
    return f'{type(error).__name__}: {error}'
