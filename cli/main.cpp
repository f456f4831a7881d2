#include "cli/app.hpp"

int main(int argc, char** argv) {
    return convolume::cli::run(argc, argv);
}
