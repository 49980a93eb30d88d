# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a stream, each in one sentence that names the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from calib_node.core.pipeline import JUDGED, RECENT_PREDICTIONS, Pipeline
from calib_node.core.recent import Recent
from calib_node.core.refusal import brief
from calib_node.stream.figures import by_chance
from calib_node.stream.labels import LabelReader
from calib_node.stream.mismatch import why_nothing_matches
from calib_node.stream.object_judgement import judged_objects, noted_objects
from calib_node.stream.remedies import remedy
from calib_node.stream.status import Level
from calib_node.stream.table import Parameters
from calib_node.stream.wording import counted, duration, seconds_at_least

LABELS_WITHOUT_MATCH = 10
"""So many labels in a row without a match are worth a warning."""
JUMPS = 3
"""So many jumps back within the messages that are judged are no restart of a recording."""
ENOUGH = 20
"""Messages that say something about all that come."""
MUCH = 0.2
"""Share of predictions beyond the clip from which on it is worth a note."""
CHANCE = 0.95
"""Quantile of the ECE of honest probabilities up to which it is called chance."""
SAME_STAMP = (
    'predictions share a stamp, so their labels are told apart by the order in which they come; '
    'give each object a stamp or a topic of its own, or an id with match.objects id'
)

Finding = tuple[Level, str]


def judged(pipeline: Pipeline[Any], settings: Parameters, reader: LabelReader) -> Iterator[Finding]:
    """Yield all that is wrong.

    Parameters
    ----------
    pipeline : Pipeline
        What is looked at.
    settings : Parameters
        The parameters in force.
    reader : LabelReader
        What the labels meant.

    Yields
    ------
    level : Level
        How grave it is.
    sentence : str
        What it is, and what to do.
    """
    if pipeline.update_error:
        yield (
            Level.ERROR,
            f'the last update was not taken, the state before it stays: {pipeline.update_error}',
        )
    for error in (pipeline.scores.error, pipeline.observer_error):
        if error:
            yield Level.ERROR, error
    yield from _refusals(pipeline.recent_predictions, 'predictions', 'raw', settings)
    yield from _refusals(pipeline.recent_labels, 'labels', 'label', settings)
    if pipeline.held_back:
        yield (
            Level.WARN,
            'nothing is learned while more than a tenth of the labels are refused: what is left '
            'is no fair sample',
        )
    yield from _paths_beyond(pipeline, settings, reader)
    for sentence in judged_objects(pipeline, settings):
        yield Level.WARN, sentence
    yield from _positive_class(reader)
    yield from _calibration(pipeline, settings)
    yield from _jumps(pipeline, settings)
    unmatched = pipeline.counts.labels_since_match
    if unmatched >= LABELS_WITHOUT_MATCH:
        reason = why_nothing_matches(pipeline, settings)
        yield Level.WARN, f'{unmatched} labels came and none matched: {reason}'


def _refusals(recent: Recent, things: str, side: str, settings: Parameters) -> Iterator[Finding]:
    by_reason = recent.refused(JUDGED)
    refused = by_reason.total()
    if not refused:
        return
    looked_at = min(len(recent.items), JUDGED)
    reason, _ = by_reason.most_common(1)[0]
    grave = refused == JUDGED
    yield (
        Level.ERROR if grave else Level.WARN,
        f'{counted(refused, looked_at, things)} refused, the last one because '
        f'{recent.last_refusal}; {remedy(side, reason, settings)}',
    )


def _paths_beyond(
    pipeline: Pipeline[Any], settings: Parameters, reader: LabelReader
) -> Iterator[Finding]:
    """Yield the paths that end outside an array in all of the last messages."""
    none_ignored = not reader.ignored
    for side, things, path, recent in (
        ('raw', 'predictions', settings.raw.value_field, pipeline.recent_predictions),
        ('label', 'labels', settings.label.value_field, pipeline.recent_labels),
    ):
        last = recent.last(JUDGED)
        if side == 'raw':
            said_so = not settings.raw.no_opinion and settings.raw.nan == 'refuse'
        else:
            said_so = none_ignored
        if path and said_so and len(last) >= ENOUGH and all(item is None for item in last):
            yield (
                Level.WARN,
                f'{side}.value_field {path!r} led to nothing in all of the last {len(last)} '
                f'{things}: the array is empty or shorter; set it to an element that is there',
            )


def _positive_class(reader: LabelReader) -> Iterator[Finding]:
    if not reader.positive_seen and len(reader.names) >= ENOUGH:
        yield Level.WARN, _not_seen(reader)


def _not_seen(reader: LabelReader) -> str:
    wanted = reader.positive_class
    lower = {name.lower(): name for name in reader.names}
    close = get_close_matches(wanted.lower(), lower, n=1, cutoff=0.6)
    named = lower[close[0]] if close else reader.names[-1]
    return (
        f'none of the last {len(reader.names)} labels is the positive_class {wanted!r}, so each '
        f'counts as 0; there is {brief(named)}: set positive_class to the name as it is published'
    )


def _calibration(pipeline: Pipeline[Any], settings: Parameters) -> Iterator[Finding]:
    calibrated, ece = pipeline.scores.calibrated, settings.ece
    # The least of work first: a status is made each second.
    if calibrated.count < ece.min_samples or calibrated.ece() <= ece.warn:
        return
    chance = by_chance(calibrated, CHANCE)
    if calibrated.ece() - chance > ece.warn:
        yield (
            Level.WARN,
            f'ECE {calibrated.ece():.3f} is above ece.warn {ece.warn:g}, without the '
            f'{chance:.3f} that may be chance over {calibrated.count} matches',
        )


def _jumps(pipeline: Pipeline[Any], settings: Parameters) -> Iterator[Finding]:
    jumps = pipeline.matcher.jumps_within(JUDGED)
    if len(jumps) < JUMPS:
        return
    size = max(jumps)
    longer = size > settings.match.horizon * 1e9
    yield (
        Level.WARN,
        f'the stamps of the predictions jumped back {len(jumps)} times within the last {JUDGED}, '
        f'by up to {duration(size)}, and each time all that waited was dropped; if several '
        'publishers share the topic give each a node of its own, or set match.max_disorder '
        f'{"and match.horizon " if longer else ""}to at least {seconds_at_least(size)}',
    )


def noted(
    pipeline: Pipeline[Any], settings: Parameters, reader: LabelReader, beyond: float | None
) -> Iterator[str]:
    """Yield what is worth a look, though it may be as it should.

    Parameters
    ----------
    pipeline, settings, reader
        As in `judged`.
    beyond : float or None
        As of `beyond_clip`.

    Yields
    ------
    str
        A sentence.
    """
    yield from _constant(pipeline)
    labels = pipeline.recent_labels.values()
    if len(labels) == pipeline.recent_labels.items.maxlen and len(set(labels)) == 1:
        yield f'all of the last {len(labels)} labels are {labels[0]}'
    if beyond is not None and beyond > MUCH:
        clip = settings.calibrator['clip']
        yield (
            f'{beyond:.0%} of the last predictions are beyond clip {clip:g} and count as that far '
            'from 0 or 1; where the extremes are earned a smaller clip is better'
        )
    names = reader.names
    if reader.positive_seen and len(names) == names.maxlen and reader.positive_class not in names:
        yield _not_seen(reader)
    if pipeline.matcher.counts.same_stamp:
        yield SAME_STAMP
    yield from noted_objects(pipeline, settings)


def _constant(pipeline: Pipeline[Any]) -> Iterator[str]:
    values = pipeline.recent_predictions.values()
    if len(values) < RECENT_PREDICTIONS:
        return
    different = {}
    for value in values:
        different[pipeline.outcomes.identity(value)] = value
        if len(different) > 2:
            return
    which = ' or '.join(brief(value) for value in different.values())
    yield f'the last {len(values)} predictions are all {which}, a constant'


def beyond_clip(pipeline: Pipeline[Any], settings: Parameters) -> float | None:
    """Return the share of the last predictions beyond the clip.

    Returns
    -------
    float or None
        From 0 to 1; None where the method has no clip or too few predictions have come.
    """
    values = pipeline.recent_predictions.values()
    clip = settings.calibrator.get('clip')
    if clip is None or len(values) < ENOUGH:
        return None
    return pipeline.outcomes.beyond(values, clip) / len(values)
