#include "generate/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/check.h"
#include "wavefire/config.h"

namespace wavefire::generate {
namespace {

/// A file descriptor that is closed with its owner.
struct Descriptor {
  int value;
  explicit Descriptor(int value) : value(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

/// What the child's descriptors are; given back with its owner.
struct SpawnActions {
  posix_spawn_file_actions_t value;
  SpawnActions() { posix_spawn_file_actions_init(&value); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
};

std::string read_all(int descriptor) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t count = read(descriptor, part, sizeof(part));
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

}  // namespace

void fail_system(std::string_view what, const std::filesystem::path& path) {
  const std::string reason = std::generic_category().message(errno);
  throw Error(ErrorKind::device,
              core::join("generate: cannot ", what, " ", path.string(), ": ", reason));
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail_system("read", path);
  return text.str();
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.value < 0) fail_system("write", path);
  while (!bytes.empty()) {
    const ssize_t count = write(file.value, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void sync(const std::filesystem::path& path) {
  const Descriptor opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.value < 0 || fsync(opened.value) != 0) fail_system("write", path);
}

std::filesystem::path find_program(const std::vector<std::string>& names) {
  const auto is_program = [](const std::filesystem::path& path) {
    return std::filesystem::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
  };
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos) {
      if (is_program(name)) return name;
      continue;
    }
    std::istringstream folders(config().search_path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (is_program(std::filesystem::path(folder) / name)) {
        return std::filesystem::path(folder) / name;
      }
    }
  }
  return {};
}

Finished run_program(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_system("make a pipe for", command[0]);
  const Descriptor reading(ends[0]);
  pid_t child = 0;
  {
    const Descriptor writing(ends[1]);
    SpawnActions actions;
    posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions.value, writing.value, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions.value, writing.value, STDERR_FILENO);
    errno = posix_spawn(&child, arguments[0], &actions.value, nullptr, arguments.data(), environ);
    if (errno != 0) fail_system("run", command[0]);
  }
  Finished finished;
  finished.output = read_all(reading.value);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail_system("wait for", command[0]);
  }
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace wavefire::generate
