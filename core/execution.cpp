// SPDX-License-Identifier: Apache-2.0
#include "convolume/execution.hpp"

#include "convolume/error.hpp"

namespace convolume {

void throw_if_stopped(const ExecutionContext& context) {
    if (context.stop.stop_requested())
        throw Cancelled("the convolution was stopped as requested; its output is incomplete");
}

}  // namespace convolume
