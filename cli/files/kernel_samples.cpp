// SPDX-License-Identifier: Apache-2.0
#include "cli/files/kernel_samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/files/volumes.hpp"
#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

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

/// Converts the kernel to float32 or float64.
void make_floats(Volume& kernel) {
    const PixelType type = kernel.type();
    if (is_complex(type))
        throw InvalidArgument(
            "--psf-background does not apply to complex kernels; give the PSF's intensity");
    if (!is_integer(type)) return;
    const bool wide = type == PixelType::int32 || type == PixelType::uint32;
    Volume values(kernel.shape(), wide ? PixelType::float64 : PixelType::float32);
    convert_pixels(kernel.view(), values.view(), 0);
    kernel = std::move(values);
}

// Calls f(elements) with the floats or doubles of `values`.
template <class F>
void visit_floats(Volume& values, const F& f) {
    if (values.type() == PixelType::float64)
        f(values.elements<double>());
    else
        f(values.elements<float>());
}

// Subtracts `level`, and sets what is below 0 then to 0.
template <class T>
void subtract(T* values, const Shape3& shape, T level) {
    parallel_for(shape.z * shape.y, thread_count(0), [&](index_t number, int) {
        T* const row = values + number * shape.x;
        for (index_t x = 0; x < shape.x; ++x) row[x] = std::max(T{0}, row[x] - level);
    });
}

double take_median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Returns the median of the outer faces and three standard deviations. The deviation comes from the
// median distance to the median, since some light reaches the faces.
template <class T>
double background_of_faces(const T* values, const Shape3& shape) {
    const auto is_on_face = [&](index_t i, int axis) {
        return shape[axis] >= 3 && (i == 0 || i + 1 == shape[axis]);
    };
    std::vector<double> outer;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y) {
            const bool whole = is_on_face(z, 0) || is_on_face(y, 1);
            if (!whole && shape.x < 3) continue;
            for (index_t x = 0; x < shape.x; x += whole ? 1 : shape.x - 1)
                outer.push_back(static_cast<double>(values[(z * shape.y + y) * shape.x + x]));
        }
    if (outer.empty())
        throw InvalidArgument(
            "--psf-background auto needs at least three samples along an axis; give a number");
    const double middle = take_median(outer);
    for (double& value : outer) value = std::abs(value - middle);
    constexpr double deviations_of_normal = 1.4826;
    return middle + 3 * deviations_of_normal * take_median(outer);
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

void check_finite_kernel(const std::string& path, const KernelSurvey& survey) {
    if (survey.nonfinite)
        throw BadData(message("the kernel \"", path, "\" holds ", survey.nonfinite_value,
                              " at z,y,x = ", to_string(*survey.nonfinite, ","),
                              ": replace it by a finite number"));
}

double subtract_background(Volume& kernel, const KernelBackground& background) {
    if (!background.automatic && background.value == 0) return 0;
    make_floats(kernel);
    double level = background.value;
    visit_floats(kernel, [&](auto* values) {
        using T = std::remove_pointer_t<decltype(values)>;
        if (background.automatic) level = background_of_faces(values, kernel.shape());
        subtract(values, kernel.shape(), static_cast<T>(level));
    });
    return level;
}

index_t clip_negative(Volume& kernel) {
    const std::vector<index_t> negative = visit_pixel_type(kernel.type(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        return figures_of_rows<T>(kernel.view(), thread_count(0), [&](const T* row) {
            index_t count = 0;
            if constexpr (std::is_signed_v<T>)
                for (index_t x = 0; x < kernel.shape().x; ++x) count += row[x] < 0;
            return count;
        });
    });
    const index_t count = std::accumulate(negative.begin(), negative.end(), index_t{0});
    if (count == 0) return 0;
    make_floats(kernel);
    visit_floats(kernel, [&](auto* values) {
        subtract(values, kernel.shape(), std::remove_pointer_t<decltype(values)>{0});
    });
    return count;
}

}  // namespace convolume::cli
