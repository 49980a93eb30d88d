# SPDX-License-Identifier: Apache-2.0
"""Proper scores of binary probabilities, and what no score takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_node.core import metrics
from calib_node.core.metrics import accuracy, brier, log_loss

BINNED = (
    metrics.reliability,
    metrics.ece,
    metrics.mce,
    metrics.rms_calibration_error,
    metrics.debiased_squared_l2,
    metrics.debiased_l2,
    metrics.murphy,
)


def bootstrap_interval(p, y):
    """Return the interval of a score, which is given first."""
    return metrics.bootstrap_interval(brier, p, y)


OF_PROBABILITIES_ALONE = {'ece_noise'}
WITH_CLIP = (log_loss, metrics.slope_intercept, metrics.calibration_in_the_large)
BINARY = (
    *BINNED,
    *WITH_CLIP,
    accuracy,
    brier,
    metrics.sweep_ece,
    metrics.sweep_bins,
    metrics.smooth_ece,
    metrics.cutoff_calibration_error,
    metrics.brier_skill,
    bootstrap_interval,
    metrics.check_samples,
)
MULTICLASS_BINNED = (metrics.top_label_ece, metrics.top_label_mce, metrics.classwise_ece)
MULTICLASS = (
    *MULTICLASS_BINNED,
    metrics.multiclass_brier,
    metrics.multiclass_log_loss,
    metrics.top_label,
    metrics.check_classes,
)

samples = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 1)), min_size=1, max_size=40)


def test_every_score_is_tried_with_bad_samples():
    tried = {score.__name__ for score in (*BINARY, *MULTICLASS)}
    scores = {name for name in metrics.__all__ if name.islower()}
    assert tried == scores - OF_PROBABILITIES_ALONE


def test_scores_of_an_example_by_hand():
    p, y = [0.1, 0.3, 0.9, 0.7], [0, 1, 1, 0]
    assert brier(p, y) == pytest.approx((0.01 + 0.49 + 0.01 + 0.49) / 4)
    assert log_loss(p, y) == pytest.approx(-math.log(0.9 * 0.3 * 0.9 * 0.3) / 4)
    assert accuracy(p, y) == 0.5


def test_log_loss_is_clipped():
    assert log_loss([1.0, 0.0], [0, 1]) == pytest.approx(-math.log(0.001))
    assert log_loss([1.0, 0.0], [1, 0]) == pytest.approx(-math.log(0.999))
    assert log_loss([1.0, 0.0], [0, 1], clip=0.2) == pytest.approx(-math.log(0.2))


def test_without_a_clip_a_certain_mistake_costs_everything():
    assert log_loss([1.0, 0.5], [0, 1], clip=0) == math.inf
    assert log_loss([0.0, 0.5], [1, 1], clip=0) == math.inf
    assert str(log_loss([1.0, 0.0], [1, 0], clip=0)) == '0.0'


def test_one_half_counts_as_negative():
    assert accuracy([0.5, math.nextafter(0.5, 1)], [0, 1]) == 1.0
    assert accuracy([0.5, math.nextafter(0.5, 1)], [1, 0]) == 0.0


@given(samples)
def test_scores_are_means_over_the_samples(pairs):
    p, y = zip(*pairs)
    assert brier(p, y) == pytest.approx(np.mean([brier([q], [z]) for q, z in pairs]))
    assert log_loss(p, y) == pytest.approx(np.mean([log_loss([q], [z]) for q, z in pairs]))
    assert accuracy(p, y) == pytest.approx(np.mean([accuracy([q], [z]) for q, z in pairs]))


@given(samples)
def test_scores_stay_the_same_with_the_classes_exchanged(pairs):
    p, y = map(np.array, zip(*pairs))
    assert brier(1 - p, 1 - y) == pytest.approx(brier(p, y), abs=1e-15)
    assert log_loss(1 - p, 1 - y) == pytest.approx(log_loss(p, y), abs=1e-12)


@pytest.mark.parametrize('score', BINARY)
@pytest.mark.parametrize(
    ('p', 'y', 'sentence'),
    [
        ([], [], 'no samples to score: an empty window'),
        ([0.5], [0, 1], r'equal length, not of shapes \(1,\) and \(2,\): give each probability'),
        ([[0.5]], [[1]], 'one-dimensional.*several classes to the multi-class scores'),
        (0.5, 1, 'one-dimensional'),
        ([0.2, 1.1], [1, 0], r'within \[0, 1\], not 1.1 \(sample 1\): turn scores'),
        ([-1e-9], [1], r'within \[0, 1\], not -1e-09 \(sample 0\)'),
        ([0.5, 0.5, math.nan], [1, 0, 1], r'within \[0, 1\], not nan \(sample 2\): .*not a number'),
        ([0.5, 0.5], [1, 2], r'0 or 1, not 2.0 \(sample 1\): give class indices'),
        ([0.5], [-1], '0 or 1, not -1.0'),
        ([0.5], [0.5], '0 or 1, not 0.5'),
        ([0.5], [math.nan], '0 or 1, not nan'),
    ],
)
def test_bad_samples_are_refused_with_a_sentence(score, p, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        score(p, y)


@pytest.mark.parametrize('score', MULTICLASS)
@pytest.mark.parametrize(
    ('p', 'y', 'sentence'),
    [
        ([], [], 'no samples to score: an empty window'),
        (np.empty((0, 3)), [], 'no samples'),
        ([0.5, 0.5], [0, 1], r'\(n, K\) with K >= 2.*to the binary scores'),
        ([[1.0]], [0], 'K >= 2'),
        ([[0.5, 0.5]], [[1]], r'class indices of shape \(n,\)'),
        ([[0.5, 0.5]], [0, 1], 'equal length, not of 1 and 2'),
        ([[0.5, 0.5], [0.5, 0.4]], [0, 1], r'sum to 1, not 0.9 \(sample 1\): .* normalise'),
        ([[0.5, 0.502]], [0], 'sum to 1'),
        ([[0.5, 0.5], [1.2, -0.2]], [0, 1], r'within \[0, 1\], not 1.2 \(sample 1\)'),
        ([[0.5, math.nan]], [1], r'within \[0, 1\], not nan \(sample 0\)'),
        ([[0.5, 0.5]] * 2, [0, 2], r'number from 0 to 1, not 2.0 \(sample 1\): .* counted from 0'),
        ([[0.5, 0.5]], [-1], 'from 0 to 1, not -1.0'),
        ([[0.5, 0.5]], [0.5], 'whole number from 0 to 1, not 0.5'),
        ([[0.5, 0.5]], [math.nan], 'not nan'),
    ],
)
def test_bad_rows_and_classes_are_refused_with_a_sentence(score, p, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        score(p, y)


def test_rows_rounded_to_half_precision_are_taken():
    rows = np.float16(np.full((1, 1000), 0.001))
    assert float(rows.astype(float).sum()) != 1.0
    metrics.check_classes(rows, [0])


@pytest.mark.parametrize('score', [*BINNED, *MULTICLASS_BINNED])
@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        ({'bins': 0}, 'bins must be a whole number >= 1 and <= 1e[+]07, not 0'),
        ({'bins': -1}, '>= 1 .*, not -1'),
        ({'bins': 2.5}, 'whole number >= 1 .*, not 2.5'),
        ({'bins': '3'}, "whole number >= 1 .*, not '3'"),
        ({'binning': 'equal_mas'}, "not 'equal_mas', did you mean 'equal_mass'"),
        ({'binning': None}, "'equal_width' or 'equal_mass', not None"),
        ({'closed': 'both'}, "closed must be 'left' or 'right', not 'both'"),
        ({'binning': 'equal_mass', 'closed': 'right'}, 'equal_mass bins have no fixed edges'),
    ],
)
def test_bad_bins_are_refused_with_a_sentence(score, options, sentence):
    arguments = ([[0.5, 0.5]], [1]) if score in MULTICLASS_BINNED else ([0.5], [1])
    with pytest.raises(ValueError, match=sentence):
        score(*arguments, **options)


@pytest.mark.parametrize('clip', [-1e-9, 0.5, math.nan, '0.1'])
@pytest.mark.parametrize('score', [*WITH_CLIP, metrics.multiclass_log_loss])
def test_bad_clip_is_refused_with_a_sentence(score, clip):
    p, y = ([[0.2, 0.8]], [1]) if score is metrics.multiclass_log_loss else ([0.2, 0.3], [0, 1])
    with pytest.raises(ValueError, match=r'clip must be >= \S+ and < 0.5, not '):
        score(p, y, clip=clip)


@pytest.mark.parametrize('score', [metrics.slope_intercept, metrics.calibration_in_the_large])
def test_a_logit_has_no_clip_of_0(score):
    with pytest.raises(ValueError, match='clip must be >= 1e-15'):
        score([0.2, 0.3], [0, 1], clip=0)
