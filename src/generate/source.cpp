#include "generate/source.h"

#include "core/check.h"
#include "generate/fields.h"
#include "generate/target.h"

namespace wavefire::generate {
namespace {

// ---- values as C++

std::string cpp_text(int value) { return std::to_string(value); }
std::string cpp_text(bool value) { return value ? "true" : "false"; }
std::string cpp_text(DType value) {
  switch (value) {
    case DType::f32: return "DType::f32";
    case DType::f16: return "DType::f16";
    case DType::bf16: return "DType::bf16";
    case DType::e4m3fn: return "DType::e4m3fn";
    case DType::e5m2: return "DType::e5m2";
    case DType::e4m3fnuz: return "DType::e4m3fnuz";
    case DType::e5m2fnuz: return "DType::e5m2fnuz";
    default: break;
  }
  core::fail_unsupported("generate", core::join("kernels of ", name_of(value)));
}
std::string cpp_text(Activation value) {
  switch (value) {
    case Activation::gelu: return "Kind::gelu";
    case Activation::gelu_tanh: return "Kind::gelu_tanh";
    default: return "Kind::silu";
  }
}

const char* cpp_text(index::Kind value) {
  switch (value) {
    case index::Kind::batch_positions: return "Kind::batch_positions";
    case index::Kind::sequence_lengths: return "Kind::sequence_lengths";
    case index::Kind::packed_indptr: return "Kind::packed_indptr";
    case index::Kind::packbits: return "Kind::packbits";
    case index::Kind::segment_packbits: return "Kind::segment_packbits";
    default: return "Kind::rope_positions";
  }
}
const char* cpp_text(sampling::Kind value) {
  switch (value) {
    case sampling::Kind::draw: return "Kind::draw";
    case sampling::Kind::filtered: return "Kind::filtered";
    case sampling::Kind::top_p: return "Kind::top_p";
    case sampling::Kind::renorm: return "Kind::renorm";
    case sampling::Kind::mask: return "Kind::mask";
    default: return "Kind::softmax";
  }
}

/// `{.tile_rows = 64, ...}`
std::string initializer(const attention::Config& config) {
  std::string text;
  visit_fields(config, [&](std::string_view field, auto value) {
    text += core::join(text.empty() ? "{" : ",\n    ", ".", field, " = ", cpp_text(value));
  });
  return text + "}";
}

// ---- CPUs

constexpr std::string_view exported = "extern \"C\" __attribute__((visibility(\"default\")))";

std::string includes(const KernelSpec& spec) {
  return core::join("#include \"", target_of(spec.architecture).header, "\"\n\n");
}

struct RowSource {
  const char* header;
  const char* space;        // namespace of the operation
  std::string params;       // type of the parameters
  std::string call;         // of kernels/, up to the arguments
  const char* memory = "";  // declares what else it needs
  const char* more = "";    // and passes it
};

RowSource row_source(const NormConfig& c) {
  const std::string dtype = cpp_text(c.dtype);
  if (c.kind == norm::Kind::layer) {
    return {"norm/norm.h", "norm", "Params", core::join("layer_norm_rows<Rows, ", dtype, ">")};
  }
  return {"norm/norm.h", "norm", "Params",
          core::join("rms_norm_rows<Rows, ", dtype, ", ", cpp_text(c.weight_dtype), ">")};
}
RowSource row_source(const ActivationConfig& c) {
  const std::string dtype = cpp_text(c.dtype);
  if (c.kind == Activation::variant) {
    return {"activation/variant.h", "activation", "Params",
            core::join("variant_rows<Rows, ", dtype, ", Variant>")};
  }
  return {"activation/gated.h", "activation", "Params",
          core::join("gated_rows<Rows, ", dtype, ", ", cpp_text(c.kind), ">")};
}
RowSource row_source(const RopeConfig&) {
  return {"rope/rotate.h",      "rope",    "Params", "rotate_tokens<Rows>",
          "  Angles angles;\n", ", angles"};
}
RowSource row_source(const AppendConfig&) {
  return {"kv_cache/append.h", "kv_cache", "AppendParams", "append_tokens<Rows>"};
}

/// The user's source, in the namespace of the operation, and what passes it on.
std::string variant_text(const KernelSpec& spec) {
  if (spec.variant.empty()) return "";
  return core::join("#line 1 \"variant\"\n", spec.variant,
                    "\n#line 1 \"generated\"\n"
                    "struct Variant {\n"
                    "  template <class E>\n"
                    "  WF_DEVICE static E activate(E x) { return activation::activate(x); }\n"
                    "};\n");
}

template <class Config>
std::string cpu_source(const KernelSpec& spec, const Config& config) {
  const RowSource row = row_source(config);
  return core::join(includes(spec), "#include \"", row.header,
                    "\"\n#include \"tile/cpu/rows.h\"\n\n", "WF_NAMESPACE_BEGIN(", row.space, ")\n",
                    variant_text(spec), "using Rows = tile::CpuRows;\n", exported, " void ",
                    entry_of(spec), "(const ", row.params, "& params, i64 begin, i64 end) {\n",
                    row.memory, "  ", row.call, "(params, begin, end", row.more,
                    ");\n}\nWF_NAMESPACE_END\n");
}

std::string cpu_source(const KernelSpec& spec, const MergeConfig& c) {
  return core::join(includes(spec), "#include \"merge/merge.h\"\n#include \"tile/cpu/rows.h\"\n\n",
                    "WF_NAMESPACE_BEGIN(merge)\nusing Rows = tile::CpuRows;\n", exported, " float ",
                    entry_of(spec), "(const RowTypes& types, const States& states, char* out) {\n",
                    "  return merge_row<Rows, ", cpp_text(c.dtype), ", ", cpp_text(c.out_dtype),
                    ">(states, types.dim, out);\n}\nWF_NAMESPACE_END\n");
}

std::string cpu_source(const KernelSpec& spec, const attention::Config& config) {
  const char* architecture = config.operand == DType::bf16 ? "tile::CpuPairs" : "tile::Cpu";
  return core::join(
      "#include \"device/cpu/attention_entry.h\"\n\n",
      "namespace wavefire::cpu {\nconstexpr attention::Config config = ", initializer(config),
      ";\n", exported, " const AttentionKernel ", entry_of(spec),
      " =\n    attention_kernel<config, ", architecture, ">(\"", name_of(spec), "\");\n}\n");
}

// ---- GPUs

/// What a launch has to know of a kernel.
std::string launch_info(const std::string& entry, const char* dynamic_bytes) {
  return core::join("extern \"C\" __attribute__((device, used)) const i32 ", entry,
                    "_launch[2] = {Kernel::threads, ", dynamic_bytes, "};\n");
}

/// A CUDA kernel whose body is `body`.
std::string cuda_kernel(const std::string& entry, const char* body,
                        const std::string& attributes = "__launch_bounds__(Kernel::threads)") {
  return core::join("extern \"C\" WF_GLOBAL void ", attributes, "\n    ", entry,
                    "(const __grid_constant__ Kernel::Launch params) {\n", body, "}\n");
}

/// `waves`: of a SIMD, which decide how many registers each may take.
std::string hip_kernel(const std::string& entry, const char* waves, const char* body) {
  return core::join("extern \"C\" WF_GLOBAL void\n",
                    "__attribute__((amdgpu_flat_work_group_size(Kernel::threads, Kernel::threads), "
                    "amdgpu_waves_per_eu(",
                    waves, ")))\n", entry, "(const Kernel::Launch params) {\n", body, "}\n");
}

std::string gpu_source(const KernelSpec& spec, const attention::Config& config) {
  const Target& target = target_of(spec.architecture);
  const std::string entry = entry_of(spec);
  const bool is_cuda = target.platform == Platform::cuda;
  // A block alone may take all registers: else the compiler spills for the sake of more blocks.
  const bool alone = spec.architecture == Architecture::sm80 ||
                     spec.architecture == Architecture::compute80 ||
                     spec.architecture == Architecture::sm90a;
  return core::join(
      "#include \"", target.header, "\"\n\n#include \"attention/entry.h\"\n#include \"",
      target.schedule_header,
      "\"\n\nnamespace wavefire::attention {\nconstexpr Config config = ", initializer(config),
      ";\nusing Kernel = Entry<", target.type, ", ", target.schedule, ", config>;\n",
      launch_info(entry, is_cuda ? "Kernel::shared_bytes" : "0"),
      is_cuda ? cuda_kernel(entry,
                            "  extern __shared__ __align__(1024) u8 memory[];\n"
                            "  Kernel::run(params, memory);\n",
                            alone ? "__launch_bounds__(Kernel::threads, 1)"
                                  : "__launch_bounds__(Kernel::threads)")
              : hip_kernel(entry, config.tile_rows > 128 ? "2, 2" : "1, 1",
                           "  WF_SHARED static Kernel::Steps::Shared shared;\n"
                           "  Kernel::run(params, &shared);\n"),
      "}\n");
}

/// The header of an operation's entry, its namespace and its name, up to the teams' parameters.
struct RowEntry {
  const char* space;
  std::string type;
};

RowEntry row_entry(const NormConfig& c) {
  const char* kind = c.kind == norm::Kind::rms ? "Kind::rms" : "Kind::layer";
  return {"norm", core::join("Entry<Teams, ", kind, ", ", cpp_text(c.dtype), ", ",
                             cpp_text(c.weight_dtype), ">")};
}
RowEntry row_entry(const ActivationConfig& c) {
  return {"activation",
          core::join("Entry<Teams, ", cpp_text(c.kind), ", ", cpp_text(c.dtype), ">")};
}
RowEntry row_entry(const MergeConfig& c) {
  return {"merge",
          core::join("Entry<Teams, ", cpp_text(c.dtype), ", ", cpp_text(c.out_dtype), ">")};
}
RowEntry row_entry(const RopeConfig&) { return {"rope", "Entry<Teams>"}; }
RowEntry row_entry(const AppendConfig&) { return {"kv_cache", "AppendEntry<Teams>"}; }
RowEntry row_entry(const IndexConfig& c) {
  return {"index", core::join("Entry<Teams, ", cpp_text(c.kind), ">")};
}

template <class Config>
std::string gpu_source(const KernelSpec& spec, const Config& config) {
  const RowEntry row = row_entry(config);
  const std::string entry = entry_of(spec);
  const Target& target = target_of(spec.architecture);
  constexpr const char* body = "  Kernel::run(params);\n";
  return core::join("#include \"", target.rows_header, "\"\n\n#include \"", row.space,
                    "/entry.h\"\n\nnamespace wavefire::", row.space,
                    " {\nusing Teams = tile::RowTeams<", config.rows.lanes, ", ", config.rows.teams,
                    ", ", config.rows.kept, ">;\nusing Kernel = ", row.type, ";\n",
                    launch_info(entry, "0"),
                    target.platform == Platform::cuda ? cuda_kernel(entry, body)
                                                      : hip_kernel(entry, "2, 8", body),
                    "}\n");
}

/// The blocks of a row are a cluster.
std::string gpu_source(const KernelSpec& spec, const SamplingConfig& c) {
  const std::string entry = entry_of(spec);
  const Target& target = target_of(spec.architecture);
  const bool is_cuda = target.platform == Platform::cuda;
  const bool alone = c.blocks == 1;
  const std::string cluster = core::join("tile::Cluster<", c.blocks, ">");
  const std::string bounds = "__launch_bounds__(Kernel::threads, Kernel::resident_blocks)";
  return core::join(
      "#include \"", target.rows_header, "\"\n\n#include \"tile/",
      alone ? "row_group.h" : "sm90/cluster.h",
      "\"\n#include \"sampling/entry.h\"\n\nnamespace wavefire::sampling {\n"
      "using Group = tile::RowGroup<",
      c.lanes, ", ", c.kept, ", ", alone ? "tile::OneBlock" : cluster,
      ">;\nusing Kernel = Entry<Group, ", cpp_text(c.kind), ">;\n",
      launch_info(entry, is_cuda ? "Kernel::shared_bytes" : "0"),
      is_cuda ? cuda_kernel(
                    entry,
                    "  extern __shared__ __align__(16) u8 memory[];\n"
                    "  Kernel::run(params, memory);\n",
                    alone ? bounds : core::join("__cluster_dims__(", c.blocks, ", 1, 1) ", bounds))
              : hip_kernel(entry, "1, 8",
                           "  WF_SHARED static __attribute__((aligned(16))) u8 "
                           "memory[Kernel::shared_bytes];\n"
                           "  Kernel::run(params, memory);\n"),
      "}\n");
}

// There are none.
std::string cpu_source(const KernelSpec&, const IndexConfig&) { return {}; }
std::string cpu_source(const KernelSpec&, const SamplingConfig&) { return {}; }

}  // namespace

std::string source_of(const KernelSpec& spec) {
  check_spec(spec);
  const Target& target = target_of(spec.architecture);
  const std::string body = std::visit(
      [&](const auto& config) {
        return target.platform == Platform::cpu ? cpu_source(spec, config)
                                                : gpu_source(spec, config);
      },
      spec.config);
  return core::join("// ", name_of(spec), "\n#define WAVEFIRE_TARGET ", target.name, "\n", body);
}

}  // namespace wavefire::generate
