// SPDX-License-Identifier: Apache-2.0
// Reads frames from pipes: raw samples, and WAV.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/frame_pipe.hpp"
#include "io/signal/file.hpp"
#include "io/signal/pipe.hpp"
#include "io/signal/sample_codec.hpp"
#include "io/signal/wav_format.hpp"

namespace convolume::io {
namespace {

constexpr std::size_t riff_bytes = 12;  ///< of the name, the size and the kind of a RIFF file

void check_frames(index_t frames, const SignalInfo& info, const ImageView& channels) {
    if (channels.shape.y != info.signals() || channels.shape.x < frames || frames < 0)
        throw InvalidArgument(message("frames of ", info.signals(), " channels are read to ",
                                      channels.shape.y, " rows of ", channels.shape.x));
}

/// What readers of raw samples and of WAV have in common.
class PipeFrames : public FrameReader {
  public:
    explicit PipeFrames(int descriptor) : pipe_(descriptor) {}

    const SignalInfo& info() const final { return info_; }
    void cancel() final { pipe_.cancel(); }
    void check_end() const override {
        if (cut_bytes_ > 0)
            throw BadData(
                message(standard_input, " ended within a ",
                        info_.stored.empty() ? convolume::to_string(info_.type) : info_.stored,
                        " sample: after its last frame of ", frame_bytes_, " bytes came ",
                        cut_bytes_, "; it is cut, or of another type or number of channels"));
    }

  protected:
    /// Reads up to `bytes` bytes of frames to `to`; returns how many frames are complete.
    index_t read_frames(void* to, index_t bytes) {
        const index_t got = pipe_.read(to, bytes);
        if (got < bytes) cut_bytes_ = got % frame_bytes_;
        return got / frame_bytes_;
    }

    InputPipe pipe_;
    SignalInfo info_;
    index_t frame_bytes_ = 1;

  private:
    index_t cut_bytes_ = 0;  ///< bytes of a frame that is not complete
};

class RawFrames : public PipeFrames {
  public:
    RawFrames(int descriptor, const OpenSignalOptions& options)
        : PipeFrames(descriptor),
          type_(*options.raw_type),
          channels_(options.raw_signals.value_or(1)),
          is_swapped_(swaps_bytes(options)),
          header_bytes_(options.raw_header.value_or(0)) {
        info_ = raw_info(type_);
        if (channels_ > 1) info_.dims.push_back(channels_);
        info_.dims.push_back(unknown_samples);
        frame_bytes_ = channels_ * bytes_of(type_);
    }

    index_t read(index_t frames, const ImageView& channels) override {
        check_frames(frames, info_, channels);
        pipe_.skip_header(header_bytes_);
        header_bytes_ = 0;
        if (channels_ == 1 && channels.type == info_.type && channels.strides.x == 1)
            return read_decoded(frames, channels.data);
        const auto bytes_each = static_cast<index_t>(size_of(info_.type));
        memory_.resize(static_cast<std::size_t>(frames * channels_ * bytes_each));
        const index_t got = read_decoded(frames, memory_.data());
        if (got == 0) return 0;
        const ConstImageView interleaved{
            memory_.data(), info_.type, {1, channels_, got}, {0, 1, channels_}};
        ImageView rows = channels;
        rows.shape.x = got;
        convert_pixels(interleaved, rows);
        return got;
    }

  private:
    /// Reads frames to contiguous memory for `frames` frames. Returns how many arrived.
    index_t read_decoded(index_t frames, void* to) {
        const index_t samples = frames * channels_;
        void* const stored = stored_bytes_address(to, samples, type_);
        const index_t got = read_frames(stored, frames * frame_bytes_);
        decode_first(to, got * channels_, samples, type_, is_swapped_);
        return got;
    }

    StoredType type_;
    index_t channels_;
    bool is_swapped_;
    index_t header_bytes_;  ///< bytes that are to be skipped
    std::vector<char> memory_;
};

class WavFrames : public PipeFrames {
  public:
    explicit WavFrames(int descriptor) : PipeFrames(descriptor), format_({}, false) {
        read_header();
        check_format(format_, standard_input);
        info_ = format_.signal_info(unknown_samples);
        frame_bytes_ = format_.frame_bytes;
    }

    index_t read(index_t frames, const ImageView& channels) override {
        check_frames(frames, info_, channels);
        index_t wanted = frames;
        if (left_) wanted = std::min(frames, *left_ / frame_bytes_);
        // value() loads eight bytes for a sample of any width.
        memory_.resize(static_cast<std::size_t>(frames * frame_bytes_ + 8));
        const index_t got = read_frames(memory_.data(), wanted * frame_bytes_);
        if (left_) *left_ -= got * frame_bytes_;
        visit_pixel_type(channels.type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (std::is_floating_point_v<T>) decode_frames<T>(got, channels);
        });
        // What follows the samples is of no use, but its writer waits until it is read.
        if (got < frames && left_ && *left_ < frame_bytes_)
            pipe_.skip(std::numeric_limits<index_t>::max());
        return got;
    }

    void check_end() const override {
        PipeFrames::check_end();
        if (left_ && *left_ >= frame_bytes_)
            throw BadData(message(standard_input, " ended ", *left_,
                                  " bytes before the end that its header names; it is truncated, "
                                  "send it again"));
    }

  private:
    std::string take(std::size_t bytes) {
        std::string taken(bytes, '\0');
        if (pipe_.read(taken.data(), static_cast<index_t>(bytes)) < static_cast<index_t>(bytes))
            throw BadData(message(standard_input,
                                  " ended within the header of its WAV; it is truncated, "
                                  "send it again"));
        return taken;
    }

    [[noreturn]] static void refuse(const std::string& why) {
        throw BadData(message(standard_input, " cannot be read as WAV: ", why, "; it is damaged"));
    }

    /// Reads up to the first sample.
    void read_header() {
        std::string head(riff_bytes, '\0');
        const index_t there = pipe_.read(head.data(), static_cast<index_t>(riff_bytes));
        const bool is_large = head.starts_with("RF64") || head.starts_with("BW64");
        if (there < static_cast<index_t>(riff_bytes) || !(is_large || head.starts_with("RIFF")) ||
            head.substr(8) != "WAVE")
            throw InvalidArgument(sentence("samples on ", standard_input,
                                           " are no WAV (RIFF or RF64) and say nothing of their "
                                           "type; name it (",
                                           OptionName{"raw_type"}, ")"));
        const std::uint64_t size = number_of_bytes_at(head, 4, 4, false);
        std::uint64_t large_samples = 0;
        bool has_format = false;
        for (int count = 0; count < most_riff_chunks; ++count) {
            const std::string chunk = take(8);
            const std::string name = chunk.substr(0, 4);
            const std::uint64_t bytes = number_of_bytes_at(chunk, 4, 4, false);
            if (name == "data") {
                if (!has_format) refuse("it does not say what its samples are");
                const bool is_elsewhere = is_large && bytes == largest_uint32;
                const std::uint64_t named = is_elsewhere ? large_samples : bytes;
                const bool is_unknown =
                    named == 0 || (!is_elsewhere && means_unknown(bytes) && means_unknown(size));
                if (!is_unknown)
                    left_ = static_cast<index_t>(
                        std::min<std::uint64_t>(named, std::uint64_t{1} << 62));
                return;
            }
            if (bytes > most_format_bytes && (name == "fmt " || name == "ds64"))
                refuse(message("one of its chunks has ", bytes, " bytes"));
            const std::string content = take_chunk(bytes, name == "fmt " || name == "ds64");
            if (name == "ds64") large_samples = number_of_bytes_at(content, 8, 8, false);
            if (name != "fmt ") continue;
            format_ = WavFormat(content, false);
            has_format = true;
        }
        refuse(message("it has more than ", most_riff_chunks, " chunks before its samples"));
    }

    /// Reads a RIFF chunk with its padding byte. Returns its content if it is `needed`.
    std::string take_chunk(std::uint64_t bytes, bool needed) {
        std::string content;
        for (std::uint64_t left = bytes + bytes % 2; left > 0;) {
            const auto now = static_cast<std::size_t>(
                std::min<std::uint64_t>(left, static_cast<std::uint64_t>(most_format_bytes)));
            const std::string taken = take(now);
            if (needed) content += taken;
            left -= now;
        }
        content.resize(needed ? static_cast<std::size_t>(bytes) : 0);
        return content;
    }

    template <class Real>
    void decode_frames(index_t frames, const ImageView& channels) const {
        for (index_t c = 0; c < channels.shape.y; ++c) {
            const char* from = memory_.data() + c * format_.width;
            for (index_t n = 0; n < frames; ++n, from += frame_bytes_)
                channels.at<Real>(0, c, n) = format_.value<Real>(from);
        }
    }

    WavFormat format_;
    std::optional<index_t> left_;  ///< bytes of samples that are to come, if the header names them
    std::vector<char> memory_;
};

}  // namespace

std::unique_ptr<FrameReader> open_frame_pipe(int descriptor, const OpenSignalOptions& options) {
    constexpr index_t most_channels = 1 << 16;
    if (options.raw_samples || options.raw_layout == SignalLayout::planar)
        throw InvalidArgument(
            sentence("signals on ", standard_input,
                     " come sample by sample (interleaved), not one after another; leave that out "
                     "(",
                     OptionName{options.raw_samples ? "raw_samples" : "raw_layout"}, ")"));
    if (!options.raw_type) {
        if (options.raw_signals || options.raw_header || options.raw_byte_order)
            throw InvalidArgument(
                sentence("the number of signals, a header and a byte order "
                         "describe raw samples; name their type, too (",
                         OptionName{"raw_type"}, ")"));
        return std::make_unique<WavFrames>(descriptor);
    }
    const index_t channels = options.raw_signals.value_or(1);
    if (channels < 1 || channels > most_channels)
        throw InvalidArgument(message(channels, " signals: a frame has 1 to ", most_channels));
    return std::make_unique<RawFrames>(descriptor, options);
}

}  // namespace convolume::io
