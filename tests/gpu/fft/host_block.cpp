// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fft/host_block.hpp"

#include <ucontext.h>

#include <cstring>
#include <map>
#include <span>
#include <stdexcept>

namespace convolume::gpu {

namespace {
constexpr std::size_t stack_bytes = 512 << 10;
}

class HostScheduler {
  public:
    HostScheduler(index_t block, index_t blocks, int threads, index_t shared_bytes,
                  const std::function<void(const HostBlock&)>& body)
        : block_(block),
          blocks_(blocks),
          shared_((static_cast<std::size_t>(shared_bytes) + sizeof(Unit) - 1) / sizeof(Unit)),
          fibers_(kept_fibers(static_cast<std::size_t>(threads))),
          body_(body) {
        if (!shared_.empty())
            std::memset(static_cast<void*>(shared_.data()), 0xff, shared_.size() * sizeof(Unit));
    }

    void run() {
        current_scheduler = this;
        for (std::size_t i = 0; i < fibers_.size(); ++i) {
            Fiber& fiber = fibers_[i];
            fiber.finished = false;
            fiber.waits = false;
            fiber.copies = {};
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.get();
            fiber.context.uc_stack.ss_size = stack_bytes;
            fiber.context.uc_link = &main_;
            makecontext(&fiber.context, &HostScheduler::enter, 0);
        }
        for (std::size_t finished = 0; finished < fibers_.size();) {
            bool stuck = true;
            for (current_ = 0; current_ < fibers_.size(); ++current_) {
                Fiber& fiber = fibers_[current_];
                if (fiber.finished || fiber.waits) continue;
                stuck = false;
                swapcontext(&main_, &fiber.context);
                finished += fiber.finished;
            }
            if (stuck) throw std::logic_error("a barrier that only some threads reach");
        }
    }

    /// Barrier 0 is that of all threads.
    void sync() { sync_at(0, static_cast<int>(fibers_.size())); }
    void sync_at(int id, int threads) {
        std::vector<Fiber*>& waiting = waiting_[id];
        Fiber& fiber = fibers_[current_];
        fiber.waits = true;
        waiting.push_back(&fiber);
        if (waiting.size() == static_cast<std::size_t>(threads)) {
            for (Fiber* other : waiting) other->waits = false;
            waiting.clear();
        }
        swapcontext(&fiber.context, &main_);
    }
    index_t block() const { return block_; }
    index_t blocks() const { return blocks_; }
    char* shared() { return reinterpret_cast<char*>(shared_.data()); }

    struct Copy {
        void* to;
        const void* from;
        std::size_t bytes;
        int group;  ///< number of the group of copies that it belongs to, from 0
    };
    struct Copies {
        std::vector<Copy> under_way;
        int group = 0;  ///< number of the group to which new copies belong

        /// Carries out the copies of the groups before `end`.
        void arrive(int end) {
            std::vector<Copy> left;
            for (const Copy& copy : under_way)
                if (copy.group < end)
                    std::memcpy(copy.to, copy.from, copy.bytes);
                else
                    left.push_back(copy);
            under_way = std::move(left);
        }
    };
    Copies& copies() { return fibers_[current_].copies; }

  private:
    struct alignas(16) Unit {
        char bytes[16];
    };
    struct Fiber {
        ucontext_t context;
        std::unique_ptr<char[]> stack{new char[stack_bytes]};  // untouched pages cost nothing
        Copies copies;
        bool finished = false;
        bool waits = false;  ///< for other threads at a barrier
    };

    /// Returns the fibers of all thread blocks. If each had its own, the system would clear their
    /// memory each time, which takes longer than the CUDA kernels.
    static std::span<Fiber> kept_fibers(std::size_t count) {
        static std::vector<Fiber> fibers;
        while (fibers.size() < count) fibers.emplace_back();
        return {fibers.data(), count};
    }

    static void enter() {
        HostScheduler& self = *current_scheduler;
        const std::size_t thread = self.current_;
        self.body_(HostBlock(self, static_cast<int>(thread)));
        self.fibers_[thread].finished = true;
    }
    static inline HostScheduler* current_scheduler = nullptr;

    index_t block_, blocks_;
    std::vector<Unit> shared_;
    std::span<Fiber> fibers_;
    const std::function<void(const HostBlock&)>& body_;
    std::map<int, std::vector<Fiber*>> waiting_;  ///< threads at each barrier
    ucontext_t main_{};
    std::size_t current_ = 0;
};

index_t HostBlock::block() const {
    return scheduler_->block();
}
index_t HostBlock::blocks() const {
    return scheduler_->blocks();
}
char* HostBlock::shared() const {
    return scheduler_->shared();
}
void HostBlock::sync() const {
    scheduler_->sync();
}
void HostBlock::sync_at(int id, int threads) const {
    scheduler_->sync_at(id, threads);
}

void HostBlock::copy(void* to, const void* from, std::size_t bytes) const {
    std::memset(to, 0xff, bytes);
    auto& copies = scheduler_->copies();
    copies.under_way.push_back({to, from, bytes, copies.group});
}

void HostBlock::wait_copies() const {
    scheduler_->copies().arrive(scheduler_->copies().group + 1);
}
void HostBlock::end_copy_group() const {
    ++scheduler_->copies().group;
}
void HostBlock::wait_copies_but_last_group() const {
    scheduler_->copies().arrive(scheduler_->copies().group - 1);
}

void run_on_host(index_t blocks, int threads, index_t shared_bytes,
                 const std::function<void(const HostBlock&)>& body) {
    for (index_t block = 0; block < blocks; ++block) {
        HostScheduler(block, blocks, threads, shared_bytes, body).run();
    }
}

}  // namespace convolume::gpu
