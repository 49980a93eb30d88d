# SPDX-License-Identifier: Apache-2.0
"""Pipelines of one probability and of one per class, and what is sent to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.matching import StampMatcher
from calib_node.core.pipeline import Pipeline
from calib_node.core.samples import Label, Match, Prediction

MS = 1_000_000

one_and_many = pytest.mark.parametrize('classes', [1, 3])


def make(
    classes: int = 1, method: str = 'ops', learning: bool = True, **parameters: float
) -> Pipeline[Any]:
    calibrator: Any = (
        create(method, **parameters)
        if classes == 1
        else create_multiclass(method, classes, **parameters)
    )
    return Pipeline(calibrator, StampMatcher(), learning=learning)


def sure(classes: int) -> Any:
    """Return 0.8 for the positive or the first class, and less and less for the others."""
    if classes == 1:
        return 0.8
    others = np.arange(classes - 1, 0, -1)
    return np.array([0.8, *(0.2 * others / others.sum())])


def samples(classes: int, number: int, seed: int = 5) -> list[tuple[Any, int]]:
    """Return overconfident probabilities and their labels."""
    generator = np.random.default_rng(seed)
    if classes == 1:
        p = generator.uniform(0.6, 0.99, number)
        return [(float(value), int(generator.random() < 0.6)) for value in p]
    rows = generator.dirichlet(np.full(classes, 0.4), number)
    truth = [generator.choice(classes, p=0.5 * p + 0.5 / classes) for p in rows]
    return [(p, int(y)) for p, y in zip(rows, truth)]


def predict(pipeline: Pipeline[Any], stamp: int, p: Any) -> Any:
    return pipeline.predict(Prediction(stamp, p))


def learn(pipeline: Pipeline[Any], stamp: int, p: Any, y: float) -> None:
    predict(pipeline, stamp, p)
    pipeline.label(Label(stamp, float(y)))


def observed(pipeline: Pipeline[Any]) -> list[Match[Any]]:
    """Return where the matches to come will be found."""
    matches: list[Match[Any]] = []
    pipeline.on_match.append(matches.append)
    return matches


def plain(p: Any) -> Any:
    return p if isinstance(p, float) else p.tolist()


def triples(matches: list[Match[Any]]) -> list[tuple[int, Any, int]]:
    """Return stamp, raw probability and label of each."""
    return [(match.stamp, plain(match.raw), match.label) for match in matches]
