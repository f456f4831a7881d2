// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/library.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
// The header that declares file drivers depends on the version.
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#else
#include <H5FDpublic.h>
#endif

#include "convolume/error.hpp"
#include "io/hdf5/helper_process.hpp"

namespace convolume::io {
namespace {

std::recursive_mutex& library_mutex() {
    static std::recursive_mutex mutex;
    // HDF5 crashes at its start if it has no memory. Then bad_alloc is thrown here instead.
    static const auto room = [] { return std::make_unique<char[]>(1 << 20) != nullptr; }();
    static_cast<void>(room);
    // At exit the library would again close what it had failed to close, and crash.
    static const herr_t no_exit_handler = H5dont_atexit();
    static_cast<void>(no_exit_handler);
    return mutex;
}

/// Tells whether memory is short; else a damaged file made HDF5 ask for too much.
bool memory_is_short() {
    constexpr std::size_t little = std::size_t{64} << 20;
    void* const probe =
        ::mmap(nullptr, little, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) return true;
    ::munmap(probe, little);
    return false;
}

// State of helper processes, which have one thread.
bool in_helper = false;
bool memory_was_refused = false;

constexpr const char* refused_memory = "the system refused HDF5 memory: close other programs";
constexpr const char* no_reason = "HDF5 gave no reason";

/// The reason of a failed call.
struct Hdf5ErrorReason {
    std::string text;
    bool is_memory_refused = false;
};

herr_t keep_innermost_reason(unsigned, const H5E_error2_t* error, void* found) {
    auto& reason = *static_cast<Hdf5ErrorReason*>(found);
    try {
        if (error->desc != nullptr) reason.text = error->desc;
        reason.is_memory_refused = reason.is_memory_refused || error->min_num == H5E_NOSPACE;
        return 0;
    } catch (...) {  // exceptions must not pass through HDF5
        reason.is_memory_refused = true;
        return -1;
    }
}

Hdf5ErrorReason reason_on(hid_t stack) {
    Hdf5ErrorReason reason;
    // The walk goes from the failed call to its cause, so the innermost reason is kept.
    H5Ewalk2(stack, H5E_WALK_DOWNWARD, keep_innermost_reason, &reason);
    return reason;
}

/// Handler that HDF5 calls if one of its functions fails.
herr_t note_refused_memory(hid_t stack, void*) {
    memory_was_refused = memory_was_refused || reason_on(stack).is_memory_refused;
    return 0;
}

void print_no_errors() {
    H5Eset_auto2(H5E_DEFAULT, in_helper ? note_refused_memory : nullptr, nullptr);
}

/// Initializes a helper process. It renews the lock, whose owner is a thread of the other process.
void begin_helper() {
    new (&library_mutex()) std::recursive_mutex;
    in_helper = true;
    print_no_errors();
}

// Hdf5Lock guards these variables.
std::exception_ptr failed_read;
constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
std::size_t most_samples = no_limit;  // limit for the bytes that one call reads
index_t samples_read = 0;             // bytes of samples that were read

/// A file of our file driver. HDF5 knows the first member only.
struct DriverFile {
    H5FD_t known{};
    const RawFile* file = nullptr;
    haddr_t end_of_addresses = 0;
};

DriverFile& driver_file(H5FD_t* known) {
    return *reinterpret_cast<DriverFile*>(known);
}
const DriverFile& driver_file(const H5FD_t* known) {
    return *reinterpret_cast<const DriverFile*>(known);
}

/// Returns the result of `work`, or `failed` after an exception, which must not pass through HDF5.
template <class Result, class Work>
Result catch_exceptions(Result failed, const Work& work) {
    try {
        return work();
    } catch (...) {
        if (!failed_read) failed_read = std::current_exception();
        return failed;
    }
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
    return catch_exceptions<H5FD_t*>(nullptr, [&]() -> H5FD_t* {
        if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
        const void* const info = H5Pget_driver_info(access);
        if (info == nullptr) return nullptr;
        auto opened = std::make_unique<DriverFile>();
        opened->file = *static_cast<const RawFile* const*>(info);
        // Hdf5Files opens the files that links lead to; HDF5 must not.
        if (opened->file->path() != name) return nullptr;
        return &opened.release()->known;
    });
}

herr_t close_file(H5FD_t* known) {
    delete &driver_file(known);
    return 0;
}

int compare_files(const H5FD_t* a, const H5FD_t* b) {
    const auto &first = driver_file(a).file->identity(), &second = driver_file(b).file->identity();
    return first == second ? 0 : first < second ? -1 : 1;
}

herr_t query_file(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE;
    return 0;
}

haddr_t get_end_of_addresses(const H5FD_t* known, H5FD_mem_t) {
    return driver_file(known).end_of_addresses;
}

herr_t set_end_of_addresses(H5FD_t* known, H5FD_mem_t, haddr_t address) {
    driver_file(known).end_of_addresses = address;
    return 0;
}

haddr_t get_end_of_file(const H5FD_t* known, H5FD_mem_t) {
    return static_cast<haddr_t>(driver_file(known).file->size());
}

// Bytes beyond the end of the file that HDF5 may ask for. If it does not know how long a
// description is, it reads some KiB at once.
constexpr size_t most_beyond_end = 1 << 20;

// Reads from the file. Missing samples are an error. Descriptions may end before the bytes that
// HDF5 asks for. The rest is then 0, and HDF5 notices if it needed more.
herr_t read_file(H5FD_t* known, H5FD_mem_t type, hid_t, haddr_t address, size_t bytes,
                 void* target) {
    return catch_exceptions<herr_t>(-1, [&]() -> herr_t {
        const RawFile& file = *driver_file(known).file;
        const auto size = static_cast<haddr_t>(file.size());
        size_t bytes_present = bytes;
        if (type != H5FD_MEM_DRAW)
            bytes_present =
                static_cast<size_t>(std::min<haddr_t>(bytes, address < size ? size - address : 0));
        if (bytes - bytes_present > most_beyond_end) return -1;
        if (type == H5FD_MEM_DRAW) {
            if (bytes > most_samples) return -1;
            samples_read += static_cast<index_t>(bytes);
        }
        if (bytes_present > 0)
            file.read(static_cast<index_t>(address), target, static_cast<index_t>(bytes_present));
        std::memset(static_cast<char*>(target) + bytes_present, 0, bytes - bytes_present);
        return 0;
    });
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) {
    return -1;
}

herr_t lock_file(H5FD_t* known, hbool_t) {
    return catch_exceptions<herr_t>(
        -1, [&]() -> herr_t { return driver_file(known).file->lock_shared() ? 0 : -1; });
}

herr_t unlock_file(H5FD_t*) {
    return 0;  // RawFile unlocks the file when it is closed
}

hid_t driver() {
    static const hid_t id = [] {
        H5FD_class_t known{};
#ifdef H5FD_CLASS_VERSION
        known.version = H5FD_CLASS_VERSION;
        // a number for drivers that are not registered with The HDF Group
        constexpr int own_number = 511;
        known.value = static_cast<H5FD_class_value_t>(own_number);
#endif
        known.name = "convolume";
        known.maxaddr = HADDR_MAX;
        known.fc_degree = H5F_CLOSE_WEAK;
        known.fapl_size = sizeof(const RawFile*);
        known.open = open_file;
        known.close = close_file;
        known.cmp = compare_files;
        known.query = query_file;
        known.get_eoa = get_end_of_addresses;
        known.set_eoa = set_end_of_addresses;
        known.get_eof = get_end_of_file;
        known.read = read_file;
        known.write = refuse_to_write;
        known.lock = lock_file;
        known.unlock = unlock_file;
        constexpr H5FD_mem_t all_alike[] = H5FD_FLMAP_DICHOTOMY;
        std::copy(std::begin(all_alike), std::end(all_alike), known.fl_map);
        return H5FDregister(&known);
    }();
    return id;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(library_mutex()) {
    if (H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_) < 0) print_ = nullptr;
    print_no_errors();
}

Hdf5Lock::~Hdf5Lock() {
    H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

bool try_hdf5(const std::string& path, const HelperLimits& limits,
              const std::function<void()>& work) {
    return damage_is_contained() && run_in_helper(path, limits, begin_helper, [&] {
               work();
               if (memory_was_refused)
                   throw BadData(message(path,
                                         " describes itself in more memory than its size "
                                         "justifies; the file is damaged, copy it again"));
           });
}

Hdf5Box::Hdf5Box(hid_t dataset, const std::vector<hsize_t>& start,
                 const std::vector<hsize_t>& count)
    : in_file(H5Dget_space(dataset), H5Sclose),
      in_memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose),
      is_selected(in_file && in_memory &&
                  H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr,
                                      count.data(), nullptr) >= 0) {}

std::string hdf5_reason() {
    throw_failed_hdf5_read();
    const Hdf5ErrorReason reason = reason_on(H5E_DEFAULT);
    if (reason.is_memory_refused && memory_is_short()) throw OutOfMemory(refused_memory);
    return reason.text.empty() ? no_reason : reason.text;
}

std::string hdf5_failure(const std::string& cure_of_damage) {
    const std::string reason = hdf5_reason();
    // Later versions of HDF5 write descriptions that this version does not know.
    constexpr const char* newer[] = {"version", "unknown message", "unknown datatype"};
    if (std::none_of(std::begin(newer), std::end(newer),
                     [&](const char* words) { return reason.find(words) != std::string::npos; }))
        return message(reason, "; ", cure_of_damage);
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
    return message(reason, "; it needs a newer HDF5 than ", major, ".", minor, ".", release,
                   " or is damaged: write its datasets anew in Python, h5py.File(NEW, 'w')"
                   ".create_dataset(NAME, data=h5py.File(OLD)[NAME][()])");
}

std::string hdf5_write_reason() {
    const Hdf5ErrorReason reason = reason_on(H5E_DEFAULT);
    // HDF5 does not always mark refused memory as such; the words tell.
    if (reason.is_memory_refused || reason.text.starts_with("memory allocation failed"))
        throw OutOfMemory(refused_memory);
    return reason.text.empty() ? no_reason : reason.text;
}

Hdf5Id open_hdf5_input(const RawFile& file) {
    const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    const RawFile* const info = &file;
    failed_read = nullptr;  // error of another file that did not matter
    if (!access || H5Pset_driver(access.get(), driver(), &info) < 0) return {};
    return {H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose};
}

HelperLimits limits_of_opening(const RawFile& file) {
    // the largest cache of HDF5 chunks is half of this
    constexpr index_t bytes = index_t{512} << 20;
    return {1 + std::min(static_cast<double>(file.size()) / 20e6, 100.0), bytes};
}

Hdf5SampleLimit::Hdf5SampleLimit(index_t bytes) {
    most_samples = static_cast<std::size_t>(bytes);
    samples_read = 0;
}

Hdf5SampleLimit::~Hdf5SampleLimit() {
    most_samples = no_limit;
}

index_t Hdf5SampleLimit::read() const {
    return samples_read;
}

void throw_failed_hdf5_read() {
    if (failed_read) std::rethrow_exception(std::exchange(failed_read, nullptr));
}

}  // namespace convolume::io
