// SPDX-License-Identifier: Apache-2.0
// Tests phantoms: light and positions of objects, equal voxels in any parts, kinds, texture, bad
// input.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/phantom.hpp"
#include "convolume/volume.hpp"
#include "optics/phantom_object.hpp"
#include "tests/catch.hpp"
#include "tests/support/volumes.hpp"

using namespace convolume;
using std::numbers::pi;

namespace {

constexpr PhantomKind kinds[] = {PhantomKind::beads, PhantomKind::filaments, PhantomKind::shells,
                                 PhantomKind::cells, PhantomKind::mixed};

Volume draw_whole(const Phantom& phantom, int threads = 0) {
    Volume volume(phantom.options().shape, PixelType::float32);
    phantom.draw(0, volume.view(), threads);
    return volume;
}

Volume draw_whole(const PhantomOptions& options) {
    return draw_whole(Phantom(options));
}

struct Light {
    double sum = 0;
    std::array<double, 3> centroid{};  // z, y, x in voxels
};

Light light_of(const Volume& volume) {
    Light light;
    const Shape3 shape = volume.shape();
    const float* value = volume.elements<float>();
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x, ++value) {
                const double v = static_cast<double>(*value);
                light.sum += v;
                light.centroid[0] += v * static_cast<double>(z);
                light.centroid[1] += v * static_cast<double>(y);
                light.centroid[2] += v * static_cast<double>(x);
            }
    for (double& position : light.centroid) position /= light.sum;
    return light;
}

double ball_um3(double radius_um) {
    return 4.0 / 3 * pi * radius_um * radius_um * radius_um;
}

PhantomOptions one_of(PhantomKind kind) {
    PhantomOptions options;
    options.kind = kind;
    options.shape = {24, 40, 36};
    options.count = 1;
    return options;
}

}  // namespace

TEST_CASE("a bead's light and center do not depend on its position between voxels") {
    PhantomOptions options = one_of(PhantomKind::beads);
    const double voxel_um3 = 0.2 * 0.1 * 0.1;
    for (const double radius_um : {0.005, 0.05, 0.1, 0.33, 0.8})
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
            options.radius_um = radius_um;
            options.seed = seed;
            const Phantom phantom(options);
            const PhantomObject& bead = phantom.objects().at(0);
            const Light light = light_of(draw_whole(phantom));
            INFO("radius " << radius_um << " µm, seed " << seed);
            // Light and center are exact except for the rounding of voxels to float32.
            CHECK(std::abs(light.sum / (bead.brightness * ball_um3(radius_um) / voxel_um3) - 1) <
                  1e-6);
            for (int axis = 0; axis < 3; ++axis) {
                const auto a = static_cast<std::size_t>(axis);
                CHECK(std::abs(light.centroid[a] - bead.center_um[a] / options.voxel[axis]) < 1e-5);
            }
        }
}

TEST_CASE("a bead is the ball's mean under the triangle of interpolation") {
    PhantomOptions options = one_of(PhantomKind::beads);
    options.brightness_spread = 0;
    options.radius_um = 0.37;
    const Phantom phantom(options);
    const auto center = phantom.objects().at(0).center_um;
    const Volume volume = draw_whole(phantom);
    constexpr int fine = 20;
    double worst = 0;
    for (index_t z = 0; z < 24; ++z)
        for (index_t y = 0; y < 40; ++y)
            for (index_t x = 0; x < 36; ++x) {
                const double away = std::hypot(static_cast<double>(z) * 0.2 - center[0],
                                               static_cast<double>(y) * 0.1 - center[1],
                                               static_cast<double>(x) * 0.1 - center[2]);
                double expected = 0;
                if (away < 0.7)
                    for (int i = -fine; i < fine; ++i)
                        for (int j = -fine; j < fine; ++j)
                            for (int k = -fine; k < fine; ++k) {
                                const double u = (i + 0.5) / fine, v = (j + 0.5) / fine,
                                             w = (k + 0.5) / fine;
                                const double r =
                                    std::hypot((static_cast<double>(z) + u) * 0.2 - center[0],
                                               (static_cast<double>(y) + v) * 0.1 - center[1],
                                               (static_cast<double>(x) + w) * 0.1 - center[2]);
                                if (r < 0.37)
                                    expected +=
                                        (1 - std::abs(u)) * (1 - std::abs(v)) * (1 - std::abs(w));
                            }
                expected *= options.brightness / (fine * fine * fine);
                const double found =
                    static_cast<double>(volume.elements<float>()[(z * 40 + y) * 36 + x]);
                worst = std::max(worst, std::abs(found - expected));
            }
    // Each axis of a voxel has 20 lattice points: edges are accurate to a few percent.
    CHECK(worst < 0.06 * options.brightness);
    CHECK(worst > 0);
}

TEST_CASE("shells are hollow, and filaments have the light of a tube of their size") {
    PhantomOptions options = one_of(PhantomKind::shells);
    options.shape = {40, 80, 80};
    options.radius_um = 2;
    options.seed = 4;
    const Phantom shell(options);
    const PhantomObject& object = shell.objects().at(0);
    const Volume volume = draw_whole(shell);
    const double expected =
        object.brightness * (ball_um3(object.radius_um) - ball_um3(object.radius_um - 0.3)) / 0.002;
    CHECK(std::abs(light_of(volume).sum / expected - 1) < 1e-5);
    const auto voxel = [&](std::size_t axis) {
        return static_cast<index_t>(
            std::lround(object.center_um[axis] / options.voxel[static_cast<int>(axis)]));
    };
    CHECK(volume.elements<float>()[(voxel(0) * 80 + voxel(1)) * 80 + voxel(2)] == 0);

    PhantomOptions wide = one_of(PhantomKind::filaments);
    wide.shape = {100, 100, 100};
    wide.voxel = {0.6, 0.5, 0.5};
    int whole = 0;
    for (wide.seed = 1; wide.seed <= 6; ++wide.seed) {
        const Phantom filament(wide);
        const PhantomObject& tube = filament.objects().at(0);
        const double tube_um3 = pi * tube.radius_um * tube.radius_um * tube.length_um;
        const double sum = light_of(draw_whole(filament)).sum;
        const double light = tube.brightness * tube_um3 / 0.15;
        CHECK(sum < light * (1 + 1e-5));
        whole += std::abs(sum / light - 1) < 1e-5;
    }
    CHECK(whole >= 2);  // the other objects reach beyond the volume
}

TEST_CASE("every part of a phantom is the same in any order and with any number of threads") {
    for (const PhantomKind kind : kinds) {
        PhantomOptions options;
        options.kind = kind;
        options.shape = {22, 90, 50};
        options.count = 40;
        const Phantom phantom(options);
        const Volume whole = draw_whole(phantom, 1);
        INFO("kind " << to_string(kind));
        for (const int threads : {2, 5})
            CHECK(testing::same_bytes(whole, draw_whole(phantom, threads)));
        Volume parts(options.shape, PixelType::float32);
        for (const auto& [begin, end] :
             {std::pair<index_t, index_t>{21, 22}, {3, 11}, {0, 3}, {11, 21}})
            phantom.draw(begin, subview(parts.view(), {{begin, 0, 0}, {end, 90, 50}}));
        CHECK(testing::same_bytes(whole, parts));
        CHECK(testing::same_bytes(whole, draw_whole(options)));
        options.seed = 2;
        CHECK(!testing::same_bytes(whole, draw_whole(options)));
    }
}

TEST_CASE("wide phantoms are drawn in bands of rows without seams") {
    PhantomOptions options;
    options.kind = PhantomKind::beads;
    options.shape = {5, 90, 3000};
    options.radius_um = 0.3;
    options.count = 300;
    const Phantom phantom(options);
    double expected = 0;
    for (const PhantomObject& bead : phantom.objects())
        expected += bead.brightness * ball_um3(0.3) / 0.002;
    const Volume volume = draw_whole(phantom);
    CHECK(std::abs(light_of(volume).sum / expected - 1) < 1e-6);
    CHECK(testing::same_bytes(volume, draw_whole(phantom, 3)));
}

TEST_CASE("each kind fills its share of the volume") {
    double beads = 0;
    for (const PhantomKind kind : kinds) {
        PhantomOptions options;
        options.kind = kind;
        options.shape = {48, 128, 128};
        options.background = 3;
        const Volume volume = draw_whole(options);
        const float* values = volume.elements<float>();
        double filled = 0, low = 1e9;
        for (index_t i = 0; i < element_count(options.shape); ++i) {
            filled += values[i] > 53;
            low = std::min(low, static_cast<double>(values[i]));
        }
        filled /= static_cast<double>(element_count(options.shape));
        INFO(to_string(kind) << " fill " << filled);
        CHECK(low == 3);
        if (kind == PhantomKind::beads) beads = filled;
        CHECK(filled > 5e-5);
        CHECK(filled < 0.6);
        if (kind == PhantomKind::shells || kind == PhantomKind::cells) CHECK(filled > 20 * beads);
    }
}

TEST_CASE("cells have a smooth texture of mean 1") {
    PhantomOptions options = one_of(PhantomKind::cells);
    options.shape = {40, 160, 160};
    options.brightness_spread = 0;
    const Phantom phantom(options);
    const PhantomObject& cell = phantom.objects().at(0);
    const Volume volume = draw_whole(phantom);
    const auto at = [&](index_t z, index_t y, index_t x) {
        return static_cast<double>(volume.elements<float>()[(z * 160 + y) * 160 + x]);
    };
    // Voxels in the body of a cell that no nucleus reaches: away from the middle, well inside.
    double sum = 0, squares = 0, neighbors = 0, far = 0;
    std::vector<double> values;
    for (index_t z = 0; z < 40; ++z)
        for (index_t y = 0; y < 160; ++y)
            for (index_t x = 0; x + 16 < 160; ++x) {
                const auto scaled = [&](index_t i) {
                    return std::hypot(
                        (static_cast<double>(z) * 0.2 - cell.center_um[0]) / 0.6 / cell.radius_um,
                        (static_cast<double>(y) * 0.1 - cell.center_um[1]) / cell.radius_um,
                        (static_cast<double>(i) * 0.1 - cell.center_um[2]) / cell.radius_um);
                };
                const auto in_body = [&](index_t i) { return scaled(i) > 0.75 && scaled(i) < 0.9; };
                if (!in_body(x) || !in_body(x + 1) || !in_body(x + 16)) continue;
                const double v = at(z, y, x) / 500 - 1;
                sum += v;
                squares += v * v;
                neighbors += v * (at(z, y, x + 1) / 500 - 1);
                far += v * (at(z, y, x + 16) / 500 - 1);
                values.push_back(v);
            }
    const auto count = static_cast<double>(values.size());
    REQUIRE(count > 5000);
    CHECK(std::abs(sum / count) < 0.1);
    CHECK(std::sqrt(squares / count) > 0.2);
    CHECK(std::sqrt(squares / count) < 0.4);
    CHECK(neighbors / squares > 0.95);
    CHECK(std::abs(far / squares) < 0.4);
}

TEST_CASE("the texture is smooth on every axis") {
    // Steps of a thousandth of the texture's grid: B-splines of values within ±1 have slopes
    // below 1.
    const auto field_at = [](index_t z, index_t y, index_t x) {
        std::vector<double> row(static_cast<std::size_t>(x + 1), 1.0);
        optics::PhantomTexture(3, {0.0008, 0.0008, 0.0008}).multiply_row(z, y, x + 1, row.data());
        return row[static_cast<std::size_t>(x)];
    };
    double roughest = 0, steepest = 0;
    for (index_t i = 970; i < 2030; ++i) {
        const double here = field_at(1500, i, 700);
        roughest = std::max(roughest, std::abs(field_at(1500, i + 1, 700) - here));
        steepest = std::max(steepest, std::abs(field_at(1500, i - 100, 700) - here));
    }
    std::vector<double> row(5000, 1.0);
    optics::PhantomTexture(3, {0.0008, 0.0008, 0.0008}).multiply_row(7, 9, 5000, row.data());
    for (std::size_t x = 1; x < row.size(); ++x)
        roughest = std::max(roughest, std::abs(row[x] - row[x - 1]));
    for (index_t z = 900; z < 1100; ++z)
        roughest = std::max(roughest, std::abs(field_at(z, 5, 5) - field_at(z - 1, 5, 5)));
    CHECK(roughest < 2e-3);
    CHECK(steepest > 5e-3);
}

TEST_CASE("the list of objects agrees with the voxels") {
    PhantomOptions options;
    options.count = 200;
    options.brightness = 50;
    options.brightness_spread = 0.5;
    const Phantom phantom(options);
    REQUIRE(phantom.objects().size() == 200);
    index_t of_kind[4] = {};
    // Brightness of beads, filaments, shells and cells, as multiples of the option's.
    const double kind_factors[4] = {4, 4, 0.5, 0.25};
    double least = 1e9, most = 0;
    for (const PhantomObject& object : phantom.objects()) {
        const int kind = static_cast<int>(object.kind);
        ++of_kind[kind];
        least = std::min(least, object.brightness / kind_factors[kind]);
        most = std::max(most, object.brightness / kind_factors[kind]);
        for (std::size_t a = 0; a < 3; ++a) {
            const int axis = static_cast<int>(a);
            CHECK(object.center_um[a] > 0);
            CHECK(object.center_um[a] <
                  static_cast<double>(options.shape[axis]) * options.voxel[axis]);
        }
        CHECK((object.length_um > 0) == (object.kind == PhantomKind::filaments));
    }
    CHECK(least > 25);
    CHECK(least < 28);
    CHECK(most < 75);
    CHECK(most > 72);
    CHECK(std::abs(of_kind[0] - 144) <= 2);
    CHECK(std::abs(of_kind[1] - 28) <= 2);
    CHECK(std::abs(of_kind[2] - 20) <= 2);
    CHECK(std::abs(of_kind[3] - 8) <= 2);

    options.count.reset();
    const auto few = Phantom(options).objects().size();
    options.shape.y *= 4;
    const auto many = Phantom(options).objects().size();
    CHECK(few == 117);  // density: 14 objects in 1000 µm³
    CHECK(many == 470);
    options.count = 0;
    CHECK(Phantom(options).objects().empty());
}

TEST_CASE("impossible phantoms are refused") {
    const auto refused = [](auto change) {
        PhantomOptions options;
        options.kind = PhantomKind::beads;
        options.shape = {2, 8, 8};
        change(options);
        CHECK_THROWS_AS(Phantom(options), InvalidArgument);
    };
    refused([](PhantomOptions& o) { o.shape.y = 0; });
    refused([](PhantomOptions& o) { o.shape = {index_t{1} << 31, index_t{1} << 31, 4}; });
    refused([](PhantomOptions& o) { o.voxel.z_um = 0; });
    refused([](PhantomOptions& o) { o.voxel.x_um = std::nan(""); });
    refused([](PhantomOptions& o) { o.voxel = {1e4, 1e4, 1e4}; });  // 10⁹ beads
    refused([](PhantomOptions& o) { o.count = -1; });
    refused([](PhantomOptions& o) { o.count = 100'000'001; });
    refused([](PhantomOptions& o) { o.radius_um = 0; });
    refused([](PhantomOptions& o) { o.radius_um = 0.9; });
    refused([](PhantomOptions& o) { o.kind = PhantomKind::mixed, o.radius_um = 1; });
    refused([](PhantomOptions& o) { o.brightness = -1; });
    refused([](PhantomOptions& o) { o.brightness_spread = 1; });
    refused([](PhantomOptions& o) { o.background = std::nan(""); });
    CHECK_THROWS_AS(parse_phantom_kind("spheres"), InvalidArgument);
    for (const PhantomKind kind : kinds) CHECK(parse_phantom_kind(to_string(kind)) == kind);

    PhantomOptions options;
    options.shape = {4, 8, 8};
    const Phantom phantom(options);
    Volume planes({2, 8, 8}, PixelType::float32), integers({2, 8, 8}, PixelType::uint16);
    CHECK_THROWS_AS(phantom.draw(3, planes.view()), InvalidArgument);
    CHECK_THROWS_AS(phantom.draw(-1, planes.view()), InvalidArgument);
    CHECK_THROWS_AS(phantom.draw(0, integers.view()), InvalidArgument);
}
