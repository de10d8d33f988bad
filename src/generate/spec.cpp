#include "generate/spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <span>
#include <utility>

#include "core/check.h"
#include "generate/fields.h"
#include "generate/sha256.h"
#include "generate/target.h"

namespace wavefire::generate {
namespace {

constexpr std::string_view operation = "kernel spec";

constexpr std::array operation_names = {"attention", "norm",   "activation", "merge",
                                        "rope",      "append", "index",      "sampling"};
static_assert(operation_names.size() == std::variant_size_v<KernelConfig>);
constexpr std::array architecture_names = {"scalar", "avx2",  "avx512", "compute80", "compute90",
                                           "sm80",   "sm86",  "sm89",   "sm90",      "sm90a",
                                           "sm100",  "sm120", "gfx942", "gfx950"};
static_assert(architecture_names.size() == architecture_count);

constexpr int largest_int = 65536;
constexpr std::size_t hash_digits = 16;
constexpr std::size_t longest_entry = 96;

// ---- values of fields

template <class Enum>
constexpr std::array<const char*, 0> words = {};
template <>
constexpr std::array words<norm::Kind> = {"rms", "layer"};
template <>
constexpr std::array words<Activation> = {"silu", "gelu", "gelu_tanh", "variant"};
template <>
constexpr std::array words<index::Kind> = {"rope_positions", "batch_positions", "sequence_lengths",
                                           "packed_indptr",  "packbits",        "segment_packbits"};
template <>
constexpr std::array words<sampling::Kind> = {"softmax", "draw",   "filtered",
                                              "top_p",   "renorm", "mask"};
template <>
constexpr std::array words<bool> = {"0", "1"};

constexpr std::array<const char*, dtype_count> dtype_words = [] {
  std::array<const char*, dtype_count> names{};
  for (int i = 0; i < dtype_count; ++i) names[i] = name_of(static_cast<DType>(i));
  return names;
}();
template <>
constexpr std::array words<DType> = dtype_words;

std::string value_text(int value) { return std::to_string(value); }
template <class Value>
std::string value_text(Value value) {
  return words<Value>[static_cast<std::size_t>(value)];
}

std::string listed(std::span<const char* const> names) {
  std::string list;
  for (const char* name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

std::size_t index_of(std::span<const char* const> names, std::string_view argument,
                     std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return i;
  }
  core::fail_argument(operation, argument, core::join("'", text, "'"), listed(names));
}

void read_value(std::string_view field, std::string_view text, int& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && stop == text.data() + text.size() && value >= 0;
  core::require(good && value <= largest_int, operation, field, core::join("'", text, "'"),
                core::join("a whole number from 0 to ", largest_int));
}
template <class Value>
void read_value(std::string_view field, std::string_view text, Value& value) {
  value = static_cast<Value>(index_of(words<Value>, field, text));
}

// ---- writing

template <class Config>
std::string fields_text(const Config& config) {
  std::string text;
  const Config defaults;
  visit_fields(config, [&]<class Value>(std::string_view field, const Value& value) {
    visit_fields(defaults, [&]<class Other>(std::string_view name, const Other& other) {
      if constexpr (std::same_as<Value, Other>) {
        if (name != field || value == other) return;
        text += core::join(text.empty() ? "" : ",", field, "=", value_text(value));
      }
    });
  });
  return text;
}

// ---- reading

/// Cuts the text before the first `mark` off; all of it if there is none.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return part;
}

/// Reads `field=value` into `config`.
template <class Config>
void read_field(Config& config, std::string_view field, std::string_view value) {
  bool found = false;
  std::string known;
  visit_fields(config, [&](std::string_view name, auto& target) {
    known += core::join(known.empty() ? "" : ", ", name);
    if (name != field) return;
    read_value(field, value, target);
    found = true;
  });
  core::require(found, operation, "field", core::join("'", field, "'"),
                core::join(known.empty() ? "none for this operation" : known));
}

template <std::size_t... i>
KernelConfig default_config(std::size_t index, std::index_sequence<i...>) {
  KernelConfig config;
  static_cast<void>(((i == index ? (config.emplace<i>(), true) : false) || ...));
  return config;
}

/// A spec without its variant, and the hash of the variant that the name has.
KernelSpec read_name(std::string_view name, std::string& hash) {
  const std::string_view whole = name;
  std::string_view head = cut(name, ':');
  const std::string_view operation_name = cut(head, '.');
  core::require(!head.empty(), operation, "name", core::join("'", whole, "'"),
                "operation.architecture or operation.architecture:field=value,...");
  KernelSpec spec;
  spec.config = default_config(index_of(operation_names, "operation", operation_name),
                               std::make_index_sequence<std::variant_size_v<KernelConfig>>());
  spec.architecture = static_cast<Architecture>(index_of(architecture_names, "architecture", head));
  while (!name.empty()) {
    const std::string_view part = cut(name, ',');
    const std::size_t equals = part.find('=');
    core::require(equals != std::string_view::npos, operation, "field", core::join("'", part, "'"),
                  "field=value");
    const std::string_view field = part.substr(0, equals), value = part.substr(equals + 1);
    if (field == "variant") {
      hash = value;
    } else {
      std::visit([&](auto& config) { read_field(config, field, value); }, spec.config);
    }
  }
  return spec;
}

// ---- what is possible

void check_rows(const KernelSpec& spec, const RowTeams& rows) {
  const Target& target = target_of(spec.architecture);
  core::require(
      target.rows_header != nullptr, operation, "architecture", name_of(spec.architecture),
      core::join(operation_of(spec), " on CPUs, sm80 to sm120 without an a, gfx942, gfx950"));
  const bool cpu = target.platform == Platform::cpu;
  const std::string shown =
      core::join("lanes=", rows.lanes, ",teams=", rows.teams, ",kept=", rows.kept);
  if (cpu) {
    core::require(rows == RowTeams{}, operation, "lanes, teams, kept", shown, "nothing on CPUs");
    return;
  }
  const bool good = rows.lanes >= 1 && (rows.lanes & (rows.lanes - 1)) == 0 && rows.teams >= 1 &&
                    rows.lanes * std::int64_t{rows.teams} <= 1024 &&
                    (rows.teams == 1 || rows.lanes <= 32) && rows.kept <= 8;
  core::require(good, operation, "lanes, teams, kept", shown,
                "lanes a power of 2, up to 1024 threads in all, one team if lanes exceed 32, up to "
                "8 kept");
  core::require(spec.variant.empty(), operation, "kind", "variant",
                "silu, gelu, gelu_tanh on GPUs");
  const bool is_norm = std::holds_alternative<NormConfig>(spec.config);
  core::require(is_norm || rows.kept == 0, operation, "kept", rows.kept, "norm's only");
  core::require(!std::holds_alternative<RopeConfig>(spec.config) || rows.teams == 1, operation,
                "teams", rows.teams, "1 for rope");
}

void check_output_dtype(std::string_view field, DType dtype) {
  core::require(dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16, operation,
                field, name_of(dtype), "float32, float16, bfloat16");
}

void check_config(const KernelSpec& spec, const attention::Config& c) {
  const bool cpu = spec.architecture <= Architecture::avx512;
  const bool cuda = target_of(spec.architecture).platform == Platform::cuda;
  const bool takes_operand = c.operand == DType::bf16 || (!cpu && c.operand == DType::f16) ||
                             ((cpu || cuda) && c.operand == DType::f32);
  core::require(takes_operand, operation, "operand", name_of(c.operand),
                cpu    ? "float32, bfloat16"
                : cuda ? "float32, float16, bfloat16"
                       : "float16, bfloat16");
  const bool widens = cuda && c.operand == DType::f16 && is_float8(c.stored);
  core::require(c.stored == DType::f32 || widens, operation, "stored", name_of(c.stored),
                "a float8 type, with operands of float16 on NVIDIA GPUs");
  core::require(c.operand == DType::f32 || !cpu || spec.architecture == Architecture::avx512,
                operation, "operand", name_of(c.operand),
                "float32 (bfloat16 products are avx512's)");
  for (const int count : {c.tile_rows, c.tile_kv, c.stages, c.bundle, c.k_segments}) {
    core::require(count >= 1, operation, "tile_rows, tile_kv, stages, bundle, k_segments", count,
                  "1 or more each");
  }
  for (const int dim : {c.head_dim_qk, c.head_dim_vo}) {
    const int step = cpu ? 8 : 16;
    core::require(dim % step == 0 && dim >= step && dim <= 1024, operation, "head_dim", dim,
                  core::join("multiples of ", step, " up to 1024"));
  }
  core::require(cpu || (c.bundle == 1 && c.tile_rows % 16 == 0), operation, "bundle, tile_rows",
                core::join(c.bundle, ", ", c.tile_rows), "on GPUs: 1, and multiples of 16");
  if (spec.architecture == Architecture::sm90a) {
    core::require(c.operand != DType::f32, operation, "operand", name_of(c.operand),
                  "float16, bfloat16 on sm90a");
    const bool good = c.tile_rows % 64 == 0 && c.tile_rows <= 192 && c.head_dim_qk % 64 == 0 &&
                      c.head_dim_vo % 64 == 0 && (c.tile_kv == 64 || c.tile_kv == 128);
    core::require(good, operation, "tile_rows, tile_kv", core::join(c.tile_rows, ", ", c.tile_kv),
                  "on sm90a: 64, 128 or 192; 64 or 128");
  }
  core::require(!cpu || !c.tensor_maps, operation, "tensor_maps", 1, "0 on CPUs");
}

void check_config(const KernelSpec& spec, const NormConfig& c) {
  check_rows(spec, c.rows);
  check_output_dtype("dtype", c.dtype);
  check_output_dtype("weight_dtype", c.weight_dtype);
  core::require(c.kind == norm::Kind::rms || c.weight_dtype == NormConfig{}.weight_dtype, operation,
                "weight_dtype", name_of(c.weight_dtype),
                "nothing for kind=layer, which reads it from its parameters");
}
void check_config(const KernelSpec& spec, const ActivationConfig& c) {
  check_rows(spec, c.rows);
  check_output_dtype("dtype", c.dtype);
}
void check_config(const KernelSpec& spec, const MergeConfig& c) {
  check_rows(spec, c.rows);
  check_output_dtype("dtype", c.dtype);
  check_output_dtype("out_dtype", c.out_dtype);
}
void check_config(const KernelSpec& spec, const RopeConfig& c) { check_rows(spec, c.rows); }
void check_config(const KernelSpec& spec, const AppendConfig& c) { check_rows(spec, c.rows); }

void check_config(const KernelSpec& spec, const IndexConfig& c) {
  check_rows(spec, c.rows);
  core::require(target_of(spec.architecture).platform != Platform::cpu, operation, "architecture",
                name_of(spec.architecture), "index on sm80 to sm120 without an a, gfx942, gfx950");
}

void check_config(const KernelSpec& spec, const SamplingConfig& c) {
  const Target& target = target_of(spec.architecture);
  core::require(target.platform != Platform::cpu && target.rows_header != nullptr, operation,
                "architecture", name_of(spec.architecture),
                "sampling on sm80 to sm120 without an a, gfx942, gfx950");
  const bool is_power = c.lanes > 0 && (c.lanes & (c.lanes - 1)) == 0;
  const int warp = target.platform == Platform::cuda ? 32 : 64;
  core::require(is_power && c.lanes >= warp && c.lanes <= 1024, operation, "lanes", c.lanes,
                core::join("a power of 2 from ", warp, " to 1024"));
  const int most = target.has_clusters ? std::min(8, c.lanes / 32) : 1;
  core::require(c.blocks >= 1 && c.blocks <= most && (c.blocks & (c.blocks - 1)) == 0, operation,
                "blocks", c.blocks, core::join("a power of 2 up to ", most));
  core::require(c.kept <= 16 && c.kept % 4 == 0, operation, "kept", c.kept,
                "a multiple of 4 up to 16");
  const bool keeps = c.kind == sampling::Kind::softmax || c.kind == sampling::Kind::top_p;
  core::require(c.kept == 0 || keeps, operation, "kept", c.kept, "0, but for softmax and top_p");
}

}  // namespace

const char* name_of(Architecture architecture) {
  return architecture_names[static_cast<std::size_t>(architecture)];
}

const char* operation_of(const KernelSpec& spec) { return operation_names[spec.config.index()]; }

std::string name_of(const KernelSpec& spec) {
  std::string fields =
      std::visit([](const auto& config) { return fields_text(config); }, spec.config);
  if (!spec.variant.empty()) {
    const std::string hash = sha256(spec.variant).substr(0, hash_digits);
    fields += core::join(fields.empty() ? "" : ",", "variant=", hash);
  }
  return core::join(operation_of(spec), ".", name_of(spec.architecture), fields.empty() ? "" : ":",
                    fields);
}

std::string text_of(const KernelSpec& spec) {
  return spec.variant.empty() ? name_of(spec) : name_of(spec) + "\n" + spec.variant;
}

std::string entry_of(const KernelSpec& spec) {
  const std::string name = name_of(spec);
  std::string entry;
  for (const char c : name) {
    entry += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (entry.size() > longest_entry) {
    entry = core::join(entry.substr(0, longest_entry - hash_digits), "_",
                       sha256(name).substr(0, hash_digits));
  }
  return entry;
}

bool needs_clusters(const KernelSpec& spec) {
  const auto* sampling = std::get_if<SamplingConfig>(&spec.config);
  return sampling != nullptr && sampling->blocks > 1;
}

KernelSpec parse_spec(std::string_view text) {
  const std::string_view name = cut(text, '\n');
  return parse_spec(name, std::string(text));
}

KernelSpec parse_spec(std::string_view name, std::string variant) {
  std::string hash;
  KernelSpec spec = read_name(name, hash);
  const std::string actual = variant.empty() ? "" : sha256(variant).substr(0, hash_digits);
  core::require(hash.empty() || hash == actual, operation, "variant", core::join("'", hash, "'"),
                variant.empty() ? std::string("a name together with the source of its variant")
                                : actual + ", the hash of this source");
  spec.variant = std::move(variant);
  check_spec(spec);
  return spec;
}

void check_spec(const KernelSpec& spec) {
  const auto* activation = std::get_if<ActivationConfig>(&spec.config);
  const bool takes_variant = activation != nullptr && activation->kind == Activation::variant;
  core::require(
      takes_variant == !spec.variant.empty(), operation, "variant",
      spec.variant.empty() ? "missing" : "given",
      takes_variant ? "a source that defines activate(x)" : "only with activation's kind=variant");
  std::visit([&](const auto& config) { check_config(spec, config); }, spec.config);
}

}  // namespace wavefire::generate
