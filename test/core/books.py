# SPDX-License-Identifier: Apache-2.0
"""Books on a pipeline: all that was sent, what must have become of it, and whether it adds up."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any

import numpy as np
import yaml
from whole_scores import assert_scores

from calib_node.core.calibrators import StateError, create, create_multiclass
from calib_node.core.matching import create_matcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import Refused
from calib_node.core.samples import NANOSECONDS, Label, Match, Prediction
from calib_node.core.state.document import make_document, restore_document

TOLERANCE = 1e-9
LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
DUMPER = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
MATCHING = {
    'policy': 'nearest',
    'tolerance': NANOSECONDS // 100,
    'horizon': 60 * NANOSECONDS,
    'max_disorder': NANOSECONDS,
    'capacity': 10_000,
}


def plain(p: Any) -> Any:
    """Return what tells one probability from another, also where it is an array."""
    # Added to 0, a zero has no sign.
    return p if isinstance(p, float) else (p + 0.0).tobytes()


class Books:
    """A pipeline under watch.

    Parameters
    ----------
    method : str
        Of the calibrator.
    classes : int
        1: the probability of the positive class.
    **matching
        What differs from the matcher's defaults.
    """

    def __init__(self, method: str = 'ops', classes: int = 1, **matching: Any) -> None:
        self.method, self.classes = method, classes
        self.matching = {**MATCHING, **matching}
        calibrator: Any = create(method) if classes == 1 else create_multiclass(method, classes)
        self.pipeline: Pipeline[Any] = Pipeline(calibrator, create_matcher(**self.matching))
        self.pipeline.on_match.append(self._note)
        self.predictions: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.placed = 0
        self.answered: Counter[Any] = Counter()
        self.touched: list[Any] = []
        self.learned = self.unlearned = self.held_back = 0
        self.updates = self.labels_since_match = 0
        self.bad_labels: deque[bool] = deque(maxlen=100)
        self.held = self.matching['policy'] == 'hold'
        self.time: tuple[Any, int, int | None] = (None, 0, None)
        self.scored: deque[tuple[Any, Any, int]] = deque(maxlen=self.pipeline.scores.raw.window)

    def _note(self, match: Match[Any]) -> None:
        pair = match.stamp, plain(match.raw), plain(match.published)
        self.answered[pair] -= 1
        self.touched.append(pair)
        self.scored.append((match.raw, match.published, match.label))
        self.labels_since_match = 0
        bad = sum(self.bad_labels)
        if not self.pipeline.learning:
            self.unlearned += 1
        elif bad >= 2 and 10 * bad > len(self.bad_labels):
            self.held_back += 1
        else:
            self.learned += 1
            self.updates += 1
        assert self.pipeline.calibrator.updates == self.updates, 'it is told before it is learned'

    # What may happen

    def predict(self, stamp: int, value: Any) -> Any:
        """Send a prediction; return what comes back, None where it is refused."""
        self.placed += stamp != 0
        given = value.copy() if isinstance(value, np.ndarray) else value
        try:
            q = self.pipeline.predict(Prediction(stamp, value))
        except Refused as refused:
            assert not self._is_probability(value)
            self.predictions['refused'] += 1
            self.refused[refused.reason] += 1
            return None
        if value is None:
            assert q is None
            self.predictions['no opinion'] += 1
            return None
        assert np.array_equal(given, value), 'what came in was changed'
        assert self._is_probability(value)
        self._check_forecast(q)
        if stamp:
            raw = min(max(given, 0.0), 1.0) if self.classes == 1 else np.clip(given, 0.0, 1.0)
            self.answered[stamp, plain(raw), plain(q)] += 1
            self.predictions['taken'] += 1
        else:
            self.predictions['unstamped'] += 1
        return q

    def label(self, stamp: int, value: float | None) -> None:
        """Send a label."""
        is_class = value in range(max(self.classes, 2))
        taken = stamp != 0 and is_class
        self.bad_labels.append(stamp != 0 and value is not None and not is_class)
        self.labels_since_match += taken
        try:
            self.pipeline.label(Label(stamp, value))
        except Refused as refused:
            assert value is not None
            assert not taken
            self.labels['refused'] += 1
            self.refused[refused.reason] += 1
            return
        assert taken or value is None
        self.labels['empty' if value is None else 'taken'] += 1

    def refuse_prediction(self, stamp: int, reason: str) -> None:
        """Refuse a prediction that never came to be one."""
        self.placed += stamp != 0
        self.predictions['refused'] += 1
        self.refused[reason] += 1
        self.pipeline.refuse_prediction(Refused(reason, stamp=stamp))

    def refuse_label(self, stamp: int, reason: str) -> None:
        """Refuse a label that never came to be one, for what is not its value."""
        self.bad_labels.append(False)
        self.labels['refused'] += 1
        self.refused[reason] += 1
        self.pipeline.refuse_label(Refused(reason, stamp=stamp))

    def configure_matching(self, **changes: Any) -> None:
        """Change the matcher's settings."""
        self.matching.update(changes)
        self.held |= self.matching['policy'] == 'hold'
        self.pipeline.configure_matching(**self.matching)

    def configure(self, **changes: Any) -> bool:
        """Change the calibrator's parameters; return whether they were taken."""
        calibrator = self.pipeline.calibrator
        before = calibrator.state()
        try:
            calibrator.configure(**changes)
        except ValueError:
            assert calibrator.state() == before
            return False
        return True

    def set_window(self, bins: int, window: int) -> None:
        self.pipeline.scores.configure(bins, window)
        self.scored = deque(maxlen=window)

    def reset(self) -> None:
        self.pipeline.reset()
        self.updates = 0
        self.scored.clear()

    def flush(self) -> None:
        self.pipeline.flush()
        assert self.pipeline.matcher.pending_predictions == 0
        assert self.pipeline.matcher.pending_labels == 0

    def save(self) -> str:
        """Return what a state file would hold."""
        document = make_document(self.pipeline.calibrator, '/calib_node')
        return yaml.dump(document, Dumper=DUMPER, sort_keys=False)

    def load(self, text: str) -> None:
        """Go back to what was saved, as on a running node; the pending predictions stay."""
        document = yaml.load(text, Loader=LOADER)
        before = self.pipeline.calibrator.state()
        try:
            restore_document(self.pipeline.calibrator, document)
        except StateError:
            assert self.pipeline.calibrator.state() == before
        else:
            self.updates = document['updates']

    # What must hold

    def _is_probability(self, value: Any) -> bool:
        if self.classes == 1:
            return -1e-6 <= value <= 1.0 + 1e-6
        within = bool(((value >= -1e-6) & (value <= 1.0 + 1e-6)).all())
        total = float(np.clip(value, 0.0, 1.0).sum())
        return within and value.shape == (self.classes,) and abs(total - 1.0) <= 1e-3

    def _check_forecast(self, q: Any) -> None:
        if self.classes == 1:
            assert type(q) is float
            assert 0.0 <= q <= 1.0
        else:
            assert q.shape == (self.classes,)
            assert q.min() >= 0.0
            assert q.max() <= 1.0
            assert abs(float(q.sum()) - 1.0) <= TOLERANCE

    def check(self) -> None:
        """Expect every message in one account, bounded buffers, and time that goes on."""
        for pair in self.touched:
            assert self.answered[pair] >= 0, 'learned what was never answered, or twice'
            if not self.answered[pair]:
                del self.answered[pair]
        self.touched.clear()
        pipeline, counts = self.pipeline, self.pipeline.counts
        matcher, matched = pipeline.matcher, pipeline.matcher.counts
        assert counts.predictions == self.predictions.total()
        assert counts.labels == self.labels.total()
        assert counts.no_opinion == self.predictions['no opinion']
        assert counts.unstamped == self.predictions['unstamped']
        assert counts.empty_labels == self.labels['empty']
        assert counts.refused == self.refused
        assert self.placed == matched.matched + matched.expired + matcher.pending_predictions
        assert counts.learned == self.learned
        assert counts.held_back == self.held_back
        seen = self.learned + self.held_back + self.unlearned
        assert matched.matched == seen + counts.without_value
        ended = matched.unmatched + matched.duplicate + matcher.pending_labels
        if self.held:
            # A label that held for a prediction, or for many, is in no account once it has gone.
            assert ended <= self.labels['taken']
        else:
            assert self.labels['taken'] == matched.matched + ended
        # A label of a prediction of no opinion ends a run too, which only the matcher can tell.
        assert counts.labels_since_match <= self.labels_since_match
        assert counts.failed_updates == 0
        assert (pipeline.update_error, pipeline.observer_error) == ('', '')
        assert pipeline.calibrator.updates == self.updates
        assert 0 <= matcher.pending_predictions <= self.matching['capacity']
        assert 0 <= matcher.pending_labels <= self.matching['capacity']
        self._check_time()

    def _check_time(self) -> None:
        matcher = self.pipeline.matcher
        same, jumps, before = self.time
        self.time = matcher, matcher.counts.jumps_back, matcher._now
        if self.time[:2] == (same, jumps) and before is not None:
            assert matcher._now >= before

    def check_scores(self) -> None:
        """Expect the window to be what its samples, all taken together, give."""
        scores = self.pipeline.scores
        assert scores.error == ''
        y = [label for _, _, label in self.scored]
        for window, place in ((scores.raw, 0), (scores.calibrated, 1)):
            assert_scores(window, [sample[place] for sample in self.scored], y, TOLERANCE)

    def check_state(self) -> None:
        """Expect what was learned to be finite, and the same after a restart."""
        calibrator = self.pipeline.calibrator
        text = self.save()
        parameters = calibrator.parameters()
        if self.classes == 1:
            again: Any = create(self.method, **parameters)
            grid: list[Any] = [0.0, 0.03, 0.5, 0.8, 1.0]
        else:
            again = create_multiclass(self.method, self.classes, **parameters)
            grid = [*np.eye(self.classes), np.full(self.classes, 1.0 / self.classes)]
        restore_document(again, yaml.load(text, Loader=LOADER))
        if again.updates:
            assert again.state() == calibrator.state()
        assert all(math.isfinite(number) for number in floats_in(calibrator.state()))
        for p in grid:
            q = again.predict(p)
            self._check_forecast(q)
            assert np.array_equal(q, calibrator.predict(p))


def floats_in(value: Any) -> list[float]:
    """Return all floats in a state."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for part in value for number in floats_in(part)]
    return [value] if isinstance(value, float) else []
