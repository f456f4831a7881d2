// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/image_optics.hpp"

#include <array>
#include <optional>
#include <utility>

#include "cli/psf/objectives.hpp"
#include "cli/text/format.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Modalities by OME's AcquisitionMode. Of others nothing is known.
constexpr std::array<std::pair<const char*, const char*>, 5> modalities{
    {{"WideField", "widefield"},
     {"LaserScanningConfocalMicroscopy", "confocal"},
     {"MultiPhotonMicroscopy", "two-photon"},
     {"SpinningDiskConfocal", "spinning-disc"},
     {"SPIM", "light-sheet"}}};

/// Wavelengths in a wrong unit are as good as none.
bool is_light(const std::optional<double>& wavelength_um) {
    return wavelength_um && *wavelength_um >= 0.1 && *wavelength_um <= 10;
}

class Collector {
  public:
    explicit Collector(const Json& typed) : typed_(typed) {}

    template <class T>
    void add(const char* key, const T& value, const std::string& text) {
        if (typed_.contains(key)) return;
        optics_.parameters[key] = value;
        optics_.text += (optics_.text.empty() ? "" : ", ") + text;
    }
    /// What holds, typed or of the file; null where neither says.
    Json value(const char* key) const {
        const Json& from = typed_.contains(key) ? typed_ : optics_.parameters;
        return from.contains(key) ? from[key] : Json();
    }
    ImageOptics take() { return std::move(optics_); }

  private:
    const Json& typed_;
    ImageOptics optics_;
};

std::string nm(double wavelength_um) {
    return format_number(1e3 * wavelength_um) + " nm";
}

void add_objective(const io::MicroscopeMetadata& microscope, Collector& collected) {
    if (microscope.na) collected.add("na", *microscope.na, "NA " + format_number(*microscope.na));
    std::optional<double> index = microscope.refractive_index;
    if (!index) index = index_of_immersion(microscope.immersion);
    if (!index || *index < 1) return;
    const std::string medium =
        microscope.immersion.empty() ? "" : message(" (", microscope.immersion, ")");
    collected.add("ni", *index, "ni " + format_number(*index) + medium);
}

/// Its diameter in Airy units, from that in the plane of the pinhole.
void add_pinhole(const io::MicroscopeMetadata& microscope, double pinhole_um,
                 Collector& collected) {
    const Json na = collected.value("na"), wavelength = collected.value("wavelength_um");
    if (!microscope.magnification || !na.is_number() || !wavelength.is_number()) return;
    const double airy_um = 1.22 * wavelength.get<double>() / na.get<double>();
    const double pinhole_au = pinhole_um / *microscope.magnification / airy_um;
    collected.add(
        "pinhole_au", pinhole_au,
        message("pinhole ", format_number(pinhole_au, 3), " AU (", format_number(pinhole_um),
                " µm at ", format_number(*microscope.magnification), "x)"));
}

}  // namespace

ImageOptics optics_of(const io::ImageMetadata& image, index_t channel, const Json& typed) {
    const io::MicroscopeMetadata& microscope = image.microscope;
    Collector collected(typed);
    add_objective(microscope, collected);
    if (microscope.channels.empty()) return collected.take();
    const auto& of_channel = microscope.channels.at(static_cast<std::size_t>(channel));
    for (const auto& [mode, modality] : modalities)
        if (of_channel.acquisition_mode == mode)
            collected.add("modality", std::string(modality), modality);
    const bool two_photon = collected.value("modality") == "two-photon";
    if (is_light(of_channel.emission_um) && !two_photon)
        collected.add("wavelength_um", *of_channel.emission_um,
                      "emission " + nm(*of_channel.emission_um));
    const bool confocal = collected.value("modality") == "confocal";
    const bool disc = collected.value("modality") == "spinning-disc";
    if (!confocal && !two_photon && !disc) return collected.take();
    if (is_light(of_channel.excitation_um))
        collected.add("excitation_um", *of_channel.excitation_um,
                      "excitation " + nm(*of_channel.excitation_um));
    if (confocal && of_channel.pinhole_um)
        add_pinhole(microscope, *of_channel.pinhole_um, collected);
    return collected.take();
}

}  // namespace convolume::cli
