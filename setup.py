# SPDX-License-Identifier: Apache-2.0
import sys
from glob import glob

from setuptools import find_packages, setup

package_name = 'calib_node'

data_files = [
    ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
    ('share/' + package_name, ['package.xml']),
    ('share/' + package_name + '/launch', sorted(glob('launch/*.py'))),
    ('share/' + package_name + '/config', sorted(glob('config/*.yaml'))),
    ('share/' + package_name + '/config/layouts', sorted(glob('config/layouts/*'))),
    ('share/' + package_name + '/config/sros', sorted(glob('config/sros/*.xml'))),
    ('share/' + package_name + '/examples', sorted(glob('examples/*'))),
]
if 'bdist_wheel' in sys.argv:
    # `ros2 run` looks in lib/calib_node. colcon puts console scripts there by setup.cfg, but a
    # wheel, which `pip install .` builds, can only put them in bin: the launchers lead from one to
    # the other.
    data_files.append(('lib/' + package_name, sorted(glob('resource/launcher/*'))))

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, package_name + '.*']),
    package_data={
        package_name: ['py.typed'],
        package_name + '.report': ['*.html'],
        package_name + '.tools': ['data/*'],
    },
    data_files=data_files,
    python_requires='>=3.10',
    install_requires=['setuptools', 'numpy', 'PyYAML'],
    extras_require={
        'test': ['pytest', 'pytest-timeout', 'hypothesis'],
        'demo': ['tqdm', 'matplotlib', 'jinja2', 'rosbags'],
        'replay': ['rosbags>=0.11', 'mcap', 'tqdm'],
        'report': ['jinja2', 'matplotlib'],
        'plot': ['matplotlib'],
        'top': ['rich'],
        'cluster': ['distributed'],
        'parquet': ['pyarrow'],
        'completion': ['argcomplete'],
        'river': ['river'],
    },
    zip_safe=False,
    author='calib_node developers',
    author_email='calib-node@example.org',
    maintainer='calib_node developers',
    maintainer_email='calib-node@example.org',
    description='Calibrates classifier probabilities online, as a ROS 2 node.',
    license='Apache-2.0',
    keywords=['ROS', 'calibration', 'probability', 'online learning'],
    classifiers=[
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Programming Language :: Python :: 3',
        'Topic :: Scientific/Engineering',
    ],
    entry_points={
        'console_scripts': [
            'calib_demo = calib_node.tools.demo:main',
            'calib_node = calib_node.ros.main:main',
            'calib_plot = calib_node.tools.plot:main',
            'calib_replay = calib_node.tools.replay:main',
            'calib_report = calib_node.tools.report:main',
            'calib_top = calib_node.tools.top:main',
        ],
    },
)
