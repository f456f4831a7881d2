// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time constants of the predictions. Those that differ most from machine to machine are measured by
// `convolume doctor --calibrate` and kept in the cache folder. The others are built in (AMD EPYC of
// family 26, H200). Costs by length are in other files: core/fft_length_costs.hpp (grids on the
// CPU), gpu/fft/length_rates.hpp and deconvolve/executors/element_passes.hpp.

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace convolume {

/// Times of filter banks on the CPU, in seconds of one core. Mostly their ratios matter.
struct CpuFilterTimes {
    double multiply_add_s = 0.018e-9;  ///< time to add a real float product to a direct sum
    double product_s = 0.15e-9;        ///< time of a complex float product of two spectra
    /// Time to add a complex product to a sum of many, with spectra from memory.
    double product_sum_s = 0.35e-9;
    double sum_s = 0.1e-9;  ///< time to add a float to a result
    /// Time for each real sample to make a real transform from a complex one.
    double join_s = 0.2e-9;
    double store_s = 0.3e-9;          ///< time to copy a float from a segment to memory
    double load_s = 0.2e-9;           ///< time to copy a float from memory to a segment
    double uncached_byte_s = 0.2e-9;  ///< time to load a byte of spectra from beyond the cache
    double cached_bytes = 0.75 * (1 << 20);  ///< bytes of spectra that a core's cache holds
    double memory_byte_s = 0.02e-9;          ///< time to read or write a byte, all threads together
    double step_s = 0.1e-6;                  ///< overhead for each segment and filter
    double task_s = 0.3e-6;
    double call_s = 5e-6;
    /// Time for each sample of a complex float transform, out of place, for lengths 2^0, 2^1, …
    std::array<double, 24> fft_sample_s = {0.30e-9, 0.30e-9, 0.30e-9, 0.30e-9, 0.32e-9, 0.35e-9,
                                           0.36e-9, 0.38e-9, 0.40e-9, 0.45e-9, 0.49e-9, 0.57e-9,
                                           0.65e-9, 0.94e-9, 1.10e-9, 1.40e-9, 1.68e-9, 1.85e-9,
                                           2.30e-9, 3.20e-9, 4.20e-9, 5.00e-9, 5.50e-9, 6.00e-9};
    /// Factors of time for lengths that are no power of 2: with prime factors up to 7, and with
    /// larger ones.
    double smooth_length = 1.2, other_length = 4;
};

/// Times of filter banks on a GPU, fitted to measurements on an H200. A "processor" is a
/// multiprocessor.
struct GpuFilterTimes {
    double memory_share = 0.83;  ///< share of the data sheet's memory rate that processors reach
    double call_s = 1e-4;        ///< overhead of a call from host memory

    // Segments in shared memory
    /// Nanoseconds of a processor for each sample of one transform, product and storing included.
    /// Entries are for segment lengths 256, 512, …, 16384.
    std::array<double, 7> segment_real_ns = {0.275, 0.326, 0.351, 0.345, 0.406, 0.488, 0.68};
    std::array<double, 7> segment_complex_ns = {0.234, 0.278, 0.296, 0.316, 0.379, 0.437, 0.62};
    double segment_double_factor = 2;
    /// Reading and forward transform of a thread block, in units of one transform.
    double segment_forward_share = 1.5;
    /// A processor that has fewer thread blocks than it can hold runs each of them faster. Its time
    /// lies between the time for its thread blocks' work and the time for its waves of thread
    /// blocks.
    double segment_work_share = 0.25, segment_lone_share = 0.7;
    double segment_launch_s = 2e-6;

    // Segments by cuFFT
    double cufft_launch_s = 1.5e-6;
    double cufft_multiply_adds = 0.8e11;  ///< products of spectrum samples per second and processor
    /// Time of a transform divided by the time to read or write its spectrum: up to 8192 samples,
    /// up to 2^20, and longer. Real data take more than half as long as complex data.
    std::array<double, 3> cufft_real_passes = {5.0, 7.5, 8.1};
    std::array<double, 3> cufft_complex_passes = {2.45, 3.67, 4.25};
    double cufft_factor_of_3 = 1.25;  ///< factor of time for lengths above 2^15 that 3 divides

    // Sums in time
    double sum_products_per_s = 1.65e11;  ///< products of taps and samples per second and processor
    /// Share of sum_products_per_s that a processor reaches with one thread block.
    double sum_lone_share = 0.65;
    double sum_memory_share = 0.9;  ///< share of memory_share that sums reach
    /// Share of the shorter of computing and moving data that is not hidden.
    double sum_not_hidden = 0.6;
    double sum_launch_s = 4e-6;
};

struct MachineRates {
    // Transforms on the CPU: seconds of one thread for a complex float sample, while all threads
    // compute.
    double row_fft_s = 0.9e-9;     ///< time for a complex sample of a real row, for any length
    double column_fft_s = 0.7e-9;  ///< time for a sample in a column in cache, for any length
    double strided_s = 0.5e-9;     ///< time to load or store a sample of a column in memory
    double row_s = 0.25e-9;        ///< time to load or store a sample of an image row
    double planning_s = 1e-4;      ///< time to make the tables of the transforms of a block
    double passes_s = 15e-6;  ///< time to distribute the rows and columns of a block over threads

    // Direct sums on the CPU, one thread
    double multiply_add_s = 0.026e-9;      ///< time to add a real float product to a sum
    double complex_multiply_add_s = 1e-9;  ///< time to add a complex float product to a sum
    double kernel_row_s = 25e-9;           ///< overhead for each row of taps on an image row

    // Memory
    /// Memory traffic of all threads together while blocks are convolved.
    double memory_bytes_per_s = 40e9;
    double first_touch_bytes_per_s = 5e9;  ///< rate of the first use of memory, for each thread
    double split_bytes_per_s = 30e9;       ///< rate of splitting and merging, for each thread
    double threads_to_fill_memory = 4;     ///< number of threads beyond which rates do not grow

    // Files, unless their speed is measured
    double file_read_bytes_per_s = 9e9;  ///< rate of reading a file that the system has cached
    /// Rate of writing into the system's cache, with the space allocated before.
    double file_write_bytes_per_s = 4e9;
    /// Rate of write-back from the system's cache to disk, during a run or at its end.
    double file_sync_bytes_per_s = 1.2e9;
    double file_sync_s = 4e-3;  ///< overhead of closing a file
    /// Rate at which tiles copy from planes that they share (bench/large_kernels.py, Xeon with 16
    /// and 32 threads: 11 to 15 GB/s).
    double ring_bytes_per_s = 13e9;
    double file_run_s = 4e-6;  ///< overhead for each contiguous run of bytes in a file
    /// Overhead of a run of the command: loading the program, opening files, exit.
    double process_s = 21e-3;

    // Preparation of kernels
    /// Time of one thread to read, check and scale a tap of a kernel (bench/large_kernels.py, Xeon
    /// with 16 threads, kernel of 2.1 GB; at most threads_to_fill_memory threads count).
    double kernel_tap_s = 4e-9;

    // Scheduling of tasks
    double task_s = 50e-6;  ///< overhead of a task: prevents very small tiles
    /// Overhead of a task whose samples are read before and written after it.
    double buffered_task_s = 250e-6;

    // Convolution on GPUs
    /// Time once in a process for each GPU: driver, CUDA context, device code. GPUs start one after
    /// the other. It is used until a process has measured it.
    double gpu_start_s = 0.28;
    /// Time once for a plan: page-locked buffers, first allocations and CUDA kernels.
    double gpu_first_use_s = 0.1;
    double gpu_launch_s = 6e-6;  ///< overhead for each CUDA kernel of a pass
    /// Overheads for each step of a walk along z, whose transfers and passes wait for each other,
    /// and for each transfer through a staging buffer, which threads fill or empty
    /// (bench/method_map.py on an H100 with 16 threads and two H200 with 32).
    double gpu_walk_step_s = 100e-6, gpu_staged_transfer_s = 110e-6;
    double gpu_pass_share = 0.6;  ///< share of the data sheet's memory rate that passes reach
    /// Number of times that cuFFT reads or writes a grid, forward and inverse transforms together.
    double gpu_cufft_passes = 20;
    /// Multiply-adds per second of a multiprocessor at the clock rate that it sustains.
    double gpu_multiply_adds = 128 * 1.7e9;
    /// Direct sums: share of the shorter of products and loads that is not hidden, and factor of
    /// time if taps are in device memory.
    double gpu_direct_not_hidden = 0.3, gpu_device_taps_factor = 1.25;
    /// Rate at which passes along z of several GPUs read and write planes of each other over
    /// NVLink, in each direction.
    double gpu_link_bytes_per_s = 3.2e11;
    /// Rate of transfers through staging buffers, relative to page-locked memory.
    double gpu_staged_share = 0.7;
    /// Bytes by which a partial row seems longer when it travels: rows of 1 KiB reach 0.71 of the
    /// full rate.
    double gpu_row_overhead_bytes = 400;

    /// Returns the seconds to read or write `bytes` in contiguous runs of `run_bytes`: partial rows
    /// take longer than whole planes.
    double file_seconds(double bytes, double bytes_per_s, double run_bytes) const {
        return bytes / bytes_per_s + bytes / run_bytes * file_run_s;
    }

    friend bool operator==(const MachineRates&, const MachineRates&) = default;
};

struct MeasurableRate {
    const char* name;     ///< key in the file of rates
    const char* meaning;  ///< description that the command prints
    bool per_second;      ///< whether the rate is in bytes per second, not in seconds
    double MachineRates::*value;
};
std::span<const MeasurableRate> measurable_rates();

/// Returns the machine that measured rates are valid for: the processor, the number of threads, and
/// convolume's version.
std::string machine_key();
/// Returns the name of the processor in a file like /proc/cpuinfo, or "unknown". On ARM, where the
/// file has no names, the numbers of the designer and the model.
std::string processor_name(const std::filesystem::path& cpu_info = "/proc/cpuinfo");

/// Returns the path of the file of rates in the cache folder; empty if there is no cache folder.
std::filesystem::path rates_file();

/// Returns the built-in rates, overridden by those in `file`. Returns nothing if the file is
/// missing, damaged, for another machine, or holds implausible rates.
std::optional<MachineRates> read_rates(const std::filesystem::path& file, const std::string& key);
/// Writes the measurable rates to a temporary file and renames it to `file`. Throws IoError.
void write_rates(const std::filesystem::path& file, const std::string& key,
                 const MachineRates& rates);

/// Returns the rates measured on this machine, or the built-in rates. The file is read once in a
/// process.
const MachineRates& machine_rates();

}  // namespace convolume
