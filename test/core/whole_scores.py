# SPDX-License-Identifier: Apache-2.0
"""The scores of a rolling window against those of its samples, all taken together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from calib_node.core.metrics import (
    brier,
    ece,
    log_loss,
    multiclass_brier,
    multiclass_log_loss,
    reliability,
    top_label_ece,
)


def assert_scores(window: Any, p: Sequence[Any], y: Sequence[int], tolerance: float) -> None:
    """Expect of a window that it holds these samples, of one probability or of one per class."""
    assert window.count == len(p)
    if not len(p):
        return
    if np.ndim(p[0]) == 0:
        expected = ece(p, y, window.bins), brier(p, y), log_loss(p, y)
    else:
        of_top = top_label_ece(p, y, window.bins)
        expected = of_top, multiclass_brier(p, y), multiclass_log_loss(p, y)
        y = [int(np.argmax(row) == label) for row, label in zip(p, y)]
        p = [float(np.max(row)) for row in p]
    found = window.ece(), window.brier(), window.log_loss()
    assert found == pytest.approx(expected, abs=tolerance, rel=0.0)
    diagram = reliability(p, y, window.bins)
    counts, means, frequencies = np.array(window.table()).T
    np.testing.assert_array_equal(counts, diagram.count)
    np.testing.assert_allclose(means, diagram.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(frequencies, diagram.frequency, rtol=0, atol=tolerance)
