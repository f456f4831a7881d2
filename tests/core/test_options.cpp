// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/names.hpp"

using namespace convolume;
using convolume::testing::check_refusal;
using convolume::testing::contains;
using convolume::testing::message_of;

TEST_CASE("option names are parsed to the values that print them") {
    for (const Mode value : {Mode::full, Mode::same, Mode::valid})
        CHECK(parse_mode(to_string(value)) == value);
    for (const Operation value : {Operation::convolve, Operation::correlate, Operation::adjoint})
        CHECK(parse_operation(to_string(value)) == value);
    for (const Method value :
         {Method::automatic, Method::in_core, Method::dif, Method::tiled, Method::direct})
        CHECK(parse_method(to_string(value)) == value);
    for (const Precision value : {Precision::float32, Precision::float64})
        CHECK(parse_precision(to_string(value)) == value);
    for (const NanPolicy value :
         {NanPolicy::error, NanPolicy::zero, NanPolicy::propagate, NanPolicy::missing})
        CHECK(parse_nan_policy(to_string(value)) == value);
    for (const auto value :
         {KernelNormalization::none, KernelNormalization::sum, KernelNormalization::peak})
        CHECK(parse_kernel_normalization(to_string(value)) == value);
    for (const auto kind : {BoundaryKind::zero, BoundaryKind::nearest, BoundaryKind::reflect,
                            BoundaryKind::mirror, BoundaryKind::wrap})
        CHECK(parse_boundary(to_string(kind)).kind == kind);
    CHECK(std::string(to_string(Method::automatic)) == "auto");
    CHECK(std::string(to_string(Method::in_core)) == "in-core");
}

TEST_CASE("boundaries are parsed from names with values and from aliases") {
    CHECK(parse_boundary("constant:-2.5e3").kind == BoundaryKind::constant);
    CHECK(parse_boundary("constant:-2.5e3").value == -2500);
    CHECK(parse_boundary("symmetric").kind == BoundaryKind::reflect);
    CHECK(parse_boundary("periodic").kind == BoundaryKind::wrap);
    CHECK(parse_boundary("grid-mirror").kind == BoundaryKind::reflect);
    CHECK(parse_boundary("fill:100").value == 100);
    const Boundary back = parse_boundary(to_string(Boundary{BoundaryKind::constant, 100}));
    CHECK(back.kind == BoundaryKind::constant);
    CHECK(back.value == 100);
    const double value = 0.1234567890123;
    CHECK(std::abs(parse_boundary(to_string(Boundary{BoundaryKind::constant, value})).value -
                   value) < 1e-6);
    for (const char* wrong : {"constant", "constant:", "constant:x", "constant:1x", "wrap:3",
                              "zero:", "", ":", "constant:nan", "constant:inf", "constant:1,5"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_boundary(wrong), InvalidArgument);
    }
    check_refusal(parse_boundary, "torus",
                  {"zero", "constant", "nearest", "reflect", "mirror", "wrap"});
    CHECK(contains(message_of<InvalidArgument>([] { parse_boundary("constant"); }), "constant:"));
}

TEST_CASE("refused names list the choices") {
    check_refusal(parse_mode, "sane", {"full", "same", "valid"});
    check_refusal(parse_operation, "deconvolve", {"convolve", "correlate", "adjoint"});
    check_refusal(parse_method, "fft", {"auto", "in-core", "dif", "tiled", "direct"});
    check_refusal(parse_precision, "float16", {"float32", "float64"});
    check_refusal(parse_nan_policy, "ignore", {"error", "zero", "propagate", "missing"});
    check_refusal(parse_kernel_normalization, "max", {"none", "sum", "peak"});
    CHECK_THROWS_AS(parse_mode(""), InvalidArgument);
    CHECK_THROWS_AS(parse_mode("ful"), InvalidArgument);
    CHECK_THROWS_AS(parse_mode("full "), InvalidArgument);
}

TEST_CASE("kernel centers are parsed from names and coordinates") {
    CHECK(parse_kernel_center("middle").kind == KernelCenter::Kind::middle);
    CHECK(parse_kernel_center("scipy").kind == KernelCenter::Kind::scipy);
    CHECK(parse_kernel_center("peak").kind == KernelCenter::Kind::peak);
    CHECK(parse_kernel_center("centroid").kind == KernelCenter::Kind::centroid);
    CHECK(parse_kernel_center("corner").kind == KernelCenter::Kind::corner);
    const KernelCenter center = parse_kernel_center("0,12,7");
    CHECK(center.kind == KernelCenter::Kind::explicit_);
    CHECK(center.index == Index3{0, 12, 7});
    for (const char* wrong :
         {"", "1", "1,2", "1,2,", "1,2,3,4", "1,2,x", ",1,2", "1;2;3", "1.5,2,3", "center"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_kernel_center(wrong), InvalidArgument);
    }
    check_refusal(parse_kernel_center, "left",
                  {"middle", "scipy", "peak", "centroid", "corner", "Z,Y,X"});
}

TEST_CASE("sizes in bytes are parsed with their units") {
    const index_t kib = 1024, mib = kib * kib, gib = mib * kib;
    CHECK(parse_byte_size("4096") == 4096);
    CHECK(parse_byte_size("0") == 0);
    CHECK(parse_byte_size("512M") == 512 * mib);
    CHECK(parse_byte_size("8GiB") == 8 * gib);
    CHECK(parse_byte_size("1.5GB") == 1500000000);
    CHECK(parse_byte_size("2k") == 2 * kib);
    CHECK(parse_byte_size("3KB") == 3000);
    CHECK(parse_byte_size("1T") == kib * gib);
    CHECK(parse_byte_size("7b") == 7);
    for (const char* wrong :
         {"", "G", "-1G", "1X", "1GiBB", "1 2", "nan", "inf", "1e30", "9E", "abc", "1GB/s"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_byte_size(wrong), InvalidArgument);
    }
    const std::string text = message_of<InvalidArgument>([] { parse_byte_size("many"); });
    CHECK(contains(text, "many"));
    CHECK(contains(text, "GiB"));
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(1023) == "1023 B");
    CHECK(contains(format_bytes(3 * gib / 2), "1.5"));
    CHECK(contains(format_bytes(3 * gib / 2), "GiB"));
    CHECK(contains(format_bytes(index_t{1} << 62), "EiB"));
}
