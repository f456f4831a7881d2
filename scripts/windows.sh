#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles a part of the library for 64-bit Windows, with Debian's MinGW-w64, and runs tests with Wine.
#   scripts/windows.sh [--folder FOLDER] [TEST...]
# TEST is a test program, such as test_core; the default is the list below. FOLDER (default build/windows)
# gets the libraries for Windows in root/, and the build in build/. The folders io and cli, and the Python
# package, need Linux (docs/install.md).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
folder=build/windows
while [ $# -gt 0 ]; do
    case $1 in
        --folder) folder=$2; shift ;;
        -*) echo "windows.sh: there is no option $1; see the first lines of this script" >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- test_core test_decompose test_column_fft test_row_fft test_own_fft test_fft_plan test_cpu_engine
scripts/install_packages.sh build tests windows
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
libraries=$folder/root
toolchain=$root/cmake/x86_64-w64-mingw32.cmake

# Debian has Highway for Linux alone. It is compiled from the sources of the same package.
if [ ! -e "$libraries/complete" ]; then
    rm -rf "$libraries" "$folder/highway" "$folder/apt"
    mkdir -p "$folder/highway" "$folder/apt/lists/partial" "$folder/apt/archives/partial"
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' >"$folder/apt/mirror"
    read -r uri release <"$folder/apt/mirror"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $release main" \
        >"$folder/apt/sources.list"
    apt_of_sources() {
        apt-get -q -oDir::State::Lists="$folder/apt/lists" -oDir::Etc::SourceList="$folder/apt/sources.list" \
            -oDir::Etc::SourceParts=/dev/null -oDir::Cache="$folder/apt" -oAPT::Sandbox::User=root "$@"
    }
    apt_of_sources update
    (cd "$folder/highway" && apt_of_sources source highway)
    cmake -S "$(echo "$folder"/highway/highway-*/)" -B "$folder/highway/build" -G Ninja \
        -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$libraries" \
        -DBUILD_TESTING=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
    ninja -C "$folder/highway/build" install
    # The others are headers alone.
    cp -r /usr/include/nlohmann /usr/include/Random123 /usr/include/catch2 "$libraries/include"
    mkdir -p "$libraries/share/cmake" "$libraries/lib/cmake/Catch2"
    cp -r /usr/share/cmake/nlohmann_json "$libraries/share/cmake"
    cat >"$libraries/lib/cmake/Catch2/Catch2Config.cmake" <<'END'
add_library(Catch2::Catch2 INTERFACE IMPORTED)
target_include_directories(Catch2::Catch2 INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../../../include)
END
    touch "$libraries/complete"
fi

cmake -S . -B "$folder/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_FIND_ROOT_PATH="$libraries" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DCONVOLUME_WARNINGS_AS_ERRORS=ON -DCONVOLUME_BUILD_TESTS=ON \
    -DCONVOLUME_BUILD_COMMAND=OFF -DCONVOLUME_INSTALL=OFF -DCONVOLUME_WITH_CUDA=OFF -DCONVOLUME_WITH_FFTW=OFF \
    -DCONVOLUME_WITH_TIFF=OFF -DCONVOLUME_WITH_HDF5=OFF -DCONVOLUME_WITH_OPENJPEG=OFF \
    -DCONVOLUME_WITH_SNDFILE=OFF -DCONVOLUME_WITH_CAIRO=OFF >"$folder/configure.log" 2>&1 || {
    tail -20 "$folder/configure.log" >&2
    exit 1
}
ninja -C "$folder/build" "$@"
export WINEPREFIX="$folder/wine" WINEDEBUG=-all
for test in "$@"; do
    echo "$test"
    wine "$(find "$folder/build/tests" -name "$test.exe" -type f)"
done
