// SPDX-License-Identifier: Apache-2.0
// Times a copy of an image from file to file, box by box, with concurrent reading and writing. Its
// peer is a plain read() and write() of as many bytes. Prints one JSON object a line.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <queue>
#include <random>
#include <thread>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace {

using namespace convolume;

struct Settings {
    std::string input;
    std::string output;
    std::string compression = "none";
    std::vector<index_t> make;  // extents z, y, x of an input file to write before the copy
    std::string make_compression = "none";
    int readers = 2;
    int writers = 1;
    int rounds = 3;
    index_t box_mib = 32;
    bool cold = false;
};

Settings parse_arguments(int argc, char** argv) {
    Settings s;
    CLI::App app("Copies an image from file to file, and as many bytes plainly");
    app.add_option("input", s.input, "Image to read")->required();
    app.add_option("output", s.output, "Image to write; replaced")->required();
    app.add_option("--make", s.make, "Make the input first: uint16 noise of planes, rows, columns")
        ->expected(3);
    app.add_option("--make-compression", s.make_compression, "Compression of that input");
    app.add_option("--compression", s.compression, "Compression of the output");
    app.add_option("--readers", s.readers, "Threads that read")->check(CLI::Range(1, 256));
    app.add_option("--writers", s.writers, "Threads that write")->check(CLI::Range(1, 256));
    app.add_option("--rounds", s.rounds, "Rounds over all cases")->check(CLI::Range(1, 1000));
    app.add_option("--box-mib", s.box_mib, "MiB of planes in a box")->check(CLI::Range(1, 4096));
    app.add_flag("--cold", s.cold, "Drop the input from the page cache before each case");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return s;
}

/// Fills a plane with noise of 12 bits, like a camera's, which can be compressed a little.
void make_input(const Settings& s) {
    io::ImageMetadata m;
    m.shape = {s.make[0], s.make[1], s.make[2]};
    m.type = PixelType::uint16;
    const auto writer = io::create_image(
        s.input, m, {true, io::parse_compression(s.make_compression), "file_copy"});
    Volume plane({1, m.shape.y, m.shape.x}, m.type);
    auto* samples = static_cast<std::uint16_t*>(plane.view().data);
    std::minstd_rand random(1);
    for (index_t z = 0; z < m.shape.z; ++z) {
        for (index_t i = 0; i < m.shape.y * m.shape.x; ++i)
            samples[i] = static_cast<std::uint16_t>(random() >> 16 & 0x1FF);
        writer->write_planes(0, 0, z, plane.view());
    }
    writer->commit();
}

void drop_from_cache(const std::string& path) {
    const int descriptor = ::open(io::parse_path(path).file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
}

struct CopyJob {
    index_t t, c;
    Box3 box;
};

/// Queue of a few boxes between readers and writers.
class BoxQueue {
  public:
    BoxQueue(std::size_t most, int readers) : most_(most), readers_(readers) {}
    void put(std::pair<CopyJob, Volume> item) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return items_.size() < most_ || stopped_; });
        items_.push(std::move(item));
        changed_.notify_all();
    }
    bool take(std::pair<CopyJob, Volume>& item) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !items_.empty() || readers_ == 0 || stopped_; });
        if (items_.empty() || stopped_) return false;
        item = std::move(items_.front());
        items_.pop();
        changed_.notify_all();
        return true;
    }
    void finish_reader() {
        const std::lock_guard lock(mutex_);
        --readers_;
        changed_.notify_all();
    }
    void fail(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = error;
        stopped_ = true;
        changed_.notify_all();
    }
    bool stopped() const { return stopped_; }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    std::size_t most_;
    int readers_;
    std::atomic<bool> stopped_{false};
    std::exception_ptr error_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<std::pair<CopyJob, Volume>> items_;
};

/// Divides the image into groups of planes that are whole pieces of source and sink.
std::vector<CopyJob> divide_into_jobs(const StackFormat& from, const StackFormat& to,
                                      index_t box_bytes) {
    const index_t plane_bytes =
        from.shape.y * from.shape.x * static_cast<index_t>(size_of(from.type));
    const index_t step = std::max(from.piece.z, to.piece.z);
    const index_t planes = round_up(std::max<index_t>(box_bytes / plane_bytes, 1), step);
    std::vector<CopyJob> jobs;
    for (index_t t = 0; t < from.frames; ++t)
        for (index_t c = 0; c < from.channels; ++c)
            for (index_t z = 0; z < from.shape.z; z += planes)
                jobs.push_back(
                    {t,
                     c,
                     {{z, 0, 0},
                      {std::min(z + planes, from.shape.z), from.shape.y, from.shape.x}}});
    return jobs;
}

/// Returns the part of a volume that a box fills, as the last box is smaller than the others.
ImageView view_of_box(Volume& volume, const Box3& box) {
    return subview(volume.view(), {{0, 0, 0}, box.shape()});
}

void copy_image(const Settings& s) {
    const auto reader = io::open_image(s.input);
    const auto writer = io::create_image(s.output, reader->metadata(),
                                         {true, io::parse_compression(s.compression), "file_copy"});
    const std::vector<CopyJob> jobs =
        divide_into_jobs(reader->format(), writer->format(), s.box_mib << 20);
    BoxQueue boxes(static_cast<std::size_t>(s.writers) + 1, s.readers);
    // Volumes are used again, as memory that was touched before is much faster.
    std::mutex mutex;
    std::vector<Volume> spare;
    const auto room = [&] {
        const std::lock_guard lock(mutex);
        if (spare.empty()) return Volume(jobs[0].box.shape(), reader->metadata().type);
        Volume volume = std::move(spare.back());
        spare.pop_back();
        return volume;
    };
    std::atomic<std::size_t> next{0};
    const auto guarded = [&](const auto& work) {
        try {
            work();
        } catch (...) {
            boxes.fail(std::current_exception());
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < s.readers; ++i)
            threads.emplace_back([&] {
                guarded([&] {
                    for (std::size_t j;
                         !boxes.stopped() && (j = next.fetch_add(1)) < jobs.size();) {
                        Volume volume = room();
                        reader->read_box(jobs[j].t, jobs[j].c, jobs[j].box,
                                         view_of_box(volume, jobs[j].box));
                        boxes.put({jobs[j], std::move(volume)});
                    }
                });
                boxes.finish_reader();
            });
        for (int i = 0; i < s.writers; ++i)
            threads.emplace_back([&] {
                guarded([&] {
                    std::pair<CopyJob, Volume> item;
                    while (boxes.take(item)) {
                        auto& [job, volume] = item;
                        writer->write_box(job.t, job.c, job.box, view_of_box(volume, job.box));
                        const std::lock_guard lock(mutex);
                        spare.push_back(std::move(volume));
                    }
                });
            });
    }
    boxes.rethrow();
    reader->check_unchanged();
    writer->commit();
}

/// Reads the input's bytes and writes `written` bytes alternately, then waits for the disk.
void copy_plainly(const std::string& input, index_t written, const std::string& output) {
    std::vector<char> buffer(std::size_t{4} << 20);
    const int from = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
    const int to = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (from < 0 || to < 0) throw IoError("cannot copy plainly");
    ssize_t got = 1;
    while (got > 0 || written > 0) {
        if (got > 0) got = ::read(from, buffer.data(), buffer.size());
        if (got < 0) throw IoError("cannot read plainly");
        const auto count = std::min<index_t>(written, static_cast<index_t>(buffer.size()));
        if (count > 0 && ::write(to, buffer.data(), static_cast<std::size_t>(count)) != count)
            throw IoError("cannot write plainly");
        written -= count;
    }
    if (::fsync(to) != 0) throw IoError("cannot write plainly");
    ::close(from);
    ::close(to);
}

void run(const Settings& s) {
    if (!s.make.empty()) make_input(s);
    const index_t bytes = io::open_image(s.input)->metadata().bytes();
    const std::string input = io::parse_path(s.input).file;
    const std::string output = io::parse_path(s.output).file;
    const auto cpu_s = [] {
        rusage use{};
        ::getrusage(RUSAGE_SELF, &use);
        return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
               1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    };
    const auto timed = [&](const char* name, int round, const auto& work) {
        if (s.cold) drop_from_cache(s.input);
        const double cpu_before_s = cpu_s();
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        const nlohmann::ordered_json line{
            {"case", name},
            {"input", s.input},
            {"output", s.output},
            {"compression", s.compression},
            {"readers", s.readers},
            {"writers", s.writers},
            {"cold", s.cold},
            {"round", round},
            {"bytes", bytes},
            {"seconds", taken.count()},
            {"cpu_seconds", cpu_s() - cpu_before_s},
            {"gb_per_s", static_cast<double>(bytes) / 1e9 / taken.count()}};
        std::cout << line.dump() << std::endl;
    };
    for (int round = 0; round < s.rounds; ++round) {
        timed("convolume", round, [&] { copy_image(s); });
        const auto written = static_cast<index_t>(std::filesystem::file_size(output));
        std::filesystem::remove(output);
        timed("plain", round, [&] { copy_plainly(input, written, output); });
        std::filesystem::remove(output);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(parse_arguments(argc, argv));
    } catch (const std::exception& error) {
        std::cerr << "convolume_file_copy_bench: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
