// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: lets calls of the GPU fail. Compiled in with the CMake option
// CONVOLUME_FAULT_INJECTION alone; without it nothing fails.

namespace convolume::gpu {

enum class Fault { none, allocation, transfer };

#if CONVOLUME_FAULT_INJECTION
inline constexpr bool has_fault_injection = true;
/// Lets the n-th next call of its kind fail (0: none), as if the device had refused.
void inject_fault(Fault kind, int countdown);
/// Whether the call that asks is the one to fail.
bool fault_due(Fault kind);
#else
inline constexpr bool has_fault_injection = false;
inline void inject_fault(Fault, int) {}
constexpr bool fault_due(Fault) {
    return false;
}
#endif

}  // namespace convolume::gpu
