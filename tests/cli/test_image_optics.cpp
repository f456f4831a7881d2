// SPDX-License-Identifier: Apache-2.0
// Tests NA, immersion, wavelengths and pinhole from OME-XML, and objectives known by name.

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using nlohmann::json;

namespace {

/// An OME-TIFF of two channels whose XML has the given elements.
struct OmeImage : TemporaryFolder {
    OmeImage(const std::string& objectives, const std::string& settings,
             const std::string& channels) {
        io::ImageMetadata metadata;
        metadata.channels = 2;
        metadata.voxel_size_um = {0.3, 0.15, 0.15};
        metadata.ome_xml =
            "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\">"
            "<Instrument ID=\"Instrument:0\">" +
            objectives + "</Instrument><Image ID=\"Image:0\">" + settings +
            "<Pixels ID=\"Pixels:0\">" + channels + "</Pixels></Image></OME>";
        Random random(test_seed("OME image"));
        std::vector<Array> volumes;
        for (int i = 0; i < 2; ++i) volumes.push_back(random.array({4, 12, 12}, false, 1));
        write_image(*this / "image.ome.tif", volumes, metadata);
    }

    CommandResult run(const std::string& command, const Arguments& more) const {
        Arguments arguments{command};
        if (command == "psf")
            arguments.insert(arguments.end(), {"--like", "image.ome.tif", "--explain"});
        else
            arguments.insert(arguments.end(), {"image.ome.tif", "--dry-run"});
        arguments.push_back("--json");
        arguments.insert(arguments.end(), more.begin(), more.end());
        return testing::convolume(arguments, *this);
    }
    /// Returns the parameters of `convolume psf --like` this image.
    json psf(const Arguments& more = {}) const {
        const CommandResult result = run("psf", more);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return json::parse(result.out).at("psf");
    }
};

const std::string two_objectives =
    "<Objective ID=\"Objective:0\" LensNA=\"0.3\" Immersion=\"Air\"/>"
    "<Objective ID=\"Objective:1\" LensNA=\"1.2\" Immersion=\"Water\" "
    "NominalMagnification=\"60\"/>";
const std::string second = "<ObjectiveSettings ID=\"Objective:1\"/>";
const std::string confocal =
    "<Channel ID=\"Channel:0:0\" AcquisitionMode=\"LaserScanningConfocalMicroscopy\" "
    "EmissionWavelength=\"520\" ExcitationWavelength=\"488\" PinholeSize=\"50\"/>"
    "<Channel ID=\"Channel:0:1\" AcquisitionMode=\"WideField\" EmissionWavelength=\"0.64\" "
    "EmissionWavelengthUnit=\"µm\"/>";

}  // namespace

TEST_CASE("the objective of the image and the optics of each channel come from OME-XML") {
    const OmeImage image(two_objectives, second, confocal);
    const json first = image.psf();
    CHECK(first.at("na") == 1.2);
    CHECK(first.at("ni") == 1.33);
    CHECK(first.at("modality") == "confocal");
    CHECK(first.at("wavelength_um") == 0.52);
    CHECK(first.at("excitation_um") == 0.488);
    CHECK(first.at("pinhole_au").get<double>() == Approx(50.0 / 60 / (1.22 * 0.52 / 1.2)));
    const json other = image.psf({"--channel", "1"});
    CHECK(other.at("modality") == "widefield");
    CHECK(other.at("wavelength_um").get<double>() == Approx(0.64));
    CHECK_FALSE(other.contains("pinhole_au"));
    CHECK(image.run("psf", {"--channel", "2"}).status == 2);

    // The terminal shows the optical parameters and where they come from.
    const std::string text = image.run("psf", {}).err;
    CHECK(contains(text, "optics  NA 1.2, ni 1.33 (Water), confocal, emission 520 nm"));
    CHECK(contains(text, "pinhole 1.58 AU (50 µm at 60x), from image.ome.tif"));
}

TEST_CASE("OME-XML names a spinning disc, but not its pinholes") {
    const OmeImage image(two_objectives, second,
                         "<Channel ID=\"Channel:0:0\" AcquisitionMode=\"SpinningDiskConfocal\" "
                         "EmissionWavelength=\"520\" ExcitationWavelength=\"488\"/>"
                         "<Channel ID=\"Channel:0:1\"/>");
    const CommandResult bare = image.run("psf", {});
    CHECK(bare.status == 2);
    CHECK(contains(bare.err, "distance between them: give both"));
    const json psf = image.psf(
        {"--disc-pinhole", "50um", "--disc-spacing", "250um", "--disc-magnification", "60"});
    CHECK(psf.at("modality") == "spinning-disc");
    CHECK(psf.at("excitation_um") == 0.488);
    CHECK(psf.at("disc_pinhole_um") == 50);
    CHECK(psf.at("disc_magnification") == 60);
}

TEST_CASE("options override the metadata of the image") {
    const OmeImage image(two_objectives, second, confocal);
    const json psf = image.psf({"--na", "1.1", "--wavelength", "600nm", "--modality", "widefield"});
    CHECK(psf.at("na") == 1.1);
    CHECK(psf.at("ni") == 1.33);
    CHECK(psf.at("wavelength_um") == 0.6);
    CHECK_FALSE(psf.contains("excitation_um"));
    const std::string text =
        image.run("psf", {"--na", "1.1", "--wavelength", "600nm", "--modality", "widefield"}).err;
    CHECK(contains(text, "optics  ni 1.33 (Water), from image.ome.tif"));
    CHECK(image.psf({"--objective", "63x/1.3 glycerol"}).at("ni") == 1.45);
}

TEST_CASE("deconvolve makes each channel's PSF from the metadata alone") {
    const OmeImage image(two_objectives, second, confocal);
    const CommandResult result = image.run("deconvolve", {});
    INFO(result.err);
    REQUIRE(result.status == 0);
    const json kernels = json::parse(result.out).at("kernel");
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0].at("psf").at("modality") == "confocal");
    CHECK(kernels[1].at("psf").at("wavelength_um").get<double>() == Approx(0.64));
    CHECK(contains(result.err, "emission 640 nm, from the image's metadata"));
    const CommandResult chosen = image.run("deconvolve", {"--channel", "1"});
    CHECK(json::parse(chosen.out).at("kernel").at("psf").at("modality") == "widefield");
}

TEST_CASE("missing and impossible values in OME-XML are not used") {
    const std::string plain = "<Channel ID=\"Channel:0:0\"/><Channel ID=\"Channel:0:1\"/>";
    // The image does not say which of two objectives was used.
    const OmeImage ambiguous(two_objectives, "", plain);
    CHECK(contains(ambiguous.run("psf", {"--wavelength", "520nm"}).err, "--na was not given"));
    // The settings override the medium's usual index; a single objective needs no settings.
    const OmeImage settings("<Objective ID=\"Objective:0\" LensNA=\"1.3\" Immersion=\"Oil\"/>",
                            "<ObjectiveSettings ID=\"Objective:0\" RefractiveIndex=\"1.406\"/>",
                            plain);
    CHECK(settings.psf({"--wavelength", "520nm"}).at("ni") == 1.406);
    const OmeImage only("<Objective ID=\"Objective:0\" LensNA=\"1.3\" Immersion=\"Oil\"/>", "",
                        "<Channel ID=\"Channel:0:0\" EmissionWavelength=\"0.52\"/>"
                        "<Channel ID=\"Channel:0:1\" EmissionWavelength=\"nonsense\"/>");
    CHECK(only.psf({"--wavelength", "520nm"}).at("ni") == 1.515);
    // 0.52 nm is no wavelength of light.
    CHECK(contains(only.run("psf", {}).err, "--wavelength was not given"));
}

TEST_CASE("objectives are known by their names") {
    const TemporaryFolder folder;
    const auto psf = [&](const char* name, const Arguments& more = {}) {
        Arguments arguments{"psf",     "--objective",   name,        "--wavelength", "520nm",
                            "--voxel", "300,100,100nm", "--explain", "--json",       "-q"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const CommandResult result = testing::convolume(arguments, folder);
        INFO(name << ": " << result.err);
        REQUIRE(result.status == 0);
        return json::parse(result.out).at("psf");
    };
    CHECK((psf("60x/1.4 oil").at("na") == 1.4 && psf("60x/1.4 oil").at("ni") == 1.515));
    CHECK((psf("20X/0.8").at("na") == 0.8 && psf("20X/0.8").at("ni") == 1));
    CHECK((psf("25x/1.05 Water").at("na") == 1.05 && psf("25x 1.05 WATER").at("ni") == 1.33));
    CHECK(psf("60x/1.3 silicone", {"--ni", "1.41"}).at("ni") == 1.41);
    for (const char* bad : {"60x", "60/1.4 oil", "60x/1.4", "60x/1.4 honey", "x/1.4 oil", ""}) {
        const CommandResult result =
            testing::convolume({"psf", "--objective", bad, "--wavelength", "520nm", "--voxel",
                                "300,100,100nm", "-o", "a.tif"},
                               folder);
        CHECK(result.status == 2);
        CHECK(contains(result.err, "60x/1.4 oil"));
    }
    const CommandResult list = testing::convolume({"psf", "--objective", "list"}, folder);
    CHECK(list.status == 0);
    CHECK(contains(list.out, "60x/1.4 oil         1.4   1.515\n"));
    CHECK(contains(list.out, "30x/1.05 silicone   1.05  1.4\n"));
}

TEST_CASE("assumptions for missing metadata are reported") {
    const std::string emission =
        "<Channel ID=\"Channel:0:0\" EmissionWavelength=\"520\"/>"
        "<Channel ID=\"Channel:0:1\" EmissionWavelength=\"520\"/>";
    const auto objective = [](const std::string& na, const std::string& immersion) {
        return "<Objective ID=\"Objective:0\" LensNA=\"" + na + '"' +
               (immersion.empty() ? "" : " Immersion=\"" + immersion + '"') + "/>";
    };
    const std::string assumed = "ni 1.515 assumed (the image ", warning = "that of oil, is assumed";
    for (const std::string immersion : {"Other", "Multi", ""}) {
        const std::string why = "does not say the immersion" +
                                (immersion.empty() ? "" : ", only \"" + immersion + '"') + ")";
        const OmeImage dry(objective("0.8", immersion), "", emission);
        const OmeImage wet(objective("1.3", immersion), "", emission);
        for (const std::string command : {"psf", "deconvolve", "simulate"}) {
            const std::string err = dry.run(command, {}).err;
            INFO(err);
            CHECK(contains(err, "optics  NA 0.8, emission 520 nm, from "));
            CHECK(contains(err, assumed + why));
            CHECK(contains(err, "widefield assumed (the image does not say how it was recorded)"));
            CHECK(contains(err, warning));
            CHECK(contains(err, "most objectives of NA 0.8 are dry; give --ni 1"));
            const std::string of_wet = wet.run(command, {}).err;
            CHECK(contains(of_wet, assumed + why));
            CHECK_FALSE(contains(of_wet, warning));
            for (const Arguments& known :
                 {Arguments{"--ni", "1"}, {"--objective", "20x/0.8 air"}}) {
                const std::string of_known = dry.run(command, known).err;
                CHECK_FALSE(contains(of_known, "ni 1.515"));
                CHECK_FALSE(contains(of_known, warning));
            }
        }
    }
    const OmeImage water(objective("0.8", "Water"), "", emission);
    CHECK_FALSE(contains(water.run("deconvolve", {}).err, "ni 1.515"));
    const OmeImage pinhole(two_objectives, second,
                           "<Channel ID=\"Channel:0:0\" EmissionWavelength=\"520\" "
                           "AcquisitionMode=\"LaserScanningConfocalMicroscopy\" "
                           "ExcitationWavelength=\"488\"/>"
                           "<Channel ID=\"Channel:0:1\"/>");
    CHECK(contains(pinhole.run("psf", {}).err, "pinhole 1 AU assumed"));
    CHECK_FALSE(contains(pinhole.run("psf", {}).err, "widefield assumed"));
    CHECK_FALSE(contains(pinhole.run("psf", {"--pinhole", "2"}).err, "assumed"));
}
