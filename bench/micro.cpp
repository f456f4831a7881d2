// SPDX-License-Identifier: Apache-2.0
// Times single steps of the CPU engine by Google Benchmark, with one thread unless a name says
// otherwise.

#include <benchmark/benchmark.h>

#include <cstring>

#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "cpu/fft/column_fft.hpp"
#include "decompose/split.hpp"

using namespace convolume;

namespace {

Volume zeros(const Shape3& shape, PixelType type) {
    Volume volume(shape, type);
    std::memset(volume.view().data, 0, static_cast<std::size_t>(volume.bytes()));
    return volume;
}

void count_bytes(benchmark::State& state, index_t bytes) {
    state.SetBytesProcessed(state.iterations() * bytes);
}

void load_row(benchmark::State& state, PixelType type) {
    const index_t count = 2048;
    const Volume source = zeros({1, 1, count}, type);
    std::vector<float> row(static_cast<std::size_t>(count));
    const auto indices = identity_indices(count);
    const pixels::RowGather gather(indices);
    for (auto _ : state) {
        pixels::load_row(source.view(), 0, 0, gather, {}, row.data());
        benchmark::DoNotOptimize(row.data());
    }
    count_bytes(state, source.bytes() + count * index_t{sizeof(float)});
}

void store_row(benchmark::State& state, PixelType type) {
    const index_t count = 2048;
    Volume target(Shape3{1, 1, count}, type);
    const std::vector<float> row(static_cast<std::size_t>(count), 1.25f);
    for (auto _ : state) {
        const ClampCount clamped = pixels::store_row(row.data(), count, 0, target.view(), 0, 0);
        benchmark::DoNotOptimize(clamped);
    }
    count_bytes(state, target.bytes() + count * index_t{sizeof(float)});
}

void find_nonfinite(benchmark::State& state) {
    const Volume volume = zeros({16, 256, 256}, PixelType::float32);
    for (auto _ : state) benchmark::DoNotOptimize(pixels::find_nonfinite(volume.view(), 1));
    count_bytes(state, volume.bytes());
}

void split(benchmark::State& state) {
    const Volume image = zeros({64, 128, 256}, PixelType::uint16);
    const decompose::SplitLayout layout{false, static_cast<int>(state.range(0)), 64, 128, 256};
    Volume data = zeros({64, 128, 256}, PixelType::float32);
    const BlockInput input{image.view(),
                           {identity_indices(64), identity_indices(128), identity_indices(256)}};
    for (auto _ : state) decompose::split(input, layout, data.elements<float>(), 1, {});
    count_bytes(state, image.bytes() + data.bytes());
}

void merge(benchmark::State& state) {
    Volume data = zeros({64, 128, 256}, PixelType::float32);
    Volume image(Shape3{64, 128, 256}, PixelType::float32);
    const decompose::SplitLayout layout{false, static_cast<int>(state.range(0)), 64, 128, 256};
    const float* const parts = data.elements<float>();
    for (auto _ : state) decompose::merge(parts, layout, 0, {image.view()}, 1, {});
    count_bytes(state, image.bytes() + data.bytes());
}

void column_fft(benchmark::State& state) {
    using Complex = std::complex<float>;
    constexpr index_t columns = cpu::ColumnFft<float>::most_columns;
    const index_t length = state.range(0);
    const cpu::ColumnFft<float> fft(length);
    Volume tile = zeros({1, length, columns}, PixelType::complex64);
    Volume scratch =
        zeros({1, 1, cpu::ColumnFft<float>::scratch_samples(length)}, PixelType::complex64);
    Complex* const at = tile.elements<Complex>();
    for (auto _ : state)
        fft.forward({at, columns, length}, {at, columns, 0, length}, columns,
                    scratch.elements<Complex>());
    state.SetItemsProcessed(state.iterations() * length * columns);
}

void empty_loop(benchmark::State& state) {
    const int threads = static_cast<int>(state.range(0));
    for (auto _ : state)
        parallel_for(threads, threads, [](index_t i, int) { benchmark::DoNotOptimize(i); });
}

BENCHMARK_CAPTURE(load_row, uint8, PixelType::uint8);
BENCHMARK_CAPTURE(load_row, uint16, PixelType::uint16);
BENCHMARK_CAPTURE(load_row, float32, PixelType::float32);
BENCHMARK_CAPTURE(store_row, uint16, PixelType::uint16);
BENCHMARK_CAPTURE(store_row, float32, PixelType::float32);
BENCHMARK(find_nonfinite);
BENCHMARK(split)->Arg(2)->Arg(4)->Arg(8)->Arg(16);
BENCHMARK(merge)->Arg(2)->Arg(4)->Arg(8)->Arg(16);
BENCHMARK(column_fft)->Arg(64)->Arg(240)->Arg(512)->Arg(1080);
BENCHMARK(empty_loop)->Arg(1)->Arg(2);

}  // namespace

BENCHMARK_MAIN();
