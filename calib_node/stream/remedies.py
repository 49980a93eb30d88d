# SPDX-License-Identifier: Apache-2.0
"""What to do about a refused message, by its reason: the parameter or the publisher to mend."""

from __future__ import annotations

from calib_node.stream.table import Parameters

ARRAY = 'a stamped array is [sec, nanosec, value], and {side}.type names any other message type'
STAMP = 'give it the stamp of the observation'
OF_BOTH = {
    'undecodable': 'let the publisher and {side}.type have the same message type',
    'layout': ARRAY,
    'too_short': ARRAY,
    'bad_stamp': STAMP,
    'zero_stamp': STAMP,
    'not_finite': 'mend the publisher; a message without a value says that there is none',
    'lengths_differ': 'let the arrays have one element for each object, or set paths that do',
    'empty_id': 'give each object an id',
    'bad_place': 'mend the publisher, or set the path to where the box or the centre is',
    'unreadable': 'report it with the message',
}


def remedy(side: str, reason: str, settings: Parameters) -> str:
    """Return what to do about messages that are refused.

    Parameters
    ----------
    side : {'raw', 'label'}
        The input.
    reason : str
        A key of `REASONS`.
    settings : Parameters
        The parameters in force.

    Returns
    -------
    str
        Half a sentence.
    """
    own = _of_prediction(settings) if side == 'raw' else _of_label(settings)
    found = own.get(reason, OF_BOTH.get(reason, 'mend the publisher')).format(side=side)
    source = settings.raw if side == 'raw' else settings.label
    if found == STAMP and not source.is_stamped_array:
        return f'{found}, or set {side}.stamp_field, or {side}.stamping to arrival'
    return found


def _of_prediction(settings: Parameters) -> dict[str, str]:
    field = 'an array of floats' if settings.classes > 1 else 'a float'
    return {
        'wrong_length': 'set classes to the number of probabilities in a message',
        'out_of_range': (
            'publish probabilities from 0 to 1: no percent, no logits, no scores beyond 1; or set '
            'raw.scale to the numbers that mean 0 and 1, or raw.link to logit'
        ),
        'bad_sum': (
            'publish probabilities that sum to 1, as a softmax gives; independent scores are '
            'calibrated one by one with classes 1'
        ),
        'not_a_number': f'let raw.value_field name {field}',
        'not_finite': (
            'mend the publisher; a message without a value says that there is none, and NaN does '
            'so with raw.nan no_opinion'
        ),
        'unknown_class': 'add it to class_names, or leave it out of the message',
        'class_twice': 'publish each class of an object once',
    }


def _of_label(settings: Parameters) -> dict[str, str]:
    if settings.classes > 1:
        bad_label = f'publish the index of the class, 0 to {settings.classes - 1}, or set classes'
        if settings.class_names:
            bad_label = 'publish a name of class_names, or add the name to it or to label.ignore'
    else:
        bad_label = (
            'publish 1 for the positive class and 0 for the other, no -1, or say by '
            'label.positive, label.negative and label.ignore what counts; for the index of one of '
            'several classes set classes'
        )
    return {
        'wrong_length': 'publish one value, the class itself',
        'bad_label': bad_label,
        'out_of_range': bad_label,
        'not_a_number': (
            'set positive_class to the name that counts as 1, or label.positive and '
            'label.negative to the names'
        ),
        'empty_name': 'publish the name of the class, or no label',
    }
