#include "generate/headers.h"

#include "generate/files.h"
#include "generate/sha256.h"

namespace wavefire::generate {

const std::string& headers_hash() {
  static const std::string hash = [] {
    std::string all;
    for (const Header& header : headers()) {
      all += header.path;
      all += '\0';
      all += header.text;
      all += '\0';
    }
    return sha256(all);
  }();
  return hash;
}

void write_headers(const std::filesystem::path& folder) {
  for (const Header& header : headers()) {
    const std::filesystem::path path = folder / header.path;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, header.text);
  }
}

}  // namespace wavefire::generate
