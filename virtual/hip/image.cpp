#include "virtual/hip/image.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "virtual/bundle.h"
#include "virtual/hip/errors.h"

namespace instinct::hip {
namespace {

constexpr u64 max_image = 1ull << 30;
constexpr u64 chunk_bytes = 1 << 20;

// Memory of this process, through a file: reading where nothing is mapped ends early.
class ProcessMemory {
 public:
  ProcessMemory() : file_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {
    require(file_ >= 0, "cannot open /proc/self/mem", hipErrorOperatingSystem);
  }
  ~ProcessMemory() { close(file_); }
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

  std::vector<std::byte> read(const void* address, u64 bytes) const {
    std::vector<std::byte> content;
    while (content.size() < bytes) {
      const u64 done = content.size();
      content.resize(std::min(bytes, done + chunk_bytes));
      const auto offset = static_cast<off_t>(reinterpret_cast<u64>(address) + done);
      const ssize_t count = pread(file_, content.data() + done, content.size() - done, offset);
      content.resize(done + static_cast<u64>(std::max<ssize_t>(count, 0)));
      if (count <= 0) break;
    }
    return content;
  }

 private:
  int file_;
};

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) throw Failure(hipErrorFileNotFound, "cannot read '" + path + "'");
  require(static_cast<u64>(size) <= max_image, "the file is too large", hipErrorInvalidImage);
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.data()), size);
  if (!file) throw Failure(hipErrorFileNotFound, "cannot read '" + path + "'");
  return content;
}

std::vector<std::byte> read_image(const void* image) {
  require(image, "image is null");
  const ProcessMemory memory;
  u64 bytes = 4096;
  while (true) {
    std::vector<std::byte> content = memory.read(image, bytes);
    const u64 size = std::min(size_by_tables(content), max_image);
    if (size <= content.size()) {
      content.resize(size);
      return content;
    }
    if (content.size() < bytes) return content;  // no more is mapped
    bytes = size;
  }
}

}  // namespace instinct::hip
