// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stopping what is given no ExecutionContext, such as the constructors of Convolver, FilterBank and
// Deconvolver.

#include <stop_token>

#include "convolume/export.hpp"

namespace convolume {

/// While it lives, whatever this thread asks of the library throws Cancelled soon after a stop was
/// requested. Scopes may be nested: each of them stops.
class CONVOLUME_API StopScope {
  public:
    explicit StopScope(std::stop_token stop);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

    /// Whether a stop was requested in it or in those around it.
    bool stop_requested() const noexcept;

  private:
    friend class OnStop;
    std::stop_token stop_;
    const StopScope* outer_;
};

}  // namespace convolume
