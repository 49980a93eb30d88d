# SPDX-License-Identifier: Apache-2.0
"""Start calib_node, alone or included by another launch file.

Remappings that an including file sets with SetRemap come before those of the topic arguments here,
and the first that fits a name counts. Its SetParameter counts where params_file says nothing else.
"""

import os

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node


def start_node(context):
    parameters = []
    params_file = LaunchConfiguration('params_file').perform(context)
    if params_file:
        path = os.path.abspath(os.path.expanduser(params_file))
        if not os.path.isfile(path):
            # launch_ros would start the node with its defaults.
            raise FileNotFoundError(
                f'params_file: there is no file {path}; give the path of one, or leave params_file '
                'empty for the defaults of the node')
        parameters.append(path)
    use_sim_time = LaunchConfiguration('use_sim_time')
    if use_sim_time.perform(context):
        parameters.append({'use_sim_time': use_sim_time})
    return [
        Node(
            package='calib_node',
            executable='calib_node',
            name='calib_node',
            namespace=LaunchConfiguration('namespace'),
            output='screen',
            respawn=LaunchConfiguration('use_respawn'),
            respawn_delay=2.0,
            parameters=parameters,
            ros_arguments=['--log-level', LaunchConfiguration('log_level')],
            remappings=[
                ('raw_probabilities', LaunchConfiguration('raw_topic')),
                ('labels', LaunchConfiguration('labels_topic')),
                ('calibrated_probabilities', LaunchConfiguration('calibrated_topic')),
            ]),
    ]


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument(
            'namespace',
            default_value='',
            description='Namespace of the node, under that of an including file unless absolute'),
        DeclareLaunchArgument(
            'params_file',
            default_value='',
            description='Path of a file with parameters of the node. Left empty, the defaults or '
                        'SetParameter of an including file count'),
        DeclareLaunchArgument(
            'use_sim_time',
            default_value='',
            description='Follow /clock: true or false. Left empty, params_file or SetParameter of '
                        'an including file decides'),
        DeclareLaunchArgument(
            'log_level',
            default_value='info',
            description='Log level of the node'),
        DeclareLaunchArgument(
            'use_respawn',
            default_value='false',
            description='Start the node again two seconds after it ends'),
        DeclareLaunchArgument(
            'raw_topic',
            default_value='raw_probabilities',
            description='Topic of the probabilities to calibrate'),
        DeclareLaunchArgument(
            'labels_topic',
            default_value='labels',
            description='Topic of the ground truth'),
        DeclareLaunchArgument(
            'calibrated_topic',
            default_value='calibrated_probabilities',
            description='Topic of the calibrated probabilities'),
        OpaqueFunction(function=start_node),
    ])
