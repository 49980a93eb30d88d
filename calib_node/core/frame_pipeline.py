# SPDX-License-Identifier: Apache-2.0
"""The pipeline of messages that hold many objects."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_node.core.calibrators.protocols import PipelineCalibrator
from calib_node.core.matching import IdMatcher, Matcher, reconfigure
from calib_node.core.matching.assignment import Assigned, Assignment, by_key
from calib_node.core.matching.frames import IssuedFrame
from calib_node.core.matching.ids import Keyed
from calib_node.core.pipeline import JUDGED, Pipeline
from calib_node.core.refusal import Refused
from calib_node.core.samples import Bools, Floats, Frame, LabelFrame, P, Prediction


@dataclass(slots=True)
class Answer:
    """What is published for a message.

    Attributes
    ----------
    published : ndarray of float of shape (n,) or (n, K)
        The calibrated probabilities; where there are none, what came in.
    calibrated : ndarray of bool of shape (n,)
        Where they are.
    refused : dict of int to Refused
        By index, what is not.
    """

    published: Floats
    calibrated: Bools
    refused: dict[int, Refused]


class FramePipeline(Pipeline[P]):
    """Calibrates the objects of a message together, and learns each from its own label.

    Parameters
    ----------
    calibrator, bins, window, learning
        As in `Pipeline`.
    matcher : Matcher
        Finds the message of a label: that of `create_matcher` for the objects of the assignment.
    assignment : Assignment or None
        Finds the object in it; None where the matcher does, by ids.

    Attributes
    ----------
    assignment : Assignment or None
        It may be replaced by one with other thresholds.
    recent_truths : deque of str
        What became of the last labels whose message was found: found, missed or ambiguous.
    recent_places : deque of bool
        Whether the last predictions whose labels came have a place.
    missed_for : str
        Why the last true object was missed, as the reason of `Assigned`.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> from calib_node.core.matching import create_matcher
    >>> matcher = create_matcher('nearest', 10, 1000, 100, 100, objects='order')
    >>> pipeline = FramePipeline(create('ops'), matcher, Assignment('order'))
    >>> pipeline.predict_frame(Frame(1, np.array([0.8, 0.3]))).published
    array([0.8, 0.3])
    >>> pipeline.label_frame(LabelFrame(1, [0.0, 1.0]))
    {}
    >>> pipeline.counts.learned
    2
    """

    def __init__(
        self,
        calibrator: PipelineCalibrator[P],
        matcher: Matcher[Any, Any],
        assignment: Assignment | None,
        bins: int = 15,
        window: int = 1000,
        learning: bool = True,
    ) -> None:
        super().__init__(calibrator, matcher, bins, window, learning)
        self.assignment = assignment
        self.recent_truths: deque[str] = deque(maxlen=JUDGED)
        self.recent_places: deque[bool] = deque(maxlen=JUDGED)
        self.missed_for = ''

    def predict_frame(self, frame: Frame) -> Answer:
        """Return what the objects of a message are calibrated to, and learn from earlier labels.

        An object that is refused spoils no other. A message with no stamp is calibrated, but no
        label can belong to it.
        """
        counts, number = self.counts, len(frame.values)
        usable = np.ones(number, bool)
        refused = dict(frame.refused)
        usable[list(refused)] = False
        if frame.absent is not None:
            counts.no_opinion += int((usable & frame.absent).sum())
            usable &= ~frame.absent
        raws = frame.values
        if usable.all():
            raws, wrong = self.outcomes.check_many(raws)
        else:
            at, raws = np.flatnonzero(usable), raws.copy()
            raws[at], of_those = self.outcomes.check_many(raws[at])
            wrong = {int(at[i]): refusal for i, refusal in of_those.items()}
        for index, refusal in wrong.items():
            refusal.stamp = frame.stamp
            usable[index] = False
            refused[index] = refusal
        frame.refused = refused
        counts.messages += 1
        counts.predictions += number
        self._look_at(raws, usable, refused)
        published, tickets = self._issue(raws, usable, frame)
        if frame.stamp:
            issued: Any = IssuedFrame(frame, usable, raws, published, tickets)
            issued.matches = self.matches
            pairs = self.matcher.add_prediction(frame.stamp, issued)
            if pairs:
                self._learn(pairs)
        else:
            counts.unstamped += number
        return Answer(published, usable, refused)

    def _issue(self, raws: Floats, usable: Bools, frame: Frame) -> tuple[Floats, Any]:
        """Return what is published and the tickets, by index."""
        contexts = frame.contexts if self.calibrator.contextual else ()
        if usable.all():
            return self.calibrator.issue_many(raws, contexts)
        at, published = np.flatnonzero(usable), raws.copy()
        some = [contexts[i] for i in at.tolist()] if contexts else ()
        published[at], tickets = self.calibrator.issue_many(raws[at], some)
        return published, dict(zip(at.tolist(), tickets, strict=True))

    def _look_at(self, raws: Floats, usable: Bools, refused: dict[int, Refused]) -> None:
        """Let the objects be seen among those that came last."""
        counts, recent = self.counts, self.recent_predictions
        for refusal in refused.values():
            counts.refused[refusal.reason] += 1
        first = max(len(raws) - (recent.items.maxlen or 0), 0)
        if not refused and usable.all():
            last = raws[first:]
            recent.items.extend(last.tolist() if last.ndim == 1 else last)
            return
        for index in range(first, len(raws)):
            if index in refused:
                recent.refuse(refused[index])
            elif usable[index]:
                recent.items.append(float(raws[index]) if raws.ndim == 1 else raws[index])
            else:
                recent.items.append(None)

    def label_frame(self, labels: LabelFrame) -> dict[int, Refused]:
        """Take the labels of a message in, and learn from the matches that they complete.

        Returns
        -------
        dict of int to Refused
            By index, the labels that are refused; they are counted and leave no trace.

        Raises
        ------
        Refused
            If the message has no stamp, which is counted for each label.
        """
        counts = self.counts
        if labels.stamp == 0:
            refusal = Refused('zero_stamp')
            for _ in labels.values:
                self.refuse_label(refusal)
            raise refusal
        refused = dict(labels.refused)
        values: list[float | None] = []
        for index, value in enumerate(labels.values):
            if index not in refused and value is not None:
                try:
                    value = self.outcomes.index(value)
                except Refused as refusal:
                    refused[index] = refusal
            if index in refused:
                refused[index].stamp = labels.stamp
                self.refuse_label(refused[index])
                values.append(None)
                continue
            counts.labels += 1
            if value is None:
                counts.empty_labels += 1
            else:
                counts.labels_since_match += 1
            self.recent_labels.items.append(value)
            values.append(value)
        self._match(labels, values)
        return refused

    def _match(self, labels: LabelFrame, values: list[float | None]) -> None:
        taken = LabelFrame(
            labels.stamp, values, {}, labels.keys, labels.names, labels.places, labels.by_name
        )
        matcher: Any = self.matcher
        if not isinstance(matcher, IdMatcher):
            self._learn(matcher.add_label(labels.stamp, taken))
            return
        rows: dict[str, list[int]] = {}
        for row, value in enumerate(values):
            if value is not None:
                rows.setdefault(labels.keys[row], []).append(row)
        pairs = []
        for same in rows.values():
            pairs += matcher.add_label(labels.stamp, Keyed(taken, same))
        self._learn(pairs)

    def configure_matching(
        self, policy: str, tolerance: int, horizon: int, max_disorder: int, capacity: int
    ) -> None:
        """Change the matcher's parameters, and learn from the matches that follow from it."""
        objects = 'id' if self.assignment is None else self.assignment.objects
        self.matcher, pairs = reconfigure(
            self.matcher, policy, tolerance, horizon, max_disorder, capacity, objects
        )
        self._learn(pairs)

    def _keep_place(self, stamp: int, reason: str = '') -> None:
        if stamp:
            none = np.zeros(0)
            nothing: Any = IssuedFrame(Frame(stamp, none), none > 0.0, none, none, (), reason)
            self._learn(self.matcher.add_prediction(stamp, nothing))

    def _learn(self, pairs: list[Any]) -> None:
        """Learn the objects of matched messages, in their order in the message."""
        # Labels of one message may come together as matches of several ids.
        found: dict[int, tuple[IssuedFrame, list[tuple[int, float]]]] = {}
        for issued, labels in pairs:
            assigned = self._assign(issued, labels)
            self._look_at_truths(len(issued), len(labels), assigned)
            found.setdefault(id(issued), (issued, []))[1].extend(assigned.pairs)
        learned: list[Any] = [
            (_one(issued, index), int(y))
            for issued, objects in found.values()
            for index, y in sorted(objects)
        ]
        super()._learn(learned)

    def _look_at_truths(self, predictions: int, labels: int, assigned: Assigned) -> None:
        counts, missed, ambiguous = self.counts, assigned.missed, assigned.ambiguous
        counts.missed += missed
        counts.ambiguous += ambiguous
        counts.unplaced += assigned.unplaced
        self.missed_for = assigned.reason or self.missed_for
        found = labels - missed - ambiguous
        for became, number in (('found', found), ('missed', missed), ('ambiguous', ambiguous)):
            self.recent_truths.extend([became] * min(number, JUDGED))
        for placed, number in ((True, predictions - assigned.unplaced), (False, assigned.unplaced)):
            self.recent_places.extend([placed] * min(number, JUDGED))

    def _assign(self, issued: IssuedFrame, labels: Any) -> Assigned:
        if issued.refused:
            # It may have held the objects that the labels are about.
            self.counts.without_value += len(labels)
            return Assigned()
        self.counts.labels_since_match = 0
        if self.assignment is None:
            return by_key(issued, labels.labels, labels.rows)
        return self.assignment(issued, labels)


def _one(issued: IssuedFrame, index: int) -> tuple[Prediction[Any], Any, Any, int]:
    """Return an object of a message as a prediction that was issued by itself."""
    frame, raws = issued.frame, issued.raws
    if not issued.usable[index]:
        why = 'refused' if index in frame.refused else ''
        return Prediction(frame.stamp, None), None, why, 0
    single = raws.ndim == 1
    prediction = Prediction(
        frame.stamp,
        float(raws[index]) if single else raws[index],
        frame.keys[index] if frame.keys else '',
        frame.contexts[index] if frame.contexts else (),
    )
    published, ticket = issued.published[index], issued.tickets[index]
    return prediction, float(published) if single else published, ticket, issued.matches
