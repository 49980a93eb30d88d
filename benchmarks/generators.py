# SPDX-License-Identifier: Apache-2.0
"""Streams to choose methods on and to hold them against.

Models that learn no more, over data of generators; and probabilities drawn at random, with labels
that are not always what they say. Set 0 is what was chosen on, any other is held out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import linear_model, naive_bayes, preprocessing, tree
from river.datasets import synth
from runs import Samples
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier
from streams_data import Rows

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


def learned(rows: Rows, seed: int, first: int, learns: int = 500, model: Any = None) -> Stream:
    """Return what a model says that has learned some of the first samples and learns no more."""
    data = [(x, int(y)) for x, y in rows]
    model = model or tree.HoeffdingTreeClassifier()
    for x, y in random.Random(seed).sample(data[:first], min(learns, first)):
        model.learn_one(x, y)
    answers = [model.predict_proba_one(x) for x, _ in data]
    return [answer.get(1, 0.0) if answer else 0.5 for answer in answers], [y for _, y in data]


def pieces(streams: Iterable[Rows], ends: Iterable[int]) -> Rows:
    """Yield the first stream up to the first end, the next up to the next, and so on."""
    for stream, (start, end) in zip(streams, pairwise((0, *ends)), strict=True):
        yield from islice(stream, end - start)


@dataclass(frozen=True)
class Drift:
    """From one concept to the other around a place in set 0, over so many samples."""

    before: int
    after: int
    position: int
    width: int
    count: int


DRIFTS = {
    'sea': [
        Drift(1, 2, 1500, 50, 5000),
        Drift(3, 0, 3300, 300, 5000),
        Drift(2, 1, 2500, 1000, 5000),
        Drift(0, 2, 1000, 100, 3000),
        Drift(1, 3, 4000, 500, 8000),
    ],
    'agrawal': [
        Drift(1, 3, 1700, 50, 5000),
        Drift(5, 2, 3000, 400, 5000),
        Drift(7, 6, 2500, 1000, 5000),
        Drift(2, 0, 1200, 200, 3000),
        Drift(3, 8, 5000, 800, 9000),
    ],
    'sine': [
        Drift(1, 3, 1500, 50, 5000),
        Drift(2, 0, 3500, 300, 5000),
        Drift(3, 1, 2500, 1500, 5000),
        Drift(0, 1, 1500, 100, 4000),
    ],
    'stagger': [Drift(0, 1, 1500, 50, 5000), Drift(1, 2, 3000, 500, 5000)],
    'mixed': [Drift(0, 1, 1800, 50, 5000), Drift(1, 0, 3000, 800, 5000)],
}


def drifting(family: str, i: int, draw: Draw) -> Stream:
    """Return a stream of `DRIFTS`; some of them are noisy."""
    drift, noisy = DRIFTS[family][i], i % 2 == 1
    make: Callable[..., Rows] = {
        'sea': partial(synth.SEA, noise=0.1 * noisy),
        'agrawal': synth.Agrawal,
        'sine': partial(synth.Sine, has_noise=noisy),
        'stagger': synth.STAGGER,
        'mixed': synth.Mixed,
    }[family]
    disturbed = {'perturbation': 0.05 * (i % 3)} if family == 'agrawal' else {}
    stream = synth.ConceptDriftStream(
        make(drift.before, seed=draw.seed(11 + i), **disturbed),
        make(drift.after, seed=draw.seed(31 + i)),
        seed=draw.seed(5 + i),
        position=draw.at(drift.position, drift.count),
        width=drift.width,
    )
    seed = draw.seed(100 + 10 * list(DRIFTS).index(family) + i)
    return learned(islice(stream, drift.count), seed, drift.count // 2)


def repeated(i: int, draw: Draw) -> Stream:
    """Return a stream of several sudden changes."""
    make, concepts, seed = (
        (synth.SEA, [1, 3, 1, 2], 51),
        (synth.Agrawal, [2, 3] * 4, 60),
        (synth.Sine, [1, 0] * 5, 70),
    )[i]
    streams = [make(concept, seed=draw.seed(seed + k)) for k, concept in enumerate(concepts)]
    changes, count = (
        ([2000, 5000, 7500], 10_000),
        (range(1250, 10_000, 1250), 10_000),
        (range(800, 8000, 800), 8000),
    )[i]
    rows = pieces(streams, [*draw.all_at(changes, count), count])
    return learned(rows, draw.seed(200 + i), first=changes[0])


def radial(i: int, draw: Draw) -> Stream:
    """Return classes around centres, half of which move; the last time none does."""
    speed, centres, count = (
        (0.0005, 20, 5000),
        (0.003, 30, 5000),
        (0.02, 30, 8000),
        (0.0, 50, 5000),
    )[i]
    stream = synth.RandomRBFDrift(
        seed_model=draw.seed(7 + i),
        seed_sample=draw.seed(17 + i),
        n_classes=2,
        n_features=6,
        n_centroids=centres,
        change_speed=speed,
        n_drift_centroids=centres // 2,
    )
    return learned(islice(stream, count), draw.seed(150 + i), count // 2)


def display(i: int, draw: Draw) -> Stream:
    """Return whether a display shows 5 or more; later other parts of it are out of order."""
    count = (5000, 3000)[i]
    before = synth.LED(seed=draw.seed(8 + i), noise_percentage=0.2)
    after = synth.LEDDrift(
        seed=draw.seed(9 + i), noise_percentage=0.1, irrelevant_features=True, n_drift_features=5
    )
    rows = pieces([before, after], [draw.at(count // 2, count), count])
    return learned(((x, y >= 5) for x, y in rows), draw.seed(160 + i), count // 2)


def hyperplane(i: int, draw: Draw) -> Stream:
    """Return the sides of a plane that turns."""
    change, turning, features, count = (
        (0.001, 10, 10, 5000),
        (0.05, 4, 8, 5000),
        (0.01, 5, 10, 8000),
        (0.005, 2, 5, 2000),
    )[i]
    stream = synth.Hyperplane(
        seed=draw.seed(21 + i),
        n_features=features,
        n_drift_features=turning,
        mag_change=change,
        noise_percentage=0.05 * (i % 2),
    )
    return learned(islice(stream, count), draw.seed(170 + i), count // 2)


def friedman(i: int, draw: Draw) -> Stream:
    """Return whether Friedman's function is above 14; it changes for a time, in parts, slowly."""
    kind, changes = (('gra', (1500, 3500)), ('lea', (1000, 2500, 4000)), ('gsg', (2000, 3000)))[i]
    stream = synth.FriedmanDrift(
        drift_type=kind,
        position=tuple(draw.all_at(changes, 5000)),
        transition_window=400,
        seed=draw.seed(41 + i),
    )
    return learned(((x, y > 14.0) for x, y in islice(stream, 5000)), draw.seed(180 + i), 1500)


def random_tree(i: int, draw: Draw) -> Stream:
    """Return the labels of one tree, the second time those of another from the drift on."""
    trees, samples = ((3, 3), (4, 12))[i], (4 + i, 14 + i)
    streams = [
        synth.RandomTree(seed_tree=draw.seed(one), seed_sample=draw.seed(seed), n_classes=2)
        for one, seed in zip(trees, samples, strict=True)
    ]
    return learned(pieces(streams, [draw.at(2500, 5000), 5000]), draw.seed(190 + i), 2500)


def table(x: Any, y: Any) -> Rows:
    """Yield the rows of two arrays."""
    return ((dict(enumerate(row)), label) for row, label in zip(x.tolist(), y, strict=True))


def moons(i: int, draw: Draw) -> Stream:
    """Return two half moons."""
    count, noise, learns = ((5000, 0.4, 500), (5300, 0.8, 1000))[i]
    rows = table(*make_moons(count, noise=noise, random_state=draw.seed(1 + i)))
    return learned(rows, draw.seed(210 + i), count // 2, learns)


def still(i: int, draw: Draw) -> Stream:
    """Return data that does not drift, most of it short, and three kinds of model."""
    count, features, more = (
        (1250, 9, {'n_informative': 5, 'flip_y': 0.1}),
        (1000, 20, {'n_informative': 8, 'flip_y': 0.2}),
        (1500, 9, {'n_informative': 3, 'flip_y': 0.05, 'class_sep': 0.6}),
        (5000, 15, {'n_informative': 6, 'n_clusters_per_class': 4}),
    )[i]
    model = (
        None,
        naive_bayes.GaussianNB(),
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        naive_bayes.GaussianNB(),
    )[i]
    rows = table(*make_classification(count, features, random_state=draw.seed(3 + i), **more))
    return learned(rows, draw.seed(212 + i), count // 2, model=model)


def short(i: int, draw: Draw) -> Stream:
    """Return few noisy samples of one concept."""
    stream = synth.Agrawal(6, seed=draw.seed(81), perturbation=0.1)
    return learned(islice(stream, 1200), draw.seed(216), 600)


def forest(i: int, draw: Draw) -> Stream:
    """Return what a forest says that has learned 1 000 samples before the stream begins."""
    count, informative, flipped, weights = (
        (11_000, 8, 0.3, None),
        (12_000, 5, 0.1, [0.78]),
        (2000, 5, 0.2, None),
    )[i]
    x, y = make_classification(
        count + 1000,
        16,
        n_informative=informative,
        flip_y=flipped,
        weights=weights,
        class_sep=0.7,
        random_state=draw.seed(20 + i),
    )
    model = RandomForestClassifier(200, random_state=draw.seed(i)).fit(x[:1000], y[:1000])
    return model.predict_proba(x[1000:])[:, 1].tolist(), y[1000:].tolist()


# Streams that are drawn


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


STREAMS: dict[str, Callable[[Draw], Stream]] = {
    **{
        f'{family}_{i}': partial(drifting, family, i)
        for family, drifts in DRIFTS.items()
        for i in range(len(drifts))
    },
    **{
        f'{make.__name__}_{i}': partial(make, i)
        for make, count in (
            *((repeated, 3), (radial, 4), (display, 2), (hyperplane, 4), (friedman, 3)),
            *((random_tree, 2), (moons, 2), (still, 4), (short, 1), (forest, 3)),
        )
        for i in range(count)
    },
    **{name: partial(labels.stream, seed) for seed, (name, labels) in enumerate(LABELS.items(), 1)},
    **{f'memory_{i}': partial(memory, i) for i in range(4)},
    **{f'markov_{i}': partial(markov, i) for i in range(2)},
}
"""The streams by name."""


def load(name: str, number: int, count: int | None = None) -> Samples:
    """Return at most the first `count` samples of a stream of the set of that number."""
    p, y = STREAMS[name](Draw(number))
    return Samples(name, p[:count], y[:count])
