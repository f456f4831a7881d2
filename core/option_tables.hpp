// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of the options of convolutions and of engines. Other folders have an option_table.hpp
// of their own. An entry has the flags of commands, the type that --help shows, and a line of help.
// Defaults are in the structs.

#include "core/option_table.hpp"

namespace convolume {

template <>
inline constexpr auto option_table<Options> = std::tuple{
    option<&Options::mode>("mode", "--mode", "", "Size of the result", {}, parse_mode),
    option<&Options::boundary>(
        "boundary", "--boundary", "zero|constant:V|nearest|reflect|mirror|wrap",
        "How the image continues beyond its edges; names as in scipy.ndimage", {}, parse_boundary),
    option<&Options::operation>("operation", "--operation,--op", "",
                                "Whether to convolve, to correlate, or to apply the adjoint", {},
                                parse_operation),
    option<&Options::center>(
        "center", "--kernel-center", "middle|scipy|peak|centroid|corner|Z,Y,X",
        "The kernel's center: k/2 (middle), (k-1)/2 (scipy), its largest sample, its center of "
        "mass, sample 0 of a kernel in FFT order (corner), or an index",
        {.keyword = "origin"}, parse_kernel_center),
    option<&Options::normalization>("normalization", "--kernel-normalize,--psf-normalize", "",
                                    "Whether to divide the kernel by its sum or its peak",
                                    {.keyword = "normalize"}, parse_kernel_normalization),
    option<&Options::nan>("nan", "--nan", "", "Treatment of NaN and infinities in the image", {},
                          parse_nan_policy),
    option<&Options::method>("method", "--method", "", "Method of computation",
                             {.remark = ": the fastest predicted method that fits in memory"},
                             parse_method),
    option<&Options::parts>("parts", "--parts", "auto|1|2|4|8|16", "Number of parts of method dif",
                            {.keyword = nullptr, .unset_name = "auto"}),
    option<&Options::precision>("precision", "--precision", "", "Precision of the computation", {},
                                parse_precision),
    option<&Options::max_host_bytes>(
        "max_host_bytes", "--max-host-mem", "SIZE",
        "Limit of host memory for image, result, scratch and CPU engines together",
        {.keyword = "max_host_mem",
         .if_unset = "three quarters of free memory",
         .quantity = Quantity::bytes}),
    option<&Options::expected_executions>(
        "expected_executions", "", "N", "Number of images that will be convolved",
        {.keyword = "executions",
         .if_unset = "so large that preparing the kernel does not matter"}),
};

template <>
inline constexpr auto option_table<EngineChoice> = std::tuple{
    option<&EngineChoice::device>("device", "", "", "Devices that compute", {}, parse_device),
    option<&EngineChoice::gpus>("gpus", "", "N,…", "Numbers of the GPUs to use",
                                {.if_unset = "all"}),
    option<&EngineChoice::cpu_engines>("cpu_engines", "--engines", "N",
                                       "CPU engines that share the threads",
                                       {.keyword = nullptr, .range = "from 1"}),
    option<&EngineChoice::max_cpu_engine_bytes>(
        "max_cpu_engine_bytes", "--engine-mem", "SIZE",
        "Memory limit of each CPU engine, e.g. 512M",
        {.keyword = nullptr, .if_unset = "none", .quantity = Quantity::bytes}),
    option<&EngineChoice::max_gpu_bytes>("max_gpu_bytes", "--max-gpu-mem", "SIZE",
                                         "Memory limit of each GPU, e.g. 8G",
                                         {.keyword = "max_gpu_mem",
                                          .if_unset = "most of its free memory",
                                          .quantity = Quantity::bytes}),
    option<&EngineChoice::fft>(
        "fft", "--fft", "", "Library of Fourier transforms on the CPU: convolume's own, or FFTW",
        {.remark = ": the faster one for each transform"}, parse_fft_library),
    option<&EngineChoice::transfer_gate>(
        "transfer_gate", "--transfer-gate", "",
        "Concurrent transfers between host and GPUs: one in total (global), one per GPU "
        "and direction (per-link), or any number (off)",
        {.keyword = nullptr, .remark = ": chosen by a measurement"}, parse_transfer_gate),
    option<&EngineChoice::threads>("threads", "--threads", "N", "Total number of CPU threads",
                                   {.keyword = "workers", .range = "from 1", .if_unset = "all"}),
};

}  // namespace convolume
