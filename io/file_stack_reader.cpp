// SPDX-License-Identifier: Apache-2.0
// The reader of several files as one image.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "convolume/error.hpp"
#include "io/file_stack.hpp"
#include "io/jobs.hpp"
#include "io/ome/document.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {
namespace {

constexpr std::size_t most_open_stack_files = 64;

std::string extents_text(const ImageMetadata& metadata) {
    return message("z,y,x ", to_string(metadata.shape), ' ', to_string(metadata.type), " with ",
                   metadata.channels, metadata.channels == 1 ? " channel" : " channels", " and ",
                   metadata.frames, metadata.frames == 1 ? " time" : " times");
}

class FileStackReader : public ImageReader {
  public:
    FileStackReader(const FileStack& stack, const OpenOptions& options)
        : stack_(stack), options_{.axes = options.axes, .image = options.image} {
        for (const std::string& path : stack_.paths) add(path);
        describe();
    }

    const ImageMetadata& metadata() const override { return metadata_; }
    StackFormat format() const override {
        StackFormat format = format_of_each_;
        format.shape = metadata_.shape;
        format.frames = metadata_.frames;
        format.channels = metadata_.channels;
        return format;
    }

    void check_unchanged() const override {
        for (const StackedFile& file : files_) check_state(file);
    }

    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        const index_t planes = each_.shape.z;
        const index_t first = box.begin.z / planes, last = (box.end.z - 1) / planes;
        const index_t row =
            ((t / each_.frames) * stack_.channels + c / each_.channels) * stack_.planes;
        const index_t bytes =
            element_count(target.shape) * static_cast<index_t>(size_of(target.type));
        constexpr index_t bytes_a_thread = index_t{1} << 20;
        run_jobs(last - first + 1, job_threads(last - first + 1, bytes, bytes_a_thread),
                 [&](index_t job) {
                     const index_t file = first + job, origin = file * planes;
                     const index_t begin = std::max(box.begin.z, origin),
                                   end = std::min(box.end.z, origin + planes);
                     const Box3 part{{begin - origin, box.begin.y, box.begin.x},
                                     {end - origin, box.end.y, box.end.x}};
                     const ImageView to =
                         subview(target, {{begin - box.begin.z, 0, 0},
                                          {end - box.begin.z, target.shape.y, target.shape.x}});
                     open(static_cast<std::size_t>(row + file))
                         ->read_box(t % each_.frames, c % each_.channels, part, to);
                 });
    }

  private:
    struct StackedFile {
        std::string path;
        std::optional<FileState> state;       ///< state when it was added; none for folders
        std::shared_ptr<ImageReader> reader;  ///< null if closed
    };

    static std::optional<FileState> state_of(const std::string& path) {
        const std::string file = parse_path(path).file;
        std::error_code unreadable;
        if (std::filesystem::is_directory(file, unreadable)) return std::nullopt;
        return RawFile(file).state();
    }

    static void check_state(const StackedFile& file) {
        if (file.state) RawFile(parse_path(file.path).file).check_state(*file.state);
    }

    void add(const std::string& path) {
        const std::optional<FileState> state = state_of(path);
        std::shared_ptr<ImageReader> reader = open_image(path, options_);
        const ImageMetadata& added = reader->metadata();
        if (files_.empty()) {
            each_ = added;
            format_of_each_ = reader->format();
            if (!added.ome_xml.empty() && names_several_files(added.ome_xml, path))
                throw InvalidArgument(
                    message("\"", path,
                            "\" is one of the files of an OME-TIFF set, which are "
                            "one image already; open this file alone"));
        }
        if (added.shape != each_.shape || added.type != each_.type ||
            added.frames != each_.frames || added.channels != each_.channels)
            throw BadData(message("\"", path, "\" is ", extents_text(added), ", but \"",
                                  files_.front().path, "\" is ", extents_text(each_),
                                  "; name files of one shape and type"));
        if (static_cast<index_t>(files_.size()) % stack_.planes == 0 &&
            static_cast<index_t>(files_.size()) / stack_.planes < stack_.channels)
            add_channels(added);
        files_.push_back({path, state, nullptr});
        keep_open(files_.size() - 1, std::move(reader));
    }

    /// Adds the metadata of the channels of a file to those of the image.
    void add_channels(const ImageMetadata& file) {
        const auto append = [](auto& to, const auto& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        append(metadata_.channel_names, file.channel_names);
        append(metadata_.channel_colors, file.channel_colors);
        append(metadata_.microscope.channels, file.microscope.channels);
    }

    /// Makes the metadata of the image from those of the first file.
    void describe() {
        ImageMetadata all = each_;
        all.frames = checked_multiply(each_.frames, stack_.frames);
        all.channels = checked_multiply(each_.channels, stack_.channels);
        all.shape.z = checked_multiply(each_.shape.z, stack_.planes);
        all.axes.clear();
        for (const auto& [axis, extent] :
             {std::pair{'T', all.frames}, {'C', all.channels}, {'Z', all.shape.z}})
            if (extent > 1 || each_.axes.find(axis) != std::string::npos) all.axes += axis;
        all.axes += "YX";
        all.format += message(", ", files_.size(), files_.size() == 1 ? " file" : " files");
        all.images = 1;
        all.image = 0;
        const auto take = [&](auto& to, auto& from) {
            to = std::move(from);
            if (static_cast<index_t>(to.size()) != all.channels) to.clear();
        };
        take(all.channel_names, metadata_.channel_names);
        take(all.channel_colors, metadata_.channel_colors);
        take(all.microscope.channels, metadata_.microscope.channels);
        if (each_.channels == 1 && !stack_.channel_names.empty())
            all.channel_names = stack_.channel_names;
        // Descriptions of the first file are not those of the whole image.
        all.ome_xml.clear();
        all.imagej_description.clear();
        all.imagej_metadata.clear();
        all.imagej_metadata_counts.clear();
        all.notes.insert(all.notes.end(), stack_.notes.begin(), stack_.notes.end());
        metadata_ = std::move(all);
    }

    /// Returns the reader of a file, which is opened again if it was closed.
    std::shared_ptr<ImageReader> open(std::size_t number) {
        {
            const std::lock_guard lock(mutex_);
            if (files_[number].reader) return files_[number].reader;
        }
        const std::string& path = files_[number].path;
        check_state(files_[number]);
        std::shared_ptr<ImageReader> reader = open_image(path, options_);
        const std::lock_guard lock(mutex_);
        if (!files_[number].reader) keep_open(number, std::move(reader));
        return files_[number].reader;
    }

    void keep_open(std::size_t number, std::shared_ptr<ImageReader> reader) {
        files_[number].reader = std::move(reader);
        open_.push_back(number);
        if (open_.size() > most_open_stack_files) {
            files_[open_.front()].reader.reset();
            open_.pop_front();
        }
    }

    FileStack stack_;
    OpenOptions options_;
    ImageMetadata metadata_;
    ImageMetadata each_;  ///< metadata of the first file; all have its extents and type
    StackFormat format_of_each_;
    std::mutex mutex_;  ///< guards the readers and `open_`
    std::vector<StackedFile> files_;
    std::deque<std::size_t> open_;  ///< numbers of open files, in the order of opening
};

}  // namespace

std::unique_ptr<ImageReader> open_file_stack(const FileStack& stack, const OpenOptions& options) {
    return std::make_unique<FileStackReader>(stack, options);
}

}  // namespace convolume::io
