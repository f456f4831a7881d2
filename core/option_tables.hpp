// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of the library's options, except those of deconvolution (deconvolve/option_table.hpp).
// An entry has the flags of commands, the type that --help shows, and a line of help. Defaults are
// in the structs.

#include "convolume/camera.hpp"
#include "convolume/channelizer.hpp"
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

template <>
inline constexpr auto option_table<FilterOptions> = std::tuple{
    option<&FilterOptions::mode>("mode", "--mode", "", "Size of the result", {}, parse_mode),
    option<&FilterOptions::range>("range", "--range", "A:B",
                                  "Samples A to B-1 of the full result, instead of a mode",
                                  {.keyword = "span"},
                                  [](std::string_view text) -> std::optional<SampleRange> {
                                      return parse_sample_range(text);
                                  }),
    option<&FilterOptions::origin>("origin", "--origin", "center|causal|anticausal|N",
                                   "Index of the tap that is aligned with the result's sample",
                                   {.remark = ": (M-1)/2"}, parse_filter_origin),
    option<&FilterOptions::post>(
        "post", "--post", "",
        "Function applied to each sample of the result: power is |y|², derivative is (y[n+1] - "
        "y[n-1]) / 2",
        {}, parse_point_post),
    option<&FilterOptions::window>(
        "window", "--window", "none|decimate:W|peak:W",
        "Store one of every W samples: the first (decimate) or the largest (peak)",
        {.remark = ": all"}, parse_window_post),
    option<&FilterOptions::nan>("nan", "--nan", "", "Treatment of NaN and infinities in the signal",
                                {}, parse_nan_policy),
    option<&FilterOptions::method>("method", "--method", "", "Method of computation",
                                   {.remark = ": the fastest predicted method"},
                                   parse_filter_method),
    option<&FilterOptions::segment>("segment", "--segment", "N", "Length of the transforms",
                                    {.if_unset = "chosen automatically"}),
    option<&FilterOptions::precision>("precision", "--precision", "",
                                      "Precision of the computation and the result", {},
                                      parse_precision),
    option<&FilterOptions::chunk>(
        "chunk", "--chunk", "N", "Results computed and written at a time",
        {.keyword = nullptr,
         .if_unset = "chosen automatically; 65536 from standard input, or four times the taps"}),
    option<&FilterOptions::max_host_bytes>(
        "max_host_bytes", "--max-host-mem", "SIZE",
        "Limit of host memory for buffers that read, filter and write",
        {.keyword = nullptr, .if_unset = "a quarter of free memory", .quantity = Quantity::bytes}),
    option<&FilterOptions::signal_storage>(
        "signal_storage", "", "", "Storage of the signals in memory", {}, parse_sample_storage),
    option<&FilterOptions::result_storage>(
        "result_storage", "", "", "Storage of the results in memory", {}, parse_sample_storage),
    option<&FilterOptions::signal_scale>(
        "signal_scale", "", "X", "Value of one step of int16 signals", {.range = "above 0"}),
    option<&FilterOptions::result_scale>(
        "result_scale", "", "X", "Value of one step of int16 results", {.range = "above 0"}),
};

template <>
inline constexpr auto option_table<ChannelizerOptions> = std::tuple{
    option<&ChannelizerOptions::channels>("channels", "--channels", "M", "Number of channels",
                                          {.keyword = nullptr, .hides_default = true}),
    option<&ChannelizerOptions::taps_per_channel>("taps_per_channel", "--taps", "P",
                                                  "Taps of the prototype for each channel"),
    option<&ChannelizerOptions::step>("step", "--step", "D",
                                      "Samples from frame to frame: oversampled if less than M",
                                      {.if_unset = "M, critically sampled"}),
    option<&ChannelizerOptions::first>(
        "first", "--first", "T", "Sample that frame 0 ends with, from 0", {}, parse_first_sample),
    option<&ChannelizerOptions::window>(
        "window", "--window", "hamming|hann|kaiser:BETA|rectangular",
        "Window of the prototype, a sinc", {}, parse_prototype_window),
    option<&ChannelizerOptions::interleaved>(
        "interleaved", "", "true|false", "Whether real numbers are pairs: real and imaginary part"),
    option<&ChannelizerOptions::precision>("precision", "--precision", "",
                                           "Precision of the computation and the result", {},
                                           parse_precision),
    option<&ChannelizerOptions::nan>(
        "nan", "--nan", "", "Treatment of NaN and infinities in the signal", {}, parse_nan_policy),
};

/// Entries are in the order of files with PSF parameters; their names are the keys of those files.
template <>
inline constexpr auto option_table<PsfOptions> = std::tuple{
    option<&PsfOptions::model>("model", "--model", "", "PSF model", {}, parse_psf_model),
    option<&PsfOptions::modality>("modality", "--modality", "", "Kind of microscope", {},
                                  parse_modality),
    nested_option<&PsfOptions::objective, &Objective::na>(
        "na", "--na", "NA", "Numerical aperture", {.range = "above 0", .hides_default = true}),
    option<&PsfOptions::wavelength_um>(
        "wavelength_um", "--wavelength", "LENGTH", "Emission wavelength in vacuum, e.g. 520nm",
        {.keyword = "wavelength", .hides_default = true, .quantity = Quantity::wavelength_um}),
    option<&PsfOptions::excitation_um>(
        "excitation_um", "--excitation", "LENGTH",
        "Excitation wavelength (confocal, two-photon, spinning-disc)",
        {.keyword = "excitation", .quantity = Quantity::wavelength_um}),
    option<&PsfOptions::pinhole_au>(
        "pinhole_au", "--pinhole", "AU",
        "Diameter of the pinhole in Airy units, 1.22 wavelength/NA (confocal, default 1)",
        {.keyword = "pinhole", .unit = "Airy units"}),
    option<&PsfOptions::sheet_fwhm_um>("sheet_fwhm_um", "--sheet", "LENGTH",
                                       "Thickness of the light sheet: full width at half maximum",
                                       {.keyword = "sheet_fwhm", .quantity = Quantity::length_um}),
    option<&PsfOptions::disc_pinhole_um>(
        "disc_pinhole_um", "--disc-pinhole", "LENGTH",
        "Diameter of the pinholes on the disc, e.g. 50um (spinning-disc)",
        {.keyword = "disc_pinhole", .quantity = Quantity::length_um}),
    option<&PsfOptions::disc_spacing_um>(
        "disc_spacing_um", "--disc-spacing", "LENGTH",
        "Distance between the centers of pinholes on the disc, e.g. 250um (spinning-disc)",
        {.keyword = "disc_spacing", .quantity = Quantity::length_um}),
    option<&PsfOptions::disc_magnification>(
        "disc_magnification", "--disc-magnification", "M",
        "Magnification between sample and disc: lengths in the sample are those on the "
        "disc divided by it (spinning-disc, default 1: lengths are those in the sample)"),
    nested_option<&PsfOptions::objective, &Objective::ni>("ni", "--ni", "N",
                                                          "Index of the immersion medium"),
    nested_option<&PsfOptions::objective, &Objective::ni0>(
        "ni0", "--ni0", "N", "Index of the immersion medium that the objective is designed for",
        {.if_unset = "--ni", .hides_default = true}),
    nested_option<&PsfOptions::objective, &Objective::ng>("ng", "--ng", "N",
                                                          "Index of the cover glass"),
    nested_option<&PsfOptions::objective, &Objective::ng0>(
        "ng0", "--ng0", "N", "Index of the cover glass that the objective is designed for",
        {.if_unset = "--ng", .hides_default = true}),
    nested_option<&PsfOptions::objective, &Objective::ns>(
        "ns", "--ns", "N", "Index of the sample",
        {.if_unset = "that of glycerol or oil as immersion, else 1.33", .hides_default = true}),
    nested_option<&PsfOptions::objective, &Objective::ti0_um>(
        "ti0_um", "--ti0", "LENGTH",
        "Working distance in the immersion medium that the objective is designed for",
        {.keyword = "ti0", .remark = "um", .quantity = Quantity::length_um}),
    nested_option<&PsfOptions::objective, &Objective::tg_um>(
        "tg_um", "--tg", "LENGTH", "Thickness of the cover glass",
        {.keyword = "tg", .remark = "um", .quantity = Quantity::length_um}),
    nested_option<&PsfOptions::objective, &Objective::tg0_um>(
        "tg0_um", "--tg0", "LENGTH", "Cover glass thickness that the objective is designed for",
        {.keyword = "tg0",
         .if_unset = "--tg",
         .hides_default = true,
         .quantity = Quantity::length_um}),
    option<&PsfOptions::depth_um>(
        "depth_um", "--depth", "LENGTH", "Depth of the source below the cover glass",
        {.keyword = "depth", .remark = "um", .quantity = Quantity::length_um}),
    option<&PsfOptions::voxel>(
        "voxel_um", "--voxel",
        "Z,Y,X", "Edges of a voxel, e.g. 200,65,65nm",
        {.keyword = "spacing", .if_unset = "those of --like", .hides_default = true}),
    option<&PsfOptions::size>("size", "", "Z,Y,X", "Number of voxels along each axis, odd",
                              {.keyword = "shape"}),
    option<&PsfOptions::oversampling>(
        "oversampling", "--oversampling", "N",
        "Points along each axis of a voxel whose intensities are averaged", {.range = "from 1"}),
    option<&PsfOptions::threads>("threads", "--threads", "N", "CPU threads",
                                 {.keyword = "workers", .range = "from 1", .if_unset = "all"}),
    option<&PsfOptions::center_z_um>(
        "focus_um", "", "LENGTH",
        "z of the middle plane: distance by which the objective is farther from the cover glass "
        "than designed",
        {.keyword = "center_z",
         .if_unset = "the brightest plane",
         .quantity = Quantity::length_um}),
};

template <>
inline constexpr auto option_table<Camera> = std::tuple{
    option<&Camera::background_photons>("background_photons", "--background", "N",
                                        "Photons added at every pixel",
                                        {.range = "from 0", .unit = "photons"}),
    option<&Camera::quantum_efficiency>("quantum_efficiency", "--qe", "Q",
                                        "Quantum efficiency, electrons per photon",
                                        {.range = "0 to 1", .unit = "electrons per photon"}),
    option<&Camera::exposure_s>("exposure_s", "--exposure", "SECONDS", "Exposure time",
                                {.range = "from 0", .unit = "s"}),
    option<&Camera::dark_e_per_s>("dark_e_per_s", "--dark", "E/S",
                                  "Dark current, electrons per second",
                                  {.range = "from 0", .unit = "electrons/s"}),
    option<&Camera::read_noise_e>("read_noise_e", "--read-noise", "E",
                                  "Read noise, standard deviation in electrons",
                                  {.range = "from 0", .unit = "electrons"}),
    option<&Camera::full_well_e>("full_well_e", "--full-well", "E",
                                 "Full well capacity, electrons per pixel",
                                 {.range = "above 0", .unit = "electrons"}),
    option<&Camera::gain_e_per_adu>("gain_e_per_adu", "--gain", "E/ADU",
                                    "Electrons per count of the converter",
                                    {.range = "above 0", .unit = "electrons/ADU"}),
    option<&Camera::offset_adu>("offset_adu", "--offset", "ADU", "Offset: counts without charge",
                                {.unit = "ADU"}),
    option<&Camera::bits>("bits", "--bits", "1...16",
                          "Bits of the converter; up to 8 are written as uint8, more as uint16",
                          {.range = "1 to 16"}),
    option<&Camera::seed>("seed", "--seed", "N", "Seed of the noise"),
    option<&Camera::noise>("noise", "", "BOOL", "Photon and read noise"),
};

template <>
inline constexpr auto option_table<PhantomOptions> = std::tuple{
    option<&PhantomOptions::kind>("kind", "--kind", "", "Kind of objects",
                                  {.remark = ": some of each"}, parse_phantom_kind),
    option<&PhantomOptions::shape>("shape", "--size", "Z,Y,X", "Number of voxels along each axis"),
    option<&PhantomOptions::voxel>("voxel", "--voxel", "Z,Y,X", "Edges of a voxel with their unit",
                                   {.keyword = "spacing"}),
    option<&PhantomOptions::seed>("seed", "--seed", "N", "Seed of the random specimen"),
    option<&PhantomOptions::count>(
        "count", "--count", "N", "Number of objects",
        {.range = "from 1", .if_unset = "depends on the volume and the kind"}),
    option<&PhantomOptions::radius_um>(
        "radius_um", "--radius", "LENGTH", "Radius of objects; half the thickness of filaments",
        {.keyword = "radius",
         .if_unset = "beads 100nm, filaments 60nm, shells 2um, cells 5um",
         .quantity = Quantity::length_um}),
    option<&PhantomOptions::brightness>("brightness", "--brightness", "B",
                                        "Brightness of voxels inside objects"),
    option<&PhantomOptions::brightness_spread>(
        "brightness_spread", "--brightness-spread", "S",
        "Largest relative deviation of an object's brightness", {.range = "0 to 1"}),
    option<&PhantomOptions::background>("background", "--background", "B",
                                        "Background of every voxel"),
};

}  // namespace convolume
