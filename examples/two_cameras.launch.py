# SPDX-License-Identifier: Apache-2.0
"""Make the classifiers of two cameras honest, in one process."""

import os

from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    cameras = ('front', 'rear')
    topics = {
        'raw_probabilities': 'person',
        'labels': 'person_label',
        'calibrated_probabilities': 'person_calibrated',
    }
    return LaunchDescription([
        # No name: each node has that of its camera.
        Node(
            package='calib_node',
            executable='calib_node',
            arguments=['--nodes', *cameras],
            output='screen',
            parameters=[os.path.join(os.path.dirname(__file__), 'two_cameras.yaml')],
            remappings=[
                (f'{camera}:{ours}', f'/camera_{camera}/{theirs}')
                for camera in cameras for ours, theirs in topics.items()
            ]),
    ])
