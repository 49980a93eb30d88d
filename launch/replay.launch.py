# SPDX-License-Identifier: Apache-2.0
"""Play a recording to calib_node in simulated time, to watch it in RViz, rqt or Foxglove.

It ends with the recording. To know what calibration would have done, calib_replay is a thousand
times as fast and needs no ROS.
"""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

TOPICS = ('raw_topic', 'labels_topic', 'calibrated_topic')
DEFAULTS = ('raw_probabilities', 'labels', 'calibrated_probabilities')


def generate_launch_description():
    calibration = PathJoinSubstitution(
        [FindPackageShare('calib_node'), 'launch', 'calib.launch.py'])
    play = ExecuteProcess(
        cmd=[
            'ros2', 'bag', 'play', LaunchConfiguration('bag'),
            '--clock', '100',
            '--rate', LaunchConfiguration('rate'),
            '--delay', LaunchConfiguration('delay'),
        ],
        output='screen')
    passed_on = ('params_file', 'namespace', *TOPICS)
    return LaunchDescription([
        DeclareLaunchArgument(
            'bag',
            description='The recording'),
        DeclareLaunchArgument(
            'rate',
            default_value='1.0',
            description='How fast it is played'),
        DeclareLaunchArgument(
            'delay',
            default_value='2.0',
            description='Seconds before it begins, for the node to be found'),
        DeclareLaunchArgument(
            'params_file',
            default_value='',
            description='Path of a file with parameters of the node'),
        DeclareLaunchArgument(
            'namespace',
            default_value='',
            description='Namespace of the node'),
        *[
            DeclareLaunchArgument(name, default_value=default, description='As of calib.launch.py')
            for name, default in zip(TOPICS, DEFAULTS)
        ],
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(calibration),
            launch_arguments={
                'use_sim_time': 'true',
                **{name: LaunchConfiguration(name) for name in passed_on},
            }.items()),
        play,
        RegisterEventHandler(OnProcessExit(
            target_action=play,
            on_exit=[EmitEvent(event=Shutdown(reason='the recording has ended'))])),
    ])
