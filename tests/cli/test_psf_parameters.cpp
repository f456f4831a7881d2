// SPDX-License-Identifier: Apache-2.0
// Tests how `convolume psf` reads options and side files: compared with the library, broken files.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "convolume/psf.hpp"
#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using nlohmann::json;

namespace {

void check_same(const Array& file, const Volume& made) {
    REQUIRE(file.shape == made.shape());
    index_t different = 0;
    for (index_t i = 0; i < file.count(); ++i)
        different += file.values[static_cast<std::size_t>(i)].real() !=
                     static_cast<double>(made.elements<float>()[i]);
    CHECK(different == 0);
}

// Returns the sum over the middle of a plane.
double light_within(const Array& psf, index_t z, index_t height, index_t width) {
    const index_t top = (psf.shape.y - height) / 2, left = (psf.shape.x - width) / 2;
    double sum = 0;
    for (index_t y = top; y < top + height; ++y)
        for (index_t x = left; x < left + width; ++x) sum += psf(z, y, x).real();
    return sum;
}

}  // namespace

TEST_CASE("every option of the microscope sets the library's option of that name") {
    const TemporaryFolder folder;
    const Arguments layers{"psf",    "-o",      "layers.tif",     "--na",    "1.25",
                           "--ni",   "1.47",    "--ni0",          "1.5",     "--ng",
                           "1.53",   "--ng0",   "1.51",           "--ns",    "1.38",
                           "--ti0",  "140um",   "--tg",           "0.165mm", "--tg0",
                           "172um",  "--depth", "2500nm",         "--voxel", "210,70,90nm",
                           "--size", "5,9,11",  "--oversampling", "2",       "--wavelength",
                           "610nm"};
    PsfOptions options;
    options.objective = {.na = 1.25,
                         .ni = 1.47,
                         .ni0 = 1.5,
                         .ng = 1.53,
                         .ng0 = 1.51,
                         .ns = 1.38,
                         .ti0_um = 140,
                         .tg_um = 165,
                         .tg0_um = 172};
    options.depth_um = 2.5;
    options.wavelength_um = 0.61;
    options.voxel = {0.21, 0.07, 0.09};
    options.size = {5, 9, 11};
    options.oversampling = 2;
    succeed(layers, folder);
    const auto parameters = json::parse(read_text(folder / "layers.json"));
    const auto near = [](const json& value, double wanted) {
        CHECK(value.get<double>() == Approx(wanted).epsilon(1e-14));
    };
    const auto& psf = parameters.at("psf");
    for (const auto& [key, value] : {std::pair{"na", 1.25},
                                     {"ni", 1.47},
                                     {"ni0", 1.5},
                                     {"ng", 1.53},
                                     {"ng0", 1.51},
                                     {"ns", 1.38},
                                     {"ti0_um", 140.0},
                                     {"tg_um", 165.0},
                                     {"tg0_um", 172.0},
                                     {"depth_um", 2.5},
                                     {"wavelength_um", 0.61}}) {
        INFO(key);
        near(psf.at(key), value);
    }
    near(psf.at("voxel_um").at(0), 0.21);
    near(psf.at("voxel_um").at(1), 0.07);
    near(psf.at("voxel_um").at(2), 0.09);
    // Lengths may differ in their last bit, which float32 shows only if it changes the rounding.
    const auto check_close = [&](const char* name) {
        const Array file = read_image(folder / name).only();
        const Volume made = make_psf(options).values;
        REQUIRE(file.shape == made.shape());
        double worst = 0;
        for (index_t i = 0; i < file.count(); ++i)
            worst = std::max(worst, std::abs(file.values[static_cast<std::size_t>(i)].real() -
                                             static_cast<double>(made.elements<float>()[i])));
        INFO(name);
        CHECK(worst < 1e-8);
    };
    check_close("layers.tif");

    const auto also = [&](Arguments more, const char* name) {
        more.insert(more.begin(), layers.begin() + 3, layers.end());
        more.insert(more.begin(), {"psf", "-o", name});
        succeed(more, folder);
        check_close(name);
    };
    options.modality = Modality::confocal;
    options.excitation_um = 0.5;
    options.pinhole_au = 0.6;
    also({"--modality", "confocal", "--excitation", "500nm", "--pinhole", "0.6"}, "confocal.tif");
    options.modality = Modality::light_sheet;
    options.excitation_um.reset();
    options.pinhole_au.reset();
    options.sheet_fwhm_um = 1.3;
    options.model = PsfModel::gibson_lanni;
    also({"--modality", "light-sheet", "--sheet", "1300nm", "--model", "gibson-lanni"},
         "sheet.tif");
}

TEST_CASE("the middle plane is at the requested depth, or the brightest") {
    const TemporaryFolder folder;
    const auto middle_of = [&](const Arguments& more) {
        Arguments all{"psf",     "-o",           "a.tif",  "--overwrite", "--na",
                      "1.4",     "--wavelength", "520nm",  "--voxel",     "200,100,100nm",
                      "--depth", "4um",          "--size", "3,5,5"};
        all.insert(all.end(), more.begin(), more.end());
        succeed(all, folder);
        return json::parse(read_text(folder / "a.json"))["facts"]["middle_plane_z_um"]
            .get<double>();
    };
    PsfOptions options;
    options.depth_um = 4;
    const double brightest = brightest_focus_um(options);
    CHECK(brightest < -3.5);
    CHECK(middle_of({}) == brightest);
    CHECK(middle_of({"--focus", "brightest"}) == brightest);
    CHECK(middle_of({"--focus", "-1500nm"}) == -1.5);
    options.center_z_um = -1.5;
    options.voxel = {0.2, 0.1, 0.1};
    options.size = {3, 5, 5};
    check_same(read_image(folder / "a.tif").only(), make_psf(options).values);
}

// Shares refer to planes through the voxels' middles; rings and voxels divide the borders
// differently.
TEST_CASE("captured light is the share of the light in larger volumes") {
    const TemporaryFolder folder;
    const Arguments kinds[] = {{"--modality", "widefield"},
                               {"--modality", "confocal", "--excitation", "480nm"},
                               {"--modality", "light-sheet", "--sheet", "2um"}};
    for (const Arguments& kind : kinds) {
        const auto captured = [&](const char* size, const char* name) {
            Arguments all{"psf",     "-o",          name,           "--overwrite",    "--na",
                          "1",       "--ni",        "1.33",         "--depth",        "1um",
                          "--voxel", "500,70,90nm", "--wavelength", "520nm",          "--size",
                          size,      "--focus",     "-1um",         "--oversampling", "1"};
            all.insert(all.end(), kind.begin(), kind.end());
            succeed(all, folder);
            const std::string side = std::string(name, std::strlen(name) - 3) + "json";
            return json::parse(read_text(folder / side))["facts"]["captured_by_plane"]
                .get<std::vector<double>>();
        };
        const auto small = captured("7,17,15", "small.tif");
        const auto large = captured("7,61,45", "large.tif");
        REQUIRE(small.size() == 7);
        const Array file = read_image(folder / "large.tif").only();
        for (index_t z = 0; z < 7; ++z) {
            const auto at = static_cast<std::size_t>(z);
            const double within = light_within(file, z, 17, 15) / light_within(file, z, 61, 45);
            INFO(kind[1] << ", plane " << z << ": " << small[at] << " of " << large[at]);
            CHECK(small[at] / large[at] == Approx(within).epsilon(1.2e-2));
        }
    }
}

TEST_CASE("every broken side file gets one sentence") {
    const TemporaryFolder folder;
    succeed({"psf", "-o", "good.npy", "--na", "1.2", "--ni", "1.33", "--wavelength", "520nm",
             "--voxel", "100,40,40nm", "--size", "3,5,7", "--modality", "confocal", "--excitation",
             "488nm", "--depth", "1um"},
            folder);
    const std::string good = read_text(folder / "good.json");
    int refused = 0;
    const auto check = [&](const std::string& text, const std::string& what) {
        write_text(folder / "bad.json", text);
        const CommandResult result = testing::convolume(
            {"psf", "--from", "bad.json", "-o", "out.npy", "-q", "--overwrite"}, folder);
        INFO(what << ": " << result.status << ' ' << result.err << '\n' << text.substr(0, 1500));
        CHECK((result.status == 0 || result.status == 2 || result.status == 65));
        if (result.status == 0) return;
        ++refused;
        const auto at = result.err.find("convolume: error: ");
        REQUIRE(at != std::string::npos);
        CHECK(result.err.find('\n', at) == result.err.size() - 1);
    };
    for (std::size_t end = 0; end + 1 < good.rfind('}'); end += 23)
        check(good.substr(0, end), "truncated");
    CHECK(refused > 10);

    const json whole = json::parse(good);
    refused = 0;
    int cases = 0, turn = 0;
    for (const auto& [key, value] : whole["psf"].items())
        for (const json& wrong : {json(nullptr), json(true), json("1.2"), json::array(),
                                  json::object(), json{1e300, 1e300, 1e300}, json(-1e300)}) {
            // Each key has half of the values: several keys are read as each kind of value is.
            if (turn++ % 2 == 1) continue;
            json bad = whole;
            bad["psf"][key] = wrong;
            check(bad.dump(), "wrong " + key);
            ++cases;
        }
    CHECK(refused == cases);
    for (const char* number : {"1e-300", "1e999", "-1", "18446744073709551616", "0"})
        check("{\"psf\": {\"na\": " + std::string(number) +
                  ", \"wavelength_um\": 0.5, \"voxel_um\": [0.1, 0.1, 0.1], \"size\": [3, 3, 3]}}",
              number);

    // If a key has two values, the last one counts.
    const std::string twice = R"({"psf": {"model": "born-wolf", "na": 5, "na": 0.8,
        "wavelength_um": 0.5, "voxel_um": [0.1, 0.1, 0.1], "size": [3, 3, 3]}})";
    check(twice, "duplicate key");
    CHECK(json::parse(read_text(folder / "out.json"))["psf"]["na"] == 0.8);
    for (const int depth : {50, 300'000}) {
        const std::string deep = std::string(static_cast<std::size_t>(depth), '[') +
                                 std::string(static_cast<std::size_t>(depth), ']');
        check(deep, "nested");
        check("{\"psf\": {\"na\": " + deep + "}}", "nested parameter");
        check("{\"more\": " + deep + ", \"psf\": {\"na\": 1}}", "nested beside");
    }

    Random random(test_seed("flipped bits of a side file"));
    const auto first = static_cast<index_t>(good.find("\"psf\""));
    const auto last = static_cast<index_t>(good.find("\"facts\""));
    for (int i = 0; i < 100; ++i) {
        std::string flipped = good;
        for (index_t flips = random.integer(1, 3); flips > 0; --flips) {
            char& byte = flipped[static_cast<std::size_t>(random.integer(first, last))];
            byte = static_cast<char>(byte ^ (1 << random.integer(0, 7)));
        }
        check(flipped, "flipped");
    }
}
