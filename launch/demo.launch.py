# SPDX-License-Identifier: Apache-2.0
"""Play a real classifier's recorded answers to calib_node, and write a report on it.

It ends by itself after half a minute; what it prints says where the report is.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackagePrefix


def generate_launch_description():
    executable = PathJoinSubstitution(
        [FindPackagePrefix('calib_node'), 'lib', 'calib_node', 'calib_demo'])
    demo = ExecuteProcess(
        cmd=[
            executable,
            '--output', LaunchConfiguration('output'),
            '--rate', LaunchConfiguration('rate'),
        ],
        output='screen')
    return LaunchDescription([
        DeclareLaunchArgument(
            'output',
            default_value='demo_output',
            description='Folder of report, figure, samples, state, log and recording'),
        DeclareLaunchArgument(
            'rate',
            default_value='100',
            description='Answers a second, 1 to 1000'),
        demo,
        RegisterEventHandler(OnProcessExit(
            target_action=demo, on_exit=[EmitEvent(event=Shutdown(reason='the demo has ended'))])),
    ])
