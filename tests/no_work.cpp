// SPDX-License-Identifier: Apache-2.0
// The empty main() of programs that exist only to hold precompiled headers (tests/CMakeLists.txt).
