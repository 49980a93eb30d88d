# SPDX-License-Identifier: Apache-2.0
"""Correction of probabilities for classes that are more or less frequent than in training."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_node.core.ranges import SUM_TOLERANCE

Floats = NDArray[np.float64]


def shift_prior(p: ArrayLike, old: float, new: float) -> Floats | float:
    """Correct the probability of the positive class for a new prior.

    Adds ``ln(new / old) - ln((1 - new) / (1 - old))`` to the logit. A calibrator learns on
    probabilities that are not shifted, and its output is shifted.

    Parameters
    ----------
    p : float or array_like of float, any shape
        Probabilities that are honest where positives have the frequency `old`.
    old, new : float
        Frequency of positives where `p` is honest, and where it is to be honest; within (0, 1).

    Returns
    -------
    float or ndarray of float, as `p`
        The shifted probabilities. 0 stays 0 and 1 stays 1.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1] or a prior outside (0, 1).

    References
    ----------
    Saerens, Latinne and Decaestecker, *Adjusting the outputs of a classifier to new a priori
    probabilities: a simple procedure*, Neural Computation 14, 2002, Equation 2.4.

    Examples
    --------
    >>> round(shift_prior(0.5, old=0.5, new=0.1), 12)
    0.1
    >>> shift_prior([0.0, 0.5, 1.0], old=0.2, new=0.5).round(6).tolist()
    [0.0, 0.8, 1.0]
    """
    for name, prior in (('old', old), ('new', new)):
        if not 0.0 < prior < 1.0:
            raise ValueError(f'the {name} prior must be within (0, 1), not {prior!r}')
    positive = np.asarray(p, dtype=np.float64)
    both = np.stack([1.0 - positive, positive], axis=-1)
    shifted = shift_priors(both, [1.0 - old, old], [1.0 - new, new])[..., 1]
    return shifted if shifted.ndim else float(shifted)


def shift_priors(p: ArrayLike, old: ArrayLike, new: ArrayLike) -> Floats:
    """Correct the probabilities of K classes for new priors.

    Adds ``ln(new / old)`` of each class to its logit. A calibrator learns on probabilities that
    are not shifted, and its output is shifted.

    Parameters
    ----------
    p : array_like of float, shape (..., K)
        Probabilities of one or many samples that are honest where the classes have the
        frequencies `old`.
    old, new : array_like of float, shape (K,)
        Frequencies of the classes where `p` is honest, and where it is to be; positive, of sum 1.

    Returns
    -------
    ndarray of float, shape (..., K)
        The shifted probabilities, of sum 1.

    Raises
    ------
    ValueError
        If a shape is wrong, a probability outside [0, 1], all of a sample are 0, or `old` or
        `new` are not positive numbers that sum to 1 within 0.001.

    References
    ----------
    Saerens, Latinne and Decaestecker, *Adjusting the outputs of a classifier to new a priori
    probabilities: a simple procedure*, Neural Computation 14, 2002, Equation 2.4.

    Examples
    --------
    >>> shift_priors([0.6, 0.2, 0.2], old=[0.6, 0.2, 0.2], new=[0.2, 0.2, 0.6]).round(12).tolist()
    [0.2, 0.2, 0.6]
    """
    probabilities = np.asarray(p, dtype=np.float64)
    priors = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    if probabilities.ndim == 0 or probabilities.shape[-1] < 2:
        raise ValueError(f'p must be of shape (..., K), K >= 2, not {probabilities.shape}')
    for name, prior in zip(('old', 'new'), priors):
        if prior.shape != probabilities.shape[-1:]:
            raise ValueError(
                f'the {name} priors must be {probabilities.shape[-1]}, one per class, '
                f'not of shape {prior.shape}'
            )
        total = float(prior.sum())
        if not (np.all(prior > 0.0) and isfinite(total) and abs(total - 1.0) <= SUM_TOLERANCE):
            raise ValueError(f'the {name} priors must be positive and sum to 1')
    if not np.all((probabilities >= 0.0) & (probabilities <= 1.0)):
        raise ValueError('every probability must be within [0, 1]')
    if not np.all(probabilities.any(axis=-1)):
        raise ValueError('a sample of which every probability is 0 has none to shift')
    with np.errstate(divide='ignore'):
        logits = np.log(probabilities) + (np.log(priors[1]) - np.log(priors[0]))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shifted: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shifted
