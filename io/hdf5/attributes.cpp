// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/attributes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "convolume/error.hpp"
#include "io/hdf5/library.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr hssize_t most_characters = 1 << 16;

/// An open attribute with its type and dataspace. The identifiers are invalid if it is missing.
struct OpenAttribute {
    OpenAttribute(hid_t object, const std::string& name) {
        if (H5Aexists(object, name.c_str()) <= 0) return;
        id = {H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose};
        if (!id) return;
        type = {H5Aget_type(id.get()), H5Tclose};
        space = {H5Aget_space(id.get()), H5Sclose};
    }
    explicit operator bool() const { return id && type && space; }

    Hdf5Id id, type, space;
};

std::optional<std::string> variable_text(const OpenAttribute& attribute) {
    char* value = nullptr;
    if (H5Sget_simple_extent_npoints(attribute.space.get()) != 1 ||
        H5Aread(attribute.id.get(), attribute.type.get(), &value) < 0 || value == nullptr)
        return std::nullopt;
    std::string text(value);
    H5Dvlen_reclaim(attribute.type.get(), attribute.space.get(), H5P_DEFAULT, &value);
    return text;
}

std::vector<std::string> read_text_list(hid_t object, const std::string& name) {
    const OpenAttribute attribute(object, name);
    if (!attribute || H5Tis_variable_str(attribute.type.get()) <= 0) return {};
    const hssize_t count = H5Sget_simple_extent_npoints(attribute.space.get());
    if (count < 1 || count > most_characters) return {};
    std::vector<char*> values(static_cast<std::size_t>(count), nullptr);
    if (H5Aread(attribute.id.get(), attribute.type.get(), values.data()) < 0) return {};
    std::vector<std::string> texts;
    for (const char* value : values) texts.emplace_back(value == nullptr ? "" : value);
    H5Dvlen_reclaim(attribute.type.get(), attribute.space.get(), H5P_DEFAULT, values.data());
    return texts;
}

std::vector<double> read_numbers(hid_t object, const std::string& name, index_t most) {
    const OpenAttribute attribute(object, name);
    if (!attribute) return {};
    const H5T_class_t kind = H5Tget_class(attribute.type.get());
    const hssize_t count = H5Sget_simple_extent_npoints(attribute.space.get());
    if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || count < 1 || count > most) return {};
    std::vector<double> values(static_cast<std::size_t>(count));
    if (H5Aread(attribute.id.get(), H5T_NATIVE_DOUBLE, values.data()) < 0) return {};
    return values;
}

std::map<std::string, std::string> read_texts(hid_t object) {
    std::map<std::string, std::string> texts;
    H5O_info_t info{};
    if (H5Oget_info(object, &info) < 0) return texts;
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
        std::string name(256, '\0');
        const ssize_t length = H5Aget_name_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i,
                                                  name.data(), name.size(), H5P_DEFAULT);
        if (length < 1 || length >= static_cast<ssize_t>(name.size())) continue;
        name.resize(static_cast<std::size_t>(length));
        if (auto text = unrecorded_text_attribute(object, name))
            texts.emplace(name, std::move(*text));
    }
    return texts;
}

void check(bool done, const std::string& name) {
    if (!done)
        throw IoError(message("HDF5 cannot write the attribute ", name, ": ", hdf5_write_reason()));
}

/// Returns the type of texts of variable length, which h5py reads as str, others as bytes.
Hdf5Id variable_text_type(const std::string& name) {
    Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
    check(type && H5Tset_size(type.get(), H5T_VARIABLE) >= 0 &&
              H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0,
          name);
    return type;
}

void write_attribute(hid_t object, const std::string& name, hid_t type, const Hdf5Id& space,
                     hid_t memory_type, const void* values) {
    const Hdf5Id attribute(
        H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(attribute && H5Awrite(attribute.get(), memory_type, values) >= 0, name);
}

/// Answers that a helper process records in shared memory, for this process to replay in order.
class AnswerRecording {
  public:
    explicit AnswerRecording(const RawFile& file)
        : path_(file.path()), capacity_(capacity_for(file.size())), memory_(capacity_) {
        current = this;
    }
    ~AnswerRecording() { current = nullptr; }
    AnswerRecording(const AnswerRecording&) = delete;
    AnswerRecording& operator=(const AnswerRecording&) = delete;

    /// Makes next() return the recorded answers from now on, beginning with the first.
    void start_replay() {
        is_replaying_ = true;
        at_ = 0;
    }

    /// Returns the recorded answer to `question`, or records what `ask` returns.
    RecordedAnswer next(const std::string& question, const std::function<RecordedAnswer()>& ask) {
        if (!is_replaying_) {
            RecordedAnswer answer = ask();
            record(question);
            record_number(static_cast<index_t>(answer.size()));
            for (const std::string& part : answer) record(part);
            return answer;
        }
        if (replayed() != question) refuse();
        RecordedAnswer answer;
        for (index_t parts = replayed_number(); parts > 0; --parts) answer.push_back(replayed());
        return answer;
    }

    /// Recording for the file that is being opened. Hdf5Lock guards it. Null if there is none.
    static AnswerRecording* current;

  private:
    /// Returns the bytes of shared memory for all answers, including those from linked files. A
    /// number takes 16 bytes here, but may take one in the file. The system provides pages only
    /// when used.
    static index_t capacity_for(index_t file_bytes) {
        constexpr index_t most = index_t{64} << 20;
        constexpr index_t least = index_t{4} << 20;
        return std::min(16 * std::min(file_bytes, most) + least, most);
    }

    [[noreturn]] void refuse() const {
        throw BadData(message("the attributes of ", path_,
                              " cannot be read: they are damaged, or too large; copy it again"));
    }
    /// Returns the next `bytes` bytes of the shared memory.
    char* advance(index_t bytes) {
        if (bytes < 0 || bytes > capacity_ - at_) refuse();
        at_ += bytes;
        return static_cast<char*>(memory_.data()) + at_ - bytes;
    }
    void record_number(index_t number) {
        std::memcpy(advance(sizeof number), &number, sizeof number);
    }
    void record(const std::string& text) {
        const auto bytes = static_cast<index_t>(text.size());
        record_number(bytes);
        std::memcpy(advance(bytes), text.data(), text.size());
    }
    index_t replayed_number() {
        index_t number = 0;
        std::memcpy(&number, advance(sizeof number), sizeof number);
        return number;
    }
    std::string replayed() {
        const index_t bytes = replayed_number();
        return {advance(bytes), static_cast<std::size_t>(bytes)};
    }

    std::string path_;
    index_t capacity_;
    SharedMemory memory_;
    index_t at_ = 0;
    bool is_replaying_ = false;
};

AnswerRecording* AnswerRecording::current = nullptr;

}  // namespace

std::optional<std::string> unrecorded_text_attribute(hid_t object, const std::string& name) {
    const OpenAttribute attribute(object, name);
    if (!attribute || H5Tget_class(attribute.type.get()) != H5T_STRING) return std::nullopt;
    if (H5Tis_variable_str(attribute.type.get()) > 0) return variable_text(attribute);
    const hssize_t count = H5Sget_simple_extent_npoints(attribute.space.get());
    const std::size_t bytes = H5Tget_size(attribute.type.get());
    if (count < 1 || bytes < 1 || bytes > most_characters ||
        count > most_characters / static_cast<hssize_t>(bytes))
        return std::nullopt;
    std::string text(static_cast<std::size_t>(count) * bytes, '\0');
    if (H5Aread(attribute.id.get(), attribute.type.get(), text.data()) < 0) return std::nullopt;
    return text.substr(0, text.find('\0'));
}

std::optional<std::string> text_attribute(hid_t object, const std::string& name) {
    const auto found = recorded_answer("text " + name, [&] {
        const auto text = unrecorded_text_attribute(object, name);
        return text ? RecordedAnswer{*text} : RecordedAnswer{};
    });
    return found.empty() ? std::nullopt : std::optional(found[0]);
}

std::vector<std::string> text_list_attribute(hid_t object, const std::string& name) {
    return recorded_answer("list " + name, [&] { return read_text_list(object, name); });
}

std::vector<double> number_attribute(hid_t object, const std::string& name, index_t most) {
    const auto found = recorded_answer("numbers " + name, [&] {
        RecordedAnswer all;
        for (const double number : read_numbers(object, name, most))
            all.emplace_back(reinterpret_cast<const char*>(&number), sizeof number);
        return all;
    });
    std::vector<double> numbers(found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        std::memcpy(&numbers[i], found[i].data(), std::min(found[i].size(), sizeof(double)));
    return numbers;
}

std::map<std::string, std::string> text_attributes(hid_t object) {
    const auto found = recorded_answer("texts", [&] {
        RecordedAnswer all;
        for (const auto& [name, text] : read_texts(object)) all.insert(all.end(), {name, text});
        return all;
    });
    std::map<std::string, std::string> texts;
    for (std::size_t i = 1; i < found.size(); i += 2) texts.emplace(found[i - 1], found[i]);
    return texts;
}

double near_decimal(double value, double relative_difference) {
    const double decimal = decimal_of_float(static_cast<double>(static_cast<float>(value)));
    return std::abs(decimal - value) <= relative_difference * std::abs(value) ? decimal : value;
}

void write_text_attribute(hid_t object, const std::string& name, const std::string& value) {
    const Hdf5Id type = variable_text_type(name);
    const char* text = value.c_str();
    write_attribute(object, name, type.get(), {H5Screate(H5S_SCALAR), H5Sclose}, type.get(), &text);
}

void write_text_list_attribute(hid_t object, const std::string& name,
                               const std::vector<std::string>& values) {
    const Hdf5Id type = variable_text_type(name);
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    const hsize_t count = texts.size();
    write_attribute(object, name, type.get(), {H5Screate_simple(1, &count, nullptr), H5Sclose},
                    type.get(), texts.data());
}

void write_number_attribute(hid_t object, const std::string& name, hid_t type,
                            const std::vector<double>& values) {
    const hsize_t count = values.size();
    write_attribute(object, name, type, {H5Screate_simple(1, &count, nullptr), H5Sclose},
                    H5T_NATIVE_DOUBLE, values.data());
}

RecordedAnswer recorded_answer(const std::string& question,
                               const std::function<RecordedAnswer()>& ask) {
    return AnswerRecording::current ? AnswerRecording::current->next(question, ask) : ask();
}

void open_after_trial(const RawFile& file, const std::function<void()>& open,
                      const std::function<void()>& close) {
    if (!damage_is_contained()) return open();
    std::optional<AnswerRecording> answers(std::in_place, file);
    const bool used_helper = try_hdf5(file.path(), limits_of_opening(file), [&] {
        open();
        close();
    });
    if (used_helper)
        answers->start_replay();
    else
        answers.reset();
    open();
}

}  // namespace convolume::io
