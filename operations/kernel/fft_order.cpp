// SPDX-License-Identifier: Apache-2.0
#include "operations/kernel/fft_order.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/threads.hpp"

namespace convolume {

namespace {

constexpr index_t least_extent = 3;  ///< least extent of an axis that shows FFT order

using Profile = std::vector<double>;

template <class T>
double magnitude_of(const T& sample) {
    if constexpr (requires { sample.imag(); })
        return static_cast<double>(std::abs(sample));
    else
        return std::abs(static_cast<double>(sample));
}

/// Returns for each axis the sums of squares of all samples with the same index, less the least
/// magnitude. Squares favor focused light: the planes of a widefield PSF have equal sums.
std::array<Profile, 3> energy_profiles(const ConstImageView& kernel, double least) {
    const Shape3& shape = kernel.shape;
    // Sums of the rows, and along x of the planes, which threads share.
    Profile rows(static_cast<std::size_t>(shape.z * shape.y));
    Profile columns(static_cast<std::size_t>(shape.z * shape.x));
    visit_pixel_type(kernel.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        parallel_for(shape.z, thread_count(0), [&](index_t z, int) {
            double* const column = columns.data() + z * shape.x;
            for (index_t y = 0; y < shape.y; ++y) {
                const T* const row = static_cast<const T*>(kernel.at(z, y, 0));
                double sum = 0;
#pragma omp simd reduction(+ : sum)
                for (index_t x = 0; x < shape.x; ++x) {
                    const double value = magnitude_of(row[x]) - least;
                    sum += value * value;
                    column[x] += value * value;
                }
                rows[static_cast<std::size_t>(z * shape.y + y)] = sum;
            }
        });
    });
    std::array<Profile, 3> profiles;
    for (int a = 0; a < 3; ++a)
        profiles[static_cast<std::size_t>(a)].resize(static_cast<std::size_t>(shape[a]));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        profiles[0][i / profiles[1].size()] += rows[i];
        profiles[1][i % profiles[1].size()] += rows[i];
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
        profiles[2][i % profiles[2].size()] += columns[i];
    return profiles;
}

/// Returns the mean square distance of light from index 0, around which the axis wraps, divided by
/// the mean square distance from the middle.
double distance_from_end(const Profile& profile) {
    const auto extent = static_cast<index_t>(profile.size());
    double from_end = 0, from_middle = 0;
    for (index_t i = 0; i < extent; ++i) {
        const double energy = profile[static_cast<std::size_t>(i)];
        const auto end = static_cast<double>(std::min(i, extent - i));
        const auto middle = static_cast<double>(i - extent / 2);
        from_end += energy * end * end;
        from_middle += energy * middle * middle;
    }
    return from_middle > 0 ? from_end / from_middle : 1;
}

/// Returns true if light beyond the end near the peak continues at the other end, as bright as on
/// the other side of the peak. Kernels that are only off center have no such light.
bool continues_at_other_end(const Profile& profile, index_t peak) {
    constexpr double least_share = 0.2;  // least light of the darker side, relative to the brighter
    const auto extent = static_cast<index_t>(profile.size());
    const bool at_lower_end = peak < extent / 2;
    const index_t step = at_lower_end ? -1 : 1;  // from the peak towards the nearer end
    double beyond = 0, opposite = 0;
    for (index_t i = at_lower_end ? peak + 1 : extent - peak; 2 * i < extent; ++i) {
        beyond += profile[static_cast<std::size_t>((peak + step * i + extent) % extent)];
        opposite += profile[static_cast<std::size_t>((peak - step * i + extent) % extent)];
    }
    return std::min(beyond, opposite) > least_share * std::max(beyond, opposite);
}

/// Returns true if the peak is at an end, or nearly so: measured peaks may be a little off.
bool is_at_end(index_t peak, index_t extent) {
    const index_t allowed = extent < 5 ? 0 : std::max<index_t>(1, extent / 16);
    return std::min(peak, extent - peak) <= allowed;
}

}  // namespace

bool WrappedAxes::all_wrapped(const Shape3& shape) const {
    for (int a = 0; a < 3; ++a)
        if (shape[a] >= least_extent && !wrapped[static_cast<std::size_t>(a)]) return false;
    return true;
}

std::string WrappedAxes::names() const {
    std::string text;
    int left = static_cast<int>(std::count(wrapped.begin(), wrapped.end(), true));
    for (int a = 0; a < 3; ++a) {
        if (!wrapped[static_cast<std::size_t>(a)]) continue;
        if (!text.empty()) text += left == 1 ? " and " : ", ";
        text += axis_name(a);
        --left;
    }
    return text;
}

WrappedAxes find_wrapped_axes(const ConstImageView& kernel, const KernelSurvey& survey) {
    const Index3& peak = survey.peak;
    std::array<bool, 3> at_end{};
    for (int a = 0; a < 3; ++a)
        at_end[static_cast<std::size_t>(a)] =
            kernel.shape[a] >= least_extent && is_at_end(peak[a], kernel.shape[a]);
    WrappedAxes found;
    if (at_end == found.wrapped) return found;
    const auto profiles = energy_profiles(kernel, survey.least);
    std::array<double, 3> distance{1, 1, 1};
    for (std::size_t a = 0; a < 3; ++a) {
        if (profiles[a].size() < least_extent) continue;
        distance[a] = distance_from_end(profiles[a]);
        // Light at the ends without a peak there is a ring.
        if (distance[a] < 0.5 && !at_end[a]) return {};
        at_end[a] = at_end[a] && continues_at_other_end(profiles[a], peak[static_cast<int>(a)]);
    }
    const auto is_certain = [&](std::size_t a) { return at_end[a] && distance[a] < 0.5; };
    if (!is_certain(0) && !is_certain(1) && !is_certain(2)) return found;
    // One certain axis suffices: along the others, light may be almost even.
    for (std::size_t a = 0; a < 3; ++a) found.wrapped[a] = at_end[a] && distance[a] < 1;
    return found;
}

std::optional<Sentence> fft_order_warning(const WrappedAxes& found, const Shape3& shape,
                                          const std::string& name, bool was_unwrapped) {
    if (!found.any()) return {};
    const bool all = found.all_wrapped(shape);
    if (was_unwrapped)
        return sentence(OptionName{"center"}, " corner reads ", name, " in FFT order, but along ",
                        found.names(), " its light is around the middle; ",
                        all ? "leave the option out"
                            : "save it in natural order (numpy.fft.fftshift, along the other axes "
                              "only) and leave the option out");
    const Sentence cure =
        all ? sentence("give ", OptionName{"center"},
                       " corner, or save it in natural order (numpy.fft.fftshift)")
            : sentence("save it in natural order (numpy.fft.fftshift, along ", found.names(),
                       " only)");
    return sentence(name, " is in FFT order along ", found.names(),
                    ": its light is around sample 0 and goes on at the other end; ", cure);
}

}  // namespace convolume
