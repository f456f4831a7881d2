// SPDX-License-Identifier: Apache-2.0
// The empty source of programs that exist only to compile headers once (tests/CMakeLists.txt).
