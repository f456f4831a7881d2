// SPDX-License-Identifier: Apache-2.0
// Tests `convolume psf`: files and side files, reproduction, reported facts, refusals.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Returns the arguments of a small PSF with `more`.
Arguments psf(const Arguments& more) {
    Arguments all{"psf"};
    const auto has = [&](const char* option) {
        return std::find(more.begin(), more.end(), option) != more.end();
    };
    for (const auto& [option, value] : {std::pair{"--na", "1.2"},
                                        {"--ni", "1.33"},
                                        {"--wavelength", "520nm"},
                                        {"--voxel", "200,65,67nm"},
                                        {"--size", "5,9,11"}})
        if (!has(option)) all.insert(all.end(), {option, value});
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

void check_refused(const TemporaryFolder& folder, const Arguments& arguments, int status,
                   const std::string& names) {
    const auto before = folder.names();
    const CommandResult result = testing::convolume(arguments, folder);
    INFO(names << ": " << result.err);
    CHECK(result.status == status);
    CHECK(result.err.find('\n') == result.err.size() - 1);
    CHECK(contains(result.err, names));
    CHECK(folder.names() == before);
}

nlohmann::json json_of(const std::string& path) {
    return nlohmann::json::parse(read_text(path));
}

}  // namespace

TEST_CASE("PSFs are float32 stacks of sum 1 with a voxel size") {
    const TemporaryFolder folder;
    for (const std::string name : {"a.tif", "b.ome.tif", "c.h5", "d.h5:/some/psf"}) {
        succeed(psf({"-o", name}), folder);
        const ImageFile file = read_image(folder / name);
        CHECK(file.metadata.type == PixelType::float32);
        CHECK(file.metadata.shape == Shape3{5, 9, 11});
        const double voxel[] = {0.2, 0.065, 0.067};
        for (std::size_t axis = 0; axis < 3; ++axis)
            CHECK(std::abs(file.metadata.voxel_size_um[axis].value_or(0) - voxel[axis]) < 1e-6);
        CHECK(std::abs(sum_of(file.only()).real() - 1) < 1e-6);
        double peak = 0;
        for (const Complex& value : file.only().values) peak = std::max(peak, value.real());
        CHECK(file.only().values[(2 * 9 + 4) * 11 + 5].real() == peak);
    }
    CHECK(folder.names() == std::vector<std::string>{"a.json", "a.tif", "b.ome.json", "b.ome.tif",
                                                     "c.h5", "c.json", "d.h5", "d.json"});
}

TEST_CASE("side files reproduce a PSF to the last bit") {
    const TemporaryFolder folder;
    const Arguments kinds[] = {
        {"--model", "gaussian"},
        {"--model", "born-wolf", "--focus", "0.1234567890123um"},
        {"--model", "gibson-lanni", "--depth", "3.3um", "--tg", "165um", "--ns", "1.37"},
        {"--modality", "confocal", "--excitation", "488nm", "--pinhole", "0.7"},
        {"--modality", "light-sheet", "--sheet", "1.1um", "--oversampling", "2"},
        {"--modality", "two-photon", "--excitation", "920nm"},
        {"--modality", "spinning-disc", "--excitation", "488nm", "--disc-pinhole", "50um",
         "--disc-spacing", "0.25mm", "--disc-magnification", "63"},
        {"--size", "auto", "--capture", "0.7"}};
    for (const Arguments& kind : kinds) {
        Arguments arguments = psf(kind);
        arguments.insert(arguments.end(), {"-o", "first.tif", "--overwrite"});
        succeed(arguments, folder);
        succeed(
            {"psf", "--from", "first.json", "-o", "second.tif", "--overwrite", "--threads", "3"},
            folder);
        INFO(read_text(folder / "first.json"));
        CHECK(read_text(folder / "first.tif") == read_text(folder / "second.tif"));
        CHECK(read_text(folder / "first.json") == read_text(folder / "second.json"));
    }
}

TEST_CASE("options override the parameters of a side file") {
    const TemporaryFolder folder;
    succeed(psf({"--modality", "confocal", "--excitation", "488nm", "-o", "a.tif"}), folder);
    succeed({"psf", "--from", "a.json", "--modality", "widefield", "--size", "3,5,7", "--voxel",
             "0.1um,50nm,50nm", "-o", "b.tif"},
            folder);
    const auto b = json_of(folder / "b.json").at("psf");
    CHECK(b.at("modality") == "widefield");
    CHECK_FALSE(b.contains("excitation_um"));
    CHECK(b.at("size") == nlohmann::json{3, 5, 7});
    CHECK(b.at("voxel_um").at(0) == 0.1);
    CHECK(b.at("na") == 1.2);
    CHECK(json_of(folder / "a.json").at("psf").at("excitation_um") == 0.488);
    CHECK(json_of(folder / "a.json").at("psf").at("ni0") == 1.33);  // the default of ni0 is ni
    succeed({"psf", "--from", "a.json", "--focus", "1um", "-o", "c.tif"}, folder);
    succeed({"psf", "--from", "c.json", "--focus", "brightest", "-o", "d.tif"}, folder);
    CHECK(read_text(folder / "a.tif") == read_text(folder / "d.tif"));
    CHECK(read_text(folder / "a.tif") != read_text(folder / "c.tif"));
}

TEST_CASE("reported facts agree with the formulas") {
    const TemporaryFolder folder;
    const CommandResult result = succeed(psf({"--na", "1.4", "--ni", "1.515", "--ns", "1.33",
                                              "--depth", "2um", "--explain", "--json"}),
                                         folder);
    CHECK(folder.names().empty());
    for (const char* fact :
         {"0.61 λ/NA = 0.2266 µm", "2 ni λ/NA² = 0.8039 µm", "at most 0.0929 µm across, 0.2778 µm",
          "paraxial rays meet at -2.278 µm", "effectively 1.33", "total reflection"}) {
        INFO(fact << " in\n" << result.err);
        CHECK(contains(result.err, fact));
    }
    CHECK_FALSE(contains(result.err, "warning"));
    const auto facts = nlohmann::json::parse(result.out).at("facts");
    CHECK(std::abs(facts.at("nyquist_lateral_um").get<double>() - 0.52 / 5.6) < 1e-12);

    const CommandResult coarse = succeed(psf({"--voxel", "900,65,300nm", "--explain"}), folder);
    CHECK(contains(coarse.err, "voxels of 0.9 µm along z"));
    CHECK(contains(coarse.err, "voxels of 0.3 µm along x"));
    CHECK_FALSE(contains(coarse.err, "along y are too coarse"));

    const auto confocal = [&](const char* excitation) {
        return succeed(psf({"--modality", "confocal", "--excitation", excitation, "--explain"}),
                       folder);
    };
    CHECK(
        contains(confocal("600nm").err,
                 "excitation wavelength, 0.6 µm, is longer than the emission wavelength, 0.52 µm"));
    CHECK_FALSE(contains(confocal("488nm").err, "longer than the emission"));
    // 1 AU = 1.22 · 0.52 / 1.2 µm.
    CHECK(contains(succeed(psf({"--modality", "confocal", "--excitation", "488", "--pinhole", "2",
                                "--explain"}),
                           folder)
                       .err,
                   "pinhole 1.057 µm"));
}

TEST_CASE("captured light is reported for the planes of the volume") {
    const TemporaryFolder folder;
    const CommandResult result = succeed(
        psf({"--size", "auto", "--capture", "0.8", "-o", "a.tif", "--explain", "--json"}), folder);
    CHECK(contains(result.err, "light   the volume contains"));
    const auto json = json_of(folder / "a.json");
    auto printed = nlohmann::json::parse(result.out);
    CHECK(printed.at("report").at("seconds").at("total") > 0);
    printed.erase("report");
    CHECK(printed == json);
    const auto captured = json.at("facts").at("captured_by_plane").get<std::vector<double>>();
    CHECK(captured.size() == json.at("psf").at("size").at(0).get<std::size_t>());
    for (const double share : captured) CHECK((share > 0.8 && share < 1));
    const Shape3 shape = read_image(folder / "a.tif").metadata.shape;
    CHECK((shape.z % 2 == 1 && shape.y % 2 == 1 && shape.x % 2 == 1));
    CHECK((shape.z > 1 && shape.z < 21));
}

TEST_CASE("impossible PSFs are refused before a file is written") {
    const TemporaryFolder folder;
    const std::pair<Arguments, const char*> refusals[] = {
        {{"--na", "1.5"}, "aperture of 1.5"},
        {{"--na", "0"}, "aperture is 0"},
        {{"--na", "1e-300"}, "aperture is 1e-300"},
        {{"--na", "1,2"}, "--na is a number"},
        {{"--wavelength", "520um"}, "wavelength is 520 µm"},
        {{"--wavelength", "-520nm"}, "wavelength is -0.52 µm"},
        {{"--voxel", "200um,65um,65um"}, "voxel size along z is 200 µm"},
        {{"--voxel", "200,65,65"}, "unit (nm, um or mm)"},
        {{"--voxel", "200,6500,65nm"}, "voxel size along y is 6.5 µm"},
        {{"--voxel", "0,65,65nm"}, "voxels have positive sizes"},
        {{"--depth", "-2um"}, "depth of the source is -2"},
        {{"--depth", "2"}, "length with its unit"},
        {{"--size", "5,8,9"}, "8 voxels along y"},
        {{"--size", "5,9"}, "--size takes three values"},
        {{"--size", "5,9,x"}, "three whole numbers"},
        {{"--modality", "confocal"}, "needs the wavelength of excitation"},
        {{"--modality", "light-sheet"}, "needs the sheet's thickness"},
        {{"--modality", "spinning"}, "light-sheet, two-photon and spinning-disc"},
        {{"--modality", "spinning-disc", "--excitation", "488nm"}, "give both"},
        {{"--disc-spacing", "250um"}, "plays no part in the modality widefield"},
        {{"--disc-pinhole", "50"}, "--disc-pinhole"},
        {{"--pinhole", "1"}, "a pinhole was given"},
        {{"--sheet", "1um"}, "thickness of a light sheet was given"},
        {{"--modality", "confocal", "--excitation", "488nm", "--pinhole", "0"}, "pinhole is 0"},
        {{"--model", "airy"}, "born-wolf"},
        {{"--model", "gaussian", "--depth", "2um"}, "--depth does not apply"},
        {{"--model", "born-wolf", "--ns", "1.4"}, "--ns does not apply"},
        {{"--capture", "0.9"}, "a size was given"},
        {{"--size", "auto", "--capture", "1"}, "share of 1"},
        {{"--size", "auto", "--capture", "0.99999"}, "more than 4 GiB"},
        {{"--oversampling", "0"}, "--oversampling"},
        {{"--focus", "sharp"}, "--focus is a length"},
        {{"--threads", "0"}, "--threads"}};
    for (const auto& [arguments, names] : refusals) {
        Arguments all = psf(arguments);
        all.insert(all.end(), {"-o", "out.tif", "-q"});
        check_refused(folder, all, 2, names);
    }
    check_refused(folder, psf({"-o", "out.png", "-q"}), 2, "png");
    check_refused(folder, psf({"-o", "out.json", "-q"}), 2, "two outputs");
    check_refused(folder, psf({"-q"}), 2, "no output was named");
    check_refused(folder, {"psf", "-o", "out.tif", "--na", "1"}, 2, "--wavelength was not given");
    check_refused(folder, psf({"-o", "missing/out.tif"}), 73, "missing");
}

TEST_CASE("neither the PSF nor its side file is replaced without --overwrite") {
    const TemporaryFolder folder;
    write_text(folder / "out.json", "mine");
    check_refused(folder, psf({"-o", "out.tif"}), 5, "out.json");
    CHECK(read_text(folder / "out.json") == "mine");
    succeed(psf({"-o", "out.tif", "--overwrite"}), folder);
    check_refused(folder, psf({"-o", "out.tif"}), 5, "out.tif");
}

TEST_CASE("side files that cannot be used are refused, and the key is named") {
    const TemporaryFolder folder;
    succeed(psf({"-o", "good.tif"}), folder);
    const auto good = json_of(folder / "good.json");
    const auto check = [&](const char* key, const nlohmann::json& value, int status,
                           const char* names) {
        auto bad = good;
        bad["psf"][key] = value;
        write_text(folder / "bad.json", bad.dump());
        check_refused(folder, {"psf", "--from", "bad.json", "-o", "out.tif", "-q"}, status, names);
    };
    check("color", "green", 65, "has \"color\"");
    check("na", "1.2", 65, "\"na\" of \"bad.json\" is not a number");
    check("ni", nullptr, 65, "\"ni\" of");
    check("size", {1, 2}, 65, "\"size\" of");
    check("size", {5, 9.5, 9}, 65, "\"size\" of");
    check("voxel_um", "65nm", 65, "\"voxel_um\" of");
    check("model", 3, 65, "\"model\" of");
    check("model", "airy", 2, "born-wolf");
    check("na", 1.7, 2, "aperture of 1.7");
    auto bad = good;
    bad["psf"].erase("wavelength_um");
    write_text(folder / "bad.json", bad.dump());
    check_refused(folder, {"psf", "--from", "bad.json", "-o", "out.tif"}, 65,
                  "no \"wavelength_um\"");
    for (const char* text : {"", "{", "[]", "{\"psf\": 3}"}) {
        write_text(folder / "bad.json", text);
        check_refused(folder, {"psf", "--from", "bad.json", "-o", "out.tif"}, 65,
                      "is not a JSON object");
    }
    check_refused(folder, {"psf", "--from", "none.json", "-o", "out.tif"}, 66, "cannot open");
}
