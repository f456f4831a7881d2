# SPDX-License-Identifier: Apache-2.0
# Toolchain file: compiles for 64-bit ARM on another machine with Debian's g++-aarch64-linux-gnu, and
# runs programs with qemu-user. Give the folder that has the arm64 packages:
#   -DCMAKE_SYSROOT=FOLDER, and -DCONVOLUME_ARM_CPU=NAME for a processor that qemu-aarch64 -cpu knows.
# scripts/arm.sh makes such a folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CONVOLUME_ARM_CPU max CACHE STRING "Processor that qemu-aarch64 emulates")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu ${CONVOLUME_ARM_CPU} -L ${CMAKE_SYSROOT})
# Checks of the compiler get these values, too.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CONVOLUME_ARM_CPU)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
