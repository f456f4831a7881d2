// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers and writers behind open_signal() and create_signal(), and what they share.

#include "convolume/image_file.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::io {

std::unique_ptr<SignalReader> open_npy_signal(const std::string& path);
std::unique_ptr<SignalReader> open_raw_signal(const std::string& path, StoredType type,
                                              const OpenSignalOptions& options);
std::unique_ptr<SignalReader> open_hdf5_signal(const PathSpec& spec);

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path);
/// Whether a file that begins with these bytes (16 at least) is WAV: RIFF, RIFX, RF64, BW64 or
/// Wave64.
bool begins_as_wav(std::string_view head);

std::unique_ptr<SignalWriter> create_npy_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options);
std::unique_ptr<SignalWriter> create_raw_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                StoredType stored,
                                                const CreateSignalOptions& options);
std::unique_ptr<SignalWriter> create_hdf5_signal(const PathSpec& spec,
                                                 const std::vector<index_t>& dims, SampleType type,
                                                 const CreateSignalOptions& options);

std::unique_ptr<SignalWriter> create_wav_signal(const std::string& path,
                                                const std::vector<index_t>& dims, SampleType type,
                                                const CreateSignalOptions& options);

/// Index along each axis before the last of row `row`, in C order.
std::vector<index_t> row_position(const std::vector<index_t>& dims, index_t row);

/// Throws InvalidArgument unless there are such samples of such a row.
void check_range(const std::vector<index_t>& dims, index_t row, index_t begin, index_t count);

/// Bytes of all elements; throws InvalidArgument beyond 64 bits.
index_t total_bytes(const std::vector<index_t>& dims, index_t bytes_each);
/// The same, or 0 where the samples are unknown.
index_t expected_bytes(const std::vector<index_t>& dims, index_t bytes_each);

/// Whether raw samples are in the other byte order than this machine's.
bool swaps_bytes(const OpenSignalOptions& options);
/// Of raw samples, without their number. Throws InvalidArgument for types that none have.
SignalInfo raw_info(StoredType type);
/// Throws Unavailable where this machine is not: it writes no raw samples to `path`.
void require_little_endian(const std::string& path);
/// As samples are stored where nothing else is asked for.
StoredType stored_type_of(SampleType type);

}  // namespace convolume::io
