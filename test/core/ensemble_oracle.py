# SPDX-License-Identifier: Apache-2.0
"""The step-size ensemble written down once more, in numpy and with no thought of speed."""

from __future__ import annotations

import numpy as np

ETAS = np.array([0.01, 0.1, 1.0])


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def divergence(window):
    """Return the Jensen-Shannon divergence in bits between the halves of 60 probabilities."""
    low, high = min(window), max(window)
    if high - low < 1e-12:
        return 0.0
    number = np.minimum(((np.array(window) - low) / (high - low) * 10).astype(int), 9)
    halves = [np.bincount(half, minlength=10) + 1.0 for half in np.split(number, 2)]
    halves = [half / half.sum() for half in halves]
    middle = sum(halves) / 2
    return float(sum((half * np.log2(half / middle)).sum() for half in halves) / 2)


def ece10(p, y):
    p, y = np.array(p), np.array(y)
    number = np.minimum((p * 10).astype(int), 9)
    return sum(abs((p - y)[number == k].sum()) for k in range(10)) / len(p)


def forecasts(
    p, y, averaging=True, spring=True, auto=True, warmup=500, clip=0.01, etas=ETAS, delay=0
):
    """Return the forecasts for a stream whose labels come `delay` predictions late."""
    theta, errors, issued, learned = np.zeros((len(etas), 2)), [], [], []
    output = []
    for i in range(len(p)):
        clipped = min(max(p[i], clip), 1.0 - clip)
        u = np.array([np.log(clipped / (1.0 - clipped)), 1.0])
        q = sigmoid(theta @ u)
        issued.append((clipped, u, q))
        mse = np.mean(errors[-100:], axis=0) if errors else np.ones(len(etas))
        weights = 1.0 / np.maximum(mse, 1e-12)
        weights = weights / weights.sum() if averaging else (etas == 0.1) * 1.0
        done = len(learned)
        passes = done < warmup or (auto and ece10(p[:warmup], y[:warmup]) <= 0.05)
        output.append(clipped if passes else float(weights @ q))
        if i < delay:
            continue
        label, (clipped, u, q) = y[i - delay], issued[i - delay]
        learned.append(clipped)
        stretch = 1.0
        if spring and len(learned) >= 60:
            stretch += 3.0 * divergence(learned[-60:])
        errors.append((q - label) ** 2)
        theta = theta - np.outer(etas * stretch * (sigmoid(theta @ u) - label), u)
    return np.array(output)
