# SPDX-License-Identifier: Apache-2.0
"""Two hosts with a cable between them, made of network namespaces of Linux."""

from __future__ import annotations

import subprocess
from types import TracebackType

import pytest

ADDRESSES = ('10.213.0.1/24', '10.213.0.2/24')
CABLE = ('cable0', 'cable1')


class Hosts:
    """Two hosts with a cable; they are gone with the processes that hold them.

    Each holder ends when its standard input is closed, and so at the latest with this process.
    """

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Hosts:
        try:
            # Within a user namespace of their own the hosts can be made without being root.
            self._hold('unshare', '--user', '--map-root-user', '--net')
            self._hold(*self.command(0), 'unshare', '--net')
            ids = [str(holder.pid) for holder in self._holders]
            self.run(
                0, 'ip', 'link', 'add', CABLE[0], 'type', 'veth', 'peer', CABLE[1], 'netns', ids[1]
            )
            for host, (end, address) in enumerate(zip(CABLE, ADDRESSES)):
                self.run(host, 'ip', 'address', 'add', address, 'dev', end)
                for device in ('lo', end):
                    self.run(host, 'ip', 'link', 'set', device, 'up')
                self.run(host, 'ip', 'route', 'add', '224.0.0.0/4', 'dev', end)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__(None, None, None)
            said = getattr(error, 'stderr', None) or b''
            pytest.skip(f'no network namespaces on this machine: {error} {said.decode().strip()}')
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for holder in self._holders:
            holder.communicate()

    def _hold(self, *command: str) -> None:
        holder = subprocess.Popen(
            [*command, 'sh', '-c', 'echo here; exec cat > /dev/null'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._holders.append(holder)
        assert holder.stdout
        if not holder.stdout.readline():
            _, said = holder.communicate()
            raise subprocess.CalledProcessError(holder.returncode, command, stderr=said)

    def command(self, host: int) -> list[str]:
        """Return what a command line must start with to run on a host."""
        user = str(self._holders[0].pid)
        net = str(self._holders[host].pid)
        return [
            'nsenter',
            f'--user=/proc/{user}/ns/user',
            f'--net=/proc/{net}/ns/net',
            '--preserve-credentials',
            '--',
        ]

    def run(self, host: int, *command: str) -> str:
        done = subprocess.run([*self.command(host), *command], check=True, capture_output=True)
        return done.stdout.decode()

    def cut(self) -> None:
        """Pull the cable out of the second host; the first one sees its carrier go."""
        self.run(1, 'ip', 'link', 'set', CABLE[1], 'down')

    def mend(self) -> None:
        self.run(1, 'ip', 'link', 'set', CABLE[1], 'up')
        self.run(1, 'ip', 'route', 'replace', '224.0.0.0/4', 'dev', CABLE[1])
