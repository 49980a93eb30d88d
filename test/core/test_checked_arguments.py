# SPDX-License-Identifier: Apache-2.0
"""Every `clip`, `floor` and `bins` is checked, with a sentence that says its range."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calib_node.core import metrics
from calib_node.core.calibrators import CALIBRATORS, create, create_multiclass
from calib_node.core.calibrators.fits import (
    PlattMap,
    TemperatureMap,
    fit_binary_temperature,
    fit_platt,
    fit_temperature,
)

P, Y = [0.0, 0.2, 0.7, 1.0], [0, 1, 0, 1]
ROWS, CLASSES = [[0.2, 0.8], [0.7, 0.3]], [1, 0]

LOGIT_CLIPS = {
    'PlattMap': lambda clip: PlattMap(1.0, 0.0, clip),
    'fit_platt': lambda clip: fit_platt(P, Y, clip),
    'fit_binary_temperature': lambda clip: fit_binary_temperature(P, Y, clip),
    'slope_intercept': lambda clip: metrics.slope_intercept(P, Y, clip),
    'calibration_in_the_large': lambda clip: metrics.calibration_in_the_large(P, Y, clip),
    **{
        f'create {name}': lambda clip, name=name: create(name, clip=clip)
        for name in CALIBRATORS
        if 'clip' in create(name).parameters()
    },
    **{
        f'create_multiclass {name}': lambda clip, name=name: create_multiclass(name, 3, clip=clip)
        for name in CALIBRATORS
        if 'clip' in create(name).parameters()
    },
}


@pytest.mark.parametrize('function', LOGIT_CLIPS)
@pytest.mark.parametrize('clip', [0, 0.0, -0.1, 1e-17, 0.5, 1.0, math.nan, math.inf, None, '0.1'])
def test_clip_of_a_logit(function, clip):
    with pytest.raises(ValueError, match=r'^clip must be >= \S+ and < 0.5, not '):
        LOGIT_CLIPS[function](clip)


@pytest.mark.parametrize(
    'function',
    [
        lambda clip: metrics.log_loss(P, Y, clip),
        lambda clip: metrics.multiclass_log_loss(ROWS, CLASSES, clip),
    ],
    ids=['log_loss', 'multiclass_log_loss'],
)
@pytest.mark.parametrize('clip', [-0.1, 0.5, math.nan, None])
def test_clip_of_a_log_loss_may_be_0(function, clip):
    assert function(0) > 0.0
    with pytest.raises(ValueError, match=r'^clip must be >= 0 and < 0.5, not '):
        function(clip)


@pytest.mark.parametrize(
    'function',
    [lambda floor: TemperatureMap(1.0, floor), lambda floor: fit_temperature(ROWS, CLASSES, floor)],
    ids=['TemperatureMap', 'fit_temperature'],
)
@pytest.mark.parametrize('floor', [0, -1e-9, 1.0, math.nan, math.inf, None, '0.1'])
def test_floor_of_a_probability(function, floor):
    with pytest.raises(ValueError, match=r'^floor must be > 0 and < 1, not '):
        function(floor)


@pytest.mark.parametrize('temperature', [0.0, -1.0, math.nan, math.inf])
def test_temperature_of_a_map(temperature):
    with pytest.raises(ValueError, match=r'^temperature must be > 0, not '):
        TemperatureMap(temperature)


BINNED = {
    **{
        name: lambda bins, name=name: getattr(metrics, name)(P, Y, bins)
        for name in (
            'reliability',
            'ece',
            'mce',
            'rms_calibration_error',
            'debiased_squared_l2',
            'debiased_l2',
            'murphy',
        )
    },
    **{
        name: lambda bins, name=name: getattr(metrics, name)(ROWS, CLASSES, bins)
        for name in ('top_label_ece', 'top_label_mce', 'classwise_ece')
    },
}


@pytest.mark.parametrize('function', BINNED)
@pytest.mark.parametrize('bins', [0, -1, 2.5, math.nan, math.inf, 10**8, 10**400, None, '10', True])
def test_bins_of_a_metric(function, bins):
    with pytest.raises(ValueError, match=r'^bins must be a whole number >= 1 and <= 1e[+]07, not '):
        BINNED[function](bins)


@pytest.mark.parametrize('method', ['tops', 'tobs', 'hops', 'hobs'])
@pytest.mark.parametrize('bins', [0, 1, 2.5, math.nan, 1001, None, '10'])
def test_bins_of_a_method(method, bins):
    with pytest.raises(ValueError, match=r'^bins must be a whole number >= 2 and <= 1000, not '):
        create(method, bins=bins)


def test_numbers_of_numpy_are_numbers():
    assert metrics.ece(P, Y, np.int64(2)) == metrics.ece(P, Y, 2)
    assert fit_platt(P, Y, np.float32(0.125)) == fit_platt(P, Y, 0.125)
    parameters = create('tops', clip=np.float32(0.125), bins=np.int32(5)).parameters()
    assert (parameters['clip'], parameters['bins']) == (0.125, 5)
    assert {type(value) for value in parameters.values()} == {float, int}
