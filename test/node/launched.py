# SPDX-License-Identifier: Apache-2.0
"""A launch file as a process, included by another one."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

from .harness import World
from .process import OtherProcess, run

INCLUDING = """
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import SetParameter

service = LaunchService(noninteractive=True)
service.include_launch_description(LaunchDescription([
    *(SetParameter(name, value) for name, value in {parameters!r}.items()),
    IncludeLaunchDescription(
        PythonLaunchDescriptionSource({launch_file!r}), launch_arguments={arguments!r}.items()),
]))
raise SystemExit(service.run())
"""


class Launched(OtherProcess):
    """A launch file that sets parameters and includes another one.

    Parameters
    ----------
    world : World
        Where it runs.
    file : Path
        What is included.
    arguments : dict of str to str
        Of the included file.
    parameters : dict
        What is set for all nodes.
    """

    def __init__(
        self,
        world: World,
        file: Path,
        arguments: dict[str, str] | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        script = INCLUDING.format(
            launch_file=str(file), arguments=arguments or {}, parameters=parameters or {}
        )
        super().__init__(run([sys.executable, '-c', script], world.environment()))
        world.processes.append(self)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        super().stop(number)
