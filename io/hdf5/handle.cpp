// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/handle.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>

#include "convolume/error.hpp"
#include "io/hdf5/driver.hpp"
#include "io/helper_process.hpp"

namespace convolume::io {
namespace {

std::recursive_mutex& library_mutex() {
    static std::recursive_mutex mutex;
    // Without memory HDF5 crashes as it begins: then bad_alloc is thrown here.
    static const auto room = [] { return std::make_unique<char[]>(1 << 20) != nullptr; }();
    static_cast<void>(room);
    // At exit the library would close once more what it failed to close, and crash.
    static const herr_t all_closed_here = H5dont_atexit();
    static_cast<void>(all_closed_here);
    return mutex;
}

/// Whether the system has no memory, as opposed to too little for a size that a damaged file gave.
bool memory_is_short() {
    constexpr std::size_t little = std::size_t{64} << 20;
    void* const probe =
        ::mmap(nullptr, little, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) return true;
    ::munmap(probe, little);
    return false;
}

// In helper processes, which have one thread.
bool in_helper = false;
bool memory_was_refused = false;

constexpr const char* refused_memory = "the system refused HDF5 memory: close other programs";
constexpr const char* no_reason = "HDF5 gave no reason";

struct Reason {
    std::string text;
    bool memory = false;
};

herr_t keep_reason(unsigned, const H5E_error2_t* error, void* found) {
    auto& reason = *static_cast<Reason*>(found);
    try {
        if (error->desc != nullptr) reason.text = error->desc;
        reason.memory = reason.memory || error->min_num == H5E_NOSPACE;
        return 0;
    } catch (...) {  // exceptions must not pass through HDF5
        reason.memory = true;
        return -1;
    }
}

Reason reason_on(hid_t stack) {
    Reason reason;
    // Downward: from the call to what made it fail, so that the last one stays.
    H5Ewalk2(stack, H5E_WALK_DOWNWARD, keep_reason, &reason);
    return reason;
}

/// What HDF5 calls where one of its functions fails.
herr_t note_refused_memory(hid_t stack, void*) {
    memory_was_refused = memory_was_refused || reason_on(stack).memory;
    return 0;
}

void print_no_errors() {
    H5Eset_auto2(H5E_DEFAULT, in_helper ? note_refused_memory : nullptr, nullptr);
}

/// In a helper process the thread that holds the lock is another one. It has no other threads.
void begin_helper() {
    new (&library_mutex()) std::recursive_mutex;
    in_helper = true;
    print_no_errors();
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

std::string hdf5_reason() {
    throw_failed_hdf5_read();
    const Reason reason = reason_on(H5E_DEFAULT);
    if (reason.memory && memory_is_short()) throw OutOfMemory(refused_memory);
    return reason.text.empty() ? no_reason : reason.text;
}

std::string hdf5_failure(const std::string& cure_of_damage) {
    const std::string reason = hdf5_reason();
    // Later versions of HDF5 write descriptions that this one does not know.
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
    const Reason reason = reason_on(H5E_DEFAULT);
    // The kind of error is not always that of refused memory; the words are.
    if (reason.memory || reason.text.starts_with("memory allocation failed"))
        throw OutOfMemory(refused_memory);
    return reason.text.empty() ? no_reason : reason.text;
}

}  // namespace convolume::io
