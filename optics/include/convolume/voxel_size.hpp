#pragma once

namespace convolume {

/// Edge lengths of a voxel.
struct VoxelSize {
    double z_um = 0.2;
    double y_um = 0.065;
    double x_um = 0.065;

    /// axis 0, 1, 2 = z, y, x.
    constexpr double operator[](int axis) const {
        return axis == 0 ? z_um : axis == 1 ? y_um : x_um;
    }
    friend constexpr bool operator==(const VoxelSize&, const VoxelSize&) = default;
};

}  // namespace convolume
