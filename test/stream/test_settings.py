# SPDX-License-Identifier: Apache-2.0
"""From a mapping to checked and typed settings, at the start and at a change."""

from __future__ import annotations

from array import array
from dataclasses import fields
from inspect import signature

import pytest
from spec_values import (
    AT_START,
    LIVE,
    NUMBERS,
    OF_OTHER_METHODS,
    edges,
    names_of_method,
    other,
    outside,
    wrong_type,
)

from calib_node.core.calibrators import CALIBRATORS
from calib_node.stream.parameters import ParameterError
from calib_node.stream.presets import PRESETS
from calib_node.stream.settings import Settings
from calib_node.stream.table import BY_NAME, OF_METHODS, TABLE, Parameters

DEFAULTS = Settings.from_mapping({})
# Where a method's default is not that of the table.
OTHER_DEFAULTS = {('beta', 'rho'): 25.0, ('tobs', 'rho'): 25.0, ('hobs', 'rho'): 25.0}


def refusal(given) -> str:
    with pytest.raises(ParameterError) as error:
        Settings.from_mapping(given)
    return str(error.value)


# The table


def test_values_are_in_the_order_of_the_table_and_the_defaults_are_its():
    assert list(DEFAULTS.values.items()) == [(spec.name, spec.default) for spec in TABLE]
    assert DEFAULTS.notes == DEFAULTS.unknown == ()


def test_every_value_is_in_its_section():
    settings = Settings.from_mapping({'match.horizon': 5, 'label': {'offset': -1}})
    assert settings.match.horizon == 5.0
    assert settings.label.offset == -1.0
    for spec in TABLE:
        section, _, name = spec.name.rpartition('.')
        if not spec.of_method:
            owner = getattr(settings, section) if section else settings
            assert getattr(owner, name) == settings.values[spec.name], spec.name
    shown = [entry.name for entry in fields(Parameters) if entry.name != 'calibrator']
    assert list(dict.fromkeys(s.name.split('.')[0] for s in TABLE if not s.of_method)) == shown


@pytest.mark.parametrize('method', CALIBRATORS)
def test_a_method_has_its_own_parameters_with_its_own_defaults(method):
    own = {name: entry.default for name, entry in signature(CALIBRATORS[method]).parameters.items()}
    settings = Settings.from_mapping({'method': method})
    assert settings.calibrator == own
    names = names_of_method(method)
    assert {own: settings.values[name] for own, name in names.items()} == own
    for name, default in own.items():
        assert default == OTHER_DEFAULTS.get((method, name), BY_NAME[names[name]].default)


@pytest.mark.parametrize(
    ('given', 'clip'),
    [
        ({'classes': 10}, 0.001),
        ({'classes': 1000}, 0.00001),
        ({'classes': 10, 'clip': 0.002}, 0.002),
        ({'classes': 10, 'method': 'temperature'}, 1e-9),
    ],
)
def test_with_several_classes_the_clip_is_smaller_unless_given(given, clip):
    settings = Settings.from_mapping(given)
    assert settings.calibrator['clip'] == settings.values['clip'] == clip


def test_a_parameter_is_live_where_every_method_can_change_it():
    for spec in OF_METHODS:
        fixed = any(spec.of_method in method.fixed for method in CALIBRATORS.values())
        assert spec.live is not fixed


# What is given


def test_names_may_be_dotted_nested_or_both():
    nested = Settings.from_mapping({'match': {'policy': 'hold', 'capacity': 5}, 'ece.bins': 7})
    dotted = Settings.from_mapping(
        {'match.policy': 'hold', 'match.capacity': 5, 'ece': {'bins': 7}}
    )
    assert nested == dotted
    assert (nested.match.policy, nested.match.capacity, nested.ece.bins) == ('hold', 5, 7)


def test_with_a_prefix_others_are_left_aside_and_sentences_have_the_full_name():
    given = {'gamma': -1.0, 'door.gamma': 0.5, 'door': {'gama': 1, 'ece': {'window': 100}}}
    settings = Settings.from_mapping(given, 'door.')
    assert settings.calibrator['gamma'] == settings.values['door.gamma'] == 0.5
    assert list(settings.values) == [f'door.{name}' for name in BY_NAME]
    assert settings.unknown == ('door.gama',)
    assert "'door.gama' is unknown and ignored, did you mean 'door.gamma'?" in settings.notes[0]
    assert 'door.ece.min_samples is 300 and door.ece.window only 100' in settings.notes[1]
    with pytest.raises(ParameterError, match=r'^door\.gamma must be'):
        Settings.from_mapping({'door.gamma': -1.0}, 'door.')
    assert settings.changed({'door.gamma': 0.25}).calibrator['gamma'] == 0.25


@pytest.mark.parametrize('given', [1, '1e0', '1.0e0', '+10.e-1', '.1E1'])
def test_an_integer_or_an_exponent_will_do_for_a_float(given):
    value = Settings.from_mapping({'gamma': given}).values['gamma']
    assert (type(value), value) == (float, 1.0)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('gamma', True),
        ('gamma', '1e400'),
        ('gamma', '1_000'),
        ('gamma', '0.1'),
        ('gamma', ''),
        ('gamma', [0.1]),
        ('gamma', 10**400),
        ('positive_class', 1),
        ('method', 1),
        ('ece.bins', 15.0),
        ('ece.bins', True),
        ('learning', 'yes'),
        ('learning', 1),
        ('executor', 'event'),
        ('qos.durability', 'Volatile'),
        *((spec.name, None) for spec in TABLE if not spec.items or spec.length),
        *((spec.name, []) for spec in TABLE if not spec.items or spec.length),
        *((spec.name, wrong_type(spec)) for spec in TABLE),
    ],
)
def test_values_of_another_type_or_spelling_are_refused_by_name(name, value):
    assert refusal({name: value}).startswith(f'{name} must be ')


@pytest.mark.parametrize('spec', NUMBERS, ids=lambda spec: spec.name)
def test_numbers_are_taken_up_to_the_ends_of_their_range(spec):
    for value in outside(spec):
        assert refusal({spec.name: value}).startswith(f'{spec.name} must be ')
    for value in edges(spec):
        assert spec.check(value) == value


def test_a_misspelt_choice_is_refused_with_the_nearest():
    assert "did you mean 'ops'?" in refusal({'method': 'opps'})
    assert "did you mean 'nearest'?" in refusal({'match': {'policy': 'neerest'}})


def test_names_for_two_classes_are_refused_with_more():
    sentence = refusal({'classes': 3, 'positive_class': 'ground', 'label.type': 'a/msg/B'})
    assert 'positive_class is for labels of two classes, and classes is 3' in sentence


# What was given and does nothing


def test_unknown_names_are_warned_about_with_the_nearest():
    settings = Settings.from_mapping({'gama': 0.5, 'ece': {'bin': 3}, 'plugins': [], 'zz': None})
    assert settings.unknown == ('gama', 'ece.bin', 'plugins', 'zz')
    assert settings.notes == (
        "the parameter 'gama' is unknown and ignored, did you mean 'gamma'?",
        "the parameter 'ece.bin' is unknown and ignored, did you mean 'ece.bins'?",
        "the parameter 'plugins' is unknown and ignored",
        "the parameter 'zz' is unknown and ignored",
    )


def test_what_every_node_may_be_given_is_not_unknown():
    given = {'use_sim_time': True, 'qos_overrides./labels.subscription.depth': 5}
    assert Settings.from_mapping(given).unknown == ()
    assert Settings.from_mapping({'use_sim_tim': True}).unknown == ('use_sim_tim',)


@pytest.mark.parametrize('spec', OF_OTHER_METHODS, ids=lambda spec: spec.name)
def test_a_parameter_of_another_method_is_warned_about_unless_it_is_the_default(spec):
    (note,) = Settings.from_mapping({spec.name: other(spec)}).notes
    assert note == f'the parameter {spec.name!r} has no effect with method ops'
    assert Settings.from_mapping({spec.name: spec.default}).notes == ()


# Changes


@pytest.mark.parametrize('spec', LIVE, ids=lambda spec: spec.name)
def test_a_live_parameter_changes_and_the_others_stay(spec):
    value = other(spec)
    changed = DEFAULTS.changed({spec.name: value})
    assert changed.values == {**DEFAULTS.values, spec.name: value}
    assert changed.differences(DEFAULTS) == {spec.name}
    assert changed.changed({spec.name: spec.default}) == DEFAULTS


@pytest.mark.parametrize('spec', AT_START, ids=lambda spec: spec.name)
def test_a_parameter_of_the_start_refuses_any_change(spec):
    for value in (other(spec), spec.default):
        with pytest.raises(ParameterError, match=f'^{spec.name} is read once, at the start'):
            DEFAULTS.changed({spec.name: value})


@pytest.mark.parametrize('spec', [s for s in OF_OTHER_METHODS if s.live], ids=lambda s: s.name)
def test_a_parameter_of_another_method_refuses_a_change(spec):
    with pytest.raises(ParameterError, match=f'^{spec.name!r} has no effect with method ops'):
        DEFAULTS.changed({spec.name: other(spec)})
    assert DEFAULTS.changed({spec.name: spec.default}) == DEFAULTS


def test_a_change_of_an_unknown_or_bad_value_is_refused_by_name():
    with pytest.raises(ParameterError, match="no parameter 'gama', did you mean 'gamma'"):
        DEFAULTS.changed({'gama': 0.5})
    with pytest.raises(ParameterError, match=r'^gamma must be'):
        DEFAULTS.changed({'rho': 5.0, 'gamma': 'fast'})


def test_what_was_unknown_at_the_start_stays_warned_about():
    settings = Settings.from_mapping({'gama': 0.5})
    assert settings.changed({'gamma': 0.5}).notes == settings.notes


# Lists


@pytest.mark.parametrize(
    ('name', 'given', 'taken'),
    [
        ('label.positive', ['SUCCESS', 4, -1, True, 0.5], ('SUCCESS', '4', '-1', 'true', '0.5')),
        ('label.ignore', None, ()),
        ('label.ignore', [], ()),
        ('label.negative', (), ()),
        ('class_names', ('a', 'b'), ('a', 'b')),
        ('raw.no_opinion', [-1, '1e3'], (-1.0, 1000.0)),
        ('raw.no_opinion', array('d', [255.0]), (255.0,)),
        ('raw.scale', [0, 100], (0.0, 100.0)),
        ('raw.scale', array('q', [1, 99]), (1.0, 99.0)),
    ],
)
def test_lists_of_texts_and_of_numbers(name, given, taken):
    value = Settings.from_mapping({name: given}).values[name]
    assert (value, [type(item) for item in value]) == (taken, [type(item) for item in taken])


@pytest.mark.parametrize(
    ('name', 'given', 'words'),
    [
        ('label.positive', 'SUCCESS', 'must be a list of texts, such as ["a", "b"], not \'SUCCESS'),
        ('label.positive', [None], 'must be a list of texts'),
        ('label.positive', [['a']], 'must be a list of texts'),
        ('label.positive', b'ab', 'must be a list of texts'),
        ('raw.no_opinion', ['a'], "must be a list of numbers, such as [0.0, 1.0], not ['a']"),
        ('raw.no_opinion', [True], 'must be a list of numbers'),
        ('raw.no_opinion', [float('nan')], 'must be a list of numbers'),
        ('raw.no_opinion', -1.0, 'must be a list of numbers'),
        ('raw.scale', [100.0], 'must be 2 numbers, such as [0.0, 1.0], not [100.0]'),
        ('raw.scale', [], 'must be 2 numbers'),
        ('raw.scale', None, 'must be 2 numbers, such as [0.0, 1.0], not an empty value'),
    ],
)
def test_what_is_no_such_list(name, given, words):
    assert f'{name} {words}' in refusal({name: given})


# Contexts


def test_each_context_has_parameters_of_its_own():
    given = {
        'raw.type': 'a/B',
        'raw.value_field': 'c',
        'contexts': ['kind', 'range'],
        'context': {
            'kind': {'field': 'd'},
            'range': {'field': 'e', 'edges': [1, 2]},
            'capacity': 5,
        },
    }
    settings = Settings.from_mapping(given)
    assert settings.notes == settings.unknown == ()
    assert list(settings.values)[-4:] == [
        'context.kind.field', 'context.kind.edges', 'context.range.field', 'context.range.edges'
    ]  # fmt: skip
    kind, range_ = settings.context.variables
    assert (kind.name, kind.field, kind.edges) == ('kind', 'd', ())
    assert (range_.name, range_.field, range_.edges) == ('range', 'e', (1.0, 2.0))
    assert settings.context.capacity == 5
    with pytest.raises(ParameterError, match=r'^context\.kind\.field is read once'):
        settings.changed({'context.kind.field': 'x'})
    assert settings.changed({'gamma': 0.5}).context == settings.context
    with pytest.raises(ParameterError, match=r'^context\.range\.edges must be a list of numbers'):
        Settings.from_mapping({**given, 'context': {'range': {'edges': ['far']}}})


# Classes by their names, and presets


def test_names_say_how_many_classes_there_are():
    settings = Settings.from_mapping(
        {'class_names': ['a', 'b', 'c', 'd', 'e'], 'label.type': 'x/Y'}
    )
    assert settings.classes == settings.values['classes'] == 5
    assert settings.calibrator['clip'] == 0.002
    assert Settings.from_mapping({'class_names': ['a', 'b'], 'classes': 2}).classes == 2
    assert settings.changed({'gamma': 0.5}).classes == 5


@pytest.mark.parametrize('name', PRESETS)
def test_a_preset_is_the_default_of_what_it_sets(name):
    settings = Settings.from_mapping({'preset': name})
    assert settings.notes == settings.unknown == ()
    assert {key: settings.values[key] for key in PRESETS[name]} == PRESETS[name]
    for key, value in PRESETS[name].items():
        assert settings.specs[key].default == value
    rest = {'preset', *PRESETS[name]}
    assert {k: v for k, v in settings.values.items() if k not in rest} == {
        k: v for k, v in DEFAULTS.values.items() if k not in rest
    }


def test_an_unknown_preset_is_refused_with_the_names():
    sentence = refusal({'preset': 'vision_msgs/Detection'})
    assert all(name in sentence for name in PRESETS)
