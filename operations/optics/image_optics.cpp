// SPDX-License-Identifier: Apache-2.0
#include "operations/optics/image_optics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "convolume/missing_pixels.hpp"
#include "operations/number_text.hpp"

namespace convolume {

namespace {

/// Modalities by OME's AcquisitionMode, as far as convolume has them.
constexpr std::array<std::pair<std::string_view, Modality>, 5> modalities{
    {{"WideField", Modality::widefield},
     {"LaserScanningConfocalMicroscopy", Modality::confocal},
     {"MultiPhotonMicroscopy", Modality::two_photon},
     {"SpinningDiskConfocal", Modality::spinning_disc},
     {"SPIM", Modality::light_sheet}}};

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

/// Returns true for a possible wavelength of light; others are in a wrong unit and are ignored.
bool is_light(const std::optional<double>& wavelength_um) {
    return wavelength_um && *wavelength_um >= 0.1 && *wavelength_um <= 10;
}

/// Collects the parameters of a microscope that the file gives and the user has not given.
class OpticsCollector {
  public:
    explicit OpticsCollector(const MicroscopeParameters& given) : given_(given) {}

    template <class T>
    void add(std::optional<T> MicroscopeParameters::*parameter, const T& value,
             const std::string& text) {
        if (given_.*parameter) return;
        optics_.parameters.*parameter = value;
        optics_.text += (optics_.text.empty() ? "" : ", ") + text;
    }
    void add_wavelength(std::optional<double> MicroscopeParameters::*parameter,
                        const std::optional<double>& wavelength_um, const char* name) {
        if (is_light(wavelength_um))
            add(parameter, *wavelength_um,
                message(name, ' ', format_number(1e3 * *wavelength_um), " nm"));
    }
    /// Notes a parameter that has its default, since neither the user nor the file gives it.
    void assume(const std::string& text) {
        optics_.assumed += (optics_.assumed.empty() ? "" : ", ") + text;
    }
    void warn(Sentence text) { optics_.warnings.push_back(std::move(text)); }
    /// Returns the given value, else the one of the file; nothing if neither exists.
    template <class T>
    std::optional<T> value(std::optional<T> MicroscopeParameters::*parameter) const {
        return given_.*parameter ? given_.*parameter : optics_.parameters.*parameter;
    }
    bool is(Modality modality) const { return value(&MicroscopeParameters::modality) == modality; }
    /// Returns true if the file gives no parameter: nothing is then assumed about the image.
    bool is_empty() const { return optics_.text.empty(); }
    RecordedOptics release() { return std::move(optics_); }

  private:
    const MicroscopeParameters& given_;
    RecordedOptics optics_;
};

void add_objective(const io::MicroscopeMetadata& microscope, OpticsCollector& collected) {
    if (microscope.na)
        collected.add(&MicroscopeParameters::na, *microscope.na,
                      "NA " + format_number(*microscope.na));
    std::optional<double> index = microscope.refractive_index;
    if (!index) index = index_of_immersion(microscope.immersion);
    if (!index || *index < 1) return;
    const std::string medium =
        microscope.immersion.empty() ? "" : message(" (", microscope.immersion, ")");
    collected.add(&MicroscopeParameters::ni, *index, "ni " + format_number(*index) + medium);
}

/// Adds the pinhole's diameter in Airy units, from its diameter in the plane of the pinhole.
void add_pinhole(const io::MicroscopeMetadata& microscope, double pinhole_um,
                 OpticsCollector& collected) {
    const auto na = collected.value(&MicroscopeParameters::na);
    const auto wavelength_um = collected.value(&MicroscopeParameters::wavelength_um);
    if (!microscope.magnification || !na || !wavelength_um) return;
    const double airy_um = 1.22 * *wavelength_um / *na;
    const double pinhole_au = pinhole_um / *microscope.magnification / airy_um;
    collected.add(
        &MicroscopeParameters::pinhole_au, pinhole_au,
        message("pinhole ", format_number(pinhole_au, 3), " AU (", format_number(pinhole_um),
                " µm at ", format_number(*microscope.magnification), "x)"));
}

/// Notes the defaults of missing parameters that the metadata of an image usually have, and warns
/// of an immersion that hardly fits the NA.
void add_assumptions(const io::MicroscopeMetadata& microscope, const MicroscopeParameters& others,
                     OpticsCollector& collected) {
    const bool says_nothing = collected.is_empty();
    const PsfOptions defaults;
    const auto missing = [&](auto parameter) {
        return !collected.value(parameter) && !(others.*parameter);
    };
    if (missing(&MicroscopeParameters::ni)) {
        const std::string ni = format_number(defaults.objective.ni);
        std::string why = "the image does not say the immersion";
        if (!microscope.immersion.empty()) why += message(", only \"", microscope.immersion, '"');
        if (!says_nothing) collected.assume(message("ni ", ni, " assumed (", why, ")"));
        const auto na = collected.value(&MicroscopeParameters::na);
        if (na && *na < 1)
            collected.warn(sentence("ni ", ni, ", that of oil, is assumed since ", why,
                                    ", but most objectives of NA ", format_number(*na),
                                    " are dry; give ", OptionName{"ni"},
                                    " 1 or that of the immersion"));
    }
    if (says_nothing) return;
    if (missing(&MicroscopeParameters::modality))
        collected.assume(message(to_string(defaults.modality),
                                 " assumed (the image does not say how it was recorded)"));
    if (collected.is(Modality::confocal) && missing(&MicroscopeParameters::pinhole_au))
        collected.assume("pinhole 1 AU assumed (the image does not say its size)");
}

void add_channel(const io::MicroscopeMetadata& microscope,
                 const io::MicroscopeMetadata::Channel& channel, OpticsCollector& collected) {
    for (const auto& [mode, modality] : modalities)
        if (channel.acquisition_mode == mode)
            collected.add(&MicroscopeParameters::modality, modality, to_string(modality));
    const bool two_photon = collected.is(Modality::two_photon);
    if (!two_photon)
        collected.add_wavelength(&MicroscopeParameters::wavelength_um, channel.emission_um,
                                 "emission");
    const bool confocal = collected.is(Modality::confocal);
    if (!confocal && !two_photon && !collected.is(Modality::spinning_disc)) return;
    collected.add_wavelength(&MicroscopeParameters::excitation_um, channel.excitation_um,
                             "excitation");
    if (confocal && channel.pinhole_um) add_pinhole(microscope, *channel.pinhole_um, collected);
}

}  // namespace

RecordedOptics recorded_optics(const io::ImageMetadata& image, index_t channel,
                               const MicroscopeParameters& given,
                               const MicroscopeParameters& others) {
    const io::MicroscopeMetadata& microscope = image.microscope;
    OpticsCollector collected(given);
    add_objective(microscope, collected);
    if (!microscope.channels.empty())
        add_channel(microscope, microscope.channels.at(static_cast<std::size_t>(channel)),
                    collected);
    add_assumptions(microscope, others, collected);
    return collected.release();
}

std::optional<double> index_of_immersion(std::string_view medium) {
    std::string name;
    for (const char c : medium)
        if (c != ' ') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const auto& [known, index] : media)
        if (name == known) return index;
    return std::nullopt;
}

std::optional<VoxelSize> psf_voxel_for(const io::ImageMetadata& image) {
    const auto& [z, y, x] = image.voxel_size_um;
    if (!y || !x || (!z && image.shape.z > 1)) return std::nullopt;
    // A single plane has no distance to others. Any small one suits.
    return VoxelSize{z.value_or(std::min(*y, *x)), *y, *x};
}

Shape3 automatic_psf_size(const PsfOptions& options, const std::optional<Shape3>& image,
                          std::optional<double> share, const ExecutionContext& context) {
    constexpr double most_light = 0.95;
    if (!image) return psf_size_for(options, share.value_or(most_light), context);
    if (share || options.modality != Modality::widefield)
        return psf_size_for_image(options, *image, share.value_or(most_light), context);
    const Shape3 stack = psf_size_for_image(options, *image, 0.5, context);
    const Shape3 plane = psf_size_for_image(options, {1, image->y, image->x}, most_light, context);
    return {stack.z, std::max(stack.y, plane.y), std::max(stack.x, plane.x)};
}

std::optional<double> bead_saturation(const ConstImageView& stack, PixelType recorded) {
    const auto* const values = static_cast<const float*>(stack.data);
    const float* const last = values + element_count(stack.shape);
    if (values == last) return {};
    const auto largest = static_cast<double>(*std::max_element(values, last));
    return is_full_scale(largest, recorded) ? std::optional(largest) : std::nullopt;
}

Shape3 bead_psf_size(const std::optional<Shape3>& given, const std::optional<PsfOptions>& model,
                     const Shape3& stack) {
    if (given) return *given;
    if (!model)
        throw InvalidArgument(
            sentence("the size of the beads' PSF is not known; give the optics with ",
                     OptionName{"na"}, " and ", OptionName{"wavelength_um"},
                     ", from which it follows, or ", OptionName{"size"}));
    const Objective& lens = model->objective;
    const double wavelength = model->modality == Modality::two_photon
                                  ? model->excitation_um.value_or(model->wavelength_um)
                                  : model->wavelength_um;
    const double across = 5 * 0.61 * wavelength / lens.na;
    const double along = 4 * lens.ni * wavelength / (lens.na * lens.na);
    Shape3 size;
    for (int axis = 0; axis < 3; ++axis) {
        const double half = std::ceil((axis == 0 ? along : across) / model->voxel[axis]);
        const index_t most = std::max<index_t>(3, stack[axis] * 3 / 4 - 1) | 1;
        size[axis] = std::min(2 * static_cast<index_t>(std::min(half, 1e6)) + 1, most);
    }
    return size;
}

}  // namespace convolume
