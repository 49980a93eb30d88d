# SPDX-License-Identifier: Apache-2.0
"""The pipeline of a probability of the positive class."""

from __future__ import annotations

from calib_node.core.calibrators.base import Calibrator
from calib_node.core.metrics.rolling import RollingReliability
from calib_node.core.pipeline.base import OVERSHOOT, BasePipeline
from calib_node.core.refusal import Refused


class Pipeline(BasePipeline[float]):
    """Calibrates predictions at once and learns from their labels when they come.

    Parameters
    ----------
    calibrator : Calibrator
        Learns and maps.
    matcher, bins, window, learning
        As in `BasePipeline`.

    Examples
    --------
    >>> from calib_node.core.calibrators import create
    >>> from calib_node.core.matching import StampMatcher
    >>> from calib_node.core.samples import Label, Prediction
    >>> pipeline = Pipeline(create('ops'), StampMatcher())
    >>> pipeline.predict(Prediction(stamp=1, probability=0.8))
    Prediction(stamp=1, probability=0.8)
    >>> pipeline.label(Label(stamp=1, value=0.0))
    [Match(raw=0.8, published=0.8, label=0)]
    >>> round(pipeline.predict(Prediction(stamp=2, probability=0.8)).probability, 8)
    0.76075807
    """

    calibrator: Calibrator
    classes = 1

    def _new_figures(self, bins: int, window: int) -> RollingReliability:
        return RollingReliability(bins, window)

    def _checked(self, raw: float, stamp: int) -> float:
        if 0.0 <= raw <= 1.0:
            return raw
        if -OVERSHOOT <= raw < 0.0:
            return 0.0
        if 1.0 < raw <= 1.0 + OVERSHOOT:
            return 1.0
        reason = 'not_finite' if raw - raw != 0.0 else 'out_of_range'
        self._refuse_prediction(Refused(reason, raw), stamp)

    def _class_of(self, value: float) -> int:
        raise Refused('not_finite' if value - value != 0.0 else 'bad_label', value)
