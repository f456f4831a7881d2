// SPDX-License-Identifier: Apache-2.0
// Tests every public enumeration: its names in both directions, and words that are no name.

#include "convolume/convolume.hpp"
#include "convolume/image_file.hpp"
#include "convolume/signal_file.hpp"
#include "deconvolve/option_table.hpp"
#include "tests/support/names.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("pixel types are named and parsed") {
    check_names<PixelType>({{PixelType::uint8, "uint8"},
                            {PixelType::int8, "int8"},
                            {PixelType::uint16, "uint16"},
                            {PixelType::int16, "int16"},
                            {PixelType::uint32, "uint32"},
                            {PixelType::int32, "int32"},
                            {PixelType::float32, "float32"},
                            {PixelType::float64, "float64"},
                            {PixelType::complex64, "complex64"},
                            {PixelType::complex128, "complex128"}},
                           parse_pixel_type, Spelling::exact);
}

TEST_CASE("options of a convolution are named and parsed") {
    check_names<Mode>({{Mode::full, "full"}, {Mode::same, "same"}, {Mode::valid, "valid"}},
                      parse_mode);
    check_names<Operation>({{Operation::convolve, "convolve"},
                            {Operation::correlate, "correlate"},
                            {Operation::adjoint, "adjoint"}},
                           parse_operation);
    check_names<Method>({{Method::automatic, "auto"},
                         {Method::in_core, "in-core"},
                         {Method::dif, "dif"},
                         {Method::tiled, "tiled"},
                         {Method::direct, "direct"}},
                        parse_method);
    check_names<Algorithm>({{Algorithm::fft, "fft"},
                            {Algorithm::direct, "direct"},
                            {Algorithm::separable, "separable"}});
    check_names<Precision>({{Precision::float32, "float32"}, {Precision::float64, "float64"}},
                           parse_precision);
    check_names<NanPolicy>({{NanPolicy::error, "error"},
                            {NanPolicy::zero, "zero"},
                            {NanPolicy::propagate, "propagate"},
                            {NanPolicy::missing, "missing"}},
                           parse_nan_policy);
    check_names<KernelNormalization>({{KernelNormalization::none, "none"},
                                      {KernelNormalization::sum, "sum"},
                                      {KernelNormalization::peak, "peak"}},
                                     parse_kernel_normalization);
}

TEST_CASE("boundaries are named and parsed") {
    const Names<BoundaryKind> kinds{
        {BoundaryKind::zero, "zero"},       {BoundaryKind::constant, "constant"},
        {BoundaryKind::nearest, "nearest"}, {BoundaryKind::reflect, "reflect"},
        {BoundaryKind::mirror, "mirror"},   {BoundaryKind::wrap, "wrap"}};
    check_names(kinds);
    for (const auto& [kind, name] : kinds) {
        const Boundary boundary{kind, kind == BoundaryKind::constant ? -0.1 : 0};
        const std::string text = to_string(boundary);
        CHECK(text == (kind == BoundaryKind::constant ? "constant:-0.1" : name));
        CHECK(parse_boundary(text) == boundary);
    }
    check_refusals(parse_boundary, {"zero", "constant", "nearest", "reflect", "mirror", "wrap"});
}

TEST_CASE("kernel centers are named and parsed") {
    for (const std::string name :
         {"middle", "scipy", "peak", "centroid", "corner", "0,-3,12345678901"})
        CHECK(to_string(parse_kernel_center(name)) == name);
    const KernelCenter center{KernelCenter::Kind::explicit_, {1, 22, 333}};
    CHECK(to_string(center) == "1,22,333");
    CHECK(parse_kernel_center("1,22,333").index == center.index);
    check_refusals(parse_kernel_center, {"middle", "scipy", "peak", "centroid", "corner"});
}

TEST_CASE("options of a filter bank are named and parsed") {
    check_names<FilterMethod>({{FilterMethod::automatic, "auto"},
                               {FilterMethod::direct, "direct"},
                               {FilterMethod::overlap_save, "overlap-save"},
                               {FilterMethod::overlap_add, "overlap-add"},
                               {FilterMethod::partitioned, "partitioned"}},
                              parse_filter_method);
    check_names<PointPost>({{PointPost::none, "none"},
                            {PointPost::power, "power"},
                            {PointPost::derivative, "derivative"}},
                           parse_point_post);
    for (const std::string name : {"none", "decimate:1", "peak:123456789012"})
        CHECK(to_string(parse_window_post(name)) == name);
    check_refusals(parse_window_post, {"none", "decimate:W", "peak:W"});
    check_refusals(parse_filter_origin, {"center", "causal", "anticausal"});
}

TEST_CASE("options of a deconvolution are named and parsed") {
    Names<DeconvolveMethod> methods;
    for (const NamedValue<DeconvolveMethod>& one : names_of<DeconvolveMethod>)
        methods.emplace_back(one.value, one.name);
    check_names<DeconvolveMethod>(methods, parse_deconvolve_method);
    for (const auto& [method, name] :
         Names<DeconvolveMethod>{{DeconvolveMethod::richardson_lucy, "rl"},
                                 {DeconvolveMethod::richardson_lucy_tv, "rl-tv"},
                                 {DeconvolveMethod::scaled_heavy_ball, "shb"},
                                 {DeconvolveMethod::wiener_butterworth, "wb"},
                                 {DeconvolveMethod::gradient_consensus, "rlgc"},
                                 {DeconvolveMethod::non_negative_least_squares, "nnls"},
                                 {DeconvolveMethod::wiener, "wiener"},
                                 {DeconvolveMethod::maximum_a_posteriori, "map"}})
        CHECK(to_string(method) == name);
    for (const std::string name : {"RL", "richardson-lucy", "Richardson_Lucy"})
        CHECK(parse_deconvolve_method(name) == DeconvolveMethod::richardson_lucy);
    CHECK(parse_deconvolve_method("RL_TV") == DeconvolveMethod::richardson_lucy_tv);
    CHECK(std::string(to_string(Acceleration::none)) == "none");
    CHECK(std::string(to_string(Acceleration::biggs_andrews)) == "biggs-andrews");
    CHECK(parse_acceleration("none") == Acceleration::none);
    CHECK(parse_acceleration("biggs-andrews") == Acceleration::biggs_andrews);
    check_refusals(parse_acceleration, {"none", "biggs-andrews"});
    CHECK(std::string(to_string(ViewUpdates::efficient)) == "efficient");
    CHECK(parse_view_updates("sequential") == ViewUpdates::sequential);
    check_refusals(parse_view_updates, {"simultaneous", "sequential", "efficient"});
    CHECK_FALSE(parse_edges("extend").has_value());
    for (const BoundaryKind kind :
         {BoundaryKind::zero, BoundaryKind::nearest, BoundaryKind::reflect, BoundaryKind::mirror,
          BoundaryKind::wrap})
        CHECK(parse_edges(to_string(kind)) == Boundary{kind});
    check_refusals(parse_edges, {"extend", "zero", "nearest", "reflect", "mirror", "wrap"});
}

TEST_CASE("devices are parsed with their numbers") {
    using Device = EngineChoice::Device;
    EngineChoice engines;
    set_devices(engines, "gpu:0,12");
    CHECK(engines.device == Device::gpu);
    CHECK(engines.gpus == std::vector<int>{0, 12});
    set_devices(engines, "gpu");
    CHECK(engines.device == Device::gpu);
    CHECK(engines.gpus.empty());
    set_devices(engines, "gpu:3");
    CHECK(engines.gpus == std::vector<int>{3});
    set_devices(engines, "cpu");
    CHECK(engines.device == Device::cpu);
    CHECK(engines.gpus.empty());
    set_devices(engines, "auto");
    CHECK(engines.device == Device::automatic);
    for (const char* text : {"gpu:2,0,1", "gpu:2+0+1", "gpu:2,0+1"}) {
        engines = {};
        set_devices(engines, text);
        CHECK(engines.device == Device::gpu);
        CHECK(engines.gpus == std::vector<int>{2, 0, 1});
    }
    engines = {};
    for (const char* text :
         {"", "gpus", "gpu:", "gpu:1,", "gpu:,1", "gpu:1+", "gpu:+1", "gpu:-1", "gpu:1,1",
          "gpu:1+1", "gpu:x", "gpu:1 ", "cpu:0", "GPU", "gpu:1;2", "gpu:99999999999"}) {
        INFO(text);
        CHECK_THROWS_AS(set_devices(engines, text), InvalidArgument);
    }
    CHECK(engines.device == Device::automatic);
    CHECK(engines.gpus.empty());
}

TEST_CASE("devices, libraries of transforms, transfer gates and phases are named") {
    using Device = EngineChoice::Device;
    check_names<Device>({{Device::automatic, "auto"}, {Device::cpu, "cpu"}, {Device::gpu, "gpu"}},
                        parse_device);
    check_names<FftLibrary>(
        {{FftLibrary::automatic, "auto"}, {FftLibrary::own, "own"}, {FftLibrary::fftw, "fftw"}},
        parse_fft_library);
    check_names<TransferGate>({{TransferGate::automatic, "auto"},
                               {TransferGate::global, "global"},
                               {TransferGate::per_link, "per-link"},
                               {TransferGate::off, "off"}},
                              parse_transfer_gate);
    check_names<Phase>({{Phase::start, "start"},
                        {Phase::open, "open"},
                        {Phase::plan, "plan"},
                        {Phase::prepare, "prepare"},
                        {Phase::read, "read"},
                        {Phase::pad, "pad"},
                        {Phase::decompose, "decompose"},
                        {Phase::allocate, "allocate"},
                        {Phase::host_to_device, "host_to_device"},
                        {Phase::convolve, "convolve"},
                        {Phase::device_to_host, "device_to_host"},
                        {Phase::compose, "compose"},
                        {Phase::write, "write"},
                        {Phase::commit, "commit"},
                        {Phase::other, "other"}});
}

TEST_CASE("PSF models, modalities and phantoms are named and parsed") {
    check_names<PsfModel>({{PsfModel::gaussian, "gaussian"},
                           {PsfModel::born_wolf, "born-wolf"},
                           {PsfModel::gibson_lanni, "gibson-lanni"},
                           {PsfModel::vectorial, "vectorial"}},
                          parse_psf_model);
    check_names<Modality>({{Modality::widefield, "widefield"},
                           {Modality::confocal, "confocal"},
                           {Modality::light_sheet, "light-sheet"},
                           {Modality::two_photon, "two-photon"},
                           {Modality::spinning_disc, "spinning-disc"}},
                          parse_modality);
    check_names<PhantomKind>({{PhantomKind::beads, "beads"},
                              {PhantomKind::filaments, "filaments"},
                              {PhantomKind::shells, "shells"},
                              {PhantomKind::cells, "cells"},
                              {PhantomKind::mixed, "mixed"}},
                             parse_phantom_kind);
}

TEST_CASE("compressions and types of samples in files are named and parsed") {
    using io::Compression;
    using io::SampleType;
    check_names<Compression>({{Compression::none, "none"},
                              {Compression::deflate, "deflate"},
                              {Compression::lzw, "lzw"},
                              {Compression::zstd, "zstd"},
                              {Compression::packbits, "packbits"}},
                             io::parse_compression, Spelling::exact);
    check_names<SampleType>({{SampleType::float32, "float32"},
                             {SampleType::float64, "float64"},
                             {SampleType::complex64, "complex64"},
                             {SampleType::complex128, "complex128"},
                             {SampleType::int64, "int64"}});
    using io::StoredType;
    check_names<StoredType>({{StoredType::uint8, "uint8"},
                             {StoredType::int8, "int8"},
                             {StoredType::uint16, "uint16"},
                             {StoredType::int16, "int16"},
                             {StoredType::int24, "int24"},
                             {StoredType::uint32, "uint32"},
                             {StoredType::int32, "int32"},
                             {StoredType::int64, "int64"},
                             {StoredType::float32, "float32"},
                             {StoredType::float64, "float64"},
                             {StoredType::complex64, "complex64"},
                             {StoredType::complex128, "complex128"},
                             {StoredType::cu8, "cu8"},
                             {StoredType::ci8, "ci8"},
                             {StoredType::ci16, "ci16"},
                             {StoredType::ci32, "ci32"},
                             {StoredType::float16, "float16"},
                             {StoredType::bfloat16, "bfloat16"}},
                            io::parse_stored_type, Spelling::exact);
    CHECK(io::parse_stored_type("cs16") == StoredType::ci16);
    CHECK(io::parse_stored_type("cf32") == StoredType::complex64);
    CHECK(io::stored_type_of_name("a/b.CI16") == StoredType::ci16);
    CHECK_FALSE(io::stored_type_of_name("a/b.npy"));
    CHECK_FALSE(io::stored_type_of_name("i16"));
    // Sample types have the names and bytes of the pixel types; integers are no sample types.
    for (int i = 0; i < 10; ++i) {
        const auto type = static_cast<PixelType>(i);
        if (is_integer(type)) {
            CHECK_THROWS_AS(io::sample_type_of(type), InvalidArgument);
            continue;
        }
        CHECK(std::string(to_string(io::sample_type_of(type))) == to_string(type));
        CHECK(io::bytes_of(io::sample_type_of(type)) == static_cast<index_t>(size_of(type)));
    }
    CHECK(io::bytes_of(SampleType::int64) == 8);
}
