// SPDX-License-Identifier: Apache-2.0
// Tests one command for many images: results, names, failures, --resume, reports.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/catch.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/images.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

struct Scans : TemporaryFolder {
    Scans() {
        fs::create_directory(*this / "scan");
        write("scan/a.tif", {6, 7, 8});
        write("scan/b.tif", {6, 7, 8});
        write("scan/c.tif", {6, 7, 8});
        write("psf.npy", {3, 3, 3});
    }

    void write(const std::string& name, const Shape3& shape) {
        Random random(test_seed(name.c_str()));
        write_image(*this / name, random.array(shape, false, 1), PixelType::float32);
    }

    CommandResult run(const Arguments& arguments) const {
        return testing::convolume(arguments, *this);
    }

    Names in(const std::string& folder) const {
        Names names;
        for (const auto& entry : fs::directory_iterator(*this / folder))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

    /// Checks that the output equals that of a run with the image alone, byte by byte.
    void check_alone(const std::string& image, const std::string& output,
                     Arguments command = {"convolve"}, const Arguments& options = {}) const {
        const std::string extension = output.substr(output.find('.', output.rfind('/')));
        const std::string alone = "alone" + extension;
        command.insert(command.end(), {image, "psf.npy", "-o", alone, "--overwrite", "-q"});
        command.insert(command.end(), options.begin(), options.end());
        const CommandResult result = run(command);
        INFO(image << ": " << result.err);
        REQUIRE(result.status == 0);
        const ImageFile expected = read_image(*this / alone), found = read_image(*this / output);
        CHECK(found.metadata.shape == expected.metadata.shape);
        CHECK(found.metadata.type == expected.metadata.type);
        REQUIRE(found.volumes.size() == expected.volumes.size());
        for (std::size_t i = 0; i < found.volumes.size(); ++i)
            CHECK(found.volumes[i].values == expected.volumes[i].values);
        fs::remove(*this / alone);
    }
};

nlohmann::json files_of(const CommandResult& result) {
    return nlohmann::json::parse(result.out)["files"];
}

}  // namespace

TEST_CASE("results of many files equal those of each alone") {
    Scans folder;
    const Arguments no_options, simulated{"--photons", "50"}, restored{"--iterations", "3"};
    for (const auto& [command, options] :
         {std::pair{"convolve", no_options}, {"simulate", simulated}, {"deconvolve", restored}}) {
        Arguments arguments{command,      "scan/a.tif", "--threads",    "2",   "scan/b.tif",
                            "scan/c.tif", "psf.npy",    "--output-dir", "out", "--json"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const CommandResult result = folder.run(arguments);
        INFO(command << ": " << result.err);
        REQUIRE(result.status == 0);
        CHECK(folder.in("out") == Names{"a.tif", "b.tif", "c.tif"});
        // All files share a plan, which is printed once.
        CHECK(contains(result.err, "3 of 3 have this plan"));
        const auto first = result.err.find("\nkernel ");
        CHECK(result.err.find("\nkernel ", first + 1) == std::string::npos);
        CHECK(files_of(result).size() == 3);
        int seed = 1;
        for (const char* name : {"a.tif", "b.tif", "c.tif"}) {
            Arguments alone = options;
            // Each file has its own noise.
            if (command == std::string("simulate"))
                alone.insert(alone.end(), {"--seed", std::to_string(seed++)});
            folder.check_alone("scan/" + std::string(name), "out/" + std::string(name), {command},
                               alone);
        }
        fs::remove_all(folder / "out");
    }
}

TEST_CASE("files of different shapes and formats may be in one run") {
    Scans folder;
    folder.write("scan/d.npy", {4, 9, 5});
    folder.write("scan/e.ome.tif", {6, 7, 8});
    folder.write("scan/f.h5:/run/1", {4, 9, 5});
    const CommandResult result =
        folder.run({"convolve", "scan/a.tif", "scan/d.npy", "scan/e.ome.tif", "scan/f.h5:/run/1",
                    "psf.npy", "--output-dir", "out", "--json"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(folder.in("out") == Names{"a.tif", "d.npy", "e.ome.tif", "f.h5"});
    CHECK(contains(result.err, "2 of 4 have this plan"));
    folder.check_alone("scan/a.tif", "out/a.tif");
    folder.check_alone("scan/d.npy", "out/d.npy");
    folder.check_alone("scan/e.ome.tif", "out/e.ome.tif");
    folder.check_alone("scan/f.h5:/run/1", "out/f.h5");
    // Files are in the order in which they were named.
    CHECK(files_of(result)[1]["file"] == "scan/d.npy");
    CHECK(files_of(result)[1]["input"]["shape"] == nlohmann::json{4, 9, 5});
}

TEST_CASE("patterns and lists name files") {
    Scans folder;
    CommandResult result =
        folder.run({"convolve", "scan/[ab].tif", "psf.npy", "--output-dir", "out", "-q"});
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(folder.in("out") == Names{"a.tif", "b.tif"});

    write_text(folder / "files.txt", "# the third\r\n\n  scan/c.tif \r\nscan/a.tif\n");
    result = folder.run({"convolve", "--list", "files.txt", "psf.npy", "--output-dir", "listed",
                         "--output-name", "{index}_{stem}.npy"});
    CHECK(result.status == 0);
    CHECK(folder.in("listed") == Names{"0_c.npy", "1_a.npy"});

    // A list as Windows programs write it: with a byte order mark, quotes, blanks after names.
    fs::copy(folder / "scan/a.tif", folder / "a b.tif");
    fs::copy(folder / "scan/a.tif", folder / "#1.tif");
    fs::copy(folder / "scan/a.tif", folder / "\"q\"");
    const std::string list = "\xEF\xBB\xBF\"a b.tif\"\t \r\n'#1.tif'\r\n#c\rscan/b.tif\r\"q\"\n";
    for (const std::string name : {"windows.txt", "-"}) {
        write_text(folder / "windows.txt", list);
        result = run_program({"sh", "-c",
                              "'" + convolume_path() + "' convolve --list " + name +
                                  " psf.npy --output-dir quoted --overwrite --output-name "
                                  "'{index}_{stem}.npy' < windows.txt"},
                             folder);
        INFO(result.err);
        CHECK(result.status == 0);
        CHECK(folder.in("quoted") == Names{"0_a b.npy", "1_#1.npy", "2_b.npy", "3_\"q\".npy"});
    }
    for (const std::string& text : {std::string("\xFF\xFE\x61\0.\0", 6),
                                    std::string("\xFE\xFF\0a", 4), std::string("a\0.\0t\0", 6)}) {
        write_text(folder / "wide.txt", text);
        result = folder.run({"convolve", "--list", "wide.txt", "psf.npy", "--output-dir", "wide"});
        CHECK(result.status == 65);
        CHECK(contains(result.err, "\"wide.txt\" is not text in UTF-8"));
    }

    result = run_program({"sh", "-c",
                          "ls scan/*.tif | '" + convolume_path() +
                              "' convolve --list - psf.npy --output-dir piped -q"},
                         folder);
    CHECK(result.status == 0);
    CHECK(folder.in("piped") == Names{"a.tif", "b.tif", "c.tif"});

    // A file whose name looks like a pattern can be named.
    fs::copy(folder / "scan/a.tif", folder / "a[1].tif");
    CHECK(folder.run({"convolve", "a[1].tif", "psf.npy", "-o", "one.tif", "-q"}).status == 0);
}

TEST_CASE("mistakes with many files get one sentence") {
    Scans folder;
    fs::create_directory(folder / "other");
    fs::copy(folder / "scan/a.tif", folder / "other/a.tif");
    write_text(folder / "empty.txt", "# none\n");
    write_text(folder / "binary.txt", std::string("a\0b", 3));
    const auto before = folder.names();
    const auto refuse = [&](Arguments arguments, int status, const char* names) {
        arguments.insert(arguments.begin(), "convolve");
        const CommandResult result = folder.run(arguments);
        INFO(result.err);
        CHECK(result.status == status);
        CHECK(contains(result.err, names));
        CHECK(result.err.find('\n') == result.err.size() - 1);
        CHECK(folder.names() == before);
    };
    const std::string a = "scan/a.tif", b = "scan/b.tif", psf = "psf.npy", to = "--output-dir";
    refuse({a, b, psf}, 2, "--output-dir");
    refuse({a, b, psf, "-o", "out.tif"}, 2, "--output-dir");
    refuse({a, psf, "-o", "x.tif", to, "out"}, 2, "--output-dir");
    refuse({"scan/*.tif", psf, "-o", "out.tif"}, 2, "--output-dir");
    refuse({"scan/*.tif", to, "out"}, 2, "KERNEL");
    refuse({"--list", "empty.txt", to, "out"}, 2, "KERNEL");
    refuse({"scan/*.nd2", psf, to, "out"}, 66, "scan/*.nd2");
    refuse({a, b, "scan/*.tif", to, "out"}, 2, "is a pattern");
    refuse({a, b, "scan", to, "out"}, 2, "is a folder");
    refuse({a, b, "no.npy", to, "out"}, 66, "no.npy");
    refuse({"--list", "empty.txt", psf, to, "out"}, 66, "empty.txt");
    refuse({"--list", "binary.txt", psf, to, "out"}, 65, "binary.txt");
    refuse({"--list", "no.txt", psf, to, "out"}, 66, "no.txt");
    refuse({"--list", "scan", psf, to, "out"}, 2, "folder");
    refuse({a, b, psf, to, "no/out"}, 73, "no/out");
    refuse({a, b, psf, to, "out", "--timeline", "t.json"}, 2, "--timeline");
    refuse({a, b, psf, to, "out", "--resume", "--overwrite"}, 2, "--resume");
    refuse({a, psf, "-o", "x.tif", "--resume"}, 2, "--output-dir");
    refuse({a, psf, to, "out", "--output-name", "{base}.tif"}, 2, "{stem}");
    refuse({a, psf, to, "out", "--output-name", "{stem.tif"}, 2, "{stem}");
    // Names that clash, and outputs that would overwrite inputs.
    refuse({a, "other/a.tif", psf, to, "out"}, 2, "{index}");
    refuse({a, a, psf, to, "out"}, 2, "{index}");
    refuse({a, b, psf, to, "scan", "--overwrite"}, 2, "one of the inputs");
    refuse({a, b, psf, to, ".", "--output-name", "psf.npy", "--overwrite"}, 2, "one of the inputs");
}

TEST_CASE("a file that fails does not stop the others") {
    Scans folder;
    write_text(folder / "scan/b.tif", "no image");
    folder.write("scan/d.tif", {6, 7, 8});
    // The header of the file is right, but its samples are not finite.
    {
        Random random(test_seed("nan"));
        Array array = random.array({6, 7, 8}, false);
        array.values[5] = std::numeric_limits<double>::quiet_NaN();
        fs::remove(folder / "scan/c.tif");
        write_image(folder / "scan/c.tif", array, PixelType::float32);
    }
    const CommandResult result =
        folder.run({"convolve", "scan/*.tif", "psf.npy", "--output-dir", "out", "--json"});
    INFO(result.err);
    CHECK(result.status == 7);
    CHECK(folder.in("out") == Names{"a.tif", "d.tif"});
    CHECK(contains(result.err, "error: scan/b.tif: "));
    CHECK(contains(result.err, "error: scan/c.tif: "));
    CHECK(contains(result.err, "2 of 4 files failed"));
    folder.check_alone("scan/d.tif", "out/d.tif");
    const auto files = files_of(result);
    CHECK(files[0]["result"] == "done");
    CHECK(files[1]["result"] == "failed");
    CHECK(files[1]["exit_code"] == 65);
    CHECK(files[0]["error"].is_null());
    CHECK(contains(files[2]["error"], "nan at z,y,x = 0,0,5"));
    CHECK(nlohmann::json::parse(result.out)["results"]["done"] == 2);
}

TEST_CASE("if all files fail for the same reason, the exit code is that of the reason") {
    Scans folder;
    for (const char* name : {"scan/a.tif", "scan/b.tif", "scan/c.tif"})
        write_text(folder / name, "no image");
    Arguments command{"convolve", "scan/*.tif", "psf.npy", "--output-dir", "out"};
    CHECK(folder.run(command).status == 65);
    command.insert(command.begin() + 1, "scan/none.tif");
    const CommandResult result = folder.run(command);
    INFO(result.err);
    CHECK(result.status == 7);  // files failed with the exit codes 66 and 65
    CHECK(contains(result.err, "4 of 4 files failed"));
    CHECK(folder.in("out").empty());
}

TEST_CASE("a kernel is loaded again after a plan has failed") {
    Scans folder;
    const CommandResult result =
        folder.run({"convolve", "scan/*.tif", "psf.npy", "--output-dir", "out", "--max-host-mem",
                    "1kB", "--device", "cpu", "--json"});
    INFO(result.err);
    const auto files = files_of(result);
    REQUIRE(files.size() == 3);
    for (const auto& file : files) {
        CHECK(file["result"] == "failed");
        CHECK(contains(file["error"], "no plan for an image"));
        CHECK(file["error"] == files[0]["error"]);
    }
}

TEST_CASE("resume continues where a run has ended") {
    Scans folder;
    const Arguments command{"convolve", "scan/*.tif", "psf.npy", "--output-dir", "out", "--json"};
    Arguments resume = command;
    resume.push_back("--resume");
    const auto outcomes = [](const CommandResult& result) {
        Names names;
        for (const auto& file : files_of(result)) names.push_back(file["result"]);
        return names;
    };
    const std::string before = "complete before";

    const std::string good = read_text(folder / "scan/b.tif");
    write_text(folder / "scan/b.tif", "no image");
    CHECK(folder.run(command).status == 7);
    write_text(folder / "scan/b.tif", good);
    CommandResult result = folder.run(resume);
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(outcomes(result) == Names{before, "done", before});
    CHECK(outcomes(folder.run(resume)) == Names{before, before, before});

    // Without --resume and --overwrite, every existing output is an error of its file.
    CHECK(folder.run(command).status == 5);

    // An image newer than its result, a result of another type, and a result that is not an image.
    using namespace std::chrono_literals;
    const auto now = fs::last_write_time(folder / "out/c.tif");
    const auto make_older = [&](const char* name, std::chrono::hours by) {
        fs::last_write_time(folder / name, now - by);
    };
    make_older("psf.npy", 3h);
    make_older("out/a.tif", 2h);
    make_older("scan/a.tif", 1h);
    CHECK(outcomes(folder.run(resume)) == Names{"done", before, before});
    Arguments typed = resume;
    typed.insert(typed.end(), {"--output-type", "uint16"});
    CHECK(outcomes(folder.run(typed)) == Names{"done", "done", "done"});
    write_text(folder / "out/c.tif", "half");
    CHECK(outcomes(folder.run(typed)) == Names{before, before, "done"});
    // A kernel that is newer than the results makes them be computed again.
    make_older("scan/b.tif", 3h);
    make_older("out/b.tif", 2h);
    make_older("psf.npy", 1h);
    CHECK(outcomes(folder.run(typed)) == Names{before, "done", before});
}

TEST_CASE("a dry run of many files writes nothing") {
    Scans folder;
    folder.write("scan/d.npy", {4, 9, 5});
    const auto before = folder.names();
    for (const bool named : {false, true}) {
        Arguments command{"deconvolve", "scan/*", "psf.npy", "--dry-run", "--json"};
        if (named) command.insert(command.end(), {"--output-dir", "out"});
        const CommandResult result = folder.run(command);
        INFO(result.err);
        CHECK(result.status == 0);
        CHECK(contains(result.err, "3 of 4 have this plan"));
        CHECK(contains(result.err, "1 of 4 have this plan"));
        CHECK(files_of(result)[3]["plan"]["object"].is_array());
        CHECK(files_of(result)[3]["result"] == "planned");
        CHECK(folder.names() == before);
    }
}

TEST_CASE("files with the truth are named like the results") {
    Scans folder;
    const CommandResult result = folder.run({"simulate", "scan/*.tif", "psf.npy", "--output-dir",
                                             "out", "--truth", "{stem}_truth.npy", "-q"});
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK(folder.in("out") ==
          Names{"a.tif", "a_truth.npy", "b.tif", "b_truth.npy", "c.tif", "c_truth.npy"});
}

TEST_CASE("hundreds of files need no more memory or file handles than a few") {
    Scans folder;
    fs::create_directory(folder / "many");
    for (int i = 0; i < 300; ++i)
        fs::copy(folder / "scan/a.tif", folder / ("many/" + std::to_string(i) + ".tif"));
    const CommandResult result =
        run_program({"sh", "-c",
                     "ulimit -n 48; exec '" + convolume_path() +
                         "' convolve 'many/*.tif' psf.npy --output-dir out --json"},
                    folder);
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(folder.in("out").size() == 300);
    const auto files = files_of(result);
    const auto peak = [&](std::size_t i) {
        return files[i]["report"]["peak_resident_bytes"].get<index_t>();
    };
    CHECK(peak(299) - peak(20) < (index_t{32} << 20));
}

TEST_CASE("notes of reading are printed once for each of many files") {
    const Scans folder;
    const CommandResult result = folder.run({"convolve", "scan/*.tif", "psf.npy", "--output-dir",
                                             "out", "--json", "--voxel", "0.2,0.1,0.1nm"});
    INFO(result.err);
    REQUIRE(result.status == 0);
    for (const std::string name : {"scan/a.tif", "scan/b.tif", "scan/c.tif"}) {
        const std::string note = "warning: \"" + name + "\": --voxel 0.2,0.1,0.1nm";
        const auto first = result.err.find(note);
        REQUIRE(first != std::string::npos);
        CHECK(result.err.find(note, first + 1) == std::string::npos);
    }
    for (const auto& file : files_of(result)) CHECK(file["input"]["notes"].size() == 1);
}
