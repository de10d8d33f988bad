// KernelSpec: the complete name of a kernel.
//
// Its text is the line in logs, the id of tests and part of the cache's key:
//
//   attention.sm80:operand=bfloat16,tile_rows=16,few_rows=1
//   norm.avx2:kind=rms,dtype=bfloat16,weight_dtype=float32
//   activation.avx2:kind=variant,dtype=float32,variant=9f86d081884c7d65     and then the source
//
// that is `operation.architecture`, then the fields that differ from their defaults, in a fixed
// order. A kernel with code of the user's carries a hash of that source in its name; the full text
// has the source behind the first line.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "activation/params.h"
#include "attention/config.h"
#include "index/params.h"
#include "norm/params.h"
#include "sampling/params.h"

namespace wavefire::generate {

/// What a kernel is compiled for. Several may share a folder of kernels/tile (target.h). Code for
/// `compute` is PTX: drivers compile it for any GPU from that one on.
enum class Architecture : unsigned char {
  scalar,
  avx2,
  avx512,
  compute80,
  compute90,
  sm80,
  sm86,
  sm89,
  sm90,
  sm90a,
  sm100,
  sm120,
  gfx942,
  gfx950,
};
inline constexpr int architecture_count = static_cast<int>(Architecture::gfx950) + 1;

/// How a GPU's block divides rows (tile/<arch>/rows.h); zeros on CPUs.
struct RowTeams {
  int lanes = 0;  // threads that walk through a row together
  int teams = 0;  // rows of a block
  int kept = 0;   // elements that a lane keeps in registers; norm only, 0: none
  bool operator==(const RowTeams&) const = default;
};

struct NormConfig {
  norm::Kind kind = norm::Kind::rms;
  DType dtype = DType::bf16;         // of x, out and residual
  DType weight_dtype = DType::bf16;  // rms only: LayerNorm reads its types from the parameters
  RowTeams rows = {};
  bool operator==(const NormConfig&) const = default;
};

enum class Activation : unsigned char { silu, gelu, gelu_tanh, variant };

struct ActivationConfig {
  Activation kind = Activation::silu;  // `variant`: `activate` of the user's source
  DType dtype = DType::bf16;
  RowTeams rows = {};
  bool operator==(const ActivationConfig&) const = default;
};

struct MergeConfig {
  DType dtype = DType::bf16;  // of the states' values
  DType out_dtype = DType::bf16;
  RowTeams rows = {};
  bool operator==(const MergeConfig&) const = default;
};

// These read all types from their parameters.
struct RopeConfig {
  RowTeams rows = {};
  bool operator==(const RopeConfig&) const = default;
};
struct AppendConfig {
  RowTeams rows = {};
  bool operator==(const AppendConfig&) const = default;
};

/// A thread for each entry. GPUs only, as all that follow.
struct IndexConfig {
  index::Kind kind = index::Kind::rope_positions;
  RowTeams rows = {};
  bool operator==(const IndexConfig&) const = default;
};

/// All types are parameters.
struct SamplingConfig {
  sampling::Kind kind = sampling::Kind::softmax;
  int lanes = 0;   // threads of a block
  int blocks = 0;  // that share a row; more than one where blocks can share memory
  int kept = 0;    // steps of eight values that a lane keeps in shared memory; 0: none
  bool operator==(const SamplingConfig&) const = default;
};

/// What is fixed at compile time; the alternative is the operation.
using KernelConfig = std::variant<attention::Config, NormConfig, ActivationConfig, MergeConfig,
                                  RopeConfig, AppendConfig, IndexConfig, SamplingConfig>;

struct KernelSpec {
  Architecture architecture = Architecture::scalar;
  KernelConfig config;
  std::string variant = {};  // C++ source of the user's hooks; empty: none

  bool operator==(const KernelSpec&) const = default;
};

const char* name_of(Architecture architecture);
/// "attention", "norm", "activation", "merge", "rope", "append", "index", "sampling".
const char* operation_of(const KernelSpec& spec);

/// The name in one line, for logs, tests and lists.
std::string name_of(const KernelSpec& spec);
/// Everything: the name and, behind a line break, the source of the variant.
std::string text_of(const KernelSpec& spec);
/// The kernel's symbol in its object: the name with every other character as `_`, shortened by a
/// hash when it is long.
std::string entry_of(const KernelSpec& spec);

/// The inverse of `text_of`; fields may come in any order, and those at their defaults too. Throws
/// `Error` (invalid_argument) that shows the part that is wrong and what would be accepted.
KernelSpec parse_spec(std::string_view text);
/// The same for a name and the source of its variant, whose hash the name need not have.
KernelSpec parse_spec(std::string_view name, std::string variant);

/// Whether its blocks write to each other's shared memory.
bool needs_clusters(const KernelSpec& spec);

/// Throws `Error` for values that no kernel has (invalid_argument) and for operations that an
/// architecture lacks (unsupported).
void check_spec(const KernelSpec& spec);

}  // namespace wavefire::generate
