# SPDX-License-Identifier: Apache-2.0
"""The Brier score taken apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib_node.core.metrics.binning import Binning, Closed, put_into_bins


@dataclass(frozen=True)
class BrierDecomposition:
    """Parts of a Brier score over bins.

    Attributes
    ----------
    reliability : float
        Mean squared gap of mean probability and frequency in a bin; 0 is best.
    resolution : float
        Mean squared distance of the bins' frequencies from the overall one; larger is better.
    uncertainty : float
        Variance of the labels, which no forecast can change.
    within_bin_variance : float
        Mean squared distance of the probabilities from their bin's mean.
    within_bin_covariance : float
        Mean product of the distances of probability and label from their bin's means.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float

    @property
    def brier(self) -> float:
        """The Brier score of the samples, put together again."""
        return (
            self.reliability
            - self.resolution
            + self.uncertainty
            + self.within_bin_variance
            - 2.0 * self.within_bin_covariance
        )


def murphy(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 15,
    *,
    binning: Binning = 'equal_width',
    closed: Closed = 'left',
) -> BrierDecomposition:
    """Take the Brier score apart, exactly.

    Murphy, *A new vector partition of the probability score*, Journal of Applied Meteorology 12,
    1973. Its three parts hold where a bin has a single probability; the two within-bin parts of
    Stephenson, Coelho and Jolliffe, *Two extra components in the Brier score decomposition*,
    Weather and Forecasting 23, 2008, make it exact for all.

    Parameters
    ----------
    p, y, bins, binning, closed
        As in `reliability`, which also says what is refused.

    Returns
    -------
    BrierDecomposition
        Its parts are squared probabilities.

    Examples
    --------
    >>> parts = murphy([0.1, 0.3, 0.9, 0.7], [0, 1, 1, 0], bins=2)
    >>> round(parts.reliability, 4), round(parts.within_bin_variance, 4), round(parts.brier, 4)
    (0.09, 0.01, 0.25)
    """
    samples = put_into_bins(p, y, bins, binning, closed)
    diagram = samples.diagram()
    used = diagram.count > 0
    weight, frequency = diagram.weight[used], diagram.frequency[used]
    base_rate = np.mean(samples.y)
    off_mean = samples.p - diagram.mean[samples.index]
    off_frequency = samples.y - diagram.frequency[samples.index]
    return BrierDecomposition(
        reliability=float(np.sum(weight * diagram.gap[used] ** 2)),
        resolution=float(np.sum(weight * (frequency - base_rate) ** 2)),
        uncertainty=float(base_rate * (1.0 - base_rate)),
        within_bin_variance=float(np.mean(off_mean**2)),
        within_bin_covariance=float(np.mean(off_mean * off_frequency)),
    )
