// SPDX-License-Identifier: Apache-2.0
#include "signals/matched_template.hpp"

#include <cmath>

#include "convolume/correlation.hpp"
#include "core/views.hpp"
#include "signals/samples.hpp"

namespace convolume {

MatchedTemplate::MatchedTemplate(const ConstImageView& rows, index_t row, index_t index,
                                 double noise)
    : samples_({1, 1, rows.shape.x}, rows.type) {
    visit_pixel_type(rows.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T* const from = static_cast<const T*>(rows.at(0, row, 0));
        T* const to = samples_.elements<T>();
        for (index_t k = 0; k < size(); ++k) to[k] = from[k * rows.strides.x];
    });
    double energy = 0;
    const std::vector<std::complex<double>> values = loaded();
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (!std::isfinite(values[k].real()) || !std::isfinite(values[k].imag()))
            throw BadData(message("template ", index, " holds NaN or infinity at sample ", k,
                                  ": replace it by a finite number"));
        energy += std::norm(values[k]);
    }
    if (energy == 0)
        throw BadData(
            message("template ", index, " is zero everywhere: it matches nothing; leave it out"));
    scale_ = 1 / (noise * std::sqrt(energy));
}

std::vector<std::complex<double>> MatchedTemplate::loaded() const {
    std::vector<std::complex<double>> values(static_cast<std::size_t>(size()));
    convert_row(samples_.view(), 0, 0, size(), false, values.data());
    return values;
}

Volume MatchedTemplate::taps() const {
    Volume reversed({1, 1, size()}, is_complex() ? PixelType::complex128 : PixelType::float64);
    const std::vector<std::complex<double>> values = loaded();
    for (index_t k = 0; k < size(); ++k) {
        const std::complex<double> tap =
            scale_ * std::conj(values[static_cast<std::size_t>(size() - 1 - k)]);
        if (is_complex())
            reversed.elements<std::complex<double>>()[k] = tap;
        else
            reversed.elements<double>()[k] = tap.real();
    }
    return reversed;
}

std::vector<std::complex<double>> MatchedTemplate::snr(const std::complex<double>* signal,
                                                       index_t count) const {
    const std::vector<std::complex<double>> values = loaded();
    std::vector<std::complex<double>> results;
    for (index_t n = 0; n < count; ++n) {
        double real = 0, imaginary = 0;
        for (index_t k = 0; k < size(); ++k) {
            const std::complex<double> h = values[static_cast<std::size_t>(k)];
            const std::complex<double> x = signal[n + k];
            real += h.real() * x.real() + h.imag() * x.imag();
            imaginary += h.real() * x.imag() - h.imag() * x.real();
        }
        results.push_back(scale_ * std::complex<double>(real, imaginary));
    }
    return results;
}

std::vector<MatchedTemplate> load_templates(const std::vector<ConstImageView>& views,
                                            double noise) {
    if (!(noise > 0) || !std::isfinite(noise))
        throw InvalidArgument(
            message("a noise of standard deviation ", noise, " is not above 0: measure it"));
    std::vector<MatchedTemplate> templates;
    for (const ConstImageView& view : views) {
        if (view.shape.z != 1 || view.shape.y < 1 || view.shape.x < 1)
            throw InvalidArgument(message("templates have the shape ", to_string(view.shape),
                                          " (z×y×x): give 1×T×K, K samples in each row"));
        check_memory(view, message("template ", templates.size()));
        for (index_t row = 0; row < view.shape.y; ++row)
            templates.emplace_back(view, row, static_cast<index_t>(templates.size()), noise);
    }
    if (templates.empty())
        throw InvalidArgument("the bank holds no templates: it needs at least 1");
    return templates;
}

std::vector<Volume> matched_filters(const std::vector<ConstImageView>& templates, double noise) {
    std::vector<Volume> taps;
    for (const MatchedTemplate& one : load_templates(templates, noise)) taps.push_back(one.taps());
    return taps;
}

}  // namespace convolume
