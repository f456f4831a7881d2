// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume compare` from the request to the report.

#include "cli/compare/request.hpp"

namespace convolume::cli {

void compare(const ImageCompareRequest& request);
void compare(const SignalCompareRequest& request);

}  // namespace convolume::cli
