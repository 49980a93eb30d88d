# SPDX-License-Identifier: Apache-2.0
"""Every figure of a stream by name, as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calib_node.core.frame_pipeline import FramePipeline
from calib_node.core.matching import Matcher
from calib_node.core.metrics import LOG_LOSS_CLIP
from calib_node.core.metrics.rolling_scores import RollingWindow
from calib_node.core.metrics.smooth import noise_of_bins
from calib_node.core.pipeline import Pipeline
from calib_node.core.refusal import REASONS
from calib_node.stream.input_parameters import ContextVariable

SCORES = ('ECE', 'Brier score', f'log-loss (clip {LOG_LOSS_CLIP:g})')
MULTICLASS_SCORES = (
    'ECE (top class)',
    'Brier score (sum over classes)',
    f'log-loss (true class, clip {LOG_LOSS_CLIP:g})',
)


def figures_of(
    pipeline: Pipeline[Any], beyond_clip: float | None, ignored: int = 0
) -> dict[str, str]:
    """Return the figures of a pipeline.

    Parameters
    ----------
    pipeline : Pipeline
        What is looked at.
    beyond_clip : float or None
        Share of the last predictions beyond the clip, from 0 to 1.
    ignored : int
        Labels that said that they are to be ignored.

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
        f'{side}{names[0]} by chance': _by_chance(window)
        for side, window in (('raw ', scores.raw), ('', scores.calibrated))
    }
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
        'empty labels': str(counts.empty_labels - ignored),
        'ignored labels': str(ignored),
        'predictions beyond the clip': '' if beyond_clip is None else f'{beyond_clip:.1%}',
        'refused': str(counts.refused.total()),
    }
    figures |= {f'refused: {reason}': str(counts.refused[reason]) for reason in REASONS}
    if isinstance(pipeline, FramePipeline):
        figures |= {
            'messages of predictions': str(counts.messages),
            'missed objects': str(counts.missed),
            'ambiguous labels': str(counts.ambiguous),
            'predictions without a place': str(counts.unplaced),
        }
    return figures


def context_figures(calibrator: Any, variables: Sequence[ContextVariable]) -> dict[str, str]:
    """Return the figures of each context: labels, ECE, log-loss and what it has of its own."""
    figures = {}
    by_context = calibrator.context_figures() if calibrator.contextual else {}
    for own in by_context.values():
        text = f'{own.count} labels, ECE {own.ece:.4f}, log-loss {own.log_loss:.4f}'
        if own.offset is not None:
            text += f', offset {own.offset:+.4f}'
        if own.share is not None:
            text += f', share {own.share:.4f}'
        figures[f'context {context_text(own.context, variables)}'] = text
    return figures


def context_text(context: Sequence[Any], variables: Sequence[ContextVariable]) -> str:
    """Return the name of a context.

    Examples
    --------
    >>> variables = [ContextVariable('class', '', ()), ContextVariable('range', '', (5.0, 10.0))]
    >>> [context_text(('car', k), variables) for k in (0, 1, 2, None)]
    ['class car, range < 5', 'class car, range 5 to 10', 'class car, range >= 10', \
'class car, range unknown']
    """
    if not context:
        return 'of all others'
    return ', '.join(
        f'{variable.name} {context_value(value, variable.edges)}'
        for value, variable in zip(context, variables, strict=True)
    )


def context_value(value: Any, edges: Sequence[float]) -> str:
    """Return the value of a context variable in words."""
    if value is None:
        return 'unknown'
    if not edges:
        return str(value)
    if value == 0:
        return f'< {edges[0]:g}'
    if value == len(edges):
        return f'>= {edges[-1]:g}'
    return f'{edges[value - 1]:g} to {edges[value]:g}'


def _scores(window: RollingWindow[Any], names: Sequence[str]) -> dict[str, str]:
    if not window.count:
        return dict.fromkeys(names, 'no match yet')
    scores = (window.ece(), window.brier(), window.log_loss())
    return {name: f'{score:.6f}' for name, score in zip(names, scores, strict=True)}


def by_chance(window: RollingWindow[Any], level: float | None = None) -> float:
    """Return the ECE that honest probabilities like those of a window have by chance.

    Parameters
    ----------
    window : RollingWindow
        Not empty.
    level : float, optional
        Of a quantile; None: the mean.
    """
    # In a bin p varies little, so that the variance of its mean will do.
    variances = [n * p * (1.0 - p) for n, p, _ in window.table() if n]
    return noise_of_bins(variances, level) / window.count


def _by_chance(window: RollingWindow[Any]) -> str:
    return f'{by_chance(window):.6f}' if window.count else 'no match yet'


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
