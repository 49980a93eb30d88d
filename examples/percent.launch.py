# SPDX-License-Identifier: Apache-2.0
"""Make a classifier honest that scores in percent."""

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
                'params_file': os.path.join(os.path.dirname(__file__), 'percent.yaml'),
                'raw_topic': '/classifier/score',
                'labels_topic': '/operator/verdict',
                'calibrated_topic': '/classifier/score_calibrated',
            }.items()),
    ])
