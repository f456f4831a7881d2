// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer, with any compiler: on the files of a folder, then on COUNT
// mutated copies of each. The current input is kept in FILE, so that an input that crashes can be
// found there.
//   fuzz_TARGET FOLDER COUNT FILE
// Ends with 77 (skipped) if the folder holds no file.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using Bytes = std::vector<std::uint8_t>;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
#ifdef CONVOLUME_FUZZ_MUTATES
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed);
#endif

namespace {

constexpr std::size_t longest = 65536;

std::minstd_rand& random_numbers() {
    static std::minstd_rand numbers(20261123);
    return numbers;
}

void run(const Bytes& input, const std::string& kept) {
    std::ofstream(kept, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
    LLVMFuzzerTestOneInput(input.data(), input.size());
}

Bytes changed(Bytes input) {
    const std::size_t size = input.size();
    input.resize(longest);
#ifdef CONVOLUME_FUZZ_MUTATES
    input.resize(LLVMFuzzerCustomMutator(input.data(), size, longest,
                                         static_cast<unsigned>(random_numbers()())));
#else
    input.resize(LLVMFuzzerMutate(input.data(), size, longest));
#endif
    return input;
}

}  // namespace

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
    std::minstd_rand& random = random_numbers();
    const std::size_t at = size == 0 ? 0 : random() % size;
    switch (random() % 6) {
        case 0:  // inserts a byte
            if (size == most) return size;
            std::copy_backward(data + at, data + size, data + size + 1);
            data[at] = static_cast<std::uint8_t>(random());
            return size + 1;
        case 1:  // shortens the input
            return random() % 4 == 0 ? at : size;
        case 2:
            if (size > 0) data[at] = static_cast<std::uint8_t>(1U << random() % 8);
            return size;
        default:
            if (size > 0) data[at] = static_cast<std::uint8_t>(random());
            return size;
    }
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    std::vector<Bytes> files;
    if (std::filesystem::is_directory(argv[1]))
        for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
            std::ifstream file(entry.path(), std::ios::binary);
            files.emplace_back(std::istreambuf_iterator<char>(file),
                               std::istreambuf_iterator<char>());
            if (files.back().size() > longest) files.pop_back();
        }
    if (files.empty()) {
        std::cout << "skipped: no files in " << argv[1] << "\n";
        return 77;
    }
    const long count = std::atol(argv[2]);
    for (const Bytes& file : files) run(file, argv[3]);
    // Mutations accumulate, and sometimes start again from the file.
    for (const Bytes& file : files) {
        Bytes input = file;
        for (long i = 0; i < count; ++i) {
            input = changed(i % 4 == 0 ? file : std::move(input));
            run(input, argv[3]);
        }
    }
    std::cout << files.size() * static_cast<std::size_t>(count + 1) << " inputs\n";
    return 0;
}
