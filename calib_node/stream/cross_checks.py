# SPDX-License-Identifier: Apache-2.0
"""Parameters that make one another void, each sound by itself."""

from __future__ import annotations

from collections.abc import Iterator

from calib_node.stream.parameters import ParameterError
from calib_node.stream.table import OF_METHODS, Parameters


def refuse_impossible(given: Parameters, prefix: str) -> None:
    """Raise a ParameterError for values that cannot be had together."""
    if given.classes > 1 and given.positive_class:
        raise ParameterError(
            f'{prefix}positive_class is for labels of two classes, and {prefix}classes is '
            f'{given.classes}: a label is then the index of its class, so leave it empty'
        )


def without_effect(given: Parameters, prefix: str) -> dict[str, str]:
    """Return the parameters that do nothing, by full name, each with the sentence that says why."""
    reasons = {
        spec.name: f'with {prefix}method {given.method}'
        for spec in OF_METHODS
        if spec.of_method not in given.calibrator
    }
    if given.match.policy != 'nearest':
        reasons['match.tolerance'] = (
            f'with {prefix}match.policy {given.match.policy}, only with nearest'
        )
    if not given.state.enabled:
        for name in ('state.file', 'state.autosave_period'):
            reasons[name] = f'with {prefix}state.enabled false'
    for side, source in (('raw', given.raw), ('label', given.label)):
        if source.stamping != 'header':
            reasons[f'{side}.stamp_field'] = f'with {prefix}{side}.stamping {source.stamping}'
        elif source.is_stamped_array:
            reasons[f'{side}.stamp_field'] = 'with a stamped array, which holds its stamp in data'
    if given.label.is_array:
        reasons['positive_class'] = (
            f'with {prefix}label.type {given.label.type}, which has no names'
        )
    return {
        prefix + name: f'{prefix + name!r} has no effect {reason}'
        for name, reason in reasons.items()
    }


def contradictions(given: Parameters, prefix: str) -> Iterator[str]:
    """Yield a sentence for values that defeat one another, with the value that would mend it."""
    ece, match, diagnostics = given.ece, given.match, given.diagnostics
    if ece.min_samples > ece.window:
        yield (
            f'{prefix}ece.min_samples is {ece.min_samples} and {prefix}ece.window only '
            f'{ece.window}, so that {prefix}ece.warn never warns: set ece.window to at least '
            f'{ece.min_samples} or ece.min_samples to at most {ece.window}'
        )
    if ece.bins > ece.window:
        yield (
            f'{prefix}ece.bins is {ece.bins} and {prefix}ece.window only {ece.window}, so that the '
            f'ECE is noise: set ece.window to many times {ece.bins}, or fewer bins'
        )
    if match.max_disorder > match.horizon:
        yield (
            f'{prefix}match.max_disorder is {match.max_disorder:g} s and counts as '
            f'{prefix}match.horizon, {match.horizon:g} s: set match.horizon to at least '
            f'{match.max_disorder:g}'
        )
    if match.policy == 'nearest' and 2.0 * match.tolerance > match.horizon:
        # A label is decided a tolerance after its stamp, for predictions a tolerance before it.
        yield (
            f'{prefix}match.tolerance is {match.tolerance:g} s and {prefix}match.horizon only '
            f'{match.horizon:g} s, so that predictions expire before their labels are decided: '
            f'set match.horizon to at least {2.0 * match.tolerance:g}'
        )
    if diagnostics.stale_after < diagnostics.period:
        yield (
            f'{prefix}diagnostics.stale_after is {diagnostics.stale_after:g} s, and silence is '
            f'seen once a {prefix}diagnostics.period of {diagnostics.period:g} s only: set '
            f'diagnostics.stale_after to at least {diagnostics.period:g}'
        )


def wall_time_stamps(given: Parameters, prefix: str = '') -> list[str]:
    """Return a warning for each input whose stamps are wall time even in simulated time."""
    return [
        f'{prefix}{side}.stamping is publication, whose stamps are wall time though use_sim_time '
        f'is true: set {prefix}{side}.stamping to header or arrival'
        for side, source in (('raw', given.raw), ('label', given.label))
        if source.stamping == 'publication'
    ]
