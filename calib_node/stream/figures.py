# SPDX-License-Identifier: Apache-2.0
"""Every figure of a stream by name, as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calib_node.core.matching import Matcher
from calib_node.core.metrics import LOG_LOSS_CLIP
from calib_node.core.metrics.rolling_scores import RollingWindow
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import REASONS

SCORES = ('ECE', 'Brier score', f'log-loss (clip {LOG_LOSS_CLIP:g})')
MULTICLASS_SCORES = (
    'ECE (top class)',
    'Brier score (sum over classes)',
    f'log-loss (true class, clip {LOG_LOSS_CLIP:g})',
)


def figures_of(pipeline: Pipeline[Any], beyond_clip: float | None) -> dict[str, str]:
    """Return the figures of a pipeline.

    Parameters
    ----------
    pipeline : Pipeline
        What is looked at.
    beyond_clip : float or None
        Share of the last predictions beyond the clip, from 0 to 1.

    Returns
    -------
    dict of str to str
        Values by name, in the order in which they are shown.
    """
    counts, calibrator = pipeline.counts, pipeline.calibrator
    names = SCORES if pipeline.classes == 1 else MULTICLASS_SCORES
    scores = pipeline.scores
    figures = {'method': calibrator.name, 'classes': str(pipeline.classes)}
    figures |= {name: repr(value) for name, value in calibrator.figures().items()}
    figures |= _scores(scores.raw, [f'raw {name}' for name in names])
    figures |= _scores(scores.calibrated, names)
    figures |= {
        'samples in window': str(scores.calibrated.count),
        'predictions': str(counts.predictions),
        'labels': str(counts.labels),
    }
    figures |= _matching(pipeline.matcher)
    figures |= {
        'labels of predictions without a value': str(counts.without_value),
        'learned': str(counts.learned),
        'held back': str(counts.held_back),
        'failed updates': str(counts.failed_updates),
        'no opinion': str(counts.no_opinion),
        'unstamped predictions': str(counts.unstamped),
        'empty labels': str(counts.empty_labels),
        'predictions beyond the clip': '' if beyond_clip is None else f'{beyond_clip:.1%}',
        'refused': str(counts.refused.total()),
    }
    figures |= {f'refused: {reason}': str(counts.refused[reason]) for reason in REASONS}
    return figures


def _scores(window: RollingWindow[Any], names: Sequence[str]) -> dict[str, str]:
    if not window.count:
        return dict.fromkeys(names, 'no match yet')
    scores = (window.ece(), window.brier(), window.log_loss())
    return {name: f'{score:.6f}' for name, score in zip(names, scores, strict=True)}


def _matching(matcher: Matcher[Any, Any]) -> dict[str, str]:
    counts, miss = matcher.counts, matcher.miss
    return {
        'matched': str(counts.matched),
        'expired predictions': str(counts.expired),
        'unmatched labels': str(counts.unmatched),
        'duplicate labels': str(counts.duplicate),
        'jumps back in time': str(counts.jumps_back),
        'predictions of a stamp already waiting': str(counts.same_stamp),
        'pending predictions': str(matcher.pending_predictions),
        'pending labels': str(matcher.pending_labels),
        'nearest prediction to the last unmatched label [s]': (
            '' if miss is None else f'{miss / 1e9:+.9f}'
        ),
    }
