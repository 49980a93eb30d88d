# SPDX-License-Identifier: Apache-2.0
"""What a pipeline of several classes needs beyond what holds for one probability too."""

from __future__ import annotations

from typing import Any

import pytest
from pipelines import MS, learn, make, observed, predict, samples, sure

from calib_node.core.calibrators import create, create_multiclass
from calib_node.core.state.document import make_document, restore_document
from calib_node.core.state.fields import StateError


def test_a_thousand_classes():
    pipeline = make(1000)
    matches = observed(pipeline)
    for number, (p, y) in enumerate(samples(1000, 20), 1):
        learn(pipeline, number * 100 * MS, p, y)
        assert len(matches) == number
    q = predict(pipeline, 5000 * MS, samples(1000, 1)[0][0])
    assert q.sum() == pytest.approx(1.0)
    assert pipeline.counts.learned == 20


# The state file


def taught(calibrator: Any, p: Any, y: int) -> Any:
    calibrator.update(p, y)
    return calibrator


@pytest.mark.parametrize('method', ['ops', 'tops', 'temperature', 'identity'])
def test_a_saved_state_says_its_classes_and_comes_back(method):
    document = make_document(taught(create_multiclass(method, 3), sure(3), 1), '/calib_node')
    assert (document['method'], document['classes']) == (method, 3)
    restored = create_multiclass(method, 3)
    restore_document(restored, document)
    assert make_document(restored, '/calib_node') == document


@pytest.mark.parametrize('method', ['ops', 'identity'])
def test_a_state_of_another_number_of_classes_is_refused(method):
    of_three = make_document(taught(create_multiclass(method, 3), sure(3), 1), '/calib_node')
    binary = make_document(taught(create(method), 0.8, 1), '/calib_node')
    for calibrator, document, words in [
        (create_multiclass(method, 4), of_three, 'classes 3, not with 4'),
        (create_multiclass(method, 3), binary, 'classes 1, not with 3'),
        (create(method), of_three, 'classes 3, not with 1'),
    ]:
        before = calibrator.state()
        with pytest.raises(StateError, match=words):
            restore_document(calibrator, document)
        assert calibrator.state() == before
