#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Extracts the compiler of CUDA 12.4 and its libraries from the packages of Debian 13, whose section non-free has
# them, into FOLDER with NVIDIA's layout. They also run on Debian 12, with its g++ 12. No package is installed.
#   scripts/cuda12_toolkit.sh FOLDER
# To make a wheel for drivers from 525 on with it:
#   CUDACXX=FOLDER/bin/nvcc CUDAToolkit_ROOT=FOLDER scripts/wheel.sh --cuda "80-real;90"
# The packages are 1 GB, FOLDER is 0.5 GB.
set -eu
[ $# -eq 1 ] || { echo "cuda12_toolkit.sh: give the folder that gets the toolkit" >&2; exit 2; }
[ ! -e "$1/bin" ] || { echo "cuda12_toolkit.sh: $1 has a toolkit already; remove it first" >&2; exit 2; }
mkdir -p "$1/packages" "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
toolkit=$(cd "$1" && pwd)

# apt with a list of packages of its own, apart from those of this machine.
# shellcheck disable=SC2016 # apt's own variables
apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' >"$toolkit/apt/mirror"
read -r uri <"$toolkit/apt/mirror"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main non-free" >"$toolkit/apt/sources.list"
: >"$toolkit/apt/status"
apt_of_trixie() {
    apt-get -q -oDir::State::Lists="$toolkit/apt/lists" -oDir::Etc::SourceList="$toolkit/apt/sources.list" \
        -oDir::Etc::SourceParts=/dev/null -oDir::Cache="$toolkit/apt/cache" \
        -oDir::State::status="$toolkit/apt/status" -oAPT::Sandbox::User=root "$@"
}
apt_of_trixie update
(cd "$toolkit/packages" && apt_of_trixie download nvidia-cuda-toolkit nvidia-cuda-dev libnvvm4 libcudart12 \
    libthrust-dev libcub-dev libcu++-dev)

debian=$toolkit/debian
mkdir -p "$debian"
for package in "$toolkit"/packages/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$debian" --exclude='*npp*' --exclude='*cublas*' \
        --exclude='*cusolver*' --exclude='*cusparse*' --exclude='*curand*' --exclude='*cufft*static*' \
        --exclude='*nvrtc*' --exclude='*nvjpeg*' --exclude='*metis*' --exclude='*nvptxcompiler*' --exclude='*JitLink*'
done
rm -r "$toolkit/packages" "$toolkit/apt"

tools=$debian/usr/lib/nvidia-cuda-toolkit
mkdir -p "$toolkit/bin" "$toolkit/nvvm/bin"
mv "$tools/bin/nvcc" "$tools/bin/crt" "$toolkit/bin"
mv "$tools/bin/cicc" "$toolkit/nvvm/bin"
mv "$tools/libdevice" "$toolkit/nvvm/libdevice"
for tool in bin2c cu++filt cudafe++ cuobjdump fatbinary nvdisasm nvlink nvprune ptxas __nvcc_device_query; do
    mv "$debian/usr/bin/$tool" "$toolkit/bin"
done
mv "$debian/usr/include" "$toolkit/include"
mv "$debian/usr/lib/x86_64-linux-gnu" "$toolkit/lib64"
rm -r "$debian"
# As NVIDIA's, where Debian's names the folders of Debian.
cat >"$toolkit/bin/nvcc.profile" <<'END'
TOP = $(_HERE_)/..
CICC_PATH = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
LD_LIBRARY_PATH += $(TOP)/lib64:
PATH += $(CICC_PATH):$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64/stubs" "-L$(TOP)/lib64"
END
"$toolkit/bin/nvcc" --version
