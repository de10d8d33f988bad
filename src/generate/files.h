// Whole files, and running a program. Failures throw `Error` (device) in the system's words.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wavefire::generate {

[[noreturn]] void fail_system(std::string_view what, const std::filesystem::path& path);

std::string read_file(const std::filesystem::path& path);

void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Waits until the bytes of a file, or the new names in a folder, are on the disk.
void sync(const std::filesystem::path& path);

/// The first of `names` that is an executable file: a path, or a name in the folders of
/// `Config::search_path`. Empty if there is none.
std::filesystem::path find_program(const std::vector<std::string>& names);

struct Finished {
  int status = 0;      // exit code; 128 + signal if it was killed
  std::string output;  // stdout and stderr
};

/// Runs a program without a shell and waits for it.
Finished run_program(const std::vector<std::string>& command);

}  // namespace wavefire::generate
