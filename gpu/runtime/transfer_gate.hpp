// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who may use the way between host and devices. Two kinds of passes: hold() for all transfers of a
// task in one direction, and step() around one of them; which of the two locks anything, the policy
// decides.

#include <array>
#include <map>
#include <mutex>

#include "convolume/engines.hpp"

namespace convolume::gpu {

enum class Way { to_device, to_host };

class Gate {
  public:
    using Pass = std::unique_lock<std::mutex>;

    /// `policy` is not automatic.
    explicit Gate(TransferGate policy) : policy_(policy) {}

    TransferGate policy() const { return policy_; }

    /// Locked with `per_link`: the device's way in that direction, for a whole task. The task's
    /// transfers must have ended when it is let go.
    Pass hold(int device, Way way);
    /// Locked with `global`: the one bus. The transfer must have ended when it is let go.
    Pass step();

  private:
    TransferGate policy_;
    std::mutex bus_;
    std::mutex links_mutex_;
    std::map<int, std::array<std::mutex, 2>> links_;
};

/// What `automatic` stands for with these devices: measures, where there are several, whether their
/// transfers run side by side.
TransferGate choose_gate(const std::vector<int>& devices);

}  // namespace convolume::gpu
