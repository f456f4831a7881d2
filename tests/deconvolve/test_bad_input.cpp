// SPDX-License-Identifier: Apache-2.0
// Tests which input is refused, and how the message names the cause.

#include <cmath>

#include "deconvolve/option_table.hpp"
#include "deconvolve/registry.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Array& psf() {
    static const Array gaussian = gaussian_psf({3, 3, 3}, {1, 1, 1}, {1, 1, 1});
    return gaussian;
}

Array image_of(double value) {
    Array image({4, 5, 6});
    for (Complex& pixel : image.values) pixel = value;
    return image;
}

template <class E>
std::string refusal(const DeconvolveOptions& options, const Array& image = image_of(1),
                    const Array& taps = psf()) {
    return message_of<E>([&] { deconvolved(image, taps, options); });
}

}  // namespace

TEST_CASE("deconvolve: invalid options are refused by name") {
    const auto check = [](const char* name, const auto& change) {
        DeconvolveOptions options;
        change(options);
        const std::string text = refusal<InvalidArgument>(options);
        INFO(text);
        CHECK(contains(text, name));
    };
    check("iterations", [](auto& o) { o.iterations = 0; });
    check("constant", [](auto& o) { o.boundary = Boundary{BoundaryKind::constant}; });
    check("background", [](auto& o) { o.background = -1; });
    check("background", [](auto& o) { o.background = std::nan(""); });
    check("variation", [](auto& o) {
        o.method = DeconvolveMethod::richardson_lucy_tv;
        o.tv_weight = -0.1;
    });
    check("noise", [](auto& o) {
        o.method = DeconvolveMethod::wiener;
        o.noise_to_signal = 0;
    });
    check("stop", [](auto& o) { o.stop = -1; });
    check("stop", [](auto& o) { o.stop = 1; });
    check("photons", [](auto& o) {
        o.method = DeconvolveMethod::wiener;
        o.hold_out = true;
    });
    check("unmatched", [](auto& o) {
        o.method = DeconvolveMethod::wiener_butterworth;
        o.iterations = 5;
        o.unmatched = -1;
    });
    check("one of them", [](auto& o) {
        o.hold_out = true;
        o.stop = 0.1;
    });
    check("gain", [](auto& o) { o.gain = 0; });
    check("offset", [](auto& o) { o.offset = std::nan(""); });
    check("voxel", [](auto& o) { o.voxel.y_um = 0; });
    check("center", [](auto& o) { o.center = {KernelCenter::Kind::explicit_, {0, 3, 0}}; });
}

TEST_CASE("deconvolve: options that are left open follow from the method and the image") {
    struct Case {
        const char* method;
        std::optional<int> iterations;
        std::optional<double> stop;
        index_t planes;
        bool searches;
        int most, coarse;
    };
    for (const Case& c :
         {Case{"rl", {}, {}, 5, true, 200, 100}, Case{"rl", {}, {}, 1, true, 200, 0},
          Case{"shb", 7, {}, 5, false, 7, 0}, Case{"rl-tv", {}, 0.1, 5, false, 30, 0},
          Case{"wb", {}, {}, 5, false, 3, 0}, Case{"wb", 9, {}, 5, false, 9, 0},
          Case{"rlgc", {}, {}, 5, false, 30, 0}, Case{"wiener", {}, {}, 5, false, 30, 0}}) {
        INFO(c.method);
        DeconvolveOptions options;
        options.method = parse_deconvolve_method(c.method);
        options.iterations = c.iterations;
        options.stop = c.stop;
        options.unmatched = 3;
        const DeconvolveOptions found = resolved(options, c.planes);
        CHECK(found.hold_out == c.searches);
        CHECK(found.iterations == c.most);
        CHECK(found.coarse_start == c.coarse);
        CHECK(resolved(found, c.planes).hold_out == c.searches);
    }
}

TEST_CASE("deconvolve: options that the method does not use are refused") {
    Volume psf({1, 3, 3}, PixelType::float32);
    psf.elements<float>()[4] = 1;
    const auto refused = [&](const char* method, const auto& set) {
        DeconvolveOptions options;
        options.method = parse_deconvolve_method(method);
        options.iterations = 2;
        set(options);
        return message_of<InvalidArgument>([&] {
            Deconvolver({1, 9, 9}, psf.view(), options, cpu_only());
        });
    };
    CHECK(contains(refused("rl", [](auto& o) { o.tv_weight = 0.1; }), "tv_weight does not apply"));
    CHECK(contains(refused("rl", [](auto& o) { o.consensus = 0.6; }), "consensus does not apply"));
    CHECK(contains(refused("shb", [](auto& o) { o.unmatched = 5; }), "unmatched does not apply"));
    CHECK(contains(refused("nnls", [](auto& o) { o.noise_to_signal = 0.1; }), "noise_to_signal"));
    CHECK(contains(refused("nnls", [](auto& o) { o.saturation = 9; }), "compares all pixels"));
    CHECK(contains(refused("rl", [](auto& o) { o.gain = 2; }), "nothing uses gain"));
    const std::string idle = refused("nnls", [](auto& o) {
        o.acceleration = Acceleration::none;
        o.tv_weight = 0;
        o.coarse_start = 0;
        o.unmatched = 0;
    });
    CHECK(idle == "(nothing was thrown)");
}

TEST_CASE("deconvolve: names are parsed, and the error for other words lists the choices") {
    CHECK(parse_deconvolve_method("rl-tv") == DeconvolveMethod::richardson_lucy_tv);
    CHECK(parse_acceleration("none") == Acceleration::none);
    CHECK(!parse_edges("extend"));
    CHECK(parse_edges("reflect") == Boundary{BoundaryKind::reflect});
    CHECK(contains(message_of<InvalidArgument>([] { parse_deconvolve_method("lucy"); }), "rl-tv"));
    CHECK(contains(message_of<InvalidArgument>([] { parse_acceleration("fast"); }), "biggs"));
    CHECK(contains(message_of<InvalidArgument>([] { parse_edges("constant"); }), "extend"));
}

struct MethodWithoutEnumerator {};

TEST_CASE("deconvolve: a method without an enumerator has a value of its own") {
    using namespace convolume::deconvolve;
    CHECK(value_of<RichardsonLucy>() == DeconvolveMethod::richardson_lucy);
    constexpr DeconvolveMethod value = value_of<MethodWithoutEnumerator>();
    CHECK(value > DeconvolveMethod::maximum_a_posteriori);
    for (const auto& one : MethodNames::all()) CHECK(one.value != value);
}

TEST_CASE("deconvolve: NaN and complex numbers are bad data, named with their place") {
    Array image = image_of(2);
    image(3, 0, 5) = std::nan("");
    CHECK(contains(refusal<BadData>({}, image), "3,0,5"));
    Array taps = psf();
    taps(0, 2, 1) = INFINITY;
    CHECK(contains(refusal<BadData>({}, image_of(2), taps), "0,2,1"));
    CHECK(contains(refusal<BadData>({}, image_of(2), Array({2, 2, 2})), "zero"));

    const Volume complex_psf = to_volume(psf(), PixelType::complex64);
    CHECK_THROWS_AS(Deconvolver({4, 4, 4}, complex_psf.view(), {}, cpu_only()), BadData);
    Deconvolver engine({4, 5, 6}, to_volume(psf(), PixelType::float32).view(), {}, cpu_only());
    Volume result({4, 5, 6}, PixelType::float32);
    const Volume complex_image({4, 5, 6}, PixelType::complex64);
    CHECK_THROWS_AS(engine.execute(complex_image.view(), result.view()), BadData);
    Volume complex_result({4, 5, 6}, PixelType::complex64);
    CHECK_THROWS_AS(engine.execute(result.view(), complex_result.view()), InvalidArgument);
    const Volume other({4, 5, 7}, PixelType::float32);
    CHECK(
        contains(message_of<InvalidArgument>([&] { engine.execute(other.view(), result.view()); }),
                 "4×5×7"));
}

TEST_CASE("deconvolve: plans contain the memory, and stay within its limit") {
    const Shape3 shape{40, 48, 56};
    Random random(test_seed("memory"));
    const Volume taps = to_volume(random_psf(random, {9, 9, 9}), PixelType::float32);
    DeconvolveOptions options;
    options.max_host_bytes = 1 << 20;
    const std::string text =
        message_of<OutOfMemory>([&] { Deconvolver(shape, taps.view(), options, cpu_only()); });
    INFO(text);
    CHECK(contains(text, "1.00 MiB"));

    options.iterations = 2;
    options.max_host_bytes = index_t{6200} << 10;
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    Deconvolver engine(shape, taps.view(), options, cpu_only());
    Volume image(shape, PixelType::float32);
    engine.execute(image.view(), image.view());
    CHECK(memory_use().peak_bytes - before <= *options.max_host_bytes);
    CHECK(engine.plan().host_bytes <= *options.max_host_bytes);
    CHECK(engine.plan().object == Shape3{48, 56, 64});
    CHECK(contains(engine.plan().to_string(), "48×56×64"));
}

TEST_CASE("deconvolve: a GPU that is required and absent is an error") {
    if (gpu_unavailable().empty()) SKIP("there is a GPU");
    EngineChoice gpu;
    gpu.device = EngineChoice::Device::gpu;
    CHECK_THROWS_AS(Deconvolver({4, 4, 4}, to_volume(psf(), PixelType::float32).view(), {}, gpu),
                    Unavailable);
}
