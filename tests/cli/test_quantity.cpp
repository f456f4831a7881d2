// SPDX-License-Identifier: Apache-2.0
// Tests the parsing of lengths and extents.

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::cli;

TEST_CASE("lengths take a unit", "[cli]") {
    CHECK(parse_length_um("--depth", "2um") == 2);
    CHECK(parse_length_um("--depth", "2 µm") == 2);
    CHECK(parse_length_um("--depth", " 0.25mm ") == 250);
    CHECK(parse_length_um("--depth", "-3um") == -3);  // parsed here, refused later
    CHECK(parse_length_um("--depth", "500nm") == Approx(0.5));
    for (const char* bad : {"", "2", "um", "2 pixels", "2um3", "nan um", "inf", "1e999um", "2,5um"})
        CHECK_THROWS_AS(parse_length_um("--depth", bad), InvalidArgument);
}

TEST_CASE("three lengths have the unit of the last one or their own", "[cli]") {
    const auto shared = parse_lengths_um("--voxel", "200,65,65nm");
    CHECK(shared[0] == Approx(0.2));
    CHECK(shared[2] == Approx(0.065));
    const auto own = parse_lengths_um("--voxel", "0.2um, 65nm, 64nm");
    CHECK(own[0] == Approx(0.2));
    CHECK(own[1] == Approx(0.065));
    CHECK(own[2] == Approx(0.064));
    for (const char* bad :
         {"", "65nm", "200,65nm", "1,2,3,4nm", "200,65,65", "200nm,65,65", ",,nm"})
        CHECK_THROWS_AS(parse_lengths_um("--voxel", bad), InvalidArgument);
}

TEST_CASE("wavelengths without a unit are recognized by their range", "[cli]") {
    CHECK(parse_wavelength_um("--wavelength", "520nm") == Approx(0.52));
    CHECK(parse_wavelength_um("--wavelength", "0.52um") == Approx(0.52));
    CHECK(parse_wavelength_um("--wavelength", "520") == Approx(0.52));
    CHECK(parse_wavelength_um("--wavelength", ".52") == Approx(0.52));
    CHECK(parse_wavelength_um("--wavelength", "2000") == Approx(2));
    for (const char* bad : {"", "20", "0.1", "5200", "-520", "green"})
        CHECK_THROWS_AS(parse_wavelength_um("--wavelength", bad), InvalidArgument);
}

TEST_CASE("extents are three whole numbers", "[cli]") {
    CHECK(parse_extents("--size", "64,256,128") == Shape3{64, 256, 128});
    CHECK(parse_extents("--size", "1, 1, 9000000000") == Shape3{1, 1, 9000000000});
    CHECK(testing::contains(
        testing::message_of<InvalidArgument>([] { parse_extents("--size", "5,9"); }), "\"5,9\""));
    for (const char* bad : {"", "64", "64,256", "1,2,3,4", "0,1,1", "-1,1,1", "1.5,1,1", "a,b,c",
                            "1,1,99999999999999999999"})
        CHECK_THROWS_AS(parse_extents("--size", bad), InvalidArgument);
}

TEST_CASE("voxel sizes that no light microscope has get a warning with the probable meaning") {
    using convolume::testing::contains;
    for (const char* usual : {"200,65,65nm", "0.2,0.1,0.1um", "5,1,1nm", "0.5,0.1,0.1mm",
                              "0.2um,65nm,64nm", "2000,500,500um"})
        CHECK((voxel_size_warning("--voxel", usual).empty() ==
               (std::string(usual) != "2000,500,500um")));
    const auto doubt = [](const char* text) { return voxel_size_warning("--voxel", text); };
    CHECK(contains(doubt("0.2,0.1,0.1nm"), "did you mean --voxel 0.2,0.1,0.1um?"));
    CHECK(contains(doubt("0.2, .1, 0.1 nm"), "did you mean --voxel 0.2, .1, 0.1um?"));
    CHECK(contains(doubt("2000,500,500um"), "did you mean --voxel 2000,500,500nm?"));
    CHECK(contains(doubt("200,65,65mm"), "did you mean --voxel 200,65,65nm?"));
    for (const char* none : {"-1,0.1,0.1um", "0,65,65nm", "200,65,-65nm"})
        CHECK(
            contains(testing::message_of<InvalidArgument>([&] { doubt(none); }), "positive sizes"));
    CHECK(contains(doubt("0.2nm,0.1nm,0.1nm"), "check the numbers and their unit"));
    CHECK(contains(doubt("1e-6,1e-6,1e-6nm"), "check the numbers and their unit"));
}

TEST_CASE("pixels that are not square get a warning that names the order of Fiji") {
    using convolume::testing::contains;
    const auto doubt = [](const char* text) { return voxel_size_warning("--voxel", text); };
    CHECK(doubt("100,100,300nm") ==
          "--voxel 100,100,300nm means pixels that are not square, 0.1 µm along y and 0.3 µm along "
          "x: the order is z,y,x, while Fiji's is x,y,z; did you mean --voxel 300,100,100nm?");
    CHECK(contains(doubt("0.1, 0.1, 0.3 um"), "did you mean --voxel 0.3,0.1,0.1um?"));
    CHECK(contains(doubt("65nm,65nm,0.2um"), "did you mean --voxel 0.2,0.065,0.065um?"));
    CHECK(contains(doubt("90,100,300nm"), "is z,y,x, while Fiji's is x,y,z; check the order"));
    CHECK(contains(doubt("200,65,80nm"), "0.065 µm along y and 0.08 µm along x"));
    CHECK(contains(doubt("200,65,80nm"), "check the order"));
    CHECK(doubt("200,65,67nm").empty());
    CHECK(doubt("100,100,100nm").empty());
}
