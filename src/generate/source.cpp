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

struct RowSource {
  const char* header;
  const char* space;   // namespace of the operation
  std::string params;  // type of the parameters
  std::string call;    // of kernels/, up to the arguments
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
  return {"rope/rotate.h", "rope", "Params", "rotate_tokens<Rows>"};
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
std::string cpu_body(const KernelSpec& spec, const Config& config) {
  const RowSource row = row_source(config);
  return core::join("#include \"", row.header, "\"\n#include \"tile/cpu/rows.h\"\n\n",
                    "WF_NAMESPACE_BEGIN(", row.space, ")\n", variant_text(spec),
                    "using Rows = tile::CpuRows;\n", exported, " void ", entry_of(spec), "(const ",
                    row.params, "& params, i64 begin, i64 end) {\n  ", row.call,
                    "(params, begin, end);\n}\nWF_NAMESPACE_END\n");
}

std::string cpu_body(const KernelSpec& spec, const MergeConfig& c) {
  return core::join("#include \"merge/merge.h\"\n#include \"tile/cpu/rows.h\"\n\n",
                    "WF_NAMESPACE_BEGIN(merge)\nusing Rows = tile::CpuRows;\n", exported, " float ",
                    entry_of(spec), "(const RowTypes& types, const States& states, char* out) {\n",
                    "  return merge_row<Rows, ", cpp_text(c.dtype), ", ", cpp_text(c.out_dtype),
                    ">(states, types.dim, out);\n}\nWF_NAMESPACE_END\n");
}

std::string cpu_body(const KernelSpec& spec, const attention::Config& config) {
  const char* architecture = config.operand == DType::bf16 ? "tile::CpuPairs" : "tile::Cpu";
  return core::join(
      "#include \"device/cpu/attention_entry.h\"\n\n",
      "namespace wavefire::cpu {\nconstexpr attention::Config config = ", initializer(config),
      ";\n", exported, " const AttentionKernel ", entry_of(spec),
      " =\n    attention_kernel<config, ", architecture, ">(\"", name_of(spec), "\");\n}\n");
}

// ---- GPUs

/// A kernel that runs `Kernel`, an Entry of kernels/, and what a launch has to know of it.
std::string gpu_kernel(const Target& target, const std::string& entry) {
  const bool is_cuda = target.platform == Platform::cuda;
  const std::string info =
      core::join("extern \"C\" __attribute__((device, used)) const i32 ", entry,
                 "_launch[2] = {Kernel::threads, ", is_cuda ? "Kernel::shared_bytes" : "0", "};\n");
  if (is_cuda) {
    return core::join(info, "extern \"C\" WF_GLOBAL void __launch_bounds__(Kernel::threads)\n    ",
                      entry, "(const __grid_constant__ Kernel::Launch params) {\n",
                      "  extern __shared__ __align__(1024) u8 memory[];\n",
                      "  Kernel::run(params, memory);\n}\n");
  }
  return core::join(info, "extern \"C\" WF_GLOBAL void\n",
                    "__attribute__((amdgpu_flat_work_group_size(Kernel::threads, Kernel::threads), "
                    "amdgpu_waves_per_eu(1, 1)))\n",
                    entry, "(const Kernel::Launch params) {\n",
                    "  WF_SHARED static Kernel::Steps::Shared shared;\n",
                    "  Kernel::run(params, &shared);\n}\n");
}

std::string gpu_body(const KernelSpec& spec, const attention::Config& config) {
  const Target& target = target_of(spec.architecture);
  return core::join("#include \"attention/entry.h\"\n#include \"", target.schedule_header,
                    "\"\n\nnamespace wavefire::attention {\nconstexpr Config config = ",
                    initializer(config), ";\nusing Kernel = Entry<", target.type, ", ",
                    target.schedule, ", config>;\n", gpu_kernel(target, entry_of(spec)), "}\n");
}

template <class Config>
std::string gpu_body(const KernelSpec& spec, const Config&) {
  core::fail_unsupported("generate", core::join(operation_of(spec), " on ",
                                                name_of(spec.architecture), "; GPUs: attention"));
}

}  // namespace

std::string source_of(const KernelSpec& spec) {
  check_spec(spec);
  const Target& target = target_of(spec.architecture);
  return core::join("// ", name_of(spec), "\n#define WAVEFIRE_TARGET ", target.name,
                    "\n#include \"", target.header, "\"\n\n",
                    std::visit(
                        [&](const auto& config) {
                          return target.platform == Platform::cpu ? cpu_body(spec, config)
                                                                  : gpu_body(spec, config);
                        },
                        spec.config));
}

}  // namespace wavefire::generate
