# SPDX-License-Identifier: Apache-2.0
"""Streams drawn at random: probabilities, and labels that are not always what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from calib_node.core.numerics.sigmoid import sigmoids

Floats = NDArray[np.float64]
Stream = tuple[list[float], list[int]]
"""Probabilities and labels."""


@dataclass(frozen=True)
class Draw:
    """A set of streams; another number gives other seeds and drift positions."""

    number: int

    def seed(self, seed: int) -> int:
        """Return the seed that takes the place of one of set 0."""
        return seed + 1000 * self.number

    def at(self, position: int, count: int) -> int:
        """Return where in `count` samples a drift is that set 0 has at `position`.

        A twelfth of the stream later with each set; what would come after nine tenths comes from
        one fifth on.
        """
        first, last = count // 5, count * 9 // 10
        moved = position + self.number * count // 12
        return moved if moved <= last else first + (moved - first) % (last - first)

    def all_at(self, positions: Iterable[int], count: int) -> list[int]:
        """Return the drifts that set 0 has at `positions`, in order."""
        return sorted(self.at(position, count) for position in positions)


@dataclass(frozen=True)
class Labels:
    """Labels that are 1 with a probability of sigmoid(link(logit p, t, positions))."""

    count: int
    link: Callable[[Floats, NDArray[np.int64], list[int]], Floats]
    positions: tuple[int, ...] = ()
    beta: tuple[float, float] = (0.8, 0.8)

    def stream(self, seed: int, draw: Draw) -> Stream:
        """Return the stream; p has a beta distribution."""
        generator = np.random.default_rng(draw.seed(seed))
        p = np.clip(generator.beta(*self.beta, size=self.count), 1e-4, 1 - 1e-4)
        positions = draw.all_at(self.positions, self.count)
        z = self.link(np.log(p / (1 - p)), np.arange(self.count), positions)
        return p.tolist(), (generator.random(self.count) < sigmoids(z)).astype(int).tolist()


LABELS = {
    'calibrated_0': Labels(1000, lambda z, t, at: z),
    'calibrated_1': Labels(5000, lambda z, t, at: z, beta=(2, 5)),
    'calibrated_2': Labels(20_000, lambda z, t, at: z),
    'bias_0': Labels(5000, lambda z, t, at: z - 1.5 * (t > at[0]), (2000,)),
    'bias_1': Labels(5000, lambda z, t, at: z - 2 * (t > at[0]) + 3 * (t > at[1]), (1500, 3500)),
    'bias_2': Labels(15_000, lambda z, t, at: z + (t > at[0]), (10_000,)),
    'slow_0': Labels(10_000, lambda z, t, at: z + 1.5 * np.sin((t + at[0]) / 1500), (0,)),
    'slow_1': Labels(5000, lambda z, t, at: z * (1 - 0.8 * t / 5000)),
    'recurring_0': Labels(10_000, lambda z, t, at: z + 2 * ((t + at[0]) // 500 % 2) - 1, (0,)),
    'recurring_1': Labels(8000, lambda z, t, at: z + 1.2 * ((t + at[0]) // 1000 % 2), (0,)),
    'temperature_0': Labels(5000, lambda z, t, at: 0.4 * z + 0.5),
    'temperature_1': Labels(1200, lambda z, t, at: 1.8 * z),
    'wave': Labels(6000, lambda z, t, at: 2 * np.sin(z)),
    'stairs': Labels(5000, lambda z, t, at: np.select([z < -1, z < 1], [-2.5, 0.3], 1.2)),
    'flip': Labels(6000, lambda z, t, at: np.where(t < at[0], z, -z), (3000,)),
}
"""From calibrated probabilities to such as turn round."""


def memory(i: int, draw: Draw) -> Stream:
    """Return labels that depend on the last ones and on the hour, which p knows in part."""
    count, kept, known, noise, bias, day = (
        (5000, 0.97, 0.2, 0.3, 1.0, 48),
        (5000, 0.995, 0.0, 0.5, 0.5, 48),
        (5000, 0.9, 0.4, 0.3, 1.5, 100),
        (10_000, 0.99, 0.3, 0.2, 1.0, 48),
    )[i]
    generator = np.random.default_rng(draw.seed(1 + i))
    steps = generator.normal(size=count) * sqrt(1 - kept * kept)
    hidden = np.zeros(count)
    hidden[0] = generator.normal()
    for t in range(1, count):
        hidden[t] = kept * hidden[t - 1] + steps[t]
    hour = 0.7 * np.sin(2 * np.pi * np.arange(count) / day)
    y = (hidden + hour + noise * generator.normal(size=count) > 0).astype(int)
    bias = bias * np.sin(5 * (np.arange(count) / count + draw.number / 12))
    z = 2.2 * (known * hidden + hour) + 0.6 * generator.normal(size=count) + bias
    return sigmoids(z).tolist(), y.tolist()


def markov(i: int, draw: Draw) -> Stream:
    """Return labels that stay what they were, and p made of what is seen of them."""
    count, stay, seen = ((3000, 0.9, 0.5), (6000, 0.98, 0.7))[i]
    generator = np.random.default_rng(draw.seed(1 + i))
    y = [0]
    for _ in range(1, count):
        y.append(y[-1] if generator.random() < stay else 1 - y[-1])
    z = (2 * np.array(y) - 1) * seen + generator.normal(size=count)
    return np.clip(sigmoids(2.5 * seen * z + 0.4), 1e-4, 1 - 1e-4).tolist(), y


DRAWN: dict[str, Callable[[Draw], Stream]] = {
    **{name: partial(labels.stream, seed) for seed, (name, labels) in enumerate(LABELS.items(), 1)},
    **{f'memory_{i}': partial(memory, i) for i in range(4)},
    **{f'markov_{i}': partial(markov, i) for i in range(2)},
}
"""The streams by name."""
