# SPDX-License-Identifier: Apache-2.0
"""A logistic map on the logit, learned by stochastic gradient descent, in plain floats.

Parts that methods are made of. They check nothing: what is not finite gives what is not finite.
"""

from __future__ import annotations

from math import exp

from calib_node.core.calibrators.platt import LARGEST_EXPONENT, SMALLEST_SIGMOID

LogisticMap = tuple[float, float]
"""``(a, b)`` of ``sigmoid(a logit + b)``; (1, 0) is the identity, (0, 0) gives 0.5 throughout."""


def logistic(parameters: LogisticMap, logit: float) -> float:
    """Return the probability that a map gives for `logit`.

    Examples
    --------
    >>> logistic((1.0, 0.0), 0.0)
    0.5
    """
    z = parameters[0] * logit + parameters[1]
    return 1.0 / (1.0 + exp(-z)) if z > -LARGEST_EXPONENT else SMALLEST_SIGMOID


def sgd_step(parameters: LogisticMap, logit: float, y: int, eta: float) -> LogisticMap:
    """Return the map after one step of size `eta` against the gradient of the log-loss.

    Parameters
    ----------
    parameters : tuple of 2 floats
        ``(a, b)`` before the step.
    logit : float
        Logit of the probability that the label is about.
    y : int
        The label, 0 or 1.
    eta : float
        Step size.

    Examples
    --------
    >>> sgd_step((1.0, 0.0), 0.0, 1, eta=0.1)
    (1.0, 0.05)
    """
    a, b = parameters
    z = a * logit + b
    # sigmoid(z) - y, with 1 - sigmoid(z) as sigmoid(-z): no digits are lost near 1.
    if y:
        error = -1.0 / (1.0 + exp(z)) if z < LARGEST_EXPONENT else 0.0
    else:
        error = 1.0 / (1.0 + exp(-z)) if z > -LARGEST_EXPONENT else 0.0
    step = eta * error
    return a - step * logit, b - step
