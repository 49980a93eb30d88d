# SPDX-License-Identifier: Apache-2.0
"""The pipeline of a probability a class."""

from __future__ import annotations

import numpy as np

from calib_node.core.calibrators.multiclass.base import Floats, MulticlassCalibrator
from calib_node.core.pipeline.base import OVERSHOOT, BasePipeline
from calib_node.core.pipeline.figures import MulticlassReliability
from calib_node.core.ranges import SUM_TOLERANCE
from calib_node.core.refusal import Refused


class MulticlassPipeline(BasePipeline[Floats]):
    """Calibrates the probabilities of K classes and learns from the indices of the true ones.

    A prediction holds an array of shape (K,), and so does what is returned. Neither may be changed
    afterwards: they wait for the label, which holds the index of a class, 0 to K - 1.

    Parameters
    ----------
    calibrator : MulticlassCalibrator
        Learns and maps.
    matcher, bins, window, learning
        As in `BasePipeline`; the figures are those of `MulticlassReliability`.

    Examples
    --------
    >>> from calib_node.core.calibrators import create_multiclass
    >>> from calib_node.core.matching import StampMatcher
    >>> from calib_node.core.samples import Label, Prediction
    >>> pipeline = MulticlassPipeline(create_multiclass('ops', classes=3), StampMatcher())
    >>> p = np.array([0.7, 0.2, 0.1])
    >>> pipeline.predict(Prediction(stamp=1, probability=p)).probability.round(6).tolist()
    [0.7, 0.2, 0.1]
    >>> [match.label for match in pipeline.label(Label(stamp=1, value=1.0))]
    [1]
    >>> pipeline.predict(Prediction(stamp=2, probability=p)).probability.round(2).tolist()
    [0.67, 0.24, 0.09]
    """

    calibrator: MulticlassCalibrator

    @property
    def classes(self) -> int:
        """Number of classes, K."""
        return self.calibrator.classes

    def _new_figures(self, bins: int, window: int) -> MulticlassReliability:
        return MulticlassReliability(bins, window)

    def _checked(self, raw: Floats, stamp: int) -> Floats:
        classes = self.classes
        # The calibrator sums in double precision too, and so comes to the same verdict.
        raw = np.asarray(raw, dtype=np.float64)
        if raw.shape != (classes,):
            found = raw.size if raw.ndim == 1 else f'an array of shape {raw.shape}'
            refusal = Refused('wrong_length', f'{found} instead of {classes}, one a class')
            self._refuse_prediction(refusal, stamp)
        low, high = raw.min(), raw.max()
        if not (low >= -OVERSHOOT and high <= 1.0 + OVERSHOOT):
            self._refuse_prediction(_outside(raw), stamp)
        if low < 0.0 or high > 1.0:
            raw = np.clip(raw, 0.0, 1.0)
        total = float(raw.sum())
        if abs(total - 1.0) > SUM_TOLERANCE:
            self._refuse_prediction(Refused('bad_sum', total), stamp)
        return raw

    def _class_of(self, value: float) -> int:
        classes = self.classes
        if 0.0 <= value < classes and value == int(value):
            return int(value)
        if value - value != 0.0:
            raise Refused('not_finite', value)
        sentence = f'the label is not the index of one of {classes} classes, 0 to {classes - 1}'
        raise Refused('bad_label', value, sentence)


def _outside(raw: Floats) -> Refused:
    """Return the refusal of the first probability that is none."""
    index = int(np.argmin((raw >= -OVERSHOOT) & (raw <= 1.0 + OVERSHOOT)))
    value = float(raw[index])
    reason = 'out_of_range' if np.isfinite(value) else 'not_finite'
    return Refused(reason, f'{value!r} for class {index}')
