// SPDX-License-Identifier: Apache-2.0
#include "cli/images/listed_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <map>
#include <set>
#include <utility>

#include "cli/images/file_names.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/report.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr std::pair<FileStatus, const char*> statuses[] = {
    {FileStatus::planned, "planned"},         {FileStatus::done, "done"},
    {FileStatus::skipped, "complete before"}, {FileStatus::failed, "failed"},
    {FileStatus::stopped, "interrupted"},     {FileStatus::not_started, "not started"}};

index_t count(const std::vector<ListedFile>& files, FileStatus status) {
    return std::count_if(files.begin(), files.end(),
                         [status](const ListedFile& file) { return file.status == status; });
}

std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, count_characters(text)) + 2, ' ');
}

namespace fs = std::filesystem;

std::string identity_of(const std::string& path) {
    return canonical_path(io::parse_path(path).file);
}

std::vector<std::string> images_of(const ManyFilesRequest& many) {
    std::vector<std::string> images;
    for (const std::string& path : many.images)
        for (std::string& file : is_pattern(path) ? io::matching_files(path) : std::vector{path})
            images.push_back(std::move(file));
    if (!many.list.empty())
        for (std::string& file : read_file_list(many.list)) images.push_back(std::move(file));
    if (images.empty())
        throw InputNotFound(
            message("the list \"", many.list, "\" names no file; give one path a line"));
    return images;
}

/// `second_name` is the pattern of the names of second results, or empty.
std::vector<ListedFile> named_files(const ManyFilesRequest& many, const std::string& second_name) {
    const std::vector<std::string> images = images_of(many);
    std::vector<ListedFile> files;
    for (const std::string& image : images) {
        ListedFile file;
        const NumberedImage numbered{image, static_cast<index_t>(files.size()),
                                     static_cast<index_t>(images.size())};
        const fs::path folder = many.output_folder;
        file.number = numbered.index + 1;
        file.image = image;
        if (!folder.empty()) {
            file.output = (folder / output_name(many.output_name, numbered)).string();
            if (!second_name.empty())
                file.second_output = (folder / output_name(second_name, numbered)).string();
        }
        files.push_back(std::move(file));
    }
    return files;
}

void check_names(const std::vector<ListedFile>& files, const std::vector<std::string>& kernels) {
    std::set<std::string> inputs;
    for (const ListedFile& file : files) inputs.insert(identity_of(file.image));
    for (const std::string& kernel : kernels) inputs.insert(identity_of(kernel));
    std::map<std::string, const ListedFile*> outputs;
    for (const ListedFile& file : files)
        for (const std::string& output : {file.output, file.second_output}) {
            if (output.empty()) continue;
            const std::string identity = identity_of(output);
            if (inputs.contains(identity))
                throw InvalidArgument(
                    message("the output \"", output,
                            "\" is one of the inputs; choose another --output-dir or "
                            "--output-name"));
            const auto [other, is_new] = outputs.emplace(identity, &file);
            if (!is_new)
                throw InvalidArgument(message("\"", other->second->image, "\" and \"", file.image,
                                              "\" would have the same output \"",
                                              io::parse_path(output).file,
                                              "\"; tell them apart by {index} or {dataset} in "
                                              "--output-name, for example {stem}_{index}"));
        }
}

void make_folder(const std::string& folder) {
    std::error_code error;
    if (folder.empty() || fs::is_directory(folder, error)) return;
    if (!fs::create_directory(folder, error))
        throw CannotCreate(message("cannot create the folder \"", folder, "\" (",
                                   error ? error.message() : "a file has its name",
                                   "); create it first or choose another --output-dir"));
}

void read_header(ListedFile& file, const ImageRequest& request, FileList& list) {
    ImageRequest one = request;
    one.image = file.image;
    const auto selected = open_selected(file.image, request.selection);
    const io::ImageMetadata& image = selected->metadata();
    const std::vector<KernelSource> kernels = kernel_of_each_channel(one, *selected);
    ExpectedVolumes here;
    add_expected_volumes(here, kernels, image);
    for (const auto& [key, volumes] : here) {
        list.expected[key] += volumes;
        file.solver_keys += key + '\n';
    }
    file.channels = image.channels;
    file.voxels = static_cast<double>(image.frames * image.channels) *
                  static_cast<double>(element_count(image.shape));
    list.voxels += file.voxels;
}

/// Refuses files of one channel after one image, if they are as many as its channels: they may be
/// its kernels, and must not be processed as images.
void refuse_kernels_as_images(const ImageRequest& request, const ManyFilesRequest& many,
                              const std::vector<ListedFile>& files) {
    const index_t channels = files.front().channels;
    const auto followers =
        static_cast<index_t>(files.size()) - 1 + (request.kernel.empty() ? 0 : 1);
    if (many.has_kernel_option || !many.list.empty() || channels < 2 || followers != channels ||
        std::any_of(files.begin() + 1, files.end(),
                    [](const ListedFile& file) { return file.channels != 1; }))
        return;
    throw InvalidArgument(message("\"", files.front().image, "\" has ", channels, " channels, and ",
                                  channels,
                                  " files follow it; if they are its kernels, give -o in "
                                  "place of --output-dir; if \"",
                                  files[1].image, "\" is an image, name the kernel by --psf"));
}

}  // namespace

const char* to_string(FileStatus status) {
    for (const auto& [known, name] : statuses)
        if (known == status) return name;
    throw InternalError("a status outside its enumeration");
}

void ListedFile::fail(const std::exception& error, const HasOption& has_option) {
    if (is_a<Cancelled>(error)) {
        status = FileStatus::stopped;
        return;
    }
    status = FileStatus::failed;
    code = exit_code_of(error);
    reason = sentence_of(error, has_option);
}

std::string results_table(const std::vector<ListedFile>& files) {
    std::size_t width = 4, result_width = 6;
    for (const ListedFile& file : files) {
        width = std::max(width, count_characters(file.image));
        result_width = std::max(result_width, count_characters(to_string(file.status)));
    }
    TextStream text;
    text << padded("file", width) << padded("result", result_width)
         << " seconds  output or reason\n";
    for (const ListedFile& file : files) {
        text << padded(file.image, width) << padded(to_string(file.status), result_width);
        text << std::setw(8);
        if (file.status == FileStatus::done || file.status == FileStatus::failed)
            text << std::fixed << std::setprecision(2) << file.seconds;
        else
            text << '-';
        const bool written = file.status == FileStatus::done ||
                             file.status == FileStatus::skipped ||
                             file.status == FileStatus::planned;
        const std::string& last = written ? file.output : file.reason;
        text << (last.empty() ? "" : "  ") << last << '\n';
    }
    return text.str();
}

std::string results_line(const std::vector<ListedFile>& files) {
    std::string text;
    for (const auto& [status, name] : statuses)
        if (const index_t number = count(files, status); number > 0)
            text += message(text.empty() ? "" : ", ", number, ' ', name);
    return text;
}

nlohmann::ordered_json results_json(const std::vector<ListedFile>& files) {
    nlohmann::ordered_json json = versioned_json();
    json["files"] = nlohmann::ordered_json::array();
    for (const ListedFile& file : files) {
        nlohmann::ordered_json one{{"file", file.image},
                                   {"result", to_string(file.status)},
                                   {"seconds", file.seconds},
                                   {"error", nullptr},
                                   {"exit_code", static_cast<int>(file.code)}};
        if (!file.reason.empty()) one["error"] = file.reason;
        if (!file.output.empty()) one["output"] = {{"file", file.output}};
        if (file.json.is_object()) one.update(file.json);
        json["files"].push_back(std::move(one));
    }
    for (const auto& [status, name] : statuses) json["results"][name] = count(files, status);
    return json;
}

void throw_result(const std::vector<ListedFile>& files, bool dry_run) {
    const index_t complete = count(files, FileStatus::done) + count(files, FileStatus::skipped);
    const index_t failed = count(files, FileStatus::failed);
    if (count(files, FileStatus::stopped) + count(files, FileStatus::not_started) > 0)
        throw Interrupted(
            dry_run ? "interrupted; nothing was written"
                    : message("interrupted; the results of ", complete, " of ", files.size(),
                              " files are complete; --resume goes on with the others"));
    if (failed == 0) return;
    ExitCode code = ExitCode::some_files_failed;
    if (failed == static_cast<index_t>(files.size()) &&
        std::all_of(files.begin(), files.end(),
                    [&](const ListedFile& file) { return file.code == files.front().code; }))
        code = files.front().code;
    throw FilesFailed(message(failed, " of ", files.size(),
                              " files failed; correct them and go on with --resume"),
                      code);
}

FileList list_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const std::stop_token& stop) {
    FileList list;
    list.files = named_files(many, request.second_output);
    check_names(list.files, request.kernels());
    for (const std::string& kernel : request.kernels())
        static_cast<void>(open_kernel(kernel, request.kernel_options));
    if (!request.run.dry_run) make_folder(many.output_folder);

    std::map<std::string, std::size_t> first;  // first file with given solver keys
    for (std::size_t i = 0; i < list.files.size() && !stop.stop_requested(); ++i) {
        ListedFile& file = list.files[i];
        try {
            for (const std::string& output : {file.output, file.second_output})
                if (!output.empty() && fs::is_directory(many.output_folder))
                    check_output_path(output, request.create.overwrite || many.resume);
            read_header(file, request, list);
            first.emplace(file.solver_keys, i);
            list.order.push_back(i);
        } catch (const std::exception& error) {
            file.fail(error, many.has_option);
        }
    }
    refuse_kernels_as_images(request, many, list.files);
    std::stable_sort(list.order.begin(), list.order.end(), [&](std::size_t a, std::size_t b) {
        return first.at(list.files[a].solver_keys) < first.at(list.files[b].solver_keys);
    });
    return list;
}

bool is_complete(const ListedFile& file, const std::vector<std::string>& inputs,
                 const io::ImageMetadata& expected) {
    std::error_code missing;
    for (const std::string& output : {file.output, file.second_output}) {
        if (output.empty()) continue;
        const auto written = fs::last_write_time(io::parse_path(output).file, missing);
        if (missing) return false;
        for (const std::string& input : inputs)
            if (fs::last_write_time(io::parse_path(input).file, missing) > written || missing)
                return false;
    }
    try {
        const io::ImageMetadata found = io::open_image(file.output)->metadata();
        // Some formats do not name axes, so that times and channels cannot be told apart.
        return found.shape == expected.shape && found.type == expected.type &&
               found.frames * found.channels == expected.frames * expected.channels;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace convolume::cli
