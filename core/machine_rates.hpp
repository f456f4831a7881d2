// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long things take on a machine: every constant of time in the predictions for images. Those
// that differ most from machine to machine are measured by `convolume doctor --calibrate` and kept
// in the cache folder. The others are built in (AMD EPYC of family 26, H200).

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace convolume {

struct MachineRates {
    // Transforms on the CPU: seconds of one thread for a complex float sample, while all threads
    // are at work.
    double row_fft_s = 2.8e-9;     ///< in a row, by an estimated plan of FFTW, over its cost in
                                   ///< core/fft_cost_table.hpp
    double column_fft_s = 0.7e-9;  ///< in a column that lies in cache, of any length
    double strided_s = 0.5e-9;     ///< loaded from or stored to a column in memory
    double row_s = 0.25e-9;        ///< loaded from or stored to an image row
    double planning_s = 3e-3;      ///< of FFTW's estimates for rows
    double passes_s = 15e-6;       ///< handing the rows and columns of a block to threads

    // Direct sums on the CPU, one thread
    double multiply_add_s = 0.026e-9;      ///< a float product added
    double complex_multiply_add_s = 1e-9;  ///< the same of complex samples
    double kernel_row_s = 25e-9;  ///< a row of taps over an image row, besides its products

    // Memory
    double memory_bytes_per_s = 40e9;      ///< of blocks that are convolved, all threads together
    double first_touch_bytes_per_s = 5e9;  ///< of new memory, a thread
    double split_bytes_per_s = 30e9;       ///< splitting and merging, a thread
    double threads_to_fill_memory = 4;     ///< more do not split or merge faster

    // Files, where nothing better is known
    double file_read_bytes_per_s = 9e9;    ///< that the system caches
    double file_write_bytes_per_s = 4e9;   ///< into the system's cache, space taken first
    double file_sync_bytes_per_s = 1.2e9;  ///< from there to disk: meanwhile, or in the end
    double file_sync_s = 4e-3;             ///< closing a file, besides its bytes
    double file_run_s = 4e-6;              ///< each run of bytes that follow each other in a file
    double process_s = 21e-3;  ///< a run from file to file: loading the program, opening files, end

    // Kernels
    double kernel_tap_s = 14e-9;  ///< reading, checking and copying a tap

    // Tasks
    double task_s = 50e-6;        ///< handing one out: keeps tiles from becoming grains
    double held_task_s = 250e-6;  ///< the same where samples are read before and written after

    // GPUs
    double gpu_start_s = 0.35;     ///< the driver, a context and the device code, in a process
    double gpu_first_use_s = 0.1;  ///< page-locked buffers, first allocations and CUDA kernels
    double gpu_launch_s = 6e-6;    ///< of a CUDA kernel in a pass

    /// Reading or writing `bytes` at that rate in runs of `run_bytes` that follow each other in a
    /// file: parts of rows take longer than whole planes.
    double file_seconds(double bytes, double bytes_per_s, double run_bytes) const {
        return bytes / bytes_per_s + bytes / run_bytes * file_run_s;
    }

    friend bool operator==(const MachineRates&, const MachineRates&) = default;
};

/// A rate that can be measured.
struct MeasurableRate {
    const char* name;     ///< in the file
    const char* meaning;  ///< for people
    bool per_second;      ///< bytes a second; else seconds
    double MachineRates::*value;
};
std::span<const MeasurableRate> measurable_rates();

/// What measured rates hold for: the processor, the number of threads, and convolume's version.
std::string machine_key();
/// As the system names it, or "unknown".
std::string processor_name();

/// In the cache folder; empty where there is none.
std::filesystem::path rates_file();

/// The built-in rates with those of `file` in place of them. Nothing where there is no such file,
/// where it is damaged, of another machine, or holds rates that no machine has.
std::optional<MachineRates> read_rates(const std::filesystem::path& file, const std::string& key);
/// Writes the measurable ones beside `file` and renames. Throws IoError.
void write_rates(const std::filesystem::path& file, const std::string& key,
                 const MachineRates& rates);

/// Those measured on this machine; the built-in ones where there are none. Read once by a process.
const MachineRates& machine_rates();

}  // namespace convolume
