// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures files: what predictions from file to file are made of.

#include <filesystem>

#include "core/machine_rates.hpp"

namespace convolume {

/// Puts measured rates of writing and reading a file in `folder` in place of those in `rates`: of
/// 64 MiB, written with its space taken first, brought to disk, and read while the system still
/// caches it. Throws IoError where the folder cannot be written.
void measure_file_rates(const std::filesystem::path& folder, int threads, MachineRates& rates);

}  // namespace convolume
