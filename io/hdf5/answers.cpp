// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/answers.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "convolume/error.hpp"
#include "io/hdf5/driver.hpp"
#include "io/hdf5/handle.hpp"

namespace convolume::io {
namespace {

/// Keeps what a helper process read for this process: answers in the order of the questions.
class Answers {
  public:
    explicit Answers(const RawFile& file)
        : path_(file.path()), room_(room_for(file.size())), memory_(room_) {
        current = this;
    }
    ~Answers() { current = nullptr; }
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;

    /// Gives the kept answers from now on, beginning with the first.
    void take() {
        taken_ = true;
        at_ = 0;
    }

    Hdf5Answer next(const std::string& question, const std::function<Hdf5Answer()>& ask) {
        if (!taken_) {
            Hdf5Answer answer = ask();
            keep(question);
            keep_number(static_cast<index_t>(answer.size()));
            for (const std::string& part : answer) keep(part);
            return answer;
        }
        if (kept() != question) refuse();
        Hdf5Answer answer;
        for (index_t parts = kept_number(); parts > 0; --parts) answer.push_back(kept());
        return answer;
    }

    /// Answers of the file that is being opened, under Hdf5Lock; null if HDF5 is asked directly.
    static Answers* current;

  private:
    /// Bytes for all answers. A number takes 16 bytes here, but may take one in the file. Files
    /// that this one links to have answers, too. The system provides pages only when they are used.
    static index_t room_for(index_t file_bytes) {
        constexpr index_t most = index_t{64} << 20;
        constexpr index_t least = index_t{4} << 20;
        return std::min(16 * std::min(file_bytes, most) + least, most);
    }

    [[noreturn]] void refuse() const {
        throw BadData(message("the attributes of ", path_,
                              " cannot be read: they are damaged, or too large; copy it again"));
    }
    char* place(index_t bytes) {
        if (bytes < 0 || bytes > room_ - at_) refuse();
        at_ += bytes;
        return static_cast<char*>(memory_.data()) + at_ - bytes;
    }
    void keep_number(index_t number) { std::memcpy(place(sizeof number), &number, sizeof number); }
    void keep(const std::string& text) {
        const auto bytes = static_cast<index_t>(text.size());
        keep_number(bytes);
        std::memcpy(place(bytes), text.data(), text.size());
    }
    index_t kept_number() {
        index_t number = 0;
        std::memcpy(&number, place(sizeof number), sizeof number);
        return number;
    }
    std::string kept() {
        const index_t bytes = kept_number();
        return {place(bytes), static_cast<std::size_t>(bytes)};
    }

    std::string path_;
    index_t room_;
    SharedMemory memory_;
    index_t at_ = 0;
    bool taken_ = false;
};

Answers* Answers::current = nullptr;

}  // namespace

Hdf5Answer carried_answer(const std::string& question, const std::function<Hdf5Answer()>& ask) {
    return Answers::current ? Answers::current->next(question, ask) : ask();
}

void open_after_trial(const RawFile& file, const std::function<void()>& open,
                      const std::function<void()>& close) {
    if (!damage_is_contained()) return open();
    std::optional<Answers> answers(std::in_place, file);
    const bool tried = try_hdf5(file.path(), limits_of_opening(file), [&] {
        open();
        close();
    });
    if (tried)
        answers->take();
    else
        answers.reset();
    open();
}

}  // namespace convolume::io
