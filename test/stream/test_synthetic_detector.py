# SPDX-License-Identifier: Apache-2.0
"""A detector whose truth is known: after learning, each context says what is true of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calib_node.core.numerics.sigmoid import clipped_logit, sigmoids

from .messages import make
from .objects import ARRAY, at, detection, detections, scores

FRAMES, OBJECTS, FRESH = 200, 40, 50
HEIGHTS = (30.0, 60.0, 120.0)
BEYOND = np.array([-1.2, 0.0, 1.2])
"""How far what is true at a height is from what the detector says, in log-odds."""
SLOPE = 0.8
BY_HEIGHT = {
    'contexts': ['height'],
    'context__height__field': 'detections[].bbox.size_y',
    'context__height__edges': [40.0, 80.0],
}

Told = list[tuple[bytes, bytes, Any, Any]]
"""Messages, their true boxes, and the height and the true rate of each object."""


@pytest.fixture(scope='module')
def told() -> Told:
    rng = np.random.default_rng(0)
    frames = []
    for number in range(FRAMES + FRESH):
        height, said = rng.integers(0, 3, OBJECTS), rng.uniform(0.05, 0.95, OBJECTS)
        rate = sigmoids(SLOPE * clipped_logit(said, 1e-9) + BEYOND[height])
        # Side by side, so that boxes of different objects never overlap.
        ones = [
            detection((200.0 * place, 0.0, 50.0, HEIGHTS[h]), car=float(p))
            for place, (h, p) in enumerate(zip(height, said))
        ]
        true = rng.uniform(size=OBJECTS) < rate
        truth = [one for one, is_true in zip(ones, true) if is_true]
        stamp = at(number + 1)
        frames.append((detections(stamp, *ones), detections(stamp, *truth), height, rate))
    return frames


def errors(told: Told, **given: Any) -> Any:
    """Return, by height, how far what is published is from the true rate after the learning."""
    stream = make(preset=ARRAY, **given)
    for message, truth, _, _ in told[:FRAMES]:
        stream.on_prediction(message)
        stream.on_label(truth)
    counts = stream.pipeline.counts
    assert (counts.learned, counts.missed) == (FRAMES * OBJECTS, 0)
    published = [scores(stream.on_prediction(message)) for message, _, _, _ in told[FRAMES:]]
    heights, rates = (np.array([frame[n] for frame in told[FRAMES:]]) for n in (2, 3))
    beyond = np.array(published) - rates
    return np.array([abs(beyond[heights == height].mean()) for height in range(3)])


def test_two_hundred_frames_teach_each_context_what_is_its_own(told):
    one_map = errors(told)
    assert one_map.mean() > 0.13, one_map
    by_height = errors(told, **BY_HEIGHT)
    assert by_height.max() < 0.03, by_height
    steadier = errors(told, gamma=0.3, **BY_HEIGHT)
    assert steadier.max() < 0.02, steadier
