// SPDX-License-Identifier: Apache-2.0
#include "io/signal/wav_chunks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

constexpr std::uint64_t unknown_bytes = 0xFFFFFFFF;  ///< of 32 bits
constexpr index_t most_format_bytes = 4096;
constexpr int most_chunks = 10000;

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width,
                        bool big_endian) {
    if (at + width > bytes.size()) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
        const std::size_t byte = big_endian ? at + i : at + width - 1 - i;
        value = value << 8 | static_cast<unsigned char>(bytes[byte]);
    }
    return value;
}

void append(std::string& bytes, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i);
}

/// Whether a size of 32 bits stands for one that was not known: programs that write to a pipe put
/// one near 2 GiB (SoX 0x7FFFF000, others 0x7FFFFFFF or 0x80000000) or near 4 GiB (FFmpeg
/// 0xFFFFFFFF) there, with or without the bytes of the header.
bool stands_for_unknown(std::uint64_t size) {
    constexpr std::uint64_t half = 0x80000000, header = 0x1000;
    return size == 0 || (size >= half - header && size <= half + header) ||
           size >= unknown_bytes - header;
}

/// How chunks begin: a name, then the bytes that follow, or in Wave64 those of the whole chunk.
struct Layout {
    std::size_t name_bytes = 4, size_bytes = 4;
    bool whole = false;
    bool big_endian = false;
    bool large = false;  ///< RF64: sizes of 64 bits are in a chunk of their own
    index_t alignment = 2;
    index_t header() const { return static_cast<index_t>(name_bytes + size_bytes); }
};

class Walk {
  public:
    explicit Walk(const RawFile& file) : file_(file) {
        const std::string head = file.head(40);
        if (!begins_as_wav(head))
            throw BadData(message(file.path(),
                                  " cannot be read as WAV: it is neither RIFF nor RIFX nor RF64 "
                                  "nor BW64 nor Wave64; convert it"));
        layout_.big_endian = head.starts_with("RIFX");
        layout_.large = head.starts_with("RF64") || head.starts_with("BW64");
        if (head.starts_with("riff")) {
            layout_ = {.name_bytes = 16, .size_bytes = 8, .whole = true, .alignment = 8};
            if (head.size() < 40 || head.substr(24, 4) != "wave")
                damaged("it is Wave64 of something else than sound");
            at_ = 40;
            check_promise(number_at(head, 16, 8, false));
            return;
        }
        at_ = 12;
        const std::uint64_t size = number_at(head, 4, 4, layout_.big_endian);
        if (layout_.large) return;
        unknown_ = stands_for_unknown(size) && size + 8 != static_cast<std::uint64_t>(file.size());
        if (!unknown_) check_promise(size);
    }

    WavChunks run() {
        WavChunks found;
        found.big_endian = layout_.big_endian;
        bool has_samples = false;
        for (int count = 0; at_ + layout_.header() <= file_.size(); ++count) {
            if (count == most_chunks) damaged(message("it has more than ", most_chunks, " chunks"));
            const std::string name = begin_chunk();
            if (name == "ds64") {
                read_large_sizes();
            } else if (name == "fmt ") {
                found.format = content(most_format_bytes);
            } else if (name == "data" && !has_samples) {
                has_samples = true;
                found.samples_at = at_;
                found.sample_bytes = size_of_samples();
                size_ = static_cast<std::uint64_t>(found.sample_bytes);
            } else if (size_ > rest()) {
                damaged("a chunk of it goes beyond its end");
            }
            if (has_samples && !found.format.empty()) return found;
            const index_t bytes = static_cast<index_t>(std::min(size_, rest()));
            const index_t padded = (bytes + layout_.alignment - 1) / layout_.alignment;
            at_ += padded * layout_.alignment;
        }
        damaged(has_samples ? "it does not say what its samples are" : "it holds no samples");
    }

  private:
    [[noreturn]] void damaged(const std::string& why) const {
        throw BadData(message(file_.path(), " cannot be read as WAV: ", why,
                              "; it is damaged, copy it again"));
    }
    void check_promise(std::uint64_t bytes) const {
        if (bytes > static_cast<std::uint64_t>(file_.size()) && bytes < std::uint64_t{1} << 62)
            throw BadData(sentence(file_.path(), " has ", file_.size(),
                                   " bytes, and its header names ", bytes,
                                   "; it is truncated, copy it again"));
    }
    std::uint64_t rest() const { return static_cast<std::uint64_t>(file_.size() - at_); }

    /// Returns the chunk's name; at_ is then where its content begins, of size_ bytes.
    std::string begin_chunk() {
        std::string head(static_cast<std::size_t>(layout_.header()), '\0');
        file_.read(at_, head.data(), layout_.header());
        at_ += layout_.header();
        size_ = number_at(head, layout_.name_bytes, layout_.size_bytes, layout_.big_endian);
        if (layout_.whole) {
            const auto header = static_cast<std::uint64_t>(layout_.header());
            if (size_ < header) damaged("a chunk is shorter than its own header");
            size_ -= header;
        }
        return head.substr(0, 4);
    }
    std::string content(index_t most) const {
        if (size_ > rest() || size_ > static_cast<std::uint64_t>(most))
            damaged(message("one of its chunks has ", size_, " bytes"));
        std::string bytes(static_cast<std::size_t>(size_), '\0');
        if (!bytes.empty()) file_.read(at_, bytes.data(), static_cast<index_t>(size_));
        return bytes;
    }
    /// Reads the sizes of RF64 that 32 bits do not hold.
    void read_large_sizes() {
        const std::string sizes = content(most_format_bytes);
        if (sizes.size() < 16) damaged("its chunk of sizes is too short");
        check_promise(number_at(sizes, 0, 8, false));
        large_samples_ = number_at(sizes, 8, 8, false);
    }
    index_t size_of_samples() const {
        const bool elsewhere = layout_.large && size_ == unknown_bytes && large_samples_ > 0;
        const std::uint64_t named = elsewhere ? large_samples_ : size_;
        if (named == 0 || (unknown_ && stands_for_unknown(named)))
            return static_cast<index_t>(rest());
        // No chunk of 4 GiB can follow: there are more samples than 32 bits can count.
        if (!layout_.whole && !layout_.large && rest() >= named && rest() - named > unknown_bytes)
            throw BadData(sentence(
                file_.path(), " has ", file_.size(), " bytes, but its header names ", named,
                " bytes of samples, since it has only 32 bits for their "
                "number; save it as RF64, or name it as a raw file, *.i16 or so, "
                "and skip the ",
                at_, " bytes before them (", OptionName{"raw_header"}, ")"));
        return static_cast<index_t>(std::min(named, rest()));
    }

    const RawFile& file_;
    Layout layout_;
    bool unknown_ = false;  ///< the file's own size, to the program that wrote it
    index_t at_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t large_samples_ = 0;
};

}  // namespace

bool begins_as_wav(std::string_view head) {
    constexpr std::string_view wave64("riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00", 16);
    if (head.starts_with(wave64)) return true;
    if (head.size() < 16 || head.substr(8, 4) != "WAVE") return false;
    const std::string_view name = head.substr(0, 4);
    return name == "RIFF" || name == "RIFX" || name == "RF64" || name == "BW64";
}

WavChunks find_wav_chunks(const RawFile& file) {
    return Walk(file).run();
}

WavFormat parse_wav_format(const WavChunks& chunks) {
    const auto number = [&](std::size_t at, std::size_t width) {
        return static_cast<int>(number_at(chunks.format, at, width, chunks.big_endian));
    };
    constexpr int extensible = 0xFFFE;
    int tag = number(0, 2);
    if (tag == extensible) {
        tag = number(24, 2);
        if (tag == 0) tag = number(26, 2);  // in RIFX some write four bytes, others two
    }
    return {tag, number(2, 2),
            static_cast<index_t>(number_at(chunks.format, 4, 4, chunks.big_endian)), number(12, 2),
            number(14, 2)};
}

std::string wav_header(const WavChunks& chunks) {
    const auto samples = static_cast<std::uint64_t>(chunks.sample_bytes);
    const std::uint64_t all = samples + chunks.format.size() + 100;
    const bool large = all > std::numeric_limits<std::uint32_t>::max();
    std::string header = large ? "RF64" : "RIFF";
    std::string body = "WAVE";
    if (large) {
        const auto frame = static_cast<std::uint64_t>(parse_wav_format(chunks).frame_bytes);
        body += "ds64";
        append(body, 28, 4);
        append(body, 4 + 36 + 8 + chunks.format.size() + chunks.format.size() % 2 + 8 + samples, 8);
        append(body, samples, 8);
        append(body, frame == 0 ? 0 : samples / frame, 8);
        append(body, 0, 4);
    }
    body += "fmt ";
    append(body, chunks.format.size(), 4);
    body += chunks.format;
    if (chunks.format.size() % 2 != 0) body += '\0';
    body += "data";
    append(body, large ? unknown_bytes : samples, 4);
    append(header, large ? unknown_bytes : body.size() + samples, 4);
    return header + body;
}

}  // namespace convolume::io
