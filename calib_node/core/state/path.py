# SPDX-License-Identifier: Apache-2.0
"""Where the state file is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from string import Template


def resolve_path(setting: str, node: str, environment: Mapping[str, str]) -> Path:
    """Return the state file's absolute path.

    Parameters
    ----------
    setting : str
        As configured. Empty: ``$ROS_HOME/calib_node/<node>.yaml`` with slashes as folders. ``~``
        and ``$VAR`` are expanded, and a relative path is under ``$ROS_HOME/calib_node``.
    node : str
        Fully qualified node name.
    environment : mapping of str to str
        The environment variables; ``ROS_HOME`` defaults to ``~/.ros``.

    Examples
    --------
    >>> str(resolve_path('', '/r1/calib_node', {'ROS_HOME': '/var/ros'}))
    '/var/ros/calib_node/r1/calib_node.yaml'
    """
    home = _expand(environment.get('ROS_HOME') or '~/.ros', environment)
    path = _expand(setting, environment) if setting else f'{node.strip("/")}.yaml'
    return Path(os.path.realpath(os.path.join(home, 'calib_node', path)))


def _expand(path: str, environment: Mapping[str, str]) -> str:
    path = Template(path).safe_substitute(environment)
    if path == '~' or path.startswith('~/'):
        return environment.get('HOME', '~') + path[1:]
    return os.path.expanduser(path)
