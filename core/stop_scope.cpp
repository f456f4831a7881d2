// SPDX-License-Identifier: Apache-2.0
#include "core/stop_scope.hpp"

#include <utility>

#include "convolume/error.hpp"

namespace convolume {

namespace {
thread_local const StopScope* current = nullptr;
}  // namespace

StopScope::StopScope(std::stop_token stop)
    : stop_(std::move(stop)), outer_(std::exchange(current, this)) {}

StopScope::~StopScope() {
    current = outer_;
}

bool StopScope::stop_requested() const noexcept {
    for (const StopScope* scope = this; scope != nullptr; scope = scope->outer_)
        if (scope->stop_.stop_requested()) return true;
    return false;
}

const StopScope* current_stop_scope() noexcept {
    return current;
}

void throw_if_stopped() {
    if (current != nullptr && current->stop_requested())
        throw Cancelled("the work was stopped as requested before it was done");
}

AdoptedStopScope::AdoptedStopScope(const StopScope* scope) noexcept
    : previous_(std::exchange(current, scope)) {}

AdoptedStopScope::~AdoptedStopScope() {
    current = previous_;
}

StopCallbacks::StopCallbacks(const std::function<void()>& react) {
    for (const StopScope* scope = current; scope != nullptr; scope = scope->outer_)
        callbacks_.emplace_back(scope->stop_, react);
}

}  // namespace convolume
