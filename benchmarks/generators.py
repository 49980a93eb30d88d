# SPDX-License-Identifier: Apache-2.0
"""Streams to choose methods on and to hold them against.

Models that learn no more, over data of generators; and probabilities drawn at random, with labels
that are not always what they say. Set 0 is what was chosen on, any other is held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import linear_model, naive_bayes, preprocessing
from river.datasets import synth
from runs import Samples
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier
from streams_data import Stream, frozen, pieces, table

from calib_node.core.numerics.sigmoid import sigmoids


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


STREAMS: dict[str, Callable[[Draw], Stream]] = {}
"""The streams by name, in the order in which they are made below."""


def family(*settings: tuple[Any, ...]) -> Callable[[Callable[..., Stream]], Any]:
    """Add a stream for each of the settings: the function is given its number and them."""

    def add(make: Callable[..., Stream]) -> Callable[..., Stream]:
        for i, setting in enumerate(settings):
            STREAMS[f'{make.__name__}_{i}'] = partial(make, i, *setting)
        return make

    return add


DRIFTS = {
    synth.SEA: [
        (1, 2, 1500, 50, 5000),
        (3, 0, 3300, 300, 5000),
        (2, 1, 2500, 1000, 5000),
        (0, 2, 1000, 100, 3000),
        (1, 3, 4000, 500, 8000),
    ],
    synth.Agrawal: [
        (1, 3, 1700, 50, 5000),
        (5, 2, 3000, 400, 5000),
        (7, 6, 2500, 1000, 5000),
        (2, 0, 1200, 200, 3000),
        (3, 8, 5000, 800, 9000),
    ],
    synth.Sine: [
        (1, 3, 1500, 50, 5000),
        (2, 0, 3500, 300, 5000),
        (3, 1, 2500, 1500, 5000),
        (0, 1, 1500, 100, 4000),
    ],
    synth.STAGGER: [(0, 1, 1500, 50, 5000), (1, 2, 3000, 500, 5000)],
    synth.Mixed: [(0, 1, 1800, 50, 5000), (1, 0, 3000, 800, 5000)],
}
"""From one concept to another, around a place in set 0, over so many samples, of how many."""


def drifting(make: Any, i: int, draw: Draw) -> Stream:
    """Return a stream of `DRIFTS`; some of them are noisy."""
    before, after, position, width, count = DRIFTS[make][i]
    noise = {synth.SEA: {'noise': 0.1 * (i % 2)}, synth.Sine: {'has_noise': i % 2 == 1}}
    noisy = partial(make, **noise.get(make, {}))
    disturbed = {'perturbation': 0.05 * (i % 3)} if make is synth.Agrawal else {}
    rows = synth.ConceptDriftStream(
        noisy(before, seed=draw.seed(11 + i), **disturbed),
        noisy(after, seed=draw.seed(31 + i)),
        seed=draw.seed(5 + i),
        position=draw.at(position, count),
        width=width,
    )
    return frozen(rows, count, draw.seed(100 + 10 * list(DRIFTS).index(make) + i))


STREAMS |= {
    f'{make.__name__.lower()}_{i}': partial(drifting, make, i)
    for make, drifts in DRIFTS.items()
    for i in range(len(drifts))
}


@family(
    (synth.SEA, [1, 3, 1, 2], 51, [2000, 5000, 7500], 10_000),
    (synth.Agrawal, [2, 3] * 4, 60, range(1250, 10_000, 1250), 10_000),
    (synth.Sine, [1, 0] * 5, 70, range(800, 8000, 800), 8000),
)
def repeated(
    i: int, make: Any, concepts: Any, seed: int, at: Any, count: int, draw: Draw
) -> Stream:
    """Return a stream of several sudden changes."""
    streams = [make(concept, seed=draw.seed(seed + k)) for k, concept in enumerate(concepts)]
    rows = pieces(streams, [*draw.all_at(at, count), count])
    return frozen(rows, count, draw.seed(200 + i), first=at[0])


@family((0.0005, 20, 5000), (0.003, 30, 5000), (0.02, 30, 8000), (0.0, 50, 5000))
def radial(i: int, speed: float, centres: int, count: int, draw: Draw) -> Stream:
    """Return classes around centres, half of which move; the last time none does."""
    rows = synth.RandomRBFDrift(
        seed_model=draw.seed(7 + i),
        seed_sample=draw.seed(17 + i),
        n_classes=2,
        n_features=6,
        n_centroids=centres,
        change_speed=speed,
        n_drift_centroids=centres // 2,
    )
    return frozen(rows, count, draw.seed(150 + i))


@family((5000,), (3000,))
def display(i: int, count: int, draw: Draw) -> Stream:
    """Return whether a display shows 5 or more; later other parts of it are out of order."""
    before = synth.LED(draw.seed(8 + i), noise_percentage=0.2)
    after = synth.LEDDrift(
        draw.seed(9 + i), noise_percentage=0.1, irrelevant_features=True, n_drift_features=5
    )
    rows = pieces([before, after], [draw.at(count // 2, count), count])
    return frozen(((x, y >= 5) for x, y in rows), count, draw.seed(160 + i))


@family((0.001, 10, 10, 5000), (0.05, 4, 8, 5000), (0.01, 5, 10, 8000), (0.005, 2, 5, 2000))
def hyperplane(i: int, change: float, turning: int, n: int, count: int, draw: Draw) -> Stream:
    """Return the sides of a plane in n dimensions, some of which it turns in."""
    noise = 0.05 * (i % 2)
    rows = synth.Hyperplane(draw.seed(21 + i), n, turning, change, noise_percentage=noise)
    return frozen(rows, count, draw.seed(170 + i))


@family(('gra', (1500, 3500)), ('lea', (1000, 2500, 4000)), ('gsg', (2000, 3000)))
def friedman(i: int, kind: str, changes: tuple[int, ...], draw: Draw) -> Stream:
    """Return whether Friedman's function is above 14; it changes for a time, in parts, slowly."""
    position = tuple(draw.all_at(changes, 5000))
    rows = synth.FriedmanDrift(kind, position, transition_window=400, seed=draw.seed(41 + i))
    return frozen(((x, y > 14.0) for x, y in rows), 5000, draw.seed(180 + i), first=1500)


@family(((3, 4), (3, 14)), ((4, 5), (12, 15)))
def random_tree(i: int, one: tuple[int, int], other: tuple[int, int], draw: Draw) -> Stream:
    """Return the labels of one tree, the second time those of another from the drift on."""
    seeds = (map(draw.seed, pair) for pair in (one, other))
    streams = [synth.RandomTree(tree, samples, n_classes=2) for tree, samples in seeds]
    return frozen(pieces(streams, [draw.at(2500, 5000), 5000]), 5000, draw.seed(190 + i))


@family((5000, 0.4, 500), (5300, 0.8, 1000))
def moons(i: int, count: int, noise: float, learns: int, draw: Draw) -> Stream:
    """Return two half moons."""
    rows = table(*make_moons(count, noise=noise, random_state=draw.seed(1 + i)))
    return frozen(rows, count, draw.seed(210 + i), learns=learns)


@family(
    (1250, 9, {'n_informative': 5, 'flip_y': 0.1}),
    (1000, 20, {'n_informative': 8, 'flip_y': 0.2}),
    (1500, 9, {'n_informative': 3, 'flip_y': 0.05, 'class_sep': 0.6}),
    (5000, 15, {'n_informative': 6, 'n_clusters_per_class': 4}),
)
def still(i: int, count: int, features: int, more: dict[str, float], draw: Draw) -> Stream:
    """Return data that does not drift, most of it short, and three kinds of model."""
    regression = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    model = (None, naive_bayes.GaussianNB(), regression, naive_bayes.GaussianNB())[i]
    rows = table(*make_classification(count, features, random_state=draw.seed(3 + i), **more))
    return frozen(rows, count, draw.seed(212 + i), model=model)


@family((1200,))
def short(i: int, count: int, draw: Draw) -> Stream:
    """Return few noisy samples of one concept."""
    return frozen(synth.Agrawal(6, draw.seed(81), perturbation=0.1), count, draw.seed(216))


@family(
    (11_000, {'n_informative': 8, 'flip_y': 0.3}),
    (12_000, {'n_informative': 5, 'flip_y': 0.1, 'weights': [0.78]}),
    (2000, {'n_informative': 5, 'flip_y': 0.2}),
)
def forest(i: int, count: int, more: dict[str, Any], draw: Draw) -> Stream:
    """Return what a forest says that has learned 1 000 samples before the stream begins."""
    seed = draw.seed(20 + i)
    x, y = make_classification(count + 1000, 16, class_sep=0.7, random_state=seed, **more)
    model = RandomForestClassifier(200, random_state=draw.seed(i)).fit(x[:1000], y[:1000])
    return model.predict_proba(x[1000:])[:, 1].tolist(), y[1000:].tolist()


@dataclass(frozen=True)
class Labels:
    """Labels that are 1 with a probability of sigmoid(link(logit p, t, positions))."""

    count: int
    link: Callable[..., NDArray[np.float64]]
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
STREAMS |= {
    name: partial(labels.stream, seed) for seed, (name, labels) in enumerate(LABELS.items(), 1)
}


@family(
    (5000, 0.97, 0.2, 0.3, 1.0, 48),
    (5000, 0.995, 0.0, 0.5, 0.5, 48),
    (5000, 0.9, 0.4, 0.3, 1.5, 100),
    (10_000, 0.99, 0.3, 0.2, 1.0, 48),
)
def memory(
    i: int, count: int, kept: float, known: float, noise: float, bias: float, day: int, draw: Draw
) -> Stream:
    """Return labels that depend on the last ones and on the hour, which p knows in part."""
    normal = np.random.default_rng(draw.seed(1 + i)).normal
    steps = normal(size=count) * np.sqrt(1 - kept * kept)
    hidden = np.zeros(count)
    hidden[0] = normal()
    for t in range(1, count):
        hidden[t] = kept * hidden[t - 1] + steps[t]
    hour = 0.7 * np.sin(2 * np.pi * np.arange(count) / day)
    y = (hidden + hour + noise * normal(size=count) > 0).astype(int)
    turning = bias * np.sin(5 * (np.arange(count) / count + draw.number / 12))
    z = 2.2 * (known * hidden + hour) + 0.6 * normal(size=count) + turning
    return sigmoids(z).tolist(), y.tolist()


@family((3000, 0.9, 0.5), (6000, 0.98, 0.7))
def markov(i: int, count: int, stay: float, seen: float, draw: Draw) -> Stream:
    """Return labels that stay what they were, and p made of what is seen of them."""
    generator = np.random.default_rng(draw.seed(1 + i))
    y = [0]
    for _ in range(1, count):
        y.append(y[-1] if generator.random() < stay else 1 - y[-1])
    z = (2 * np.array(y) - 1) * seen + generator.normal(size=count)
    return np.clip(sigmoids(2.5 * seen * z + 0.4), 1e-4, 1 - 1e-4).tolist(), y


def load(name: str, number: int, count: int | None = None) -> Samples:
    """Return at most the first `count` samples of a stream of the set of that number."""
    p, y = STREAMS[name](Draw(number))
    return Samples(name, p[:count], y[:count])
