# SPDX-License-Identifier: Apache-2.0
"""Builds interface packages of this folder into a Python environment.

    AMENT_PREFIX_PATH=... python test/interfaces/build.py ENVIRONMENT PACKAGE ...

ROS's own generators write the sources, which are compiled here without CMake and each library in
one go: that takes seconds where CMake takes minutes. Left out is what rclpy does without, as C++
messages and what other packages need to build on these.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from multiprocessing import Process
from pathlib import Path
from typing import Any

import numpy
from ament_index_python import get_package_share_directory
from rosidl_adapter.cli import TranslateMsgToIDL
from rosidl_generator_c.cli import GenerateC
from rosidl_generator_py.cli import GeneratePython
from rosidl_parser import parser
from rosidl_typesupport_c.cli import GenerateCTypesupport
from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

try:
    from rosidl_generator_type_description.cli import HashTypeDescription
except ImportError:
    # Humble's messages have no hash.
    HashTypeDescription = None

HERE = Path(__file__).resolve().parent
DEPENDENCIES = ('builtin_interfaces', 'geometry_msgs', 'std_msgs')
TYPE_SUPPORTS = ['rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c']
# Each generator parses each file again, which takes longer than to compile what they make of it.
parser.get_ast_from_idl_string = cache(parser.get_ast_from_idl_string)
PREFIXES = [Path(prefix) for prefix in os.environ['AMENT_PREFIX_PATH'].split(os.pathsep)]
C = shlex.split(os.environ.get('CC', 'cc'))
CPP = [*shlex.split(os.environ.get('CXX', 'c++')), '-std=c++17']


def generate(package: str, folder: Path) -> None:
    """Write the sources of a package, a folder for each library."""
    shares = [get_package_share_directory(name) for name in DEPENDENCIES]
    messages = [f'{HERE / package}:msg/{path.name}' for path in (HERE / package).glob('msg/*.msg')]
    idl = TranslateMsgToIDL('msg').translate(package, sorted(messages), shares, folder / 'idl')
    arguments = (package, idl, shares)
    described: dict[str, Any] = {}
    if HashTypeDescription is not None:
        hashes = HashTypeDescription('hash').generate_type_hashes(*arguments, folder / 'hash')
        described['type_description_files'] = hashes
    generators = {
        'rosidl_generator_c': (GenerateC('c'), described),
        'rosidl_typesupport_c': (
            GenerateCTypesupport('c', typesupport_implementations=TYPE_SUPPORTS),
            {},
        ),
        'rosidl_typesupport_fastrtps_c': (GenerateFastRTPSCTypesupport('fastrtps'), {}),
        'rosidl_typesupport_introspection_c': (GenerateIntrospectionCTypesupport('c'), {}),
        'rosidl_generator_py': (
            GeneratePython('py', typesupport_implementations=['rosidl_typesupport_c']),
            {},
        ),
    }
    for library, (generator, options) in generators.items():
        # Python's support imports the package's name from its folder's parent.
        generator.generate(*arguments, folder / library / package, **options)


class Build:
    """The libraries of one package.

    Parameters
    ----------
    package : str
        Its name.
    folder : Path
        Holds its sources, and the libraries until they are installed.
    """

    def __init__(self, package: str, folder: Path) -> None:
        self._package = package
        self._folder = folder
        (folder / 'lib').mkdir()
        above = [prefix / 'include' for prefix in PREFIXES]
        ours = [path for path in folder.iterdir() if (path / package).is_dir()]
        python = [sysconfig.get_paths()['include'], numpy.get_include()]
        within = [path for one in above for path in one.glob('*') if (path / path.name).is_dir()]
        self._include = [f'-I{path}' for path in (*ours, *within, *above, *python)]

    def start(self, compiler: Sequence[str], library: str, **options: Any) -> subprocess.Popen[Any]:
        """Begin to compile all sources of a library at once."""
        sources = sorted((self._folder / library).rglob(f'*.c{"pp" if compiler is CPP else ""}'))
        return self.compile(compiler, sources, f'lib/lib{self._package}__{library}.so', **options)

    def compile(
        self, compiler: Sequence[str], sources: Iterable[Path], to: str, links: Sequence[str] = ()
    ) -> subprocess.Popen[Any]:
        """Begin to compile sources to a shared library that links with others."""
        if compiler is CPP:
            # Most of the time goes into headers. The files in C have names in common.
            unity = self._folder / f'{Path(to).name}.cpp'
            unity.write_text(''.join(f'#include "{source}"\n' for source in sources))
            sources = [unity]
        # With NDEBUG a wrong type that is assigned to a field raises, as in what ROS distributes.
        flags = ['-O2', '-DNDEBUG', '-fPIC', '-shared', '-w', '-Wl,-rpath,$ORIGIN']
        places = [f'-L{self._folder / "lib"}', *(f'-L{prefix / "lib"}' for prefix in PREFIXES)]
        return subprocess.Popen(
            [
                *compiler,
                *flags,
                *self._include,
                *map(str, sources),
                '-o',
                str(self._folder / to),
                *places,
                *(f'-l{name}' for name in links),
            ]
        )

    def of(self, library: str) -> list[str]:
        """Return a library of this package and those of its dependencies, to link with."""
        return [f'{name}__{library}' for name in (self._package, *DEPENDENCIES)]

    def run(self) -> None:
        """Compile all that Python needs."""
        structs = self.of('rosidl_generator_c')
        expect(self.start(C, 'rosidl_generator_c', links=[*structs[1:], 'rosidl_runtime_c']))
        expect(
            self.start(
                CPP,
                'rosidl_typesupport_fastrtps_c',
                links=[
                    *self.of('rosidl_typesupport_fastrtps_c')[1:],
                    *structs,
                    'rosidl_typesupport_fastrtps_c',
                    'rosidl_typesupport_fastrtps_cpp',
                    'fastcdr',
                ],
            ),
            self.start(
                C,
                'rosidl_typesupport_introspection_c',
                links=[*self.of('rosidl_typesupport_introspection_c')[1:], *structs],
            ),
        )
        expect(self.start(CPP, 'rosidl_typesupport_c', links=[*structs, 'rosidl_typesupport_c']))
        generated = self._folder / 'rosidl_generator_py' / self._package
        library = f'lib/lib{self._package}__rosidl_generator_py.so'
        supports = self.of('rosidl_typesupport_c')
        links = [*self.of('rosidl_generator_py')[1:], *structs, *supports]
        expect(self.compile(C, sorted(generated.glob('msg/*.c')), library, links=links))
        # The interpreter itself has the rest.
        module = f'{self._package}_s__rosidl_typesupport_c{sysconfig.get_config_var("EXT_SUFFIX")}'
        links = [f'{self._package}__rosidl_generator_py', *supports, *structs]
        expect(self.compile(C, sorted(generated.glob('*.c')), f'lib/{module}', links=links))

    def install(self, environment: Path) -> None:
        """Put the package into an environment."""
        package, libraries = self._package, environment / 'lib'
        modules, share = folders(package, environment)
        sources = shutil.ignore_patterns('*.c')
        shutil.copytree(self._folder / 'rosidl_generator_py' / package, modules, ignore=sources)
        (modules / '__init__.py').touch()
        for path in (self._folder / 'lib').iterdir():
            # A file of its own: the old one may be in use.
            to = (libraries if path.name.startswith('lib') else modules) / path.name
            to.unlink(missing_ok=True)
            shutil.copy(path, to)
        shutil.copytree(HERE / package, share)
        mark = environment / 'share/ament_index/resource_index/packages' / package
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def folders(package: str, environment: Path) -> tuple[Path, Path]:
    """Return where an environment has a package's modules and its definitions."""
    python = 'python{}.{}'.format(*sys.version_info)
    modules = environment / 'lib' / python / 'site-packages' / package
    return modules, environment / 'share' / package


def expect(*processes: subprocess.Popen[Any]) -> None:
    """Wait for compilers; end the program where one fails."""
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit('the compiler failed, see above')


def make(package: str, environment: Path) -> None:
    """Build and install one package."""
    with tempfile.TemporaryDirectory(prefix=f'{package}-') as folder:
        generate(package, Path(folder))
        build = Build(package, Path(folder))
        build.run()
        build.install(environment)


def main(environment: str, *packages: str) -> None:
    """Build packages side by side, in place of all that were there before."""
    prefix = Path(environment)
    for path in HERE.glob('*/package.xml'):
        for folder in folders(path.parent.name, prefix):
            shutil.rmtree(folder, ignore_errors=True)
    processes = [Process(target=make, args=[name, prefix]) for name in packages]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if failed := [name for name, process in zip(packages, processes) if process.exitcode]:
        raise SystemExit(f'{" and ".join(failed)} could not be built, see above')


if __name__ == '__main__':
    main(*sys.argv[1:])
