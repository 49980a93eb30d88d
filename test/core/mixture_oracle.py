# SPDX-License-Identifier: Apache-2.0
"""The mixture written down once more, in numpy and with no thought of speed."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

LOW, HIGH = 0.001, 0.999
K = 13


def sigmoid(z):
    return 0.5 + 0.5 * np.tanh(0.5 * z)


def logit(q):
    return np.log(q / (1.0 - q))


def clipped(p):
    return min(max(p, 0.01), 0.99)


class NewtonStep:
    """A logistic map of features, by Online Newton Step with forgetting."""

    def __init__(self, start, rho, gamma=0.1):
        self.theta, self.A = np.array(start), rho * np.eye(len(start))
        self.rho, self.gamma = rho, gamma

    def forecast(self, u):
        return sigmoid(self.theta @ u)

    def learn(self, u, y, kept=1.0):
        gradient = (self.forecast(u) - y) * u
        floor = (1.0 - kept) * self.rho * np.eye(len(u))
        self.A = kept * self.A + floor + np.outer(gradient, gradient)
        self.theta = self.theta - np.linalg.inv(self.A) @ gradient / self.gamma
        assert np.linalg.norm(self.theta) < 100.0, 'the oracle does not project'


class Stacks:
    """Logistic maps of the same features that share a Hessian and differ in their step."""

    def __init__(self, start, gammas, rho):
        self.v = [np.array(start) for _ in gammas]
        self.gammas, self.hessian = gammas, rho * np.eye(len(start))

    def forecast(self, u):
        return [sigmoid(v @ u) for v in self.v]

    def learn(self, u, y):
        q = self.forecast(u)
        self.hessian = self.hessian + np.mean([x * (1.0 - x) for x in q]) * np.outer(u, u)
        direction = np.linalg.solve(self.hessian, u)
        for k, gamma in enumerate(self.gammas):
            v = self.v[k] - direction * (q[k] - y) / gamma
            self.v[k] = v * min(1.0, 100.0 / np.linalg.norm(v))


class Bins:
    """Ten tallies of outcomes, each with its mid-point counted once."""

    def __init__(self):
        self.outcomes = [[(i + 0.5) / 10] for i in range(10)]

    def of(self, q):
        return self.outcomes[min(int(q * 10), 9)]


def isotonic(p, y):
    """Return the lowest, mean and highest p and the smoothed value of each block."""
    labels = {}
    for x, label in sorted(zip(p, y)):
        labels.setdefault(x, []).append(label)
    blocks = [([x] * len(same), sum(same)) for x, same in labels.items()]
    for value in (
        lambda members, total: total / len(members),
        lambda members, total: (total + 0.5) / (len(members) + 1.0),
    ):
        pooled = []
        for block in blocks:
            pooled.append(block)
            while len(pooled) > 1 and value(*pooled[-2]) >= value(*pooled[-1]):
                last, before = pooled.pop(), pooled.pop()
                pooled.append((before[0] + last[0], before[1] + last[1]))
        blocks = pooled
    return [(m[0], sum(m) / len(m), m[-1], value(m, total)) for m, total in blocks]


def temperature(p, y):
    """Return 1 / T within [1/1000, 100] of smallest log-loss against the targets of Platt."""
    z = logit(np.clip(p, 0.01, 0.99))
    positives = sum(y)
    high = (positives + 1.0) / (positives + 2.0)
    targets = np.where(np.array(y) == 1, high, 1.0 / (len(y) - positives + 2.0))

    def loss(beta):
        return np.sum(np.logaddexp(0.0, beta * z) - targets * beta * z)

    low, high = 1e-3, 100.0
    for _ in range(60):
        beta = 0.5 * (low + high)
        if (sigmoid(beta * z) - targets) @ z > 0.0:
            high = beta
        else:
            low = beta
    return beta if loss(beta) < loss(1.0) else 1.0


class Window:
    """Three maps of the last 1000 samples, fitted with every 50th label."""

    def __init__(self):
        self.p, self.y, self.blocks = [], [], None

    def forecasts(self, p):
        if self.blocks is None:
            return [p, p, p]
        value = self.blocks[0][3]
        for left, right in pairwise(self.blocks):
            if p >= 0.5 * (left[2] + right[0]):
                value = right[3]
        centres, values = [b[1] for b in self.blocks], [b[3] for b in self.blocks]
        line = np.interp(p, centres, values)
        return [value, line, sigmoid(self.beta * logit(clipped(p)))]

    def learn(self, p, y):
        self.p.append(p)
        self.y.append(y)
        if len(self.p) % 50 == 0:
            self.blocks = isotonic(self.p[-1000:], self.y[-1000:])
            self.beta = temperature(self.p[-1000:], self.y[-1000:])


class Issued(NamedTuple):
    number: int
    p: float
    platt: np.ndarray
    beta: np.ndarray
    stack: np.ndarray
    experts: np.ndarray
    members: np.ndarray


class Oracle:
    """Thirteen experts in nine members; weights are kept as their logarithms."""

    def __init__(self):
        self.ops, self.slow = NewtonStep([1.0, 0.0], 100.0), NewtonStep([1.0, 0.0], 100.0)
        self.fast = NewtonStep([1.0, 0.0], 10.0)
        self.beta = NewtonStep([1.0, -1.0, 0.0], 25.0)
        self.tops, self.tobs, self.window = Bins(), Bins(), Window()
        self.stacks = Stacks([1.0 / 9.0] * 9 + [0.0] * 4, (1.0, 0.25), 10.0)
        self.missed = [0.0, 0.0, 0.0]
        self.labels, self.issues, self.delays = [], 0, []
        self.members = [(share, rate) for share in ('none', '1/t', '.01') for rate in (0, 1, 2)]
        self.log_members = np.log([(4.0, 2.0, 1.0)[rate] / 21.0 for _, rate in self.members])
        self.log_experts = [np.full(K, -np.log(K)) for _ in self.members]

    def weights(self):
        return sum(np.exp(m + e) for m, e in zip(self.log_members, self.log_experts))

    def issue(self, p):
        z, c = logit(clipped(p)), clipped(p)
        platt, beta = np.array([z, 1.0]), np.array([np.log(c), np.log(1.0 - c), 1.0])
        q_ops, q_beta = self.ops.forecast(platt), self.beta.forecast(beta)
        forecasts = [p, q_ops, q_beta]
        forecasts += [np.mean(self.tops.of(q_ops)), np.mean(self.tobs.of(q_beta))]
        forecasts += [self.slow.forecast(platt), self.fast.forecast(platt)]
        forecasts += self.window.forecasts(p)
        forecasts.append((sum(self.labels) + 0.5) / (len(self.labels) + 1.0))
        forecasts = np.clip(forecasts, LOW, HIGH)
        stack = np.concatenate([logit(forecasts[1:10]), [1.0], 4.0 * np.array(self.missed)])
        forecasts = np.append(forecasts, np.clip(self.stacks.forecast(stack), LOW, HIGH))
        members = np.array([np.exp(e) @ forecasts for e in self.log_experts])
        issued = Issued(self.issues, p, platt, beta, stack, forecasts, members)
        self.issues += 1
        return np.exp(self.log_members) @ members if self.labels else q_ops, issued

    def learn(self, issued, y):
        self.delays.append(self.issues - 1 - issued.number)
        delay = np.median(self.delays[-100:])
        rates = [1.0, (1.0 + delay) ** -0.5, 1.0 / (1.0 + delay)]
        self.labels.append(y)
        shares = {'none': 0.0, '1/t': 1.0 / (1.0 + len(self.labels)), '.01': 0.01}

        likelihood = issued.members if y else 1.0 - issued.members
        self.log_members = normalised(self.log_members + rates[2] * np.log(likelihood))
        likelihood = issued.experts if y else 1.0 - issued.experts
        for k, (share, rate) in enumerate(self.members):
            kept = normalised(self.log_experts[k] + rates[rate] * np.log(likelihood))
            if shares[share]:
                a = shares[share]
                kept = np.logaddexp(np.log(1.0 - a) + kept, np.log(a / K))
            self.log_experts[k] = kept

        self.tops.of(self.ops.forecast(issued.platt)).append(y)
        self.tobs.of(self.beta.forecast(issued.beta)).append(y)
        self.ops.learn(issued.platt, y)
        self.beta.learn(issued.beta, y)
        self.slow.learn(issued.platt, y, 0.999)
        self.fast.learn(issued.platt, y, 1.0 - 0.01 / (1.0 + 0.01 * delay))
        self.window.learn(issued.p, y)
        self.stacks.learn(issued.stack, y)
        for k, horizon in enumerate((2.0, 20.0, 200.0)):
            step = 1.0 / min(horizon, len(self.labels) + 1.0)
            self.missed[k] = (1.0 - step) * self.missed[k] + step * (y - issued.p)


def normalised(logs):
    return logs - np.logaddexp.reduce(logs)
