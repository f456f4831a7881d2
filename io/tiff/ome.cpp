// SPDX-License-Identifier: Apache-2.0
// OME-TIFF: one file or a set. Each file of a set has the OME-XML document, or the name of its
// file.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "convolume/error.hpp"
#include "io/image_format.hpp"
#include "io/ome/document.hpp"
#include "io/tiff/dialects.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

/// Finds the files that a document names, by UUID or by name, in the folder of the opened file.
class OmeFileSet {
  public:
    OmeFileSet(const OmeDocument& document, const std::string& own_path)
        : own_uuid_(document.uuid()),
          own_path_(own_path),
          folder_(fs::path(own_path).parent_path()) {
        for (const OmeImage& image : document.images())
            for (const OmePlanes& planes : image.planes)
                if (!is_own(planes)) others_.insert(planes.file);
        for (const OmeImage& image : document.images())
            for (const OmePlanes& planes : image.planes) names_own_ = names_own_ || is_own(planes);
        // If a document names a single file, which is missing, the opened file was renamed.
        if (others_.size() == 1 && !names_own_ && find_beside(*others_.begin()).empty()) {
            former_name_ = base_name(*others_.begin());
            others_.clear();
        }
    }

    bool is_opened_file(const OmePlanes& planes) const {
        return is_own(planes) || (!former_name_.empty() && base_name(planes.file) == former_name_);
    }
    /// Returns the path of another file of the set, "" if it is missing.
    const std::string& path_of(const std::string& name) {
        const auto [entry, is_new] = paths_.try_emplace(name);
        if (is_new) entry->second = find_beside(name);
        return entry->second;
    }
    const std::string& former_name() const { return former_name_; }
    std::size_t count() const { return others_.size() + 1; }

  private:
    bool is_own(const OmePlanes& planes) const {
        if (planes.file.empty()) return true;
        if (!planes.uuid.empty() && !own_uuid_.empty()) return planes.uuid == own_uuid_;
        return lower_case(base_name(planes.file)) == lower_case(base_name(own_path_));
    }

    /// Returns the path of the file `name` in the folder or below it, "" if there is none.
    std::string find_beside(const std::string& name) {
        std::string relative = name;
        std::replace(relative.begin(), relative.end(), '\\', '/');
        const fs::path path(relative);
        std::error_code ignored;
        const bool leaves_folder =
            path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
        if (!leaves_folder && fs::is_regular_file(folder_ / path, ignored))
            return (folder_ / path).string();
        if (!is_listed_) list_folder();
        const auto found = listed_.find(lower_case(base_name(name)));
        return found == listed_.end() ? "" : found->second;
    }

    void list_folder() {
        is_listed_ = true;
        std::error_code error;
        fs::directory_iterator entry(folder_.empty() ? fs::path(".") : folder_, error);
        for (; !error && entry != fs::directory_iterator(); entry.increment(error))
            if (std::error_code ignored; entry->is_regular_file(ignored))
                listed_.try_emplace(lower_case(entry->path().filename().string()),
                                    (folder_ / entry->path().filename()).string());
    }

    // paths of the files in the folder, by name in lower case
    std::map<std::string, std::string> listed_;
    bool is_listed_ = false;
    std::string own_uuid_;
    std::string own_path_;
    fs::path folder_;
    std::set<std::string> others_;  // names of the other files
    std::string former_name_;
    bool names_own_ = false;
    std::map<std::string, std::string> paths_;  // paths of the other files, by name
};

/// Finds an image of a document and the pages of its planes.
class OmeStackFinder {
  public:
    OmeStackFinder(TiffSource& source, const OmeDocument& document, ImageMetadata& metadata)
        : source_(source),
          document_(document),
          metadata_(metadata),
          file_set_(document, source.file.path()) {}

    TiffStack find() {
        if (!file_set_.former_name().empty())
            metadata_.notes.push_back(message("the file's OME-XML calls it ",
                                              file_set_.former_name(),
                                              "; it is taken for that file, renamed"));
        const index_t number = chosen_image();
        const OmeImage& image = document_.images()[static_cast<std::size_t>(number)];
        TiffStack stack;
        if (image.planes.empty()) {
            find_extents(image, source_.first_page(), stack);
            check_size(image, source_.first_page());
        } else {
            place_planes(image, stack);
        }
        if (image.has_assumed_order && stack.planes() > 1 && image.planes.size() < 2)
            metadata_.notes.emplace_back(
                "the OME-XML does not say the order of its planes; z first, then channels, then "
                "times is assumed");
        document_.describe(number, metadata_);
        return stack;
    }

  private:
    const std::string& path() const { return source_.file.path(); }

    /// Returns the number of the selected image, by default of the first one in the opened file.
    index_t chosen_image() const {
        const std::vector<OmeImage>& images = document_.images();
        std::vector<std::string> names;
        for (const OmeImage& image : images) names.push_back(image.name);
        const auto has_own_planes = [&](const OmeImage& image) {
            return std::any_of(
                image.planes.begin(), image.planes.end(),
                [&](const OmePlanes& planes) { return file_set_.is_opened_file(planes); });
        };
        const auto own = std::find_if(images.begin(), images.end(), has_own_planes);
        const index_t default_image = own == images.end() ? 0 : own - images.begin();
        const bool is_only = std::count_if(images.begin(), images.end(), has_own_planes) == 1;
        return choose_image(names, source_.options, default_image, path(), metadata_, is_only);
    }

    index_t file_of(const OmePlanes& planes) {
        if (file_set_.is_opened_file(planes)) return 0;
        const auto [entry, is_new] = numbers_.try_emplace(planes.file, 0);
        if (is_new) entry->second = source_.files.add(file_set_.path_of(planes.file));
        return entry->second;
    }

    /// Throws BadData if files of the image are missing.
    void check_files(const OmeImage& image) {
        std::set<std::string> missing;
        for (const OmePlanes& planes : image.planes)
            if (!file_set_.is_opened_file(planes) && file_set_.path_of(planes.file).empty())
                missing.insert(base_name(planes.file));
        if (missing.empty()) return;
        throw BadData(message(
            path(), " is one of a set of ", file_set_.count(), " files, of which ", missing.size(),
            missing.size() == 1 ? " is" : " are", " not in its folder: ", *missing.begin(),
            missing.size() > 1 ? ", …" : "", "; copy the whole set to one folder"));
    }

    /// Throws BadData if the document has another size than `page`.
    void check_size(const OmeImage& image, const TiffPage& page) const {
        // check_pages() reports the problem of the page and its reason.
        if (!page.problem.empty() || (image.width == page.width && image.height == page.height))
            return;
        throw BadData(message("the OME-XML of ", path(), " says ", image.height, "×", image.width,
                              " pixels, but its first page has ", page.height, "×", page.width,
                              "; save the file again"));
    }

    /// Sets axes and extents, slowest first. Each sample of a page is a channel of the document.
    void find_extents(const OmeImage& image, const TiffPage& page, TiffStack& stack) {
        samples_ = std::max<index_t>(page.samples, 1);
        for (const char axis : {image.order[4], image.order[3], image.order[2]}) {
            const index_t size = axis == 'Z'   ? image.size_z
                                 : axis == 'C' ? image.size_c
                                               : image.size_t;
            const bool divides = axis != 'C' || size % samples_ == 0;
            const index_t extent = axis == 'C' ? size / samples_ : size;
            if (extent < 1 || !divides)
                throw BadData(message("the OME-XML of ", path(), " has no usable Size", axis,
                                      "; save the file again"));
            stack.axes += axis;
            stack.dims.push_back(extent);
        }
    }

    /// Returns the index of the first of `planes` in the order of `stack`, -1 if it is outside.
    index_t first_index(const OmePlanes& planes, const TiffStack& stack) const {
        index_t index = 0;
        for (std::size_t d = 0; d < stack.dims.size(); ++d) {
            const char axis = stack.axes[d];
            index_t first = planes.first[axis == 'Z' ? 0 : axis == 'C' ? 1 : 2];
            if (axis == 'C') first /= samples_;
            if (first < 0 || first >= stack.dims[d]) return -1;
            index = index * stack.dims[d] + first;
        }
        return index;
    }

    /// Sets the page of each plane, from the document's references to files and pages.
    void place_planes(const OmeImage& image, TiffStack& stack) {
        check_files(image);
        const OmePlanes& first_planes = image.planes[0];
        const index_t first_file = file_of(first_planes);
        const std::vector<TiffPage>& first_pages = source_.files.pages(first_file);
        if (first_planes.page < 0 || first_planes.page >= static_cast<index_t>(first_pages.size()))
            throw BadData(message("the OME-XML of ", path(), " places planes on page ",
                                  first_planes.page, " of ", source_.files.path(first_file),
                                  ", which has ", first_pages.size(),
                                  "; it is truncated or was never completed"));
        const TiffPage first_page = first_pages[static_cast<std::size_t>(first_planes.page)];
        check_size(image, first_page);
        find_extents(image, first_page, stack);
        const index_t planes = stack.planes();
        check_count(image, planes);
        stack.plane_pages.assign(static_cast<std::size_t>(planes), {});
        for (const OmePlanes& some : image.planes) set_pages(some, planes, stack);
        const auto missing = std::count_if(stack.plane_pages.begin(), stack.plane_pages.end(),
                                           [](const TiffPageRef& ref) { return ref.page < 0; });
        if (missing > 0)
            throw BadData(message(path(), " lacks ", missing, " of the ", planes,
                                  " planes its OME-XML names; it is truncated or was never "
                                  "completed"));
    }

    /// Throws BadData if there are more planes than all files of the image have pages.
    void check_count(const OmeImage& image, index_t planes) {
        std::set<index_t> files;
        index_t pages = 0;
        for (const OmePlanes& some : image.planes)
            if (const index_t file = file_of(some); files.insert(file).second)
                pages += static_cast<index_t>(source_.files.pages(file).size());
        if (planes > pages)
            throw BadData(message("the OME-XML of ", path(), " names ", planes,
                                  " planes, but the file has ", pages,
                                  " pages; it is truncated or one of several files"));
    }

    /// Sets the pages of some of the `planes` planes of the stack.
    void set_pages(const OmePlanes& some, index_t planes, TiffStack& stack) {
        const index_t file = file_of(some);
        const index_t first = first_index(some, stack);
        if (first < 0 || some.page < 0) return;
        const auto pages = static_cast<index_t>(source_.files.pages(file).size());
        const index_t room = std::min(planes - first, std::max<index_t>(pages - some.page, 0));
        const index_t count = some.count < 0 ? room : std::min(some.count, room);
        placed_ += count;
        if (placed_ > 2 * planes)
            throw BadData(message("the OME-XML of ", path(), " places its ", planes,
                                  " planes again and again; save the file again"));
        for (index_t i = 0; i < count; ++i)
            stack.plane_pages[static_cast<std::size_t>(first + i)] = {file, some.page + i};
    }

    TiffSource& source_;
    const OmeDocument& document_;
    ImageMetadata& metadata_;
    OmeFileSet file_set_;
    // file numbers of other files, by the document's names
    std::map<std::string, index_t> numbers_;
    index_t samples_ = 1;
    index_t placed_ = 0;  // number of planes whose pages were given, with repetitions
};

}  // namespace

std::optional<TiffStack> read_ome(TiffSource& source, ImageMetadata& metadata) {
    if (source.document == nullptr && !has_ome_element(source.description)) return std::nullopt;
    metadata.format = "OME-TIFF";
    if (source.document != nullptr)
        return OmeStackFinder(source, *source.document, metadata).find();
    const OmeDocument document(source.description, source.file.path());
    if (document.companion().empty()) return OmeStackFinder(source, document, metadata).find();
    const auto companion = read_ome_companion(source.file.path(), document.companion());
    return OmeStackFinder(source, *companion, metadata).find();
}

}  // namespace convolume::io
