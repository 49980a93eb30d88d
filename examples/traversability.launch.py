# SPDX-License-Identifier: Apache-2.0
"""Make a traversability classifier honest, which publishes stamped arrays."""

import os

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    calibration = PathJoinSubstitution(
        [FindPackageShare('calib_node'), 'launch', 'calib.launch.py'])
    return LaunchDescription([
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(calibration),
            launch_arguments={
                'params_file': os.path.join(os.path.dirname(__file__), 'traversability.yaml'),
                'raw_topic': '/perception/traversable',
                'labels_topic': '/bumper/traversable',
                'calibrated_topic': '/perception/traversable_calibrated',
            }.items()),
    ])
