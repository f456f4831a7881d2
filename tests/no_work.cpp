// SPDX-License-Identifier: Apache-2.0
// Of programs that only have precompiled headers (tests/CMakeLists.txt).
