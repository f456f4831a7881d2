// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers and writers behind open_signal() and create_signal(), and what they share.

#include "convolume/image_file.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::io {

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path);
std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, PixelType type,
                                              const OpenSignalOptions& options);
std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec);

std::unique_ptr<SignalWriter> create_npy_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options);
std::unique_ptr<SignalWriter> create_raw_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options);
std::unique_ptr<SignalWriter> create_hdf5_signal(const PathSpec& spec,
                                                 const std::vector<index_t>& dims, SampleType type,
                                                 const CreateSignalOptions& options);

/// Index along each axis before the last of row `row`, in C order.
std::vector<index_t> row_position(const std::vector<index_t>& dims, index_t row);

/// Throws InvalidArgument unless there are such samples of such a row.
void check_range(const std::vector<index_t>& dims, index_t row, index_t begin, index_t count);

/// Bytes of all elements; throws InvalidArgument beyond 64 bits.
index_t total_bytes(const std::vector<index_t>& dims, SampleType type);

}  // namespace convolume::io
