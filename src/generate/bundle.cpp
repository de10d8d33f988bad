#include "generate/bundle.h"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "core/check.h"
#include "core/log.h"
#include "device/library.h"
#include "generate/compress.h"
#include "generate/files.h"
#include "generate/resources.h"

namespace wavefire::generate {
namespace {

constexpr std::string_view magic = "wavefire bundle 2";

}  // namespace

Bundle::Bundle(std::filesystem::path path) : path_(std::move(path)) {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return;
  std::string title(magic.size(), '\0');
  std::size_t count = 0;
  file.read(title.data(), static_cast<std::streamsize>(title.size())) >> count;
  for (std::size_t i = 0; i < count && file; ++i) {
    std::string id;
    Place place;
    file >> id >> place.offset >> place.bytes >> place.size;
    places_[id] = place;
  }
  if (file && title == magic) return;
  places_.clear();
  core::log(LogLevel::warning, core::join("generate: ", path_.string(), " is no bundle"));
}

std::optional<Entry> Bundle::load(const std::string& id) const {
  const auto found = places_.find(id);
  if (found == places_.end()) return std::nullopt;
  std::ifstream file(path_, std::ios::binary);
  std::string bytes(found->second.bytes, '\0');
  file.seekg(static_cast<std::streamoff>(found->second.offset));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const auto encoded = file ? decompress(bytes, found->second.size) : std::nullopt;
  std::optional<Entry> entry = encoded ? decode(*encoded) : std::nullopt;
  if (!entry) {
    core::log(LogLevel::warning, core::join("generate: broken kernel in ", path_.string()));
  }
  return entry;
}

std::vector<std::string> Bundle::ids() const {
  std::vector<std::string> ids;
  ids.reserve(places_.size());
  for (const auto& [id, place] : places_) ids.push_back(id);
  return ids;
}

const Bundle& built_in() {
  static const Bundle bundle(device::own_folder() + "kernels.bundle");
  return bundle;
}

namespace {

/// Bytes of local memory that a kernel is known to keep. No kernel may get worse, nor a new one
/// come.
int known_local_bytes(const KernelSpec& spec) {
  if (std::holds_alternative<RopeConfig>(spec.config)) return 8;
  // What a search knows of its row, while all lanes read it.
  if (std::holds_alternative<SamplingConfig>(spec.config)) return 160;
  const auto* attention = std::get_if<attention::Config>(&spec.config);
  if (attention == nullptr || attention->few_rows) return 0;
  const bool wide = attention->head_dim_qk == 256;
  if (spec.architecture == Architecture::sm90a) {
    // Numbers of an item; none in the loop over plain tiles (docs/kernels/attention-sm90.md).
    return wide ? 88 : attention->head_dim_qk == 128 ? 104 : 8;
  }
  // Numbers of an item, outside of the loop over tiles.
  return !wide ? 0 : spec.architecture == Architecture::sm90 ? 16 : 8;
}

}  // namespace

void require_registers_only(const KernelSpec& spec, std::string_view object) {
  const std::optional<Resources> resources = resources_of(object);
  const int known = known_local_bytes(spec);
  if (!resources || resources->local_bytes <= known) return;
  throw Error(ErrorKind::compile,
              core::join("generate: ", name_of(spec), " keeps ", resources->local_bytes,
                         " bytes a thread in local memory; built in, it may keep ", known));
}

void write_bundle(const std::filesystem::path& path, const std::map<std::string, Entry>& entries) {
  struct Packed {
    std::string bytes;
    std::size_t size;
  };
  std::map<std::string, Packed> packed;
  for (const auto& [id, entry] : entries) {
    const std::string encoded = encode(entry);
    packed[id] = {compress(encoded), encoded.size()};
  }
  // Offsets depend on the length of the index, and that on theirs: they are written in equal width.
  const auto index_of = [&](std::size_t first) {
    std::ostringstream index;
    index << magic << ' ' << packed.size() << '\n';
    std::size_t offset = first;
    for (const auto& [id, entry] : packed) {
      index << id << ' ' << std::setw(12) << offset << ' ' << entry.bytes.size() << ' '
            << entry.size << '\n';
      offset += entry.bytes.size();
    }
    return index.str();
  };
  std::string text = index_of(index_of(0).size());
  for (const auto& [id, entry] : packed) text += entry.bytes;
  write_file(path, text);
}

namespace {

/// Of a line of a list that names `own`, or none, for `wanted`; empty if it is not for that.
std::string_view architecture_of_line(std::string_view own, std::string_view wanted) {
  if (wanted == "ptx") {
    if (own.empty() || own == "sm80") return name_of(Architecture::compute80);
    return own == "sm90" ? name_of(Architecture::compute90) : "";
  }
  if (own.empty()) return wanted;
  const bool is_hoppers = wanted == "sm90" && own == "sm90a";
  return own == wanted || is_hoppers ? own : "";
}

}  // namespace

std::vector<KernelSpec> specs_of_list(const std::string& list,
                                      std::span<const std::string_view> architectures) {
  std::istringstream lines(list);
  std::vector<KernelSpec> specs;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::size_t dot = std::min(line.find('.'), colon);
    const std::string own = dot < colon ? line.substr(dot + 1, colon - dot - 1) : "";
    for (const std::string_view wanted : architectures) {
      const std::string_view architecture = architecture_of_line(own, wanted);
      if (architecture.empty()) continue;
      const std::string name =
          core::join(line.substr(0, dot), ".", architecture, line.substr(colon));
      specs.push_back(parse_spec(name));
    }
  }
  return specs;
}

}  // namespace wavefire::generate
