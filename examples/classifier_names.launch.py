# SPDX-License-Identifier: Apache-2.0
"""Make a classifier honest whose classes have names."""

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
                'params_file': os.path.join(os.path.dirname(__file__), 'classifier_names.yaml'),
                'raw_topic': '/classifier/terrain',
                'labels_topic': '/operator/terrain',
                'calibrated_topic': '/classifier/terrain_calibrated',
            }.items()),
    ])
