// SPDX-License-Identifier: Apache-2.0
// Reads WAV files: RIFF, RIFX, RF64, BW64 and Wave64. Channels are signals. Integers are fractions
// of full scale.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "io/raw_file.hpp"
#include "io/signal/file.hpp"
#include "io/signal/wav_format.hpp"

namespace convolume::io {
namespace {

/// The two RIFF chunks that are needed to read samples.
struct WavChunks {
    std::string format;  ///< content of the RIFF chunk "fmt "
    index_t samples_at = 0;
    index_t sample_bytes = 0;
    bool big_endian = false;  ///< byte order of numbers and samples
};

/// Layout of the header of a RIFF chunk: a name, then a size. The size counts the bytes after the
/// header, or in Wave64 the whole RIFF chunk.
struct WavChunkLayout {
    std::size_t name_bytes = 4, size_bytes = 4;
    bool size_includes_header = false;
    bool big_endian = false;
    bool has_large_sizes = false;  ///< RF64: sizes of 64 bits are in a RIFF chunk of their own
    index_t alignment = 2;
    index_t header_bytes() const { return static_cast<index_t>(name_bytes + size_bytes); }
};

/// Finds the format and the samples of a file. If its program did not know the number of samples,
/// as on a pipe, they extend to the end. Throws BadData for truncated or damaged files.
class WavChunkFinder {
  public:
    explicit WavChunkFinder(const RawFile& file) : file_(file) {
        const std::string head = file.head(40);
        if (!begins_as_wav(head))
            throw BadData(message(file.path(),
                                  " cannot be read as WAV: it is neither RIFF nor RIFX nor RF64 "
                                  "nor BW64 nor Wave64; convert it"));
        layout_.big_endian = head.starts_with("RIFX");
        layout_.has_large_sizes = head.starts_with("RF64") || head.starts_with("BW64");
        if (head.starts_with("riff")) {
            layout_ = {
                .name_bytes = 16, .size_bytes = 8, .size_includes_header = true, .alignment = 8};
            if (head.size() < 40 || head.substr(24, 4) != "wave")
                refuse("it is Wave64 of something else than sound");
            at_ = 40;
            check_size(number_of_bytes_at(head, 16, 8, false));
            return;
        }
        at_ = 12;
        const std::uint64_t size = number_of_bytes_at(head, 4, 4, layout_.big_endian);
        if (layout_.has_large_sizes) return;
        is_size_unknown_ =
            means_unknown(size) && size + 8 != static_cast<std::uint64_t>(file.size());
        if (!is_size_unknown_) check_size(size);
    }

    WavChunks run() {
        WavChunks found;
        found.big_endian = layout_.big_endian;
        bool has_samples = false;
        for (int count = 0; at_ + layout_.header_bytes() <= file_.size(); ++count) {
            if (count == most_riff_chunks)
                refuse(message("it has more than ", most_riff_chunks, " chunks"));
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
            } else if (size_ > bytes_left()) {
                refuse("a chunk of it goes beyond its end");
            }
            if (has_samples && !found.format.empty()) return found;
            const index_t bytes = static_cast<index_t>(std::min(size_, bytes_left()));
            const index_t padded = (bytes + layout_.alignment - 1) / layout_.alignment;
            at_ += padded * layout_.alignment;
        }
        refuse(has_samples ? "it does not say what its samples are" : "it holds no samples");
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw BadData(message(file_.path(), " cannot be read as WAV: ", why,
                              "; it is damaged, copy it again"));
    }
    /// Throws BadData if the file has fewer bytes than its header names.
    void check_size(std::uint64_t bytes) const {
        if (bytes > static_cast<std::uint64_t>(file_.size()) && bytes < std::uint64_t{1} << 62)
            throw BadData(sentence(file_.path(), " has ", file_.size(),
                                   " bytes, and its header names ", bytes,
                                   "; it is truncated, copy it again"));
    }
    std::uint64_t bytes_left() const { return static_cast<std::uint64_t>(file_.size() - at_); }

    /// Reads the header of a RIFF chunk, sets at_ and size_ to its content, and returns its name.
    std::string begin_chunk() {
        std::string head(static_cast<std::size_t>(layout_.header_bytes()), '\0');
        file_.read(at_, head.data(), layout_.header_bytes());
        at_ += layout_.header_bytes();
        size_ =
            number_of_bytes_at(head, layout_.name_bytes, layout_.size_bytes, layout_.big_endian);
        if (layout_.size_includes_header) {
            const auto header = static_cast<std::uint64_t>(layout_.header_bytes());
            if (size_ < header) refuse("a chunk is shorter than its own header");
            size_ -= header;
        }
        return head.substr(0, 4);
    }
    std::string content(index_t most) const {
        if (size_ > bytes_left() || size_ > static_cast<std::uint64_t>(most))
            refuse(message("one of its chunks has ", size_, " bytes"));
        std::string bytes(static_cast<std::size_t>(size_), '\0');
        if (!bytes.empty()) file_.read(at_, bytes.data(), static_cast<index_t>(size_));
        return bytes;
    }
    /// Reads the sizes of an RF64 file that do not fit into 32 bits.
    void read_large_sizes() {
        const std::string sizes = content(most_format_bytes);
        if (sizes.size() < 16) refuse("its chunk of sizes is too short");
        check_size(number_of_bytes_at(sizes, 0, 8, false));
        large_samples_ = number_of_bytes_at(sizes, 8, 8, false);
    }
    index_t size_of_samples() const {
        const bool elsewhere = layout_.has_large_sizes && size_ == largest_uint32;
        const std::uint64_t named = elsewhere ? large_samples_ : size_;
        if (named == 0 || (is_size_unknown_ && means_unknown(named)))
            return static_cast<index_t>(bytes_left());
        // No RIFF chunk of 4 GiB can follow, so there are more samples than 32 bits can count.
        if (!layout_.size_includes_header && !layout_.has_large_sizes && bytes_left() >= named &&
            bytes_left() - named > largest_uint32)
            throw BadData(sentence(
                file_.path(), " has ", file_.size(), " bytes, but its header names ", named,
                " bytes of samples, since it has only 32 bits for their "
                "number; save it as RF64, or name it as a raw file, *.i16 or so, "
                "and skip the ",
                at_, " bytes before them (", OptionName{"raw_header"}, ")"));
        return static_cast<index_t>(std::min(named, bytes_left()));
    }

    const RawFile& file_;
    WavChunkLayout layout_;
    bool is_size_unknown_ = false;  ///< whether the program that wrote the file knew no size
    index_t at_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t large_samples_ = 0;
};

class WavReader : public SignalReaderBase {
  public:
    explicit WavReader(const std::string& path)
        : file_(path),
          chunks_(WavChunkFinder(file_).run()),
          format_(chunks_.format, chunks_.big_endian) {
        check_format(format_, path);
        const index_t frames = chunks_.sample_bytes / format_.frame_bytes;
        if (frames < 1) throw BadData(message(path, " holds no samples; write or copy it again"));
        info_ = format_.signal_info(frames);
    }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (info_.type == PixelType::float64)
            read_channel(signal, begin, count, static_cast<double*>(to));
        else
            read_channel(signal, begin, count, static_cast<float*>(to));
        file_.check_unchanged();
    }

  private:
    template <class Real>
    void read_channel(index_t channel, index_t begin, index_t count, Real* to) {
        constexpr index_t bytes_at_a_time = index_t{1} << 19;  // bytes of all channels
        const index_t frame = format_.frame_bytes;
        const index_t most = std::max<index_t>(1, bytes_at_a_time / frame);
        // value() loads eight bytes for a sample of any width.
        std::vector<char> bytes(static_cast<std::size_t>(std::min(most, count) * frame + 8));
        for (index_t done = 0; done < count;) {
            const index_t now = std::min(most, count - done);
            file_.read(chunks_.samples_at + (begin + done) * frame, bytes.data(), now * frame);
            const char* from = bytes.data() + channel * format_.width;
            for (index_t i = 0; i < now; ++i, from += frame)
                to[done + i] = format_.value<Real>(from);
            done += now;
        }
    }

    RawFile file_;
    WavChunks chunks_;
    WavFormat format_;
};

}  // namespace

std::unique_ptr<SignalReader> open_wav_signal(const std::string& path) {
    return std::make_unique<WavReader>(path);
}

}  // namespace convolume::io
