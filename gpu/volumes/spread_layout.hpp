// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where several devices keep the planes of spectra of one volume. Pure arithmetic.
//
// Every device has the planes of its slots, and transforms a block of rows of all planes along z.
// Before, each device gives every other one the rows of its block, and after it takes them back, by
// copies of whole blocks of rows. Rows that a device gives away make room for those that it gets:
// no copy of the volume exists. It processes its planes in groups, and the rows that it gets for
// group q come to where its own group q - 1 has been. A free group of planes lies before the first
// one.

#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

class SpreadLayout {
  public:
    /// `rows` rows of `pitch` complex samples in each of `ring` slots, on `devices` devices, which
    /// divide their slots into `groups` groups or fewer.
    SpreadLayout(index_t devices, index_t ring, index_t rows, index_t pitch, index_t groups);

    index_t devices() const { return devices_; }
    /// Returns the complex samples of a plane: of `rows` rows, and of others that fill the blocks.
    index_t plane() const { return devices_ * block_rows_ * pitch_; }
    /// Returns the planes that each device has memory for.
    index_t planes() const { return most_slots_ + group_; }
    index_t groups() const { return ceil_div(most_slots_, group_); }

    /// Returns the slots of a device. Devices divide them evenly.
    IndexRange slots(index_t device) const;
    IndexRange slots(index_t device, index_t group) const;
    /// Returns the rows, of all planes, that a device transforms along z.
    ColumnShare share(index_t device) const;
    /// Returns the samples from the memory of device 0 to where slot 0 would be if the slots of
    /// `device` went on to it. A device finds its own slots from there.
    index_t origin(index_t device) const;
    /// Returns the samples from the memory of device 0 to the rows of slot 0 that `device`
    /// transforms along x and y and `other` along z: in the memory of `device`, and as guests of
    /// `other`.
    index_t own_rows(index_t device, index_t other) const;
    index_t guest_rows(index_t device, index_t other) const;
    /// Returns where `device` finds the slots along z, from its origin.
    SlotParts along_z(index_t device) const;

  private:
    index_t devices_, ring_, rows_, pitch_;
    index_t most_slots_;  ///< of a device
    index_t group_;       ///< planes of a group
    index_t block_rows_;  ///< rows of a block
};

}  // namespace convolume::gpu
