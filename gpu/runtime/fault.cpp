// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/fault.hpp"

#if CONVOLUME_FAULT_INJECTION

#include <atomic>

namespace convolume::gpu {

namespace {
std::atomic<InjectedFault> fault_kind{InjectedFault::none};
std::atomic<int> fault_countdown{0};
}  // namespace

void inject_fault(InjectedFault kind, int countdown) {
    fault_countdown = countdown;
    fault_kind = countdown > 0 ? kind : InjectedFault::none;
}

bool fault_due(InjectedFault kind) {
    return fault_kind.load(std::memory_order_relaxed) == kind && fault_countdown.fetch_sub(1) == 1;
}

}  // namespace convolume::gpu

#endif
