// SPDX-License-Identifier: Apache-2.0
#include "cli/many_files/listed_file.hpp"

#include <algorithm>
#include <iomanip>

#include "cli/run/report.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr Outcome outcomes[] = {Outcome::planned, Outcome::done,    Outcome::skipped,
                                Outcome::failed,  Outcome::stopped, Outcome::not_started};

index_t count(const std::vector<ListedFile>& files, Outcome outcome) {
    return std::count_if(files.begin(), files.end(),
                         [outcome](const ListedFile& file) { return file.outcome == outcome; });
}

/// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, columns(text)) + 2, ' ');
}

}  // namespace

const char* to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::planned:
            return "planned";
        case Outcome::done:
            return "done";
        case Outcome::skipped:
            return "complete before";
        case Outcome::failed:
            return "failed";
        case Outcome::stopped:
            return "interrupted";
        case Outcome::not_started:
            break;
    }
    return "not started";
}

void ListedFile::fail(const std::exception& error, const HasOption& has_option) {
    if (is_a<Cancelled>(error)) {
        outcome = Outcome::stopped;
        return;
    }
    outcome = Outcome::failed;
    code = exit_code_of(error);
    reason = with_option_hint(sentence_of(error), error, has_option);
    std::replace(reason.begin(), reason.end(), '\n', ' ');
}

std::string results_table(const std::vector<ListedFile>& files) {
    std::size_t width = 4, result_width = 6;
    for (const ListedFile& file : files) {
        width = std::max(width, columns(file.image));
        result_width = std::max(result_width, columns(to_string(file.outcome)));
    }
    TextStream text;
    text << padded("file", width) << padded("result", result_width)
         << " seconds  output or reason\n";
    for (const ListedFile& file : files) {
        text << padded(file.image, width) << padded(to_string(file.outcome), result_width);
        text << std::setw(8);
        if (file.outcome == Outcome::done || file.outcome == Outcome::failed)
            text << std::fixed << std::setprecision(2) << file.seconds;
        else
            text << '-';
        const bool written = file.outcome == Outcome::done || file.outcome == Outcome::skipped ||
                             file.outcome == Outcome::planned;
        const std::string& last = written ? file.output : file.reason;
        text << (last.empty() ? "" : "  ") << last << '\n';
    }
    return text.str();
}

std::string results_line(const std::vector<ListedFile>& files) {
    std::string text;
    for (const Outcome outcome : outcomes)
        if (const index_t number = count(files, outcome); number > 0)
            text += message(text.empty() ? "" : ", ", number, ' ', to_string(outcome));
    return text;
}

nlohmann::ordered_json results_json(const std::vector<ListedFile>& files) {
    nlohmann::ordered_json json = versioned_json();
    json["files"] = nlohmann::ordered_json::array();
    for (const ListedFile& file : files) {
        nlohmann::ordered_json one{{"file", file.image},
                                   {"result", to_string(file.outcome)},
                                   {"seconds", file.seconds},
                                   {"error", nullptr},
                                   {"exit_code", static_cast<int>(file.code)}};
        if (!file.reason.empty()) one["error"] = file.reason;
        if (!file.output.empty()) one["output"] = {{"file", file.output}};
        if (file.json.is_object()) one.update(file.json);
        json["files"].push_back(std::move(one));
    }
    for (const Outcome outcome : outcomes)
        json["results"][to_string(outcome)] = count(files, outcome);
    return json;
}

void throw_result(const std::vector<ListedFile>& files, bool dry_run) {
    const index_t complete = count(files, Outcome::done) + count(files, Outcome::skipped);
    const index_t failed = count(files, Outcome::failed);
    if (count(files, Outcome::stopped) + count(files, Outcome::not_started) > 0)
        throw Cancelled(dry_run ? "interrupted; nothing was written"
                                : message("interrupted; the results of ", complete, " of ",
                                          files.size(),
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

}  // namespace convolume::cli
