#pragma once
// A fluorescent specimen that is the same every time: beads, filaments and hollow shells.

#include <array>
#include <random>

#include "convolume/volume.hpp"

namespace demo {

using Point = std::array<double, 3>;  ///< z, y, x in µm

class Phantom {
  public:
    Phantom(const convolume::Shape3& shape, const Point& voxel_um);

    void add_beads(int count, double radius_um, double brightness);
    /// Curved tubes that wander through the volume.
    void add_filaments(int count, double length_um, double radius_um, double brightness);
    void add_shells(int count, double least_radius_um, double largest_radius_um,
                    double thickness_um, double brightness);

    const convolume::Volume& volume() const { return volume_; }

  private:
    double uniform() { return static_cast<double>(random_()) * 0x1p-32; }
    Point random_point(double margin_um);
    /// Adds `brightness` where |distance to center - radius| < thickness, with soft edges; a ball
    /// for radius 0. Brighter wins where objects overlap.
    void add_shell(const Point& center_um, double radius_um, double thickness_um,
                   double brightness);

    convolume::Volume volume_;
    Point voxel_um_;
    Point size_um_;
    std::mt19937 random_{20110120};
};

}  // namespace demo
