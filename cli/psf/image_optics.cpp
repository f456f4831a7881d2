// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/image_optics.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/psf.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Modalities by OME's AcquisitionMode, as far as convolume has them.
constexpr std::array<std::pair<const char*, const char*>, 5> modalities{
    {{"WideField", "widefield"},
     {"LaserScanningConfocalMicroscopy", "confocal"},
     {"MultiPhotonMicroscopy", "two-photon"},
     {"SpinningDiskConfocal", "spinning-disc"},
     {"SPIM", "light-sheet"}}};

/// Returns true for a possible wavelength of light; others are in a wrong unit and are ignored.
bool is_light(const std::optional<double>& wavelength_um) {
    return wavelength_um && *wavelength_um >= 0.1 && *wavelength_um <= 10;
}

/// Collects the parameters of a microscope that the file gives and the user has not typed.
class OpticsCollector {
  public:
    explicit OpticsCollector(const Json& typed) : typed_(typed) {}

    template <class T>
    void add(const char* key, const T& value, const std::string& text) {
        if (typed_.contains(key)) return;
        optics_.parameters[key] = value;
        optics_.text += (optics_.text.empty() ? "" : ", ") + text;
    }
    /// Notes a parameter that has its default, since neither the user nor the file gives it.
    void assume(const std::string& text) {
        optics_.assumed += (optics_.assumed.empty() ? "" : ", ") + text;
    }
    void warn(const std::string& text) { optics_.warnings.push_back(text); }
    /// Returns the typed value, else the one of the file; null if neither exists.
    Json value(const char* key) const {
        const Json& from = typed_.contains(key) ? typed_ : optics_.parameters;
        return from.contains(key) ? from[key] : Json();
    }
    /// Returns true if the file gives no parameter: nothing is then assumed about the image.
    bool is_empty() const { return optics_.parameters.empty(); }
    ImageOptics release() { return std::move(optics_); }

  private:
    const Json& typed_;
    ImageOptics optics_;
};

std::string format_nm(double wavelength_um) {
    return format_number(1e3 * wavelength_um) + " nm";
}

void add_objective(const io::MicroscopeMetadata& microscope, OpticsCollector& collected) {
    if (microscope.na) collected.add("na", *microscope.na, "NA " + format_number(*microscope.na));
    std::optional<double> index = microscope.refractive_index;
    if (!index) index = index_of_immersion(microscope.immersion);
    if (!index || *index < 1) return;
    const std::string medium =
        microscope.immersion.empty() ? "" : message(" (", microscope.immersion, ")");
    collected.add("ni", *index, "ni " + format_number(*index) + medium);
}

/// Adds the pinhole's diameter in Airy units, from its diameter in the plane of the pinhole.
void add_pinhole(const io::MicroscopeMetadata& microscope, double pinhole_um,
                 OpticsCollector& collected) {
    const Json na = collected.value("na"), wavelength = collected.value("wavelength_um");
    if (!microscope.magnification || !na.is_number() || !wavelength.is_number()) return;
    const double airy_um = 1.22 * wavelength.get<double>() / na.get<double>();
    const double pinhole_au = pinhole_um / *microscope.magnification / airy_um;
    collected.add(
        "pinhole_au", pinhole_au,
        message("pinhole ", format_number(pinhole_au, 3), " AU (", format_number(pinhole_um),
                " µm at ", format_number(*microscope.magnification), "x)"));
}

/// Notes the defaults of missing parameters that the metadata of an image usually have.
void add_assumptions(const io::MicroscopeMetadata& microscope, const Json& others,
                     OpticsCollector& collected) {
    if (collected.is_empty()) return;
    const PsfOptions defaults;
    const auto missing = [&](const char* key) {
        return collected.value(key).is_null() && !others.contains(key);
    };
    if (missing("ni")) {
        const std::string ni = format_number(defaults.objective.ni);
        std::string why = "the image does not say the immersion";
        if (!microscope.immersion.empty()) why += message(", only \"", microscope.immersion, '"');
        collected.assume(message("ni ", ni, " assumed (", why, ")"));
        const Json na = collected.value("na");
        if (na.is_number() && na.get<double>() < 1)
            collected.warn(message("ni ", ni, ", that of oil, is assumed since ", why,
                                   ", but most objectives of NA ", format_number(na.get<double>()),
                                   " are dry; give --ni 1 or that of the immersion"));
    }
    if (missing("modality"))
        collected.assume(message(to_string(defaults.modality),
                                 " assumed (the image does not say how it was recorded)"));
    if (collected.value("modality") == "confocal" && missing("pinhole_au"))
        collected.assume("pinhole 1 AU assumed (the image does not say its size)");
}

void add_channel(const io::MicroscopeMetadata& microscope,
                 const io::MicroscopeMetadata::Channel& channel, OpticsCollector& collected) {
    for (const auto& [mode, modality] : modalities)
        if (channel.acquisition_mode == mode)
            collected.add("modality", std::string(modality), modality);
    const bool two_photon = collected.value("modality") == "two-photon";
    if (is_light(channel.emission_um) && !two_photon)
        collected.add("wavelength_um", *channel.emission_um,
                      "emission " + format_nm(*channel.emission_um));
    const bool confocal = collected.value("modality") == "confocal";
    const bool disc = collected.value("modality") == "spinning-disc";
    if (!confocal && !two_photon && !disc) return;
    if (is_light(channel.excitation_um))
        collected.add("excitation_um", *channel.excitation_um,
                      "excitation " + format_nm(*channel.excitation_um));
    if (confocal && channel.pinhole_um) add_pinhole(microscope, *channel.pinhole_um, collected);
}

/// Refractive indices at 23 °C and about 550 nm.
constexpr std::array<std::pair<std::string_view, double>, 10> media{{{"air", 1.0},
                                                                     {"dry", 1.0},
                                                                     {"water", 1.33},
                                                                     {"dipping", 1.33},
                                                                     {"waterdipping", 1.33},
                                                                     {"silicone", 1.4},
                                                                     {"glycerol", 1.45},
                                                                     {"glycerin", 1.45},
                                                                     {"gly", 1.45},
                                                                     {"oil", 1.515}}};

constexpr std::array common_objectives{
    "10x/0.3 air",      "10x/0.45 air",       "20x/0.5 air",       "20x/0.75 air",
    "20x/0.8 air",      "40x/0.95 air",       "16x/0.8 water",     "20x/1.0 water",
    "25x/1.1 water",    "40x/0.8 water",      "40x/1.15 water",    "60x/1.2 water",
    "63x/1.2 water",    "60x/1.27 water",     "30x/1.05 silicone", "40x/1.25 silicone",
    "60x/1.3 silicone", "100x/1.35 silicone", "63x/1.3 glycerol",  "40x/1.3 oil",
    "60x/1.4 oil",      "63x/1.4 oil",        "60x/1.42 oil",      "100x/1.4 oil",
    "100x/1.45 oil",    "100x/1.49 oil"};

/// Returns the text in lower case, without spaces.
std::string normalized_name(std::string_view text) {
    std::string result;
    for (const char c : text)
        if (c != ' ') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// Parses a number at the beginning of `rest`, and removes it there.
std::optional<double> parse_leading_number(std::string_view& rest) {
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || !(value > 0)) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

}  // namespace

std::string ImageOptics::line(const std::string& source) const {
    if (text.empty()) return {};
    return message(text, ", from ", source, assumed.empty() ? "" : "; ", assumed);
}

ImageOptics optics_of(const io::ImageMetadata& image, index_t channel, const Json& typed,
                      const Json& others) {
    const io::MicroscopeMetadata& microscope = image.microscope;
    OpticsCollector collected(typed);
    add_objective(microscope, collected);
    if (!microscope.channels.empty())
        add_channel(microscope, microscope.channels.at(static_cast<std::size_t>(channel)),
                    collected);
    add_assumptions(microscope, others, collected);
    return collected.release();
}

std::optional<double> index_of_immersion(std::string_view medium) {
    const std::string name = normalized_name(medium);
    for (const auto& [known, index] : media)
        if (name == known) return index;
    return std::nullopt;
}

NamedObjective parse_objective(std::string_view option, std::string_view text) {
    const std::string name = normalized_name(text);
    std::string_view rest = name;
    const auto magnification = parse_leading_number(rest);
    const bool times = rest.starts_with('x');
    if (times) rest.remove_prefix(1);
    if (rest.starts_with('/')) rest.remove_prefix(1);
    const auto na = parse_leading_number(rest);
    const auto index = rest.empty() && na && *na < 1 ? 1.0 : index_of_immersion(rest);
    if (!magnification || !times || !na || !index)
        throw InvalidArgument(message(option, " is \"", text,
                                      "\", and not magnification, NA and medium (air, water, "
                                      "silicone, glycerol, oil); write it like \"60x/1.4 oil\", or "
                                      "see ",
                                      option, " list"));
    return {*magnification, *na, *index};
}

std::string list_of_objectives() {
    std::string text = "name                NA    ni\n";
    for (const char* name : common_objectives) {
        const NamedObjective objective = parse_objective("--objective", name);
        std::string line = name;
        line.resize(20, ' ');
        line += format_number(objective.na);
        line.resize(26, ' ');
        text += line + format_number(objective.ni) + '\n';
    }
    return text + "Others are written the same way: magnification, NA, medium.";
}

}  // namespace convolume::cli
