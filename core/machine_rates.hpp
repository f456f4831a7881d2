// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long things take on a machine: every constant of time in the predictions. Those that differ
// most from machine to machine are measured by `convolume doctor --calibrate` and kept in the cache
// folder. The others are built in (AMD EPYC of family 26, H200). Only costs of transforms by their
// length are in tables elsewhere: core/fft_size.cpp (FFTW), gpu/fft/passes.cpp and
// deconvolve/executors/element_passes.hpp.

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace convolume {

/// Filter banks on the CPU: seconds of one core. Mostly their ratios matter.
struct CpuFilterTimes {
    double multiply_add_s = 0.018e-9;  ///< a real float product, summed up in time
    double product_s = 0.15e-9;        ///< a complex float product of two spectra
    double product_sum_s = 0.35e-9;    ///< the same of many, which come from far
    double sum_s = 0.1e-9;             ///< a float added to what is there
    double join_s = 0.2e-9;            ///< a real sample of a real transform made of a complex one
    double store_s = 0.3e-9;           ///< a float from segment to memory
    double load_s = 0.2e-9;            ///< a float from memory to segment
    double far_byte_s = 0.2e-9;        ///< of spectra that a core's cache does not hold
    double near_bytes = 0.75 * (1 << 20);  ///< that it does hold
    double memory_byte_s = 0.02e-9;        ///< all threads together
    double step_s = 0.1e-6;                ///< of one segment through one filter
    double task_s = 0.3e-6;
    double call_s = 5e-6;
    /// A sample of one complex float transform, out of place, of length 2^0, 2^1, …
    std::array<double, 24> fft_sample_s = {0.30e-9, 0.30e-9, 0.30e-9, 0.30e-9, 0.32e-9, 0.35e-9,
                                           0.36e-9, 0.38e-9, 0.40e-9, 0.45e-9, 0.49e-9, 0.57e-9,
                                           0.65e-9, 0.94e-9, 1.10e-9, 1.40e-9, 1.68e-9, 1.85e-9,
                                           2.30e-9, 3.20e-9, 4.20e-9, 5.00e-9, 5.50e-9, 6.00e-9};
    /// Times as long: lengths that are no power of 2, with factors up to 7 and with others.
    double smooth_length = 1.2, other_length = 4;

    friend bool operator==(const CpuFilterTimes&, const CpuFilterTimes&) = default;
};

/// Filter banks on a GPU, fitted to measurements on an H200. A processor is a multiprocessor.
struct GpuFilterTimes {
    double memory_share = 0.83;  ///< of the memory's rate by data sheet that processors reach
    double call_s = 1e-4;        ///< of a call from host memory, however little it does

    // Segments in shared memory
    /// Nanoseconds of a processor for each sample of one transform, product and storing included,
    /// by segment length: 256, 512, …, 16384.
    std::array<double, 7> segment_real_ns = {0.275, 0.326, 0.351, 0.345, 0.406, 0.488, 0.68};
    std::array<double, 7> segment_complex_ns = {0.234, 0.278, 0.296, 0.316, 0.379, 0.437, 0.62};
    double segment_double_factor = 2;
    /// Of a thread block beside its filters, in transforms: reading and the way forward.
    double segment_forward_share = 1.5;
    /// A processor that has fewer thread blocks than it can hold runs each faster. Its time lies
    /// between that of its thread blocks' work and that of its waves of thread blocks.
    double segment_work_share = 0.25, segment_lone_share = 0.7;
    double segment_launch_s = 2e-6;

    // Segments by cuFFT
    double cufft_launch_s = 1.5e-6;
    double cufft_multiply_adds = 0.8e11;  ///< a second and processor, of products of spectra
    /// Transforms in times of reading or writing their spectra: up to 8192 samples, up to 2^20, and
    /// longer ones. Real data take more than half as long as complex ones.
    std::array<double, 3> cufft_real_passes = {5.0, 7.5, 8.1};
    std::array<double, 3> cufft_complex_passes = {2.45, 3.67, 4.25};
    double cufft_factor_of_3 = 1.25;  ///< times as long: lengths above 2^15 with that factor

    // Sums in time
    double sum_products_per_s = 1.65e11;  ///< of a processor
    double sum_lone_share = 0.65;   ///< of its rate that a processor reaches with one thread block
    double sum_memory_share = 0.9;  ///< of memory_share
    double sum_not_hidden = 0.6;    ///< of the shorter of computing and moving data
    double sum_launch_s = 4e-6;

    friend bool operator==(const GpuFilterTimes&, const GpuFilterTimes&) = default;
};

struct MachineRates {
    // Transforms on the CPU: seconds of one thread for a complex float sample, while all threads
    // are at work.
    double row_fft_s = 2.8e-9;     ///< in a row, by an estimated plan of FFTW, over its cost in
                                   ///< core/fft_size.cpp
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
    double buffered_task_s = 250e-6;  ///< the same where samples are read before and written after

    // GPUs
    double gpu_start_s = 0.35;     ///< the driver, a context and the device code, in a process
    double gpu_first_use_s = 0.1;  ///< page-locked buffers, first allocations and CUDA kernels
    double gpu_launch_s = 6e-6;    ///< of a CUDA kernel in a pass
    double gpu_pass_share = 0.6;   ///< of the memory's rate by data sheet that passes reach
    double gpu_cufft_passes = 20;  ///< readings and writings of a grid by cuFFT, both ways
    /// A second, of a multiprocessor at the clock that it keeps.
    double gpu_multiply_adds = 128 * 1.7e9;
    /// Direct sums: the shorter of products and loads that is not hidden, and how many times as
    /// long sums take with taps in device memory.
    double gpu_direct_not_hidden = 0.3, gpu_device_taps_factor = 1.25;
    /// Transfers by way of staging, against those of page-locked memory.
    double gpu_staged_share = 0.7;
    /// A part of a row travels as if it were that much longer: rows of 1 KiB reach 0.71 of the
    /// rate.
    double gpu_row_overhead_bytes = 400;

    // Filter banks
    CpuFilterTimes cpu_filters;
    GpuFilterTimes gpu_filters;

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
