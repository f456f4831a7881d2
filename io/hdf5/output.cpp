// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "convolume/error.hpp"
#include "io/hdf5/format.hpp"
#include "io/image_file.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

/// Returns a text that identifies the state of a file; empty if it does not exist.
std::string state_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return message(status.st_dev, " ", status.st_ino, " ", status.st_size, " ",
                   status.st_mtim.tv_sec, " ", status.st_mtim.tv_nsec);
}

/// Whether a file exists in which the name of the dataset is free.
bool adds_to_existing(const PathSpec& path) {
    return !state_of(path.file).empty() && is_free_in_hdf5(path);
}

index_t bytes_of(const std::string& path) {
    std::error_code failed;
    const auto bytes = fs::file_size(path, failed);
    return failed ? 0 : static_cast<index_t>(bytes);
}

/// Returns properties that align large datasets with pages of memory, which is faster.
Hdf5Id file_access(bool has_large_attributes) {
    constexpr hsize_t least_bytes = 1 << 20;
    constexpr hsize_t alignment_bytes = 4096;
    Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (!access || H5Pset_alignment(access.get(), least_bytes, alignment_bytes) < 0)
        throw IoError(message("HDF5 cannot prepare a file: ", hdf5_write_reason()));
    if (has_large_attributes &&
        H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0)
        throw IoError(message("HDF5 cannot prepare a file: ", hdf5_write_reason()));
    return access;
}

}  // namespace

bool is_free_in_hdf5(const PathSpec& spec) {
    const Hdf5Lock lock;
    const Hdf5Id file(H5Fopen(spec.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file) return false;
    // HDF5 asks for each component of a name after those before it.
    for (std::size_t end = spec.dataset.find('/', 1);; end = spec.dataset.find('/', end + 1)) {
        const htri_t exists =
            H5Lexists(file.get(), spec.dataset.substr(0, end).c_str(), H5P_DEFAULT);
        if (exists <= 0) return true;  // below a dataset nothing is, and nothing may be written
        if (end == std::string::npos) return false;
    }
}

Hdf5Output::Hdf5Output(const PathSpec& path, bool overwrite, index_t expected_bytes,
                       bool has_large_attributes)
    : name_(path.dataset.empty() ? "/data" : path.dataset),
      keeps_other_objects_(!path.dataset.empty() && (overwrite || adds_to_existing(path))),
      copied_state_(keeps_other_objects_ ? state_of(path.file) : std::string()),
      output_(path.file, overwrite || keeps_other_objects_,
              copied_state_.empty() ? expected_bytes
                                    : checked_add(expected_bytes, bytes_of(path.file))) {
    if (!copied_state_.empty()) copy_existing();
    const Hdf5Lock lock;
    try {
        if (!copied_state_.empty()) {
            open_copy(has_large_attributes);
            remove_dataset();
        } else {
            const Hdf5Id access = file_access(has_large_attributes);
            file_ = Hdf5Id(
                H5Fcreate(output_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                H5Fclose);
            check(static_cast<bool>(file_));
        }
    } catch (...) {
        close();
        throw;
    }
}

Hdf5Output::~Hdf5Output() {
    close();
}

void Hdf5Output::copy_existing() {
    // A user who may not write the file may not replace it by a copy either.
    if (::access(output_.target().c_str(), W_OK) != 0)
        throw CannotCreate(message("cannot write ", name_, " into ", output_.target(), ": ",
                                   std::strerror(errno), "; write to another file"));
    std::error_code failed;
    fs::copy_file(output_.target(), output_.temporary(), fs::copy_options::overwrite_existing,
                  failed);
    if (failed) throw IoError(output_.failure(failed.message()));
}

void Hdf5Output::open_copy(bool has_large_attributes) {
    const Hdf5Id access = file_access(has_large_attributes);
    file_ = Hdf5Id(H5Fopen(output_.temporary().c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
    if (!file_)
        throw CannotCreate(message("cannot write ", name_, " into ", output_.target(), ": ",
                                   hdf5_reason(), "; write to another file"));
}

void Hdf5Output::remove_dataset() {
    const auto refuse = [&](const std::string& part, const char* reason) {
        throw CannotCreate(message("cannot write ", name_, " into ", output_.target(), ": ", part,
                                   " ", reason, "; choose another name"));
    };
    // Each component of the name is checked before the components after it.
    for (std::size_t end = name_.find('/', 1);; end = name_.find('/', end + 1)) {
        const std::string part = name_.substr(0, end);
        const htri_t exists = H5Lexists(file_.get(), part.c_str(), H5P_DEFAULT);
        check(exists >= 0);
        if (exists == 0) return;
        H5L_info_t link;
        check(H5Lget_info(file_.get(), part.c_str(), &link, H5P_DEFAULT) >= 0);
        // An external link leads to another file, which must not be changed.
        if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT)
            refuse(part, "is a link to another file");
        const Hdf5Id found(H5Oopen(file_.get(), part.c_str(), H5P_DEFAULT), H5Oclose);
        if (!found) refuse(part, "is a link that leads nowhere");
        const bool last = end == std::string::npos;
        if (last && H5Iget_type(found.get()) != H5I_DATASET) refuse(part, "is not a dataset");
        if (!last && H5Iget_type(found.get()) != H5I_GROUP) refuse(part, "is not a group");
        if (last) break;
    }
    check(H5Ldelete(file_.get(), name_.c_str(), H5P_DEFAULT) >= 0);
}

void Hdf5Output::create_dataset(hid_t type, const std::vector<hsize_t>& dims, hid_t properties) {
    const Hdf5Lock lock;
    const Hdf5Id space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                       H5Sclose);
    const Hdf5Id links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    check(space && links && H5Pset_create_intermediate_group(links.get(), 1) >= 0);
    dataset_ = Hdf5Id(H5Dcreate2(file_.get(), name_.c_str(), type, space.get(), links.get(),
                                 properties, H5P_DEFAULT),
                      H5Dclose);
    if (!dataset_)
        throw CannotCreate(message("cannot create the dataset ", name_, " in ", output_.target(),
                                   ": ", hdf5_write_reason()));
}

void Hdf5Output::write(const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                       hid_t type, const void* data) {
    const Hdf5Lock lock;
    const Hdf5Box box(dataset_.get(), start, count);
    check(box && H5Dwrite(dataset_.get(), type, box.in_memory.get(), box.in_file.get(), H5P_DEFAULT,
                          data) >= 0);
}

void Hdf5Output::write_chunk(const std::vector<hsize_t>& start, const std::vector<char>& stored) {
    {
        const Hdf5Lock lock;
        check(H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, 0, start.data(), stored.size(),
                             stored.data()) >= 0);
    }
    output_.count_written(static_cast<index_t>(stored.size()));
}

index_t Hdf5Output::dataset_offset() const {
    const Hdf5Lock lock;
    const haddr_t offset = H5Dget_offset(dataset_.get());
    check(offset != HADDR_UNDEF);
    return static_cast<index_t>(offset);
}

void Hdf5Output::commit() {
    {
        const Hdf5Lock lock;
        check(dataset_.close());
        check(file_.close());
    }
    // A race remains: a change between this check and the renaming goes unnoticed.
    if (keeps_other_objects_ && state_of(output_.target()) != copied_state_)
        throw IoError(
            message(output_.target(), " was changed while ", name_,
                    " was written into a copy of it: nothing was replaced; run it again"));
    output_.commit();
}

void Hdf5Output::check(bool done) const {
    if (!done) throw IoError(output_.failure(hdf5_write_reason()));
}

bool Hdf5Output::close() {
    const Hdf5Lock lock;
    const bool dataset_closed = dataset_.close();
    return file_.close() && dataset_closed;
}

}  // namespace convolume::io
