// SPDX-License-Identifier: Apache-2.0
// Signals from open file descriptors as SignalReaders: one signal as it arrives, several after they
// are stored in a file.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/frame_pipe.hpp"
#include "convolume/volume.hpp"
#include "core/system/system.hpp"
#include "io/signal/file.hpp"
#include "io/signal/pipe.hpp"

namespace convolume::io {
namespace {

/// One signal, of which each sample is read once.
class PipedSignal : public SignalReaderBase {
  public:
    explicit PipedSignal(std::unique_ptr<FrameReader> frames) : frames_(std::move(frames)) {
        info_ = frames_->info();
    }

    void cancel() override { frames_->cancel(); }

    void read(index_t signal, index_t begin, index_t count, void* to) override {
        if (const index_t there = read_until_end(signal, begin, count, to); there < count)
            throw BadData(message(standard_input, " ended after ", begin + there,
                                  " samples, before ", begin + count, " that are needed"));
    }

    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override {
        check_range(info_.dims, signal, begin, count);
        if (begin < position_)
            throw InvalidArgument(
                message("sample ", begin, " of ", standard_input, " was read before"));
        skip_to(begin);
        if (position_ < begin) return position_ - begin;
        return take(count, to);
    }

  private:
    void skip_to(index_t begin) {
        constexpr index_t most = index_t{1} << 14;
        unused_.resize(static_cast<std::size_t>(std::min(most, begin - position_)) *
                       size_of(info_.type));
        while (position_ < begin) {
            const index_t now = std::min(most, begin - position_);
            if (take(now, unused_.data()) < now) return;
        }
    }
    /// Reads the next samples. Returns fewer at the end.
    index_t take(index_t count, void* to) {
        const index_t there =
            frames_->read(count, {to, info_.type, {1, 1, count}, {count, count, 1}});
        position_ += there;
        if (there < count) frames_->check_end();
        return there;
    }

    std::unique_ptr<FrameReader> frames_;
    index_t position_ = 0;  ///< index of the next sample to arrive
    std::vector<char> unused_;
};

/// Moves all frames to a file without a name, and returns a reader of it.
std::unique_ptr<SignalReader> store_frames(FrameReader& frames) {
    constexpr index_t bytes_at_a_time = index_t{1} << 22;
    std::error_code failed;
    const auto named = std::filesystem::temp_directory_path(failed);
    const std::string folder = failed ? "/tmp" : named.string();
    SignalInfo info = frames.info();
    const auto bytes_each = static_cast<index_t>(size_of(info.type));
    const index_t frame_bytes = info.signals() * bytes_each;
    const index_t most = std::max<index_t>(1, bytes_at_a_time / frame_bytes);
    Volume rows({1, info.signals(), most}, info.type);
    Volume interleaved({1, most, info.signals()}, info.type);
    const int file = system::open_nameless_file(folder);
    if (file < 0)
        throw CannotCreate(message("cannot store the signals of ", standard_input, " in ", folder,
                                   ": ", std::strerror(errno), "; set TMPDIR to another folder"));
    index_t stored = 0;
    const auto fail = [&](const char* reason) {
        throw IoError(message("storing the signals of ", standard_input, " in ", folder,
                              " failed: ", reason, "; free some space, or set TMPDIR"));
    };
    try {
        for (index_t got = most; got == most; stored += got) {
            got = frames.read(most, rows.view());
            if (got == 0) break;
            ImageView from = rows.view();
            from.shape.x = got;
            const ImageView to{
                interleaved.view().data, info.type, from.shape, {0, 1, info.signals()}};
            convert_pixels(from, to);
            const auto* bytes = static_cast<const char*>(to.data);
            for (index_t done = 0; done < got * frame_bytes;) {
                const index_t put = system::write_at(
                    file, bytes + done, static_cast<std::size_t>(got * frame_bytes - done),
                    stored * frame_bytes + done);
                if (put < 0 && errno == EINTR) continue;
                if (put <= 0) fail(put < 0 ? std::strerror(errno) : "the disk is full");
                done += put;
            }
        }
        frames.check_end();
        if (stored == 0)
            throw BadData(message(standard_input, " holds no samples; check what writes it"));
    } catch (...) {
        system::close_file(file);
        throw;
    }
    info.dims.back() = stored;
    return open_stored_frames(file, standard_input, info);
}

}  // namespace

std::unique_ptr<SignalReader> open_signal_pipe(int descriptor, const OpenSignalOptions& options,
                                               std::stop_token stop) {
    auto frames = open_frame_pipe(descriptor, options);
    if (frames->info().signals() == 1) return std::make_unique<PipedSignal>(std::move(frames));
    const std::stop_callback cancel(std::move(stop), [&] { frames->cancel(); });
    return store_frames(*frames);
}

}  // namespace convolume::io
