// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU architectures that the CUDA part was compiled for, beside those of devices.

#include <string>
#include <string_view>

namespace convolume::gpu {

/// Whether code compiled for `architectures`, which are words of CMAKE_CUDA_ARCHITECTURES with
/// commas between them ("75-virtual,90-real"), runs on a device of that compute capability. Machine
/// code runs on devices of the same major and at least the same minor number, virtual code on all
/// later devices.
bool has_code_for(std::string_view architectures, int major, int minor);

/// Returns a sentence that says why the device called `name`, such as "GPU 0", cannot be used by a
/// build for `architectures`. It is empty if the device can be used.
std::string why_unusable(const std::string& name, std::string_view architectures, int major,
                         int minor);

}  // namespace convolume::gpu
