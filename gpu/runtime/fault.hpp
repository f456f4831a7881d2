// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fault injection for tests: makes calls of the GPU fail. Compiled in only with the CMake option
// CONVOLUME_FAULT_INJECTION; without it no call fails.

namespace convolume::gpu {

enum class InjectedFault { none, allocation, transfer };

#if CONVOLUME_FAULT_INJECTION
inline constexpr bool has_fault_injection = true;
/// Makes the call number `countdown` of this kind fail from now on (0: none), as if the device had
/// refused.
void inject_fault(InjectedFault kind, int countdown);
/// Whether the present call of this kind has to fail. Counts the calls.
bool fault_due(InjectedFault kind);
#else
inline constexpr bool has_fault_injection = false;
inline void inject_fault(InjectedFault, int) {}
constexpr bool fault_due(InjectedFault) {
    return false;
}
#endif

}  // namespace convolume::gpu
