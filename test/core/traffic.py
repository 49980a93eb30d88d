# SPDX-License-Identifier: Apache-2.0
"""Random messages, changes of parameters and service calls, most of them as on a robot."""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Any

import numpy as np
from books import MATCHING, Books

from calib_node.core.calibrators import CALIBRATORS
from calib_node.core.calibrators.parameters import CALIBRATOR_LIMITS
from calib_node.core.matching import POLICIES
from calib_node.core.samples import NANOSECONDS as SECOND

MS = SECOND // 1000
ODD_NUMBERS = [
    math.nan, math.inf, -math.inf, -0.1, 1.5, -1.1e-6, 1.0 + 1.1e-6, 1e300, -5e-324
]  # fmt: skip
EDGES = [0.0, -0.0, 1.0, 0.5, 5e-324, math.nextafter(1.0, 0.0), 1.0 + 1e-6, -1e-6]
USUAL = {'gamma': 0.1, 'rho': 100.0, 'radius': 100.0, 'clip': 0.01, 'forgetting': 0.999}
ODD_LABELS = [None, 2.0, -1.0, 0.5, math.nan, math.inf, 1e300]
FEW_ODD, MANY_ODD = 0.02, 0.4
"""Share of the labels that are odd; with many of them nothing is learned."""


class Traffic:
    """Sends one thing after the other to the books.

    Parameters
    ----------
    books : Books
        What it goes to.
    generator : random.Random
        Where all chance comes from.
    """

    def __init__(self, books: Books, generator: random.Random) -> None:
        self._books = books
        self._generator = generator
        self._clock = 1_000_000 * SECOND
        self._recent: deque[int] = deque([self._clock], maxlen=300)
        self._saved = books.save()
        own = books.pipeline.calibrator.parameters()
        fixed = CALIBRATORS[books.method].fixed
        self._changeable = [name for name in own if name not in fixed]
        self._odd = FEW_ODD

    def step(self) -> None:
        """Send one."""
        chance = self._generator.random()
        if chance < 0.54:
            self._books.predict(self._stamp(), self._value())
        elif chance < 0.55:
            self._books.refuse_prediction(self._stamp(), 'layout')
        elif chance < 0.98:
            self._books.label(self._label_stamp(), self._label_value())
        elif chance < 0.99:
            self._books.refuse_label(self._label_stamp(), 'too_short')
        elif chance < 0.997:
            self._change()
        else:
            self._call()

    # Messages

    def _stamp(self) -> int:
        generator = self._generator
        chance = generator.random()
        if chance < 0.9:
            self._clock += generator.randrange(20 * MS)
            stamp = self._clock
        elif chance < 0.96:
            stamp = self._clock - generator.randrange(40 * MS)
        elif chance < 0.965:
            stamp = self._clock - generator.randrange(900 * MS)
        elif chance < 0.98:
            stamp = generator.choice(self._recent)
        elif chance < 0.995:
            return 0
        elif chance < 0.998:
            # Farther ahead than the horizon, and nothing confirms it.
            return self._clock + generator.choice([61, 500]) * SECOND
        elif chance < 0.9985:
            self._clock += generator.choice([-2, -30, -900, 20, 100]) * SECOND
            stamp = self._clock
            self._recent.clear()
        else:
            stamp = self._clock + 100 * MS
        self._recent.append(stamp)
        return stamp

    def _value(self) -> Any:
        generator = self._generator
        chance = generator.random()
        if chance < 0.02:
            return None
        classes = self._books.classes
        if classes == 1:
            if chance < 0.9:
                return generator.random()
            return generator.choice(EDGES if chance < 0.96 else ODD_NUMBERS)
        if chance > 0.97:
            return np.array([generator.random() for _ in range(generator.choice([1, classes + 1]))])
        p = np.array([generator.expovariate(1.0) ** 3 + 1e-300 for _ in range(classes)])
        p /= p.sum()
        if chance > 0.94:
            p = np.zeros(classes)
            p[0] = 1.0
        if chance > 0.96:
            p[generator.randrange(classes)] = generator.choice(ODD_NUMBERS)
        return p

    def _label_stamp(self) -> int:
        generator = self._generator
        chance = generator.random()
        if chance < 0.75:
            return generator.choice(self._recent)
        if chance < 0.9:
            return generator.choice(self._recent) + generator.randrange(-15 * MS, 15 * MS)
        if chance < 0.97:
            return self._clock + generator.randrange(500 * MS)
        if chance < 0.98:
            return generator.choice([0, 1, -5 * SECOND])
        return self._clock + generator.randrange(-100 * SECOND, 100 * SECOND)

    def _label_value(self) -> float | None:
        generator = self._generator
        if generator.random() >= self._odd:
            return float(generator.randrange(max(self._books.classes, 2)))
        return generator.choice([*ODD_LABELS, float(self._books.classes)])

    # Parameters and services

    def _change(self) -> None:
        generator, books = self._generator, self._books
        # What keeps labels from teaching does not stay for long.
        books.pipeline.learning = True
        self._odd = FEW_ODD
        if books.matching != MATCHING:
            books.configure_matching(**MATCHING)
        chance = generator.random()
        if chance < 0.4:
            some = [name for name in self._changeable if generator.random() < 0.4]
            books.configure(**{name: self._parameter(name) for name in some})
        elif chance < 0.5:
            name = generator.choice([*self._changeable, 'gama', 'bins', 'seed', 'warmup'])
            wrong = generator.choice([math.nan, -1.0, 1e300, 'fast', None])
            assert not books.configure(**{name: wrong})
        elif chance < 0.75:
            books.configure_matching(**self._matching())
        elif chance < 0.85:
            self._odd = MANY_ODD
        elif chance < 0.92:
            books.set_window(generator.choice([1, 10, 15, 100]), generator.choice([1, 50, 1000]))
        else:
            books.pipeline.learning = False

    def _parameter(self, name: str) -> Any:
        generator = self._generator
        limits = CALIBRATOR_LIMITS[name]
        if limits is None:
            return generator.random() < 0.5
        if name in ('window', 'refit_every'):
            return generator.choice([10, 50, 200])
        high = math.nextafter(limits.high, 0.0) if limits.high_open else limits.high
        ends = [max(limits.low, 1e-300), high]
        return generator.choice([*ends, *[USUAL.get(name, 1.0)] * 2])

    def _matching(self) -> dict[str, Any]:
        generator = self._generator
        settings = {
            'policy': generator.choice(POLICIES[:2] if generator.random() < 0.9 else POLICIES),
            'tolerance': generator.choice([0, 1, 100 * MS, 3600 * SECOND]),
            'horizon': generator.choice([MS, SECOND, 1_000_000 * SECOND]),
            'max_disorder': generator.choice([0, MS, 100 * SECOND]),
            'capacity': generator.choice([1, 2, 50]),
        }
        return {name: settings[name] for name in settings if generator.random() < 0.3}

    def _call(self) -> None:
        generator, books = self._generator, self._books
        service = generator.choice(['save'] * 10 + ['load'] * 3 + ['flush', 'reset'])
        if service == 'save':
            self._saved = books.save()
        elif service == 'load':
            books.load(self._saved)
        elif service == 'reset':
            books.reset()
        else:
            books.flush()
