# SPDX-License-Identifier: Apache-2.0
"""Replays on a Dask cluster: the same outcomes to the bit, in less time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from calib_node.bags.problems import RecordingError, one_line
from calib_node.bags.units import Outcome, Run, Unit, run_unit

CONNECT_WITHIN = 30
"""Seconds for a scheduler to answer."""


def import_distributed() -> Any:
    """Return the library, or raise a RecordingError that says how to install it."""
    try:
        import distributed
    except ImportError:
        raise RecordingError(
            '--workers and --scheduler need Dask: pip install calib_node[cluster]'
        ) from None
    return distributed


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Give a client of a cluster of so many processes on this machine.

    Parameters
    ----------
    workers : int
        At least 1.
    """
    distributed = import_distributed()
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host='127.0.0.1',
            dashboard_address='127.0.0.1:0',
            silence_logs='CRITICAL',
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def cluster_at(address: str) -> Iterator[Any]:
    """Give a client of the cluster whose scheduler is at an address.

    Its workers must have this package with rosbags, and the recordings under the same paths.

    Raises
    ------
    RecordingError
        If nobody answers there.
    """
    distributed = import_distributed()
    try:
        client = distributed.Client(address, timeout=CONNECT_WITHIN, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise RecordingError(
            f'--scheduler {address} does not answer ({one_line(error)}): start one by '
            '`dask scheduler`, and workers by `dask worker`'
        ) from None
    with client:
        yield client


def runner(client: Any) -> Run:
    """Return what does replays on a cluster.

    What a lost worker had to do is done by another one.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    """

    def run(units: Sequence[Unit], done: Callable[[Outcome], None]) -> list[Outcome]:
        distributed = import_distributed()
        futures = client.map(run_unit, units, pure=False)
        places = {future.key: place for place, future in enumerate(futures)}
        outcomes: list[Outcome | None] = [None] * len(units)
        for future in distributed.as_completed(futures, loop=client.loop):
            place = places[future.key]
            try:
                outcomes[place] = future.result()
            except Exception as error:
                # Such as of a worker without the package, or of one that is killed each time.
                outcomes[place] = Outcome(
                    error=f'{units[place].name} could not be replayed on the cluster: '
                    f'{one_line(error)}'
                )
            done(outcomes[place])  # type: ignore[arg-type]
        return [outcome for outcome in outcomes if outcome is not None]

    return run
