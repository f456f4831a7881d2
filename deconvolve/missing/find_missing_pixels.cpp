// SPDX-License-Identifier: Apache-2.0
// Finds the pixels of an image that a deconvolution leaves out.

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"
#include "deconvolve/missing/finders.hpp"
#include "deconvolve/missing/plane_bands.hpp"

namespace convolume {

using namespace deconvolve;

namespace {

std::string share_text(index_t count, const Shape3& shape) {
    const double percent =
        100 * static_cast<double>(count) / static_cast<double>(element_count(shape));
    return message(count, count == 1 ? " pixel (" : " pixels (",
                   percent < 0.01 ? "less than 0.01" : message(std::round(100 * percent) / 100),
                   " %)");
}

Index3 pixel_of(const Shape3& shape, index_t number, index_t z) {
    return {z, number / shape.x, number % shape.x};
}

std::string place_text(const MissingPixels& missing) {
    const Box3 box = missing.box();
    const auto range = [&](int a) {
        return box.end[a] - box.begin[a] == 1 ? message(box.begin[a])
                                              : message(box.begin[a], "-", box.end[a] - 1);
    };
    return message("z ", range(0), ", y ", range(1), ", x ", range(2));
}

// Adds `found` to `missing`, with the sentence "N pixels (S %) WHAT, at z …" if any is new.
void add_found(const MissingPixels& found, const std::string& what, MissingPixels& missing) {
    const index_t before = missing.count();
    missing.add(found);
    if (missing.count() == before) return;
    missing.findings.push_back(
        message(share_text(found.count(), found.shape()), " ", what, ", at ", place_text(found)));
}

// Search for hot and dead pixels of the camera, and for others that only one plane has.
class HotPixelSearch {
  public:
    HotPixelSearch(const Shape3& shape, const PsfSharpness& sharpness, int threads)
        : sharpness_(sharpness),
          threads_(threads),
          hot_(shape),
          camera_(shape.y, shape.x, sharpness),
          of_threads_(static_cast<std::size_t>(threads)) {}

    // Takes planes from plane `first` on. Pixels in `missing` are not used.
    void add(const ConstImageView& planes, index_t first, const MissingPixels& missing) {
        std::vector<std::vector<index_t>> found(static_cast<std::size_t>(planes.shape.z));
        parallel_for(planes.shape.z, threads_, [&](index_t k, int thread) {
            Neighborhoods& pixels = of_threads_[static_cast<std::size_t>(thread)];
            compare_neighbors(plane_of(planes, k), left_out(missing, first + k), pixels);
            found[static_cast<std::size_t>(k)] = outliers_of(pixels, sharpness_, Outliers::bright);
        });
        for (index_t k = 0; k < planes.shape.z; ++k)
            for (const index_t i : found[static_cast<std::size_t>(k)])
                hot_.add(pixel_of(hot_.shape(), i, first + k));
        camera_.add(planes, first, hot_, missing, threads_);
    }

    void add_to(MissingPixels& missing) {
        MissingPixels bad(hot_.shape());
        for (const index_t i : camera_.find())
            for (index_t z = 0; z < bad.shape().z; ++z) bad.add(pixel_of(bad.shape(), i, z));
        add_found(bad, "are of hot or dead camera pixels", missing);
        hot_.remove(bad);
        add_found(hot_, "are brighter than the PSF allows (hot pixels)", missing);
    }

  private:
    static std::vector<bool> left_out(const MissingPixels& missing, index_t z) {
        if (!missing.has_plane(z)) return {};
        const Shape3& shape = missing.shape();
        std::vector<bool> marked(static_cast<std::size_t>(shape.y * shape.x));
        for (std::size_t i = 0; i < marked.size(); ++i)
            marked[i] = missing.contains(pixel_of(shape, static_cast<index_t>(i), z));
        return marked;
    }

    PsfSharpness sharpness_;
    int threads_;
    MissingPixels hot_;
    CameraPixels camera_;
    std::vector<Neighborhoods> of_threads_;
};

// Search in one volume.
class Search {
  public:
    Search(ImageSource& image, index_t t, index_t c, const PsfSharpness& sharpness,
           const MissingPixelOptions& options, int threads)
        : image_(image),
          t_(t),
          c_(c),
          sharpness_(sharpness),
          options_(options),
          threads_(threads),
          nonfinite_(image.format().shape),
          missing_(image.format().shape) {}

    MissingPixels find() {
        const bool finds_hot = options_.find_hot_pixels && !std::isinf(sharpness_.most);
        if (finds_hot) hot_.emplace(shape(), sharpness_, threads_);
        if (options_.no_data.find || options_.find_saturated || options_.leave_out_nonfinite)
            survey();
        else
            hot_.reset();
        if (is_finite_ && options_.no_data.value) add_given_value(*options_.no_data.value);
        if (is_finite_ && finds_hot) find_hot_pixels();
        // The deconvolution says where the image is not finite.
        if (is_finite_) return std::move(missing_);
        return MissingPixels(shape());
    }

  private:
    const Shape3& shape() const { return missing_.shape(); }

    // Calls use(first, planes) for bands of planes, until one is not finite. Of NaN and infinities
    // that are left out, known_to_be_missing is in their places.
    template <class Use>
    void for_each_finite_band(const Use& use) {
        // Each thread looks at a plane.
        constexpr index_t usual_bytes = index_t{128} << 20;
        const index_t wanted =
            std::max(usual_bytes, checked_multiply(threads_, plane_bytes_in_band(image_.format())));
        for_each_band(
            image_, t_, c_, std::min(options_.most_bytes, wanted),
            [&](index_t first, const ImageView& planes) {
                if (!is_integer(image_.format().type) && pixels::find_nonfinite(planes, threads_)) {
                    is_finite_ = options_.leave_out_nonfinite;
                    if (is_finite_) leave_out_nonfinite(first, planes);
                }
                if (is_finite_) use(first, ConstImageView(planes));
            });
    }

    void leave_out_nonfinite(index_t first, const ImageView& planes) {
        auto* const values = static_cast<float*>(planes.data);
        const index_t plane = shape().y * shape().x;
        for (index_t i = 0; i < element_count(planes.shape); ++i) {
            if (std::isfinite(values[i])) continue;
            nonfinite_.add(pixel_of(shape(), i % plane, first + i / plane));
            values[i] = known_to_be_missing;
        }
    }

    template <class Use>
    void for_each_plane(const Use& use) {
        for_each_finite_band([&](index_t first, const ConstImageView& planes) {
            parallel_for(planes.shape.z, threads_,
                         [&](index_t k, int) { use(plane_of(planes, k), first + k); });
        });
    }

    // Finds in one reading what no pixel's neighbors tell, and hot pixels if no others are missing.
    void survey() {
        NoDataSearch no_data(shape());
        SaturationSearch saturation;
        for_each_finite_band([&](index_t first, const ConstImageView& planes) {
            parallel_for(planes.shape.z, threads_, [&](index_t k, int) {
                const Plane plane = plane_of(planes, k);
                if (options_.no_data.find) no_data.add(plane, first + k);
                if (options_.find_saturated) saturation.add(plane);
            });
            if (nonfinite_.count() > 0) hot_.reset();
            if (hot_) hot_->add(planes, first, missing_);
        });
        if (!is_finite_) return;
        add_found(nonfinite_, "are NaN or infinite", missing_);
        if (options_.find_saturated) {
            missing_.saturated = saturation.find(image_.format().type, options_.camera_maximum);
            if (missing_.saturated)
                missing_.saturated->finding =
                    message(share_text(missing_.saturated->count, shape()), " are saturated, at ",
                            missing_.saturated->value);
        }
        if (options_.no_data.find) add_no_data(no_data.find());
    }

    void add_no_data(const NoData& found) {
        add_planes(found);
        add_margins(found);
        for (const NoData::Value& value : found.values)
            add_value(message("have no data (the value ", value.value, " beside other values)"),
                      value, [&](const Plane& plane) { return run_pixels(plane, value); });
    }

    void add_given_value(double given) {
        const NoData::Value any{static_cast<float>(given), 0, 0, 1};
        add_value(message("have no data (the value ", given, ")"), any, [&](const Plane& plane) {
            std::vector<bool> marked(static_cast<std::size_t>(plane.count()));
            for (std::size_t i = 0; i < marked.size(); ++i)
                marked[i] = static_cast<double>(plane.pixels[i]) == given;
            return marked;
        });
    }

    void add_planes(const NoData& found) {
        MissingPixels planes(shape());
        for (const index_t z : found.planes)
            planes.add(Box3{{z, 0, 0}, {z + 1, shape().y, shape().x}});
        add_found(planes, "have no data (planes of one value)", missing_);
    }

    void add_margins(const NoData& found) {
        MissingPixels margins(shape());
        for (std::size_t axis = 0; axis < 2; ++axis)
            for (std::size_t end = 0; end < 2; ++end) {
                const index_t width = found.margins[axis][end];
                const int a = static_cast<int>(axis) + 1;
                Box3 box{{0, 0, 0}, shape()};
                (end == 0 ? box.end[a] : box.begin[a]) = end == 0 ? width : shape()[a] - width;
                if (width > 0) margins.add(box);
            }
        add_found(margins, "have no data (margins darker than all else)", missing_);
    }

    // Adds the pixels that `marks` gives of each plane, unless they, or the others that have the
    // value, too, are more than the value allows.
    template <class Marks>
    void add_value(const std::string& what, const NoData::Value& value, const Marks& marks) {
        MissingPixels found(shape());
        index_t outside = 0;
        for_each_plane([&](const Plane& plane, index_t z) {
            const std::vector<bool> marked = marks(plane);
            index_t others = 0;
            for (std::size_t i = 0; i < marked.size(); ++i)
                others += !marked[i] && plane.pixels[i] == value.value;
            const std::lock_guard lock(mutex_);
            outside += others;
            for (std::size_t i = 0; i < marked.size(); ++i)
                if (marked[i]) found.add(pixel_of(shape(), static_cast<index_t>(i), z));
        });
        const auto all = static_cast<double>(element_count(shape()));
        const auto inside = static_cast<double>(found.count());
        if (static_cast<double>(outside) <= value.most_outside * (all - inside) &&
            inside <= value.most_inside * all)
            add_found(found, what, missing_);
    }

    // Neighbors of missing pixels are compared anew.
    void find_hot_pixels() {
        if (!hot_ || missing_.count() > 0) {
            hot_.emplace(shape(), sharpness_, threads_);
            for_each_finite_band([&](index_t first, const ConstImageView& planes) {
                hot_->add(planes, first, missing_);
            });
        }
        if (is_finite_) hot_->add_to(missing_);
    }

    ImageSource& image_;
    index_t t_, c_;
    PsfSharpness sharpness_;
    MissingPixelOptions options_;
    int threads_;
    std::mutex mutex_;
    bool is_finite_ = true;
    MissingPixels nonfinite_, missing_;
    std::optional<HotPixelSearch> hot_;
};

}  // namespace

MissingPixels find_missing_pixels(ImageSource& image, index_t t, index_t c,
                                  const PsfSharpness& sharpness, const MissingPixelOptions& options,
                                  int threads) {
    if (is_complex(image.format().type))
        throw BadData("missing pixels are searched for in real images: give the intensity");
    return Search(image, t, c, sharpness, options, thread_count(threads)).find();
}

}  // namespace convolume
