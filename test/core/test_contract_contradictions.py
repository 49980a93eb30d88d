# SPDX-License-Identifier: Apache-2.0
"""States whose every field is sound by itself, and which no stream can have left."""

from __future__ import annotations

import math
from functools import cache

import pytest
from contract import Case, assert_sentence, changed, refusal

WHOLE = 'must be a whole number from 0'
DEFINITE = 'must be symmetric and positive definite'
OUTSIDE = r'outside its own radius 100\.0'
PER_BIN = 'must be a list of 10 whole numbers'
GAME = 'a row of games must be a game and a point below 10'
ORDER = r'game 1, point \d is not in order'
WINDOW = r'\d+ samples, \d+ of them new since the last fit, are not what \d+ updates leave'
BINS = [[0, 0.0, 0]] * 8
EQUAL = [1.0 / 13.0] * 13

CONTRADICTIONS = {
    'ops': [
        ({'A': [[100.0, 0.0], [0.0]]}, 'A must be a 2x2 matrix'),
        ({'A': [[100.0, 1.0], [1.0000000001, 100.0]]}, DEFINITE),
        ({'A': [[100.0, 100.0], [100.0, 100.0]]}, DEFINITE),
        ({'A': [[100.0, 200.0], [200.0, 100.0]]}, DEFINITE),
        ({'A': [[-100.0, 0.0], [0.0, -100.0]]}, DEFINITE),
        ({'a': 100.0, 'b': 0.1}, OUTSIDE),
        ({'parameters.rho': 4000.0}, 'A would not stay positive definite when rho changes by -39'),
        ({'parameters.clip': 0.5}, 'in parameters, clip must be'),
        ({'parameters': {'window': 10}}, 'parameters must be those of ops'),
    ],
    'beta': [
        ({'A': [[25.0, 0.0], [0.0, 25.0]]}, 'A must be a 3x3 matrix'),
        ({'A': [[25.0, 0, 1.0], [0, 25.0, 0], [1.1, 0, 25.0]]}, DEFINITE),
        ({'A': [[25.0, 0, 0], [0, 25.0, 25.0], [0, 25.0, 25.0]]}, DEFINITE),
        ({'A': [[2.0, 1, 1], [1, 2.0, -1], [1, -1, 1.9]]}, DEFINITE),
        ({'a': 60.0, 'b': 60.0, 'c': 60.0}, OUTSIDE),
        ({'updates': 0, 'a': 60.0, 'b': 60.0, 'c': 60.0}, OUTSIDE),
        ({'parameters.rho': 4000.0}, 'A would not stay positive definite when rho changes by -39'),
    ],
    'tops tobs': [
        *[
            ({name: value}, f'{name} {sentence}')
            for name in ('counts', 'positives')
            for value, sentence in [
                ([1] * 9, PER_BIN),
                ([-1] + [0] * 9, f'{WHOLE}, not -1'),
                ([0.5] + [0] * 9, f'{WHOLE}, not 0.5'),
            ]
        ],
        ({'positives': [131] * 10}, r'a bin has 131 positives, but a count of \d+'),
        ({'counts': [130] * 10}, 'there are 1300 outcomes in bins, but 130 updates'),
        ({'parameters.bins': 5}, 'must be a list of 5 whole numbers'),
        ({'wrapped': {}}, 'a must be a finite number, not None'),
        ({'wrapped.b': 1e6}, OUTSIDE),
        ({'wrapped.A': [[1.0]]}, r'A must be a \dx\d matrix'),
    ],
    'hops hobs': [
        ({'games': [[1, 1, 1]]}, 'games must be a list of 4 whole numbers'),
        ({'games': [[1, 1, 1, -1]]}, f'games {WHOLE}, not -1'),
        ({'games': [[10, 1, 1, 1]]}, GAME),
        ({'games': [[1, 10, 1, 1]]}, GAME),
        ({'games': [[1, 1, 0, 0]]}, GAME),
        ({'games': [[1, 1, 2, 3]]}, GAME),
        ({'games': [[1, 1, 1, 1], [1, 1, 1, 1]]}, ORDER),
        ({'games': [[1, 2, 1, 1], [1, 1, 1, 1]]}, ORDER),
        ({'games': [[2, 1, 1, 1], [1, 2, 1, 1]]}, ORDER),
        ({'games': [[1, 1, 131, 1]]}, 'there are 131 outcomes in bins, but 130 updates'),
        ({'parameters.bins': 2}, 'a point below 2'),
        ({'wrapped.b': 1e6}, OUTSIDE),
    ],
    'ensemble': [
        ({'maps': [[0.0, 0.0]] * 2}, 'maps must be a list of 3 rows'),
        ({'maps': [[1e300, 0.0]] * 3}, r'maps must be >= -1e\+15'),
        ({'squared_errors': [[0.25] * 3] * 99}, 'squared_errors must be a list of 100'),
        ({'squared_errors': [[0.25] * 3] * 101}, 'squared_errors must be a list of 100'),
        ({'squared_errors': [[0.25] * 2] * 100}, 'squared_errors must be a list of 3'),
        ({'squared_errors': [[0.25, 0.25, 1.1]] * 100}, 'squared_errors must be'),
        ({'recent': [0.5] * 59}, 'recent must be a list of 60'),
        ({'recent': [0.5] * 61}, 'recent must be a list of 60'),
        ({'recent': [0.5] * 59 + [1.5]}, 'recent must be'),
        ({'calibrates': 1}, 'calibrates must be true, false or null'),
        ({'warmup_bins': [*BINS, [0, 0.0, 0]]}, 'warmup_bins must be a list of 10 rows'),
        ({'warmup_bins': [[129.5, 9.0, 0], [0.5, 0.0, 0], *BINS]}, 'must hold whole numbers'),
        ({'warmup_bins': [[130, 9.0, 0.5], [0, 0.0, 0], *BINS]}, 'must hold whole numbers'),
        ({'warmup_bins': [[131, 9.0, 0], [-1, 0.0, 0], *BINS]}, 'warmup_bins must be >= 0'),
        ({'warmup_bins': [[130, 9.0, 131], [0, 0.0, 0], *BINS]}, 'more positives than labels'),
        ({'warmup_bins': [[130, 131.0, 9], [0, 0.0, 0], *BINS]}, 'more positives than labels'),
        (
            {'warmup_bins': [[129, 9.0, 9], [0, 0.0, 0], *BINS]},
            'warmup_bins hold 129 labels of 130',
        ),
        (
            {'warmup_bins': [[131, 9.0, 9], [0, 0.0, 0], *BINS], 'calibrates': True},
            'hold 131 labels of 130',
        ),
        ({'updates': 131}, 'warmup_bins hold 130 labels of 131'),
    ],
    'windowed_platt isotonic windowed_temperature': [
        ({'p.3': 1.1}, 'p must be'),
        ({'y.3': 2}, 'y must be a list of 30 labels'),
        ({'y': [0] * 29}, 'y must be a list of 30 labels'),
        ({'p': [0.5] * 31, 'y': [1] * 31}, WINDOW),
        ({'since': 29, 'p': [0.5] * 28, 'y': [1] * 28}, WINDOW),
        ({'since': 9}, WINDOW),
        ({'since': 30, 'p': [0.5] * 40, 'y': [1] * 40}, 'since must be below refit_every, not 30'),
        ({'updates': 29}, WINDOW),
        ({'parameters.window': 9}, 'in parameters, window must be'),
    ],
    'temperature': [
        ({'beta': 100.1}, OUTSIDE),
        ({'beta': 0.0}, 'beta must be > 0'),
        ({'beta': -1.0}, 'beta must be > 0'),
        ({'A': 99.9}, 'A 99.9 is below its own rho'),
    ],
    'mixture': [
        ({'weights.experts.0': [1.0 / 12.0] * 13}, 'weights must sum to 1'),
        ({'weights.members': [0.1] * 9}, 'weights must sum to 1'),
        ({'weights.members': [0.125] * 8 + [0.0]}, 'members must be > 0'),
        ({'weights.experts.4': [0.1] * 11 + [0.2, -0.3]}, 'experts must be > 0'),
        ({'weights.experts': [[0.1] * 10] * 9}, 'experts must be a list of 13 numbers'),
        ({'weights.experts': [EQUAL] * 6}, 'experts must be a list of 9 rows'),
        ({'delays': [0] * 99}, 'delays must be a list of 100 whole numbers'),
        ({'delays': [0] * 99 + [-1]}, f'delays {WHOLE}'),
        ({'delays': [0] * 99 + [2**53]}, 'delays must be a whole number below 2'),
        ({'experts.positives': 131}, 'there are 131 positives among 130 labels'),
        ({'experts.residuals': [0.0, 1.1, 0.0]}, 'residuals must be >= -1 and <= 1'),
        ({'experts.drifting.updates': 129}, 'in drifting, there are 129 updates of 130'),
        ({'experts.drifting.A': None}, 'in drifting, A must be'),
        ({'experts.tobs.updates': 131}, 'in tobs, there are 131 updates of 130'),
        ({'updates': 131}, 'in tops, there are 130 updates of 131'),
        ({'experts.fast.0': 101.0}, 'the parameters in fast must be within 100'),
        (
            {'experts.fast': [1.0, 0.0, 10.0, 10.1, 10.0]},
            'the matrix of fast cannot come of 130 labels',
        ),
        (
            {'experts.fast': [1.0, 0.0, 9.0, 0.0, 11.0]},
            'the matrix of fast cannot come of 130 labels',
        ),
        (
            {'experts.fast': [1.0, 0.0, 9e3, 0.0, 11.0]},
            'the matrix of fast cannot come of 130 labels',
        ),
        (
            {'experts.drifting.A': [[1e-30, 0.0], [0.0, 1e-30]]},
            'matrix of drifting cannot come of 130',
        ),
        (
            {'experts.drifting.A': [[1.7e308, 0.0], [0.0, 1.7e308]]},
            'matrix of drifting cannot come of 130',
        ),
        (
            {'experts.tobs.wrapped.A': [[1e-30, 0, 0], [0, 1e-30, 0], [0, 0, 1e-30]]},
            'matrix of tobs cannot come of 130',
        ),
        (
            {'experts.tops.wrapped.A': [[1e-30, 0.0], [0.0, 1e-30]]},
            'matrix of tops cannot come of 130',
        ),
        ({'experts.stack.root.3.3': 0.32}, 'in stack, root must not be larger'),
        ({'parameters': {'clip': 0.01}}, 'parameters must be those of mixture'),
    ],
}

OF_CLASSES = {
    'ops': [
        *[({'classes': value}, 'it was saved with classes') for value in (2, 4, 3.0, '3', True)],
        *[({name: [1.0] * 2}, f'{name} must be a list of 3 numbers') for name in 'ab'],
        *[({f'{name}.1': math.nan}, f'{name} must be a finite number') for name in 'ab'],
        ({'A.1': [[1.0, 2.0], [2.0, 1.0]]}, f'of class 1, A {DEFINITE}'),
        ({'A.1.0.0': -1.0}, f'of class 1, A {DEFINITE}'),
        ({'A.1.1.1': -1.0}, f'of class 1, A {DEFINITE}'),
        ({'A.1.0.1': 1.0}, f'of class 1, A {DEFINITE}'),
        ({'A.1': [1.0, 2.0, 1.0]}, 'of class 1, A must be a 2x2 matrix'),
        ({'A': [[[100.0, 0.0], [0.0, 100.0]]] * 2}, 'A must be'),
        ({'b.1': 101.0}, r'\(a, b\) of class 1 is outside its own radius'),
        ({'parameters.rho': 4000.0}, 'A would not stay positive definite when rho changes by -39'),
    ],
    'beta': [
        ({'calibrators': {}}, 'calibrators must be a list of 3, not'),
        ({'calibrators.2': None}, 'the state of class 2 must be a table'),
        ({'calibrators.2.updates': -1}, 'in the state of class 2, updates must be'),
    ],
    'temperature': [({'beta': 0.0}, 'beta must be > 0'), ({'classes': 4}, 'with classes 4')],
}

AS_SAVED = {'warmup': 500, 'window': 20, 'refit_every': 30}


@cache
def saved(case):
    return case.learned(case.samples(130), **case.own(AS_SAVED)).state()


def rows():
    for classes, table in ((1, CONTRADICTIONS), (3, OF_CLASSES)):
        for methods, contradictions in table.items():
            for method in methods.split():
                for changes, sentence in contradictions:
                    name = ', '.join(f'{key} {str(value)[:30]}' for key, value in changes.items())
                    case = Case(method, classes)
                    yield pytest.param(case, changes, sentence, id=f'{case}: {name}')


@pytest.mark.parametrize(('case', 'changes', 'sentence'), rows())
def test_a_state_that_contradicts_itself_is_refused_and_nothing_changes(case, changes, sentence):
    state = saved(case)
    calibrator = case.learned(case.samples(35), **case.own(AS_SAVED))
    before = calibrator.state()
    for dotted, value in changes.items():
        keys = [int(key) if key.isdigit() else key for key in dotted.split('.')]
        state = changed(state, keys, value)
    with pytest.raises(ValueError, match=sentence):
        calibrator.restore(state)
    assert_sentence(refusal(calibrator, state))
    assert calibrator.state() == before
