# SPDX-License-Identifier: Apache-2.0
"""What a number in a message means: its scale, its link and the numbers that say nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calib_node.core.numerics.sigmoid import clipped_logit, sigmoids

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LINKS = ('linear', 'logit')
CERTAIN = 2.0**-53
"""Within so much of 0 or 1 the log-odds are those of this much: 1 less of it is the next to 1."""


@dataclass(frozen=True)
class Numbers:
    """From the numbers of a message to probabilities, and back.

    Attributes
    ----------
    scale : tuple of (float, float)
        With the linear link, the numbers that mean 0 and 1; the first may be the larger.
    link : {'linear', 'logit'}
        With logit a number is the log-odds of the probability.
    no_opinion : tuple of float
        Numbers that stand for no opinion.
    nan_is_no_opinion : bool
        Whether NaN does so too.

    Examples
    --------
    >>> percent = Numbers(scale=(0.0, 100.0), no_opinion=(-1.0,))
    >>> percent.to_probability(np.array([87.0, 100.0])).tolist()
    [0.87, 1.0]
    >>> percent.says_nothing(np.array([87.0, -1.0])).tolist()
    [False, True]
    >>> percent.back(np.array([0.25])).tolist()
    [25.0]
    """

    scale: tuple[float, float] = (0.0, 1.0)
    link: str = 'linear'
    no_opinion: tuple[float, ...] = ()
    nan_is_no_opinion: bool = False

    @property
    def plain(self) -> bool:
        """Whether a number is the probability itself, and each an opinion."""
        return self == Numbers()

    def says_nothing(self, numbers: Floats) -> Bools:
        """Return which numbers stand for no opinion, shape as given."""
        nothing = (
            np.isin(numbers, self.no_opinion)
            if self.no_opinion
            else np.zeros(numbers.shape, np.bool_)
        )
        if self.nan_is_no_opinion:
            nothing |= np.isnan(numbers)
        return nothing

    def to_probability(self, numbers: Floats) -> Floats:
        """Return what numbers mean, shape as given; what is off the scale is beyond 0 or 1.

        Infinite log-odds are no numbers: they stay infinite, so that they are refused.
        """
        if self.link == 'logit':
            return np.where(np.isinf(numbers), numbers, sigmoids(numbers))
        low, high = self.scale
        if (low, high) == (0.0, 1.0):
            return numbers
        return (numbers - low) / (high - low)

    def back(self, probabilities: Floats) -> Floats:
        """Return the numbers that mean these probabilities, shape as given.

        Certainty, whose log-odds are infinite, becomes about 36.7 on either side.
        """
        if self.link == 'logit':
            return clipped_logit(probabilities, CERTAIN)
        low, high = self.scale
        if (low, high) == (0.0, 1.0):
            return probabilities
        return low + probabilities * (high - low)
