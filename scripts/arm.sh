#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the library and the command for 64-bit ARM on another machine, with Debian's cross-compiler, and
# runs a part of the tests and the command with qemu-user.
#   scripts/arm.sh [--if-installed] [--folder FOLDER] [--cpu NAME] [TEST...]
# TEST is a test program, such as test_core; "command" is a run of the command; "wheel" makes the wheel of
# the Python package, and runs the README's example with it (it takes 20 minutes). The default is the list
# below, without the wheel. FOLDER (default build/arm) gets the arm64 packages of this machine's Debian release in sysroot/,
# apart from its own packages, and the build in build/. NAME is a processor of qemu-aarch64 -cpu: max
# (the default) has SVE, cortex-a72 does not. With --if-installed, the script does nothing if a tool or
# the packages cannot be had, and says so.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
folder=build/arm
cpu=max
needs_tools=1
while [ $# -gt 0 ]; do
    case $1 in
        --if-installed) needs_tools= ;;
        --folder) folder=$2; shift ;;
        --cpu) cpu=$2; shift ;;
        -*) echo "arm.sh: there is no option $1; see the first lines of this script" >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- test_core test_decompose test_column_fft test_row_fft test_own_fft test_fft_plan \
    test_cpu_engine test_planner command
if [ -n "$needs_tools" ]; then
    scripts/install_packages.sh arm
else
    for tool in aarch64-linux-gnu-g++ qemu-aarch64 mmdebstrap cmake ninja; do
        command -v $tool >/dev/null || { echo "arm.sh: skipped, as $tool is not installed"; exit 0; }
    done
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
sysroot=$folder/sysroot

# The packages are extracted, but nothing of them runs.
if [ ! -e "$sysroot/usr/bin/python3" ]; then
    rm -rf "$sysroot"
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' >"$folder/mirror"
    read -r uri release <"$folder/mirror"
    # Programs for the build are those of this machine.
    packages=$(scripts/install_packages.sh --print build tests |
        grep -vx -e g++ -e cmake -e ninja-build -e make -e pkg-config -e 'python3-.*' | paste -sd,)
    compiler=$(aarch64-linux-gnu-g++ -dumpversion)
    mmdebstrap --quiet --variant=extract --architectures=arm64 \
        --include="$packages,libstdc++-$compiler-dev,python3,libpython3-dev,python3-pip-whl" "$release" "$sysroot" "$uri" || {
        rm -rf "$sysroot"
        [ -z "$needs_tools" ] || exit 1
        echo "arm.sh: skipped, as the packages of arm64 cannot be had"
        exit 0
    }
    # Absolute links would lead to this machine's own files.
    find "$sysroot/usr/lib" -type l -lname '/*' | while read -r link; do
        ln -sfn "$sysroot$(readlink "$link")" "$link"
    done
fi

cmake -S . -B "$folder/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/cmake/aarch64-linux-gnu.cmake" \
    -DCMAKE_SYSROOT="$sysroot" -DCONVOLUME_ARM_CPU="$cpu" -DCMAKE_BUILD_TYPE=Release \
    -DCONVOLUME_BUILD_TESTS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 \
    -DCONVOLUME_WARNINGS_AS_ERRORS=ON -DCONVOLUME_WITH_CUDA=OFF >"$folder/configure.log" || {
    tail -20 "$folder/configure.log" >&2
    exit 1
}
targets=$(printf '%s\n' "$@" | sed -e '/^wheel$/d' -e 's/^command$/convolume_command/')
# shellcheck disable=SC2086 # each word is a target
[ -z "$targets" ] || ninja -C "$folder/build" $targets
# Installs the wheel for the emulated Python, by its own pip, and runs the README's example.
test_wheel() {
    site=$folder/site
    rm -rf "$site" "$folder/sharp.tif"
    pip=$(echo "$sysroot"/usr/share/python-wheels/pip-*.whl)
    # This machine's pip fetches NumPy: an emulated one is too slow for some servers.
    build/python-venv/bin/pip download -q --disable-pip-version-check --only-binary :all: --dest "$folder/needed" \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 numpy
    qemu-aarch64 -cpu "$cpu" -L "$sysroot" "$sysroot/usr/bin/python3" "$pip/pip" install -q \
        --disable-pip-version-check --root-user-action ignore --no-index --find-links "$folder/needed" \
        --target "$site" build/arm/wheels/*.whl
    qemu-aarch64 -cpu "$cpu" -L "$sysroot" "$site/convolume.scripts/convolume" --version
    {
        awk '/^```/ { inside = $0 == "```python" && !count++; next } inside' README.md
        cat <<'END'
import platform, sys
import numpy as np
restored = convolume.open("sharp.tif")
assert restored.shape == image.shape and np.allclose(restored.spacing, psf.spacing)
samples, taps = np.arange(1000.0) ** 2 % 17, np.array([0.5, -1.25, 2.0])
np.testing.assert_allclose(convolume.convolve(samples, taps), np.convolve(samples, taps, "same"), atol=1e-10)
print("Python", sys.version.split()[0], platform.machine(), "NumPy", np.__version__, "convolume", convolume.__version__)
END
    } >"$folder/example.py"
    (cd "$folder" && PYTHONPATH="$site" qemu-aarch64 -cpu "$cpu" -L "$sysroot" "$sysroot/usr/bin/python3" example.py)
}
for test in "$@"; do
    if [ "$test" = wheel ]; then
        scripts/wheel.sh --arm "$sysroot"
        test_wheel
    elif [ "$test" = command ]; then
        mkdir -p "$folder/bin"
        printf '#!/bin/sh\nexec qemu-aarch64 -cpu %s -L "%s" "%s" "$@"\n' "$cpu" "$sysroot" \
            "$folder/build/cli/convolume" >"$folder/bin/convolume"
        chmod +x "$folder/bin/convolume"
        PATH="$folder/bin:$PATH" debian/tests/command
    else
        # The emulator ends itself if a process with several threads forks and its child starts threads, and it
        # ignores limits on address space.
        echo "$test"
        XDG_CACHE_HOME="$folder/cache" qemu-aarch64 -cpu "$cpu" -L "$sysroot" \
            "$(find "$folder/build/tests" -name "$test" -type f)" '~a forked process*' '~a limit on address space*'
    fi
done
