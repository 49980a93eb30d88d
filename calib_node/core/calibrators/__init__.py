# SPDX-License-Identifier: Apache-2.0
"""The calibrators, by name."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from calib_node.core.calibrators.base import Calibrator, Learner
from calib_node.core.calibrators.beta import OnlineBetaScaling
from calib_node.core.calibrators.calibeating import (
    TrackingOnlineBetaScaling,
    TrackingOnlinePlattScaling,
)
from calib_node.core.calibrators.contexts.chain import Chain
from calib_node.core.calibrators.contexts.forms import FORMS
from calib_node.core.calibrators.contexts.multiclass import ContextualOneVsRest
from calib_node.core.calibrators.contexts.offset_calibrator import OffsetCalibrator
from calib_node.core.calibrators.contexts.temperature import ContextualTemperature
from calib_node.core.calibrators.ensemble import StepSizeEnsemble
from calib_node.core.calibrators.hedging import HedgingOnlineBetaScaling, HedgingOnlinePlattScaling
from calib_node.core.calibrators.identity import Identity
from calib_node.core.calibrators.mixture import Mixture
from calib_node.core.calibrators.multiclass.base import (
    MulticlassCalibrator,
    check_classes,
    one_vs_rest_clip,
)
from calib_node.core.calibrators.multiclass.one_vs_rest import OneVsRest, for_class
from calib_node.core.calibrators.multiclass.platt import MulticlassPlattScaling
from calib_node.core.calibrators.multiclass.temperature import MulticlassTemperature
from calib_node.core.calibrators.parameters import Parameter, check_names, check_parameters
from calib_node.core.calibrators.platt import OnlinePlattScaling
from calib_node.core.calibrators.temperature import OnlineTemperature
from calib_node.core.calibrators.windowed import (
    WindowedIsotonic,
    WindowedPlatt,
    WindowedTemperature,
)
from calib_node.core.numerics.newton import UpdateNotFinite
from calib_node.core.refusal import nearest_name
from calib_node.core.state.fields import StateError

_CLASSES: tuple[type[Any], ...] = (
    OnlinePlattScaling,
    OnlineBetaScaling,
    TrackingOnlinePlattScaling,
    TrackingOnlineBetaScaling,
    HedgingOnlinePlattScaling,
    HedgingOnlineBetaScaling,
    StepSizeEnsemble,
    Mixture,
    WindowedPlatt,
    WindowedIsotonic,
    WindowedTemperature,
    OnlineTemperature,
    Identity,
)
CALIBRATORS: dict[str, type[Any]] = {method.name: method for method in _CLASSES}
"""The class of each method; the one place that lists them."""

_AT_ONCE: dict[str, type[Any]] = {
    method.name: method for method in (MulticlassPlattScaling, MulticlassTemperature)
}
"""The methods that take all classes at once; every other one is taken one-vs-rest."""

__all__ = [
    'CALIBRATORS',
    'Calibrator',
    'HedgingOnlineBetaScaling',
    'HedgingOnlinePlattScaling',
    'Identity',
    'Learner',
    'Mixture',
    'MulticlassCalibrator',
    'MulticlassPlattScaling',
    'MulticlassTemperature',
    'OneVsRest',
    'OnlineBetaScaling',
    'OnlinePlattScaling',
    'OnlineTemperature',
    'StateError',
    'StepSizeEnsemble',
    'TrackingOnlineBetaScaling',
    'TrackingOnlinePlattScaling',
    'UpdateNotFinite',
    'WindowedIsotonic',
    'WindowedPlatt',
    'WindowedTemperature',
    'create',
    'create_multiclass',
    'default_parameters',
]


def create(
    name: str,
    *,
    contexts: Sequence[str] = (),
    context_capacity: int = 200,
    context_rho: float = 100.0,
    **parameters: Parameter,
) -> Calibrator:
    """Make the calibrator called `name`.

    Parameters
    ----------
    name : str
        A key of `CALIBRATORS`.
    contexts : sequence of str
        Names of the context variables; none: it knows no contexts. 'ops', 'beta' and 'temperature'
        learn an offset for each context; every other method chains a calibrator for each context
        to the shared one.
    context_capacity : int
        So many contexts are learned; all others share one more.
    context_rho : float
        As rho, of the offsets; larger is slower at the start.
    **parameters : float, int or bool
        The method's own parameters; `default_parameters` says what they are if not given.

    Returns
    -------
    Calibrator

    Raises
    ------
    ValueError
        If there is no such method or a parameter is outside its range.

    Examples
    --------
    >>> calibrator = create('ops', gamma=0.1)
    >>> q, ticket = calibrator.issue(0.8)
    >>> calibrator.update(0.8, 0, ticket)
    >>> calibrator.updates
    1

    With contexts:

    >>> calibrator = create('ops', contexts=('class', 'range'))
    >>> q, ticket = calibrator.issue(0.8, ('car', 2))
    >>> calibrator.update(0.8, 0, ticket)
    >>> list(calibrator.context_figures())
    ['class car, range 2']
    """
    calibrator = _create(name, parameters)
    if not len(contexts):
        return calibrator
    own = {'context_capacity': context_capacity, 'context_rho': context_rho}
    return _with_contexts(calibrator, contexts, own, tallied=True)


def create_multiclass(
    name: str,
    classes: int,
    *,
    contexts: Sequence[str] = (),
    context_capacity: int = 200,
    context_rho: float = 100.0,
    **parameters: Parameter,
) -> MulticlassCalibrator:
    """Make the calibrator called `name` for one probability per class.

    'temperature' learns one temperature for all classes. Every other method is taken one-vs-rest.

    Parameters
    ----------
    name : str
        A key of `CALIBRATORS`.
    classes : int
        K, from 2 to 1000.
    contexts, context_capacity, context_rho
        As of `create`; each context has a temperature of its own, or in each class what it has in
        a binary calibrator.
    **parameters : float, int or bool
        The method's own parameters; `default_parameters` says what they are if not given.

    Returns
    -------
    MulticlassCalibrator

    Raises
    ------
    ValueError
        If there is no such method, a parameter is outside its range or `classes` is.

    Examples
    --------
    >>> calibrator = create_multiclass('ops', classes=3)
    >>> q, ticket = calibrator.issue([0.7, 0.2, 0.1])
    >>> calibrator.update([0.7, 0.2, 0.1], 0, ticket)
    >>> round(float(q.sum()), 12), calibrator.updates
    (1.0, 1)
    """
    count = check_classes(classes)
    defaults = default_parameters(name, count)
    check_names(name, parameters, defaults)
    values = check_parameters({**defaults, **parameters})
    own = {'context_capacity': context_capacity, 'context_rho': context_rho}
    at_once = _AT_ONCE.get(name)
    if at_once is not None and not (len(contexts) and name == MulticlassPlattScaling.name):
        calibrator: MulticlassCalibrator = at_once(count, **values)
        if isinstance(calibrator, MulticlassTemperature) and len(contexts):
            return ContextualTemperature(calibrator, contexts, **own)  # type: ignore[arg-type]
        return calibrator
    binary = [_create(name, for_class(values, k)) for k in range(count)]
    if not len(contexts):
        return OneVsRest(binary)
    return ContextualOneVsRest(
        [_with_contexts(shared, contexts, own, tallied=False) for shared in binary]
    )


def _create(name: str, parameters: dict[str, Any]) -> Calibrator:
    method = _method(name)
    check_names(name, parameters, signature(method).parameters)
    calibrator: Calibrator = method(**parameters)
    return calibrator


def _with_contexts(
    shared: Any, contexts: Sequence[str], own: Any, tallied: bool
) -> OffsetCalibrator | Chain:
    """Return a calibrator with contexts made of a new one without."""
    if shared.name in FORMS:
        return OffsetCalibrator(shared, contexts, **own, tallied=tallied)
    check_parameters(own)
    return Chain(shared, contexts, own['context_capacity'], tallied)


def default_parameters(method: str, classes: int = 1) -> dict[str, Parameter]:
    """Return the parameters of a method with the values they have if none are given.

    Parameters
    ----------
    method : str
        A key of `CALIBRATORS`.
    classes : int
        1 for the probability of the positive class, or K from 2 to 1000.

    Returns
    -------
    dict of str to float, int or bool
        In the order of the method's own signature.

    Raises
    ------
    ValueError
        If there is no such method, or `classes` is out of range.

    Examples
    --------
    >>> default_parameters('isotonic')
    {'window': 1000, 'refit_every': 50, 'smooth': True, 'interpolate': False}
    >>> default_parameters('ops')['rho'], default_parameters('beta')['rho']
    (100.0, 25.0)
    >>> [default_parameters('ops', classes)['clip'] for classes in (1, 10)]
    [0.01, 0.001]
    """
    kind = _method(method)
    if classes == 1:
        return _defaults(kind)
    count = check_classes(classes)
    if method == MulticlassTemperature.name:
        return _defaults(MulticlassTemperature)
    defaults = _defaults(kind)
    if 'clip' in defaults:
        defaults['clip'] = one_vs_rest_clip(float(defaults['clip']), count)
    return defaults


def _defaults(kind: type[Any]) -> dict[str, Parameter]:
    own = signature(kind).parameters
    return {name: own[name].default for name in own if name != 'classes'}


def _method(name: str) -> type[Any]:
    if name not in CALIBRATORS:
        hint = nearest_name(name, CALIBRATORS)
        known = ', '.join(CALIBRATORS)
        raise ValueError(f'there is no method {name!r}{hint} (methods: {known})')
    return CALIBRATORS[name]
