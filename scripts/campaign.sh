#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the reliability campaign in full, with a build that includes the tests: damaged files, refused
# allocations, failing writes, kills. docs/reliability.md has its figures.
#   scripts/campaign.sh BUILD [SCALE]
# BUILD: a build folder, such as build/release. SCALE: factor of the counts, default 1; 0.01 is quick.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$(CDPATH='' cd -- "$1" && pwd)  # an absolute path, as the checks change folders
scale=${2:-1}
python=${CONVOLUME_PYTHON:-/usr/bin/python3}
checks=$root/tests/campaign
faults=$build/tests/campaign
command=$build/cli/convolume
scaled() { awk "BEGIN { n = int($1 * $scale); print n < 1 ? 1 : n }"; }
harm=0
check() {
    echo "campaign.sh: $*"
    "$python" "$@" || [ $? -eq 77 ] || harm=1
}
check "$checks/check_damaged_hdf5.py" "$command" "$(scaled 10000)" "$(date +%s)" "$build/damaged"
check "$checks/check_read_faults.py" "$command" "$faults/libconvolume_read_faults.so" ON ON
check "$checks/check_allocations.py" "$command" "$faults/libconvolume_allocation_faults.so" ON ON "$(scaled 2000)"
check "$checks/check_write_faults.py" "$command" "$faults/libconvolume_write_faults.so" ON ON "$(scaled 20)"
check "$checks/check_kills.py" "$command" ON ON "$(scaled 1000)" "$(scaled 500)" "$(date +%s)"
check "$checks/check_small_files.py" "$command" ON ON
check "$checks/check_memory_limit.py" "$command"
check "$checks/check_silent_losses.py" "$command" ON
check "$checks/check_cancel.py" "$command" "$(scaled 50)"
check "$checks/check_soak.py" "$command" ON "$(scaled 1000 | awk '{ print $1 < 60 ? 60 : $1 }')"
# These tests need a GPU, and CUDA's runtime as a shared library (-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared).
if [ -e "$faults/libconvolume_device_faults.so" ]; then
    check "$checks/check_device_faults.py" "$command" "$faults/libconvolume_device_faults.so" "$(scaled 3600)"
    check "$checks/check_device_sharing.py" "$command" "$faults/convolume_device_soak" "$(scaled 100)"
    "$faults/convolume_device_soak" "$(scaled 100000)" || [ $? -eq 77 ] || harm=1
fi
exit "$harm"
