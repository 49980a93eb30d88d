# SPDX-License-Identifier: Apache-2.0
"""Offsets of contexts by the book: one Newton step on all features, `A` whole and solved."""

from __future__ import annotations

import numpy as np

from calib_node.core.calibrators import create

FEATURES = {
    'ops': lambda p: [np.log(p / (1.0 - p)), 1.0],
    'beta': lambda p: [np.log(p), -np.log(1.0 - p), 1.0],
    'temperature': lambda p: [np.log(p / (1.0 - p))],
}
START = {'ops': [1.0, 0.0], 'beta': [1.0, 1.0, 0.0], 'temperature': [1.0]}
RHO = {'ops': 100.0, 'beta': 25.0, 'temperature': 100.0}


class Dense:
    """An offset for each context; of several variables for each value and each combination."""

    def __init__(self, method, rho=None, context_rho=100.0, gamma=0.1, forgetting=1.0):
        self.features, self.gamma, self.forgetting = FEATURES[method], gamma, forgetting
        self.context_rho = context_rho
        self.theta = np.array(START[method])
        self.size = len(self.theta)
        self.prior = np.full(self.size, RHO[method] if rho is None else rho)
        self.A = np.diag(self.prior)
        self.columns = {}

    def columns_of(self, context):
        values = enumerate(context) if len(context) > 1 else ()
        return [*values, context]

    def u(self, p, context):
        u = np.zeros(len(self.theta))
        u[: self.size] = self.features(min(max(p, 0.01), 0.99))
        for column in self.columns_of(context):
            if column in self.columns:
                u[self.columns[column]] = 1.0
        return u

    def predict(self, p, context):
        return 1.0 / (1.0 + np.exp(-self.theta.dot(self.u(p, context))))

    def update(self, p, y, context):
        for column in self.columns_of(context):
            if column not in self.columns:
                self.columns[column] = len(self.theta)
                self.theta = np.append(self.theta, 0.0)
                self.prior = np.append(self.prior, self.context_rho)
                larger = np.zeros((len(self.theta),) * 2)
                larger[:-1, :-1] = self.A
                larger[-1, -1] = self.context_rho
                self.A = larger
        g = (self.predict(p, context) - y) * self.u(p, context)
        kept = self.forgetting
        self.A = kept * self.A + (1.0 - kept) * np.diag(self.prior) + np.outer(g, g)
        self.theta = self.theta - np.linalg.solve(self.A, g) / self.gamma

    def offset(self, context):
        return sum(
            self.theta[self.columns[c]] for c in self.columns_of(context) if c in self.columns
        )


def stream(count, values, seed=0):
    """Samples of a model whose logits are off by class and by range: (p, y, context)."""
    generator = np.random.default_rng(seed)
    offsets = [generator.normal(0.0, 0.8, n) for n in values]
    samples = []
    for _ in range(count):
        places = [int(generator.integers(n)) for n in values]
        z = generator.normal(0.0, 1.5)
        shift = sum(offset[place] for offset, place in zip(offsets, places))
        y = int(generator.random() < 1.0 / (1.0 + np.exp(-(z + shift))))
        context = ('abcdefghij'[places[0]], *places[1:])
        samples.append((float(1.0 / (1.0 + np.exp(-1.5 * z))), y, context))
    return samples


def learned(samples, method='ops', names=('class',), **parameters):
    calibrator = create(method, contexts=names, **parameters)
    for p, y, context in samples:
        calibrator.update(p, y, calibrator.issue(p, context)[1])
    return calibrator
