# SPDX-License-Identifier: Apache-2.0
"""A ROS domain a test, or a module where its tests do not disturb each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from spec_values import LIVE

from .harness import Client, World

# By default a participant that missed another one's first announcements waits three seconds.
DISCOVERY = """\
<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com">
  <profiles>
    <participant profile_name="quick_discovery" is_default_profile="true">
      <rtps>
        <builtin>
          <discovery_config>
            <leaseAnnouncement><sec>0</sec><nanosec>100000000</nanosec></leaseAnnouncement>
          </discovery_config>
        </builtin>
      </rtps>
    </participant>
  </profiles>
</dds>
"""


@pytest.fixture(scope='session', autouse=True)
def _local_and_quick_discovery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    profiles = tmp_path_factory.mktemp('fastdds') / 'profiles.xml'
    profiles.write_text(DISCOVERY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('FASTDDS_DEFAULT_PROFILES_FILE', str(profiles))
        # Its name up to Jazzy.
        patch.setenv('FASTRTPS_DEFAULT_PROFILES_FILE', str(profiles))
        yield


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Domain, client and node processes of one test."""
    with World(tmp_path) as one:
        yield one


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Domain, client and node processes of a module's tests."""
    with World(tmp_path_factory.mktemp('shared')) as one:
        yield one


@pytest.fixture(scope='module')
def client(shared: World) -> Client:
    """Client of one node with every parameter at its default, but for the diagnostics' period."""
    return shared.connected()[1]


@pytest.fixture
def restored(client: Client) -> Iterator[Client]:
    """The client; afterwards every live parameter is back at its default."""
    yield client
    defaults = {spec.name: spec.default for spec in LIVE} | {'diagnostics.period': 0.02}
    result = client.set_all(defaults)
    assert result.successful, result.reason


@pytest.fixture
def anew(restored: Client) -> Client:
    """The client of a node that has learned nothing yet."""
    restored.trigger('reset')
    return restored


@pytest.fixture
def installed() -> None:
    """Skip a test where launch or this package is not installed."""
    pytest.importorskip('launch_ros', reason='launch_ros is not on PyPI')
    packages = pytest.importorskip('ament_index_python.packages')
    try:
        packages.get_package_prefix('calib_node')
    except packages.PackageNotFoundError:
        pytest.skip('calib_node is not installed in a sourced workspace')
