# SPDX-License-Identifier: Apache-2.0
"""Scores over several classes, and what they are with two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core.metrics import (
    brier,
    classwise_ece,
    ece,
    log_loss,
    mce,
    multiclass_brier,
    multiclass_log_loss,
    top_label,
    top_label_ece,
    top_label_mce,
)

ROWS = [[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]
LABELS = [1, 0, 2]


@st.composite
def classified(draw):
    classes = draw(st.integers(2, 6))
    size = draw(st.integers(1, 30))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = generator.dirichlet(np.full(classes, draw(st.sampled_from([0.3, 1.0, 5.0]))), size)
    return p, generator.integers(0, classes, size)


def test_scores_of_an_example_by_hand():
    confidence, correct = top_label(ROWS, LABELS)
    assert confidence.tolist() == [0.5, 0.7, 0.8]
    assert correct.tolist() == [False, True, True]
    assert top_label_ece(ROWS, LABELS, bins=2) == pytest.approx(0.0, abs=1e-12)
    assert top_label_ece(ROWS, LABELS, bins=10) == pytest.approx((0.5 + 0.3 + 0.2) / 3)
    assert top_label_mce(ROWS, LABELS, bins=10) == pytest.approx(0.5)
    assert classwise_ece(ROWS, LABELS, bins=1) == pytest.approx((0.0 + 0.4 / 3 + 0.4 / 3) / 3)
    squares = [0.04 + 0.49 + 0.25, 0.09 + 0.04 + 0.01, 0.01 + 0.01 + 0.04]
    assert multiclass_brier(ROWS, LABELS) == pytest.approx(sum(squares) / 3)
    assert multiclass_log_loss(ROWS, LABELS) == pytest.approx(-math.log(0.3 * 0.7 * 0.8) / 3)


def test_first_of_equal_classes_is_the_top():
    assert top_label([[0.4, 0.4, 0.2]] * 2, [0, 1])[1].tolist() == [True, False]


def test_log_loss_is_clipped_and_not_normalised_again():
    rows = [[1.0, 0.0, 0.0]]
    assert multiclass_log_loss(rows, [1]) == pytest.approx(-math.log(0.001))
    assert multiclass_log_loss(rows, [0]) == pytest.approx(-math.log(0.999))
    assert multiclass_log_loss(rows, [1], clip=0) == math.inf
    assert multiclass_log_loss(rows, [0], clip=0) == 0.0


@given(classified())
def test_two_classes_score_as_the_binary_ones(given_samples):
    p, y = given_samples
    p, y = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True), np.minimum(y, 1)
    assert multiclass_brier(p, y) == pytest.approx(2 * brier(p[:, 1], y))
    assert multiclass_log_loss(p, y) == pytest.approx(log_loss(p[:, 1], y))


@given(classified(), st.integers(1, 20), st.sampled_from(['equal_width', 'equal_mass']))
def test_errors_are_binary_ones_of_the_top_and_of_each_class(given_samples, bins, binning):
    p, y = given_samples
    confidence = [max(row) for row in p]
    correct = [label == list(row).index(max(row)) for row, label in zip(p, y)]
    options = {'bins': bins, 'binning': binning}
    assert top_label_ece(p, y, **options) == ece(confidence, correct, **options)
    assert top_label_mce(p, y, **options) == mce(confidence, correct, **options)
    of_class = [ece(p[:, k], [label == k for label in y], **options) for k in range(p.shape[1])]
    assert classwise_ece(p, y, **options) == pytest.approx(sum(of_class) / len(of_class))


@given(classified(), st.randoms(use_true_random=False))
def test_names_of_the_classes_are_of_no_account(given_samples, random):
    p, y = given_samples
    new = list(range(p.shape[1]))
    random.shuffle(new)
    renamed, z = np.empty_like(p), np.array(new)[y]
    renamed[:, new] = p
    for score in (top_label_ece, classwise_ece, multiclass_brier, multiclass_log_loss):
        assert score(renamed, z) == pytest.approx(score(p, y))


def test_right_closed_bins_reach_every_class():
    """Of 2 bins the one with .45 has .5 too."""
    rows, labels, right = [[0.5, 0.3, 0.2], [0.45, 0.45, 0.1]], [0, 2], {'closed': 'right'}
    assert top_label_ece(rows, labels, 2) == pytest.approx((0.5 + 0.45) / 2)
    assert top_label_ece(rows, labels, 2, **right) == pytest.approx(0.025)
    assert top_label_mce(rows, labels, 2) == pytest.approx(0.5)
    assert top_label_mce(rows, labels, 2, **right) == pytest.approx(0.025)
    others = abs(0.3 + 0.45) / 2 + abs(0.2 + 0.1 - 1) / 2
    assert classwise_ece(rows, labels, 2) == pytest.approx(((0.5 + 0.45) / 2 + others) / 3)
    assert classwise_ece(rows, labels, 2, **right) == pytest.approx((0.025 + others) / 3)
