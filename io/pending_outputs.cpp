// SPDX-License-Identifier: Apache-2.0
#include "io/pending_outputs.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "convolume/image_file.hpp"

namespace convolume::io {
namespace {

enum State : int { empty, changing, pending };

struct Slot {
    std::atomic<int> state{empty};
    pid_t process = 0;
    std::array<char, 4096> path{};
};

static_assert(std::atomic<int>::is_always_lock_free, "signal handlers need lock-free atomics");
std::array<Slot, 64> slots;

}  // namespace

int register_pending(const std::string& path) noexcept {
    if (path.size() >= slots[0].path.size()) return -1;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        int expected = empty;
        if (!slots[i].state.compare_exchange_strong(expected, changing)) continue;
        std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
        slots[i].process = ::getpid();
        slots[i].state.store(pending);
        return static_cast<int>(i);
    }
    return -1;
}

void unregister_pending(int slot) noexcept {
    if (slot >= 0) slots[static_cast<std::size_t>(slot)].state.store(empty);
}

void remove_uncommitted_outputs() noexcept {
    const int saved_errno = errno;
    // A forked child inherits the table, not the files.
    const pid_t process = ::getpid();
    for (Slot& slot : slots)
        if (slot.state.load() == pending && slot.process == process) ::unlink(slot.path.data());
    errno = saved_errno;
}

}  // namespace convolume::io
