#include "generate/compress.h"

#include <zlib.h>

#include "wavefire/error.h"

namespace wavefire::generate {
namespace {

const Bytef* data_of(std::string_view bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}
Bytef* data_of(std::string& bytes) { return reinterpret_cast<Bytef*>(bytes.data()); }

}  // namespace

std::string compress(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string compressed(size, '\0');
  if (compress2(data_of(compressed), &size, data_of(bytes), bytes.size(), Z_BEST_COMPRESSION) !=
      Z_OK) {
    throw Error(ErrorKind::out_of_memory, "generate: no memory to compress a kernel");
  }
  compressed.resize(size);
  return compressed;
}

std::optional<std::string> decompress(std::string_view compressed, std::size_t size) {
  std::string bytes(size, '\0');
  uLongf written = size;
  const int status = uncompress(data_of(bytes), &written, data_of(compressed), compressed.size());
  if (status != Z_OK || written != size) return std::nullopt;
  return bytes;
}

}  // namespace wavefire::generate
