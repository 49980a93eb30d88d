# SPDX-License-Identifier: Apache-2.0
"""A recording: what it holds, its messages, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from calib_node.bags.files import COMPRESSED, decompressed, find_files, import_zstd
from calib_node.bags.problems import RecordingError, one_line
from calib_node.bags.storage import McapFile, Message, SoundFile, Topic

ORDERS = ('log', 'publish')

File = SoundFile | McapFile


class Recording:
    """A recording of one or several files, to be used in a with statement.

    Parameters
    ----------
    path : Path
        A folder, or a file.
    order : str
        In which messages come, and which time of theirs is told: by log or by publish time.
    publish_times : bool
        Whether the publish times must be told, whatever the order.

    Attributes
    ----------
    topics : dict of str to Topic
        By name.
    distribution : str
        The ROS distribution that it was made with; empty: not told.
    problems : list of str
        A sentence for whatever is wrong; once all messages were read, for all that is.

    Raises
    ------
    RecordingError
        If nothing of it can be read; the sentence names the file and the remedy.
    """

    def __init__(self, path: Path, order: str = 'log', publish_times: bool = False) -> None:
        self.path = path
        found = find_files(path)
        self.problems = found.problems
        self.distribution = found.distribution
        self._counts = found.counts
        self._by_message = found.by_message
        self._order = order
        self._publish_times = publish_times or order == 'publish'
        self._end = ExitStack()
        with ExitStack() as end:
            self.files = [self._open(path, end) for path in found.files]
            self._end = end.pop_all()
        self.topics = self._merge_topics()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._end.close()

    def _open(self, path: Path, end: ExitStack) -> File:
        if path.suffix == COMPRESSED:
            folder = end.enter_context(TemporaryDirectory(prefix='calib_node-'))
            opened = self._open_plain(decompressed(path, Path(folder)), path)
        else:
            opened = self._open_plain(path, path)
        end.callback(opened.close)
        if opened.problem and not opened.topics:
            raise RecordingError(opened.problem)
        return opened

    def _open_plain(self, path: Path, shown: Path) -> File:
        """Open a file, which is another than the one to be spoken of where that is compressed."""
        if path.suffix == '.db3' and self._publish_times:
            raise RecordingError(
                f'{shown} keeps no publish times, as all sqlite3 recordings: take --order log'
            )
        try:
            if not self._publish_times:
                return SoundFile(path, shown)
        except RecordingError:
            raise
        except Exception as error:
            if path.suffix == '.db3':
                raise RecordingError(
                    f'{shown} cannot be read ({_said(error, path, shown)}): '
                    '`sqlite3 FILE .recover` may save what is whole of it'
                ) from None
        try:
            return McapFile(path, shown, self._order)
        except RecordingError:
            raise
        except Exception as error:
            raise RecordingError(f'{shown} cannot be read ({_said(error, path, shown)})') from None

    def _merge_topics(self) -> dict[str, Topic]:
        topics: dict[str, Topic] = {}
        for file in self.files:
            for topic in file.topics:
                known = topics.setdefault(topic.name, topic)
                if known is topic:
                    continue
                if known.type_name != topic.type_name:
                    self.problems.append(
                        f'{file.path}: {topic.name} is {topic.type_name} here and '
                        f'{known.type_name} elsewhere in {self.path}: only the latter is replayed'
                    )
                    continue
                topics[topic.name] = replace(
                    known if known.definition else topic, count=known.count + topic.count
                )
        return topics

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Yield the messages of some topics, one file after the other.

        Raises
        ------
        RecordingError
            If one of the topics is no CDR.
        """
        for name in names:
            topic = self.topics.get(name)
            if topic is not None and topic.encoding != 'cdr':
                raise RecordingError(
                    f'{self.path}: {name} is serialized as {topic.encoding!r}, and only cdr, what '
                    'ROS 2 writes, can be replayed: publish and record it by ROS 2'
                )
        plain = self._decompressor()
        counts = dict.fromkeys(names, 0)
        for file in self.files:
            wrong = {t.name for t in file.topics if t.type_name != self.topics[t.name].type_name}
            yield from self._of_file(file, set(names) - wrong, counts, plain)
            if file.problem:
                self.problems.append(file.problem)
        self._compare(counts)

    def _of_file(
        self,
        file: File,
        names: Collection[str],
        counts: dict[str, int],
        plain: Callable[[bytes], bytes] | None,
    ) -> Iterator[Message]:
        found = file.messages(names)
        while True:
            try:
                message = next(found)
                if plain is not None:
                    message = message._replace(data=plain(message.data))
            except StopIteration:
                return
            except Exception as error:
                self.problems.append(
                    f'{file.path} is damaged ({one_line(error)}): {sum(counts.values())} messages '
                    'were read before that, and the rest of the file is left out'
                )
                return
            counts[message.topic] += 1
            yield message

    def _decompressor(self) -> Callable[[bytes], bytes] | None:
        if not self._by_message:
            return None
        decompress: Callable[[bytes], bytes] = import_zstd().decompress
        return decompress

    def _compare(self, counts: dict[str, int]) -> None:
        for name, count in counts.items():
            said = None if self._counts is None else self._counts.get(name, 0)
            if said is not None and said != count:
                self.problems.append(
                    f'{self.path}: its metadata.yaml says that {name} has {said} messages, and '
                    f'{count} were found'
                    + ('; the recording may be cut short' if count < said else '')
                )


def _said(error: Exception, path: Path, shown: Path) -> str:
    return one_line(error).replace(str(path), str(shown))
