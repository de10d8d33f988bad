// Whole files, and running a program. Failures throw `Error` (device) in the system's words.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wavefire::generate {

[[noreturn]] void fail_system(std::string_view what, const std::filesystem::path& path);

std::string read_file(const std::filesystem::path& path);

/// Writes and waits until the bytes are on the disk.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Waits until the folder's entries (new names) are on the disk.
void sync_folder(const std::filesystem::path& folder);

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
