// SPDX-License-Identifier: Apache-2.0

#include "io/tiff/series.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "io/tiff/dialects.hpp"

namespace convolume::io {
namespace {

/// Axes that a caller names for the pages of a TIFF, with their extents, such as "T2Z3C4YX".
struct PageAxes {
    std::string letters;           ///< letters in upper case
    std::vector<index_t> extents;  ///< extent for each letter, 0 if none was given
    bool has_extents = false;
};

/// Parses letters that may each be followed by a number. Throws InvalidArgument for other texts.
PageAxes parse_page_axes(const std::string& text) {
    PageAxes axes;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        if (std::isalpha(static_cast<unsigned char>(*at)) == 0)
            throw InvalidArgument(
                message("axes are \"", text, "\"; give letters of T, C, Z, Y, X, slowest first, ",
                        "each with its extent if needed, such as ZYX or T2Z3C4YX"));
        axes.letters += static_cast<char>(std::toupper(static_cast<unsigned char>(*at++)));
        index_t extent = 0;
        const auto number = std::from_chars(at, end, extent);
        if (number.ec == std::errc() && number.ptr > at) {
            if (extent < 1)
                throw InvalidArgument(message("axes are \"", text, "\", with an extent of ", extent,
                                              "; extents are at least 1"));
            axes.has_extents = true;
            at = number.ptr;
        }
        axes.extents.push_back(extent);
    }
    return axes;
}

/// Returns the extents of the letters before YX for `pages` pages. One extent may have been left
/// out. Throws InvalidArgument if their product is not `pages`. `what` names the file.
std::vector<index_t> page_extents(const PageAxes& axes, index_t pages, const std::string& what) {
    const std::size_t count = axes.letters.size() - 2;
    std::vector<index_t> extents(axes.extents.begin(),
                                 axes.extents.begin() + static_cast<std::ptrdiff_t>(count));
    const auto missing = std::count(extents.begin(), extents.end(), 0);
    index_t product = 1;
    for (const index_t extent : extents)
        if (extent > 0) product = checked_multiply(product, extent);
    const bool fits = missing == 0 ? product == pages : missing == 1 && pages % product == 0;
    if (!fits)
        throw InvalidArgument(
            message("axes ", axes.letters, " with their extents stand for ",
                    missing == 0 ? "" : "multiples of ", product, " pages, but ", what, " has ",
                    pages, "; give the extents of all axes before YX but one, such as T2Z3C4YX"));
    std::replace(extents.begin(), extents.end(), index_t{0}, pages / product);
    return extents;
}

class SeriesFinder {
  public:
    SeriesFinder(TiffSource& source, const PageAxes& axes) : source_(source), axes_(axes) {}

    TiffSeries find() {
        TiffStack stack = read_dialect(source_, series_.metadata);
        mark_further_pages(stack);
        if (!axes_.has_extents && !stack.ambiguity.empty()) {
            if (axes_.letters.empty())
                throw BadData(
                    message(source_.file.path(), " ", stack.ambiguity,
                            "; give their meaning, slowest first, with extents if there are "
                            "several: --axes ZYX, --axes T2Z3C4YX"));
            stack = divided_by_axes(std::move(stack));
        } else if (axes_.has_extents) {
            stack = divided_by_axes(std::move(stack));
        }
        std::vector<TiffPageRef> plane_pages = pages_of_planes(stack);
        series_.page =
            page_at(plane_pages.empty() ? TiffPageRef{0, source_.full_pages[0]} : plane_pages[0]);
        series_.behind_first_page = stack.behind_first_page;
        check_pages(plane_pages);
        arrange(stack, std::move(plane_pages));
        describe();
        return std::move(series_);
    }

  private:
    const std::string& path() const { return source_.file.path(); }

    const TiffPage& page_at(const TiffPageRef& page) const {
        return source_.files.pages(page.file)[static_cast<std::size_t>(page.page)];
    }

    /// Marks the stack as ambiguous if there are more pages than planes, which may be anything.
    void mark_further_pages(TiffStack& stack) const {
        const index_t pages = image_pages() - stack.first_page;
        if (!stack.ambiguity.empty() || !stack.plane_pages.empty() || stack.behind_first_page ||
            stack.has_other_pages || stack.planes() >= pages)
            return;
        stack.ambiguity =
            message("promises ", stack.planes(), " planes, but holds ", pages, " pages");
    }

    index_t image_pages() const { return static_cast<index_t>(source_.full_pages.size()); }

    /// Returns `found`, or all pages if it is ambiguous, divided by the caller's axes.
    TiffStack divided_by_axes(TiffStack found) const {
        const bool has_samples = found.sample_axis != 'S';
        const index_t samples = has_samples ? source_.first_page().samples : 1;
        const bool has_range = found.ambiguity.empty() && found.plane_pages.empty();
        const index_t pages = found.behind_first_page || has_range ? found.planes()
                              : found.plane_pages.empty()
                                  ? image_pages()
                                  : static_cast<index_t>(found.plane_pages.size());
        TiffStack stack = std::move(found);
        stack.ambiguity.clear();
        stack.axes = "Z";
        stack.dims = {pages};
        if (!axes_.has_extents) return stack;
        if (axes_.letters.size() < 2 ||
            axes_.letters.compare(axes_.letters.size() - 2, 2, "YX") != 0)
            refuse_axes();
        stack.axes = axes_.letters.substr(0, axes_.letters.size() - 2);
        stack.dims = page_extents(axes_, checked_multiply(pages, samples), path());
        if (!has_samples) return stack;
        // The samples of a page are the fastest axis.
        if (stack.dims.empty() || stack.dims.back() != samples)
            throw InvalidArgument(message("axes \"", source_.options.axes, "\" do not fit ", path(),
                                          ": a page holds ", samples,
                                          " planes, which must be the last axis before YX"));
        stack.sample_axis = stack.axes.back();
        stack.axes.pop_back();
        stack.dims.pop_back();
        return stack;
    }

    [[noreturn]] void refuse_axes() const {
        throw InvalidArgument(message("axes \"", source_.options.axes, "\" do not fit ", path(),
                                      ": pages of a TIFF are YX, so the axes must end so"));
    }

    /// Returns the page of each plane in order; empty if the planes follow the first page's pixels.
    std::vector<TiffPageRef> pages_of_planes(TiffStack& stack) const {
        if (!stack.plane_pages.empty()) return stack.plane_pages;
        const index_t planes = stack.planes();
        const index_t pages_left = image_pages() - stack.first_page;
        if (planes > pages_left && image_pages() == 1) stack.behind_first_page = true;
        if (stack.behind_first_page) {
            const TiffPage& page = source_.first_page();
            if (!page.problem.empty()) throw BadData(page.problem);
            if (page.raw_offset < 0)
                throw BadData(message(path(), " promises ", planes,
                                      " planes behind its only page, ",
                                      "which is compressed; save the stack as pages"));
            if (planes > (source_.file.size() - page.raw_offset) / page.bytes())
                refuse_count(planes, pages_left);
            return {};
        }
        if (planes > pages_left) refuse_count(planes, pages_left);
        std::vector<TiffPageRef> plane_pages;
        for (index_t i = 0; i < planes; ++i)
            plane_pages.push_back(
                {0, source_.full_pages[static_cast<std::size_t>(stack.first_page + i)]});
        return plane_pages;
    }

    [[noreturn]] void refuse_count(index_t planes, index_t pages) const {
        throw BadData(message(path(), " promises ", planes, " planes, but holds ", pages,
                              "; it is truncated, copy it again"));
    }

    /// Throws BadData unless all pages can be read and have one size and type.
    void check_pages(const std::vector<TiffPageRef>& plane_pages) const {
        if (!series_.page.problem.empty()) throw BadData(series_.page.problem);
        for (const TiffPageRef& ref : plane_pages) {
            const TiffPage& page = page_at(ref);
            if (!page.problem.empty()) throw BadData(page.problem);
            if (!page.same_pixels(series_.page))
                throw BadData(message("page ", ref.page, " of ", source_.files.path(ref.file),
                                      " has ", pixels_text(page), " where the stack has ",
                                      pixels_text(series_.page),
                                      "; save pages of one size and type"));
        }
    }

    static std::string pixels_text(const TiffPage& page) {
        return message(page.samples, "×", page.height, "×", page.width, " ", to_string(page.type()),
                       " pixels");
    }

    /// Tells whether the samples of a page are one of the dimensions that the axes name.
    bool samples_are_planes(const TiffStack& stack, std::size_t dims) const {
        if (series_.page.samples == 1) return false;
        if (stack.sample_axis != 'S') return true;
        // Samples of a page stay colors, unless the caller's axes have a letter for them.
        return series_.page.planar && axes_.letters.size() == dims + 1;
    }

    /// Sets the extents and the arrangement of planes from the axes of the stack.
    void arrange(const TiffStack& stack, std::vector<TiffPageRef> plane_pages) {
        const TiffPage& page = series_.page;
        std::vector<index_t> dims;
        std::string letters;
        for (std::size_t d = 0; d < stack.dims.size(); ++d)
            if (stack.dims[d] > 1 || axes_.has_extents) {
                dims.push_back(stack.dims[d]);
                letters += stack.axes[d];
            }
        const bool sample_planes = samples_are_planes(stack, dims.size() + 2);
        if (sample_planes) {
            dims.push_back(page.samples);
            letters += stack.sample_axis == 'S' ? 'Z' : stack.sample_axis;
        }
        dims.insert(dims.end(), {page.height, page.width});
        if (!axes_.has_extents && axes_.letters.size() > dims.size() &&
            source_.full_pages.size() > 1)
            throw InvalidArgument(message("axes \"", axes_.letters, "\" do not tell how ",
                                          source_.full_pages.size(), " pages of ", path(),
                                          " are divided; add extents, such as T2Z3C4YX"));
        const AxisLayout layout = axis_layout(dims, letters + "YX", axes_.letters, path());
        if (layout.axes.size() < 2 || layout.axes.compare(layout.axes.size() - 2, 2, "YX") != 0)
            refuse_axes();
        set_extents(series_.metadata, layout);
        series_.layout = layout;
        series_.plane_pages = std::move(plane_pages);
        series_.colors = sample_planes ? 1 : page.samples;
        series_.planes_a_page = sample_planes ? page.samples : 1;
        series_.metadata.channels *= series_.colors;
        if (series_.colors > 1) series_.metadata.axes += 'S';
        name_colors();
    }

    /// Names red, green and blue samples that the file does not name, so that a result is shown in
    /// the same colors.
    void name_colors() {
        ImageMetadata& m = series_.metadata;
        if (!series_.page.red_green_blue || series_.colors != 3 || m.channels != 3 ||
            !m.channel_names.empty() || !m.channel_colors.empty())
            return;
        m.channel_names = {"Red", "Green", "Blue"};
        m.channel_colors = {0xFF0000, 0x00FF00, 0x0000FF};
    }

    /// Sets the type, and drops metadata that do not fit the extents.
    void describe() {
        ImageMetadata& m = series_.metadata;
        m.type = series_.page.type();
        // ImageJ calibrates the values of integers only.
        if (!is_integer(m.type)) m.scaling.reset();
        if (series_.page.white_is_zero)
            m.notes.emplace_back("the file shows 0 as white; samples are read as they are stored");
        const auto fits = [&](const auto& list) {
            return static_cast<index_t>(list.size()) == m.channels;
        };
        if (!fits(m.channel_names)) m.channel_names.clear();
        if (!fits(m.channel_colors)) m.channel_colors.clear();
        if (!fits(m.microscope.channels)) m.microscope.channels.clear();
    }

    TiffSource& source_;
    const PageAxes& axes_;
    TiffSeries series_;
};

/// Bytes that libtiff's own tables may take, whatever the file's size.
constexpr index_t table_bytes = index_t{64} << 20;
/// Limit for files that are open. A set can have more files than a process may open.
constexpr std::size_t most_open_files = 64;

bool has_other_byte_order(const RawFile& file) {
    return (file.head(1) == "I") != (std::endian::native == std::endian::little);
}

}  // namespace

TiffPlane TiffSeries::plane(index_t t, index_t c, index_t z) const {
    const std::vector<index_t> at = layout.position(t, c / colors, z);
    index_t index = 0;
    for (std::size_t d = 0; d + 2 < at.size(); ++d) index = index * layout.dims[d] + at[d];
    const index_t number = index / planes_a_page;
    const TiffPageRef ref =
        behind_first_page ? TiffPageRef{0, number} : plane_pages[static_cast<std::size_t>(number)];
    return {ref.file, ref.page, colors > 1 ? c % colors : index % planes_a_page};
}

TiffSeries find_series(TiffFiles& files, const OpenOptions& options, const OmeDocument* document) {
    const PageAxes axes = parse_page_axes(options.axes);
    // Keeps the first file open while others are added.
    const std::shared_ptr<OpenTiff> first = files.open(0);
    const std::vector<TiffPage> pages = files.pages(0);
    auto tiff = first->handles.take();
    tiff->go_to(pages.front().directory);
    TiffSource source{files, *tiff, first->file, pages, {}, "", {}, options, document};
    for (std::size_t i = 0; i < pages.size(); ++i)
        if (!pages[i].reduced) source.full_pages.push_back(static_cast<index_t>(i));
    const bool are_all_reduced = source.full_pages.empty();
    for (std::size_t i = 0; are_all_reduced && i < pages.size(); ++i)
        source.full_pages.push_back(static_cast<index_t>(i));
    source.description = tiff->text(TIFFTAG_IMAGEDESCRIPTION);
    source.pixels_per_unit = read_resolution(TiffNumbers(first->file), pages.front().directory);
    TiffSeries series = SeriesFinder(source, axes).find();
    if (are_all_reduced)
        series.metadata.notes.emplace_back(
            "the file marks all its pages as thumbnails; they are read as the image");
    first->handles.give_back(std::move(tiff));
    return series;
}

OpenTiff::OpenTiff(const std::string& path)
    : file(path),
      handles(file, checked_add(checked_multiply(file.size(), 64), table_bytes)),
      is_swapped(has_other_byte_order(file)) {}

index_t TiffFiles::add(const std::string& path) {
    auto tiff = std::make_shared<OpenTiff>(path);
    const auto [entry, is_new] =
        numbers_.try_emplace(tiff->file.identity(), static_cast<index_t>(files_.size()));
    if (!is_new) return entry->second;
    try {
        auto handle = tiff->handles.take();
        std::vector<TiffPage> pages = scan_pages(*handle, tiff->file);
        tiff->handles.give_back(std::move(handle));
        files_.push_back({path, std::move(pages), tiff->file.state(), nullptr});
    } catch (...) {
        numbers_.erase(entry);
        throw;
    }
    const std::lock_guard lock(mutex_);
    keep_open(files_.size() - 1, std::move(tiff));
    return static_cast<index_t>(files_.size()) - 1;
}

std::shared_ptr<OpenTiff> TiffFiles::open(index_t file) const {
    const std::lock_guard lock(mutex_);
    ScannedFile& scanned = files_[index(file)];
    if (scanned.open) return scanned.open;
    auto tiff = std::make_shared<OpenTiff>(scanned.path);
    tiff->file.check_state(scanned.state);
    keep_open(index(file), tiff);
    return tiff;
}

void TiffFiles::keep_open(std::size_t file, std::shared_ptr<OpenTiff> tiff) const {
    files_[file].open = std::move(tiff);
    open_.push_back(file);
    if (open_.size() > most_open_files) {
        files_[open_.front()].open.reset();
        open_.pop_front();
    }
}

void TiffFiles::check_unchanged() const {
    for (std::size_t file = 0; file < files_.size(); ++file)
        open(static_cast<index_t>(file))->file.check_unchanged();
}

}  // namespace convolume::io
