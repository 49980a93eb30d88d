# SPDX-License-Identifier: Apache-2.0
"""Where the state file is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from string import Template


def resolve_path(setting: str, node: str, environment: Mapping[str, str]) -> Path:
    """Return where the state file is, or refuse a setting that names no place.

    Parameters
    ----------
    setting : str
        As configured. Empty: ``$ROS_HOME/calib_node/<node>.yaml`` with slashes as folders. ``~``,
        ``~user`` and ``$VAR`` are expanded (``$$`` is a dollar sign), and a relative path is under
        ``$ROS_HOME/calib_node``.
    node : str
        Fully qualified node name.
    environment : mapping of str to str
        The environment variables; ``ROS_HOME`` defaults to ``~/.ros``.

    Returns
    -------
    Path
        Absolute, links followed.

    Raises
    ------
    ValueError
        If something in it cannot be expanded; the text names it and what to set instead.

    Examples
    --------
    >>> str(resolve_path('', '/r1/calib_node', {'ROS_HOME': '/var/ros'}))
    '/var/ros/calib_node/r1/calib_node.yaml'
    >>> str(resolve_path('$DATA/door.yaml', '/r1/calib_node', {'DATA': '/data'}))
    '/data/door.yaml'
    """
    path = f'{node.strip("/")}.yaml'
    if setting:
        path = _expand('state.file', setting, 'state.file', environment)
    if not os.path.isabs(path):
        given = environment.get('ROS_HOME')
        name = 'ROS_HOME' if given else 'the default of ROS_HOME'
        home = _expand(name, given or '~/.ros', 'ROS_HOME or state.file', environment)
        path = os.path.join(home, 'calib_node', path)
    return Path(os.path.realpath(path))


def _expand(name: str, setting: str, remedy: str, environment: Mapping[str, str]) -> str:
    def refusal(reason: str) -> ValueError:
        return ValueError(f'{name} is {setting!r}, but {reason}; set {remedy} to an absolute path')

    try:
        path = Template(setting).substitute(environment)
    except KeyError as unknown:
        raise refusal(f'the environment variable {unknown.args[0]} is not set') from None
    except ValueError:
        raise refusal('a $ in it is followed by no name ($$ stands for the sign)') from None
    user, slash, rest = path.partition('/')
    if not user.startswith('~'):
        return path
    home = environment.get('HOME') if user == '~' else os.path.expanduser(user)
    if not home:
        raise refusal('HOME is not set')
    if home == user:
        raise refusal(f'there is no user {user[1:]}')
    return home + slash + rest
