# SPDX-License-Identifier: Apache-2.0
"""The files of a recording: those that its metadata names, or those that are there."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import yaml

from calib_node.bags.problems import RecordingError, one_line
from calib_node.bags.storage import SUFFIXES, absolute

METADATA = 'metadata.yaml'
NEWEST_VERSION = 9
COMPRESSED = '.zstd'


@dataclass
class Found:
    """What there is of a recording.

    Attributes
    ----------
    files : list of Path
        In their order.
    by_message : bool
        Whether each message is compressed.
    distribution : str
        The ROS distribution that it was made with; empty: not told.
    counts : dict of str to int or None
        Messages of each topic as the metadata has them; None without metadata.
    problems : list of str
        What is missing.
    """

    files: list[Path]
    by_message: bool = False
    distribution: str = ''
    counts: dict[str, int] | None = None
    problems: list[str] = field(default_factory=list)


def find_files(path: Path) -> Found:
    """Return what there is of a recording.

    Parameters
    ----------
    path : Path
        A folder with metadata.yaml and files, or one of the files.

    Raises
    ------
    RecordingError
        If there is nothing that can be read.
    """
    if not path.exists():
        raise RecordingError(f'there is no recording {path}')
    if path.is_file():
        if path.name == METADATA:
            return find_files(path.parent)
        if _suffix(path) not in SUFFIXES:
            raise RecordingError(
                f'{path} is no recording: a recording is a folder with {METADATA}, or a .mcap or '
                '.db3 file'
            )
        return _of_one_file(path)
    found = _described(path) if (path / METADATA).exists() else _undescribed(path)
    if not found.files:
        raise RecordingError(f'{path} holds no .mcap or .db3 file')
    return found


def recordings_in(path: Path) -> list[Path]:
    """Return the recordings that a path stands for: itself, or those in the folders below it.

    They come in the order of their names, numbers in them by their value.

    Raises
    ------
    RecordingError
        If there is none.
    """
    if not path.is_dir() or (path / METADATA).exists() or _there(path):
        return [path]
    below = sorted((p for p in path.rglob('*') if p.is_dir()), key=lambda p: _by_numbers(str(p)))
    found = [p for p in below if (p / METADATA).exists() or _there(p)]
    if not found:
        raise RecordingError(f'{path} holds no recording, nor does any folder in it')
    return found


def _of_one_file(path: Path) -> Found:
    """Return a file alone; whether its messages are compressed its folder tells."""
    found = Found([path])
    metadata = path.parent / METADATA
    if metadata.exists():
        try:
            beside = _described(path.parent)
        except RecordingError:
            return found
        if path.name in [file.name for file in beside.files]:
            found.by_message, found.distribution = beside.by_message, beside.distribution
    return found


def _undescribed(folder: Path) -> Found:
    found = Found(_there(folder))
    if found.files:
        names = ', '.join(file.name for file in found.files)
        found.problems = [
            f'{folder} has no {METADATA}: its files are read in the order of their names '
            f'({names}); `ros2 bag reindex` makes one'
        ]
    return found


def _described(folder: Path) -> Found:
    path = folder / METADATA
    try:
        metadata = yaml.safe_load(path.read_text(encoding='utf-8'))['rosbag2_bagfile_information']
        version = metadata.get('version', 1)
        names = [PurePath(name).name for name in metadata['relative_file_paths']]
        mode = (metadata.get('compression_mode') or '').lower()
        how = metadata.get('compression_format') or ''
        counts: dict[str, int] = {}
        for entry in metadata['topics_with_message_count']:
            name = absolute(entry['topic_metadata']['name'])
            counts[name] = counts.get(name, 0) + entry['message_count']
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        found = _undescribed(folder)
        found.problems = [
            f'{path} cannot be read ({one_line(error)}): the files beside it are read in the order '
            'of their names; `ros2 bag reindex` makes a new one'
        ]
        return found
    if version > NEWEST_VERSION:
        raise RecordingError(
            f'{path} is of version {version}, and up to {NEWEST_VERSION} can be read: '
            'write the recording anew by `ros2 bag convert`'
        )
    if mode == 'message' and how != 'zstd':
        raise RecordingError(
            f'{path}: messages compressed as {how!r} cannot be read, only zstd: '
            'write the recording anew by `ros2 bag convert`'
        )
    missing = [name for name in names if not (folder / name).exists()]
    if missing and len(missing) == len(names):
        found = _undescribed(folder)
        found.problems = []
    else:
        found = Found([folder / name for name in names if name not in missing])
    if missing:
        found.problems.append(
            f'{folder} lacks {", ".join(missing)}, which its {METADATA} names: '
            'what was in there is not replayed'
        )
    found.by_message = mode == 'message'
    found.distribution = metadata.get('ros_distro') or ''
    found.counts = counts
    return found


def _suffix(path: Path) -> str:
    return path.with_suffix('').suffix if path.suffix == COMPRESSED else path.suffix


def _there(folder: Path) -> list[Path]:
    """Return the files of a folder by their names, numbers in them by their value."""
    files = [path for path in folder.iterdir() if path.is_file() and _suffix(path) in SUFFIXES]
    return sorted(files, key=lambda path: _by_numbers(path.name))


def _by_numbers(name: str) -> list[tuple[int, str]]:
    parts = re.split(r'(\d+)', name)
    return [(int(part), '') if part.isdecimal() else (0, part) for part in parts]


def decompressed(path: Path, folder: Path) -> Path:
    """Return a file as it was before it was compressed, written to a folder.

    Raises
    ------
    RecordingError
        If nothing of it can be read.
    """
    zstd = import_zstd()
    target = folder / path.stem
    try:
        with zstd.open(path, 'rb') as compressed, target.open('wb') as file:
            shutil.copyfileobj(compressed, file)
    except (EOFError, zstd.ZstdError) as error:
        if not target.exists() or not target.stat().st_size:
            raise RecordingError(
                f'{path} cannot be decompressed ({one_line(error)}): copy it anew from the robot'
            ) from None
    return target


def import_zstd() -> Any:
    """Return the standard library's module of Zstandard, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
