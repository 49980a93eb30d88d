# SPDX-License-Identifier: Apache-2.0
"""What other methods and parameters would have done on the same recordings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import yaml

from calib_node.core.calibrators import CALIBRATORS, default_parameters
from calib_node.core.refusal import nearest_name
from calib_node.stream.assembly import make_calibrator
from calib_node.stream.settings import Settings
from calib_node.stream.table import BY_NAME

if TYPE_CHECKING:
    from calib_node.bags.comparison import Comparison
    from calib_node.bags.driver import Driver

CONTEXT_RHO = 'context.rho'
LEARNING = [name for name in CALIBRATORS if name != 'identity']
"""The methods that change anything."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is compared."""
    group = parser.add_argument_group('what-if', 'beside the method of the parameters')
    group.add_argument(
        '--method', default='', metavar='NAME,…', help=f'others: {", ".join(CALIBRATORS)}'
    )
    group.add_argument('--all', action='store_true', help='every method that learns')
    group.add_argument(
        '--set',
        action='append',
        default=[],
        metavar='NAME=VALUE,…',
        help="values of a method's parameter, each of which is tried; several are combined",
    )
    group.add_argument(
        '--cost-false-positive',
        type=float,
        metavar='COST',
        help='of a wrong yes; with it the cost of the decisions is compared',
    )
    group.add_argument(
        '--cost-false-negative', type=float, metavar='COST', help='of a wrong no (default: 1)'
    )


def costs(options: argparse.Namespace) -> tuple[float, ...]:
    """Return the costs of both errors; () where none are given."""
    given = options.cost_false_positive, options.cost_false_negative
    if given == (None, None):
        return ()
    values = tuple(1.0 if cost is None else cost for cost in given)
    for cost in values:
        if not 0.0 < cost < float('inf'):
            raise ValueError(f'a cost must be above 0, not {cost:g}')
    return values


def candidates(
    options: argparse.Namespace, parameters: Mapping[str, Any], settings: Settings
) -> dict[str, Settings]:
    """Return what is compared, by name, that of the parameters first.

    Raises
    ------
    ValueError
        If there is no such method or parameter, or a value cannot be taken.
    """
    methods = [name for name in options.method.split(',') if name.strip()]
    methods = [name.strip() for name in methods] + [*LEARNING] * options.all
    for name in methods:
        if name not in CALIBRATORS:
            hint = nearest_name(name, CALIBRATORS)
            raise ValueError(
                f'--method: there is no {name!r}{hint} (there are: {", ".join(CALIBRATORS)})'
            )
    found = {settings.method: settings}
    known = [make_calibrator(settings).parameters()]
    for method in [settings.method, *methods]:
        for values in _combinations(options.set, method, settings):
            other = Settings.from_mapping({**parameters, **values, 'method': method})
            own = {'method': method, **make_calibrator(other).parameters()}
            if method == settings.method:
                del own['method']
            if own not in known:
                known.append(own)
                shown = ' '.join(f'{name}={value}' for name, value in values.items())
                found[f'{method} {shown}'.strip()] = other
    return found


def _combinations(given: list[str], method: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the values that --set asks for of a method's own parameters."""
    own = default_parameters(method, settings.classes)
    axes: list[list[tuple[str, Any]]] = []
    for text in given:
        name, separator, values = text.partition('=')
        spec = BY_NAME.get(name)
        if not separator or not values:
            raise ValueError(f'--set {text}: it is written name=value,value as in gamma=0.05,0.1')
        if spec is None or not (spec.of_method or name == CONTEXT_RHO):
            names = [s.name for s in BY_NAME.values() if s.of_method] + [CONTEXT_RHO]
            raise ValueError(
                f'--set {name}: it takes parameters of the methods alone'
                f'{nearest_name(name, names)}; set others by -p, and compare two replays'
            )
        if spec.of_method in own or (name == CONTEXT_RHO and settings.contexts):
            axes.append([(name, yaml.safe_load(value)) for value in values.split(',')])
    return map(dict, product(*axes))


def join(driver: Driver, found: Mapping[str, Settings], comparison: Comparison) -> Any:
    """Let other calibrators see what the driver's stream sees, and be scored.

    Returns
    -------
    Panel or None
        None where there are no others.
    """
    from calib_node.bags.panel import Panel

    others = [make_calibrator(settings) for settings in [*found.values()][1:]]
    if not others:
        driver.stream.pipeline.on_match.append(
            lambda match: comparison(match.label, match.raw, (match.published,))
        )
        return None
    return Panel(driver.stream, others, comparison)
