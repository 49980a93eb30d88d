# SPDX-License-Identifier: Apache-2.0
"""Parameters that make one another void, each sound by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from calib_node.stream.input_parameters import ContextVariable
from calib_node.stream.labels import NEGATIVE, POSITIVE, LabelReader
from calib_node.stream.parameters import ParameterError
from calib_node.stream.table import OF_METHODS, Parameters

NAME = re.compile(r'[A-Za-z]\w*')


def refuse_impossible(given: Parameters, prefix: str) -> None:
    """Raise a ParameterError for values that cannot be had together."""
    for sentence in _impossible(given, prefix):
        raise ParameterError(sentence)


def _impossible(given: Parameters, prefix: str) -> Iterator[str]:
    classes, names = given.classes, given.class_names
    lists = (given.label.positive, given.label.negative) != (POSITIVE, NEGATIVE)
    if names and classes != len(names):
        yield (
            f'{prefix}class_names has {len(names)} names and {prefix}classes is {classes}: leave '
            f'{prefix}classes out, as the names say how many there are'
        )
    if len(names) == 1:
        yield (
            f'{prefix}class_names has one name, and classes are at least two: for the probability '
            f'of one class set {prefix}positive_class to its name'
        )
    if classes > 1 and given.positive_class:
        yield (
            f'{prefix}positive_class is for labels of two classes, and {prefix}classes is '
            f'{classes}: a label is then the index of its class, so leave it empty'
        )
    if classes > 1 and lists:
        yield (
            f'{prefix}label.positive and {prefix}label.negative are for labels of two classes, and '
            f'{prefix}classes is {classes}: a label is then the index of its class, or its name in '
            f'{prefix}class_names'
        )
    if given.positive_class and lists:
        yield (
            f'{prefix}positive_class is short for the lists {prefix}label.positive and '
            f'{prefix}label.negative: set it or the lists, not both'
        )
    if classes > 1 and given.raw.link == 'logit':
        yield (
            f'{prefix}raw.link logit is for one probability, and {prefix}classes is {classes}: '
            'publish the softmax of the logits'
        )
    if 0.0 < given.alarm.false_alarm_every < 1.0:
        yield (
            f'{prefix}alarm.false_alarm_every is a number of labels, such as 100000.0, or 0 for no '
            f'alarm, and cannot be {given.alarm.false_alarm_every:g}'
        )
    if given.raw.scale[0] == given.raw.scale[1]:
        yield (
            f'{prefix}raw.scale is the two numbers that mean 0 and 1, which cannot both be '
            f'{given.raw.scale[0]:g}'
        )
    yield from _impossible_labels(given, prefix)
    yield from _impossible_contexts(given, prefix)
    yield from _impossible_objects(given, prefix)


def _impossible_labels(given: Parameters, prefix: str) -> Iterator[str]:
    label = given.label
    try:
        LabelReader(
            given.positive_class, label.positive, label.negative, label.ignore, given.class_names
        )
    except ValueError as error:
        yield f'{prefix}label: {error}'


def _impossible_contexts(given: Parameters, prefix: str) -> Iterator[str]:
    if given.contexts and given.raw.is_stamped_array:
        yield (
            f'{prefix}contexts needs fields beside the value, and a stamped array has none: set '
            f'{prefix}raw.type and {prefix}raw.value_field'
        )
    for variable in given.context.variables:
        name, edges = variable.name, variable.edges
        if not NAME.fullmatch(name) or name in ('capacity', 'rho'):
            yield (
                f'{prefix}contexts: {name!r} cannot be the name of a context; use letters, digits '
                'and _, but not capacity or rho'
            )
        if given.contexts.count(name) > 1:
            yield f'{prefix}contexts names {name!r} twice'
        if not context_field(given, variable):
            yield (
                f'{prefix}contexts names {name!r}: set {prefix}context.{name}.field to the path of '
                'what it is'
            )
        if any(high <= low for low, high in pairwise(edges)):
            yield (
                f'{prefix}context.{name}.edges must rise from one to the next, as in '
                f'{sorted(set(edges))}, not {list(edges)}'
            )


def context_field(given: Parameters, variable: ContextVariable) -> str:
    """Return the path of a context variable; that of one called class is known already."""
    return variable.field or (given.raw.class_field if variable.name == 'class' else '')


NEEDED = {'id': 'id_field', 'iou': 'box_field', 'distance': 'position_field'}
"""The path that each way of finding the object of a label needs on both sides."""


def _impossible_objects(given: Parameters, prefix: str) -> Iterator[str]:
    objects = given.match.objects
    if objects == 'single':
        return
    if objects == 'id' and given.match.policy == 'hold':
        yield (
            f'{prefix}match.policy is hold, which is for labels of whole messages, and with '
            f'{prefix}match.objects id they come one by one: set match.policy to nearest'
        )
    for side, source in (('raw', given.raw), ('label', given.label)):
        needed = NEEDED.get(objects)
        if needed and not getattr(source, needed):
            yield (
                f'{prefix}match.objects is {objects}: set {prefix}{side}.{needed} to the path of '
                f'{WORDS[needed]}'
            )
        if source.is_stamped_array:
            yield (
                f'{prefix}match.objects is {objects}, and a stamped array holds one object: set '
                f'{prefix}{side}.type and {prefix}{side}.value_field to a message of several'
            )


WORDS = {
    'id_field': 'the id of an object',
    'box_field': 'its box',
    'position_field': 'its centre',
}


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
    reasons |= _without_objects(given, prefix)
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


def _without_objects(given: Parameters, prefix: str) -> dict[str, str]:
    """Return why parameters of many objects, of classes and of contexts do nothing."""
    reasons = {}
    objects = given.match.objects
    otherwise = f'with {prefix}match.objects {objects}, only with'
    for way in ('iou', 'distance'):
        if objects != way:
            reasons[f'match.{way}'] = f'{otherwise} {way}'
    if objects not in ('iou', 'distance'):
        reasons['label.partial'] = f'{otherwise} iou and distance'
    for way, needed in NEEDED.items():
        if objects != way:
            reasons |= {f'{side}.{needed}': f'{otherwise} {way}' for side in ('raw', 'label')}
    if objects == 'single':
        reasons['label.class_field'] = (
            f'with {prefix}match.objects single: a name that is the label goes into '
            f'{prefix}label.value_field'
        )
        if not given.class_names and not given.contexts:
            reasons['raw.class_field'] = f'with {prefix}match.objects single and no class_names'
    if given.raw.link == 'logit':
        reasons['raw.scale'] = f'with {prefix}raw.link logit'
    if not (given.class_names and given.raw.class_field):
        reasons['raw.missing'] = f'without {prefix}class_names and {prefix}raw.class_field'
    if not given.contexts:
        reasons['context.capacity'] = reasons['context.rho'] = f'without {prefix}contexts'
    return reasons


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
    low, high = sorted(given.raw.scale)
    for code in given.raw.no_opinion:
        if given.raw.link == 'linear' and low <= code <= high:
            yield (
                f'{prefix}raw.no_opinion holds {code:g}, which is a probability too by '
                f'{prefix}raw.scale {list(given.raw.scale)}: set a scale without it'
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
