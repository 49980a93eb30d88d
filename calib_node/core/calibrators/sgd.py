# SPDX-License-Identifier: Apache-2.0
"""A logistic map on the logit, learned by stochastic gradient descent, in plain floats.

Parts that methods are made of. They check nothing: what is not finite gives what is not finite.
"""

from __future__ import annotations

from calib_node.core.numerics.sigmoid import residual, sigmoid

LogisticMap = tuple[float, float]
"""``(a, b)`` of ``sigmoid(a logit + b)``; (1, 0) is the identity, (0, 0) gives 0.5 throughout."""


def logistic(parameters: LogisticMap, logit: float) -> float:
    """Return the probability that a map gives for `logit`.

    Returns
    -------
    float
        Within [0, 1].

    Examples
    --------
    >>> logistic((1.0, 0.0), 0.0)
    0.5
    """
    return sigmoid(parameters[0] * logit + parameters[1])


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

    Returns
    -------
    tuple of 2 floats
        ``(a, b)`` after it.

    Examples
    --------
    >>> sgd_step((1.0, 0.0), 0.0, 1, eta=0.1)
    (1.0, 0.05)
    """
    a, b = parameters
    step = eta * residual(a * logit + b, y)
    return a - step * logit, b - step
