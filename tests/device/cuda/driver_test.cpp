// What happens around NVIDIA's driver: bad input on GPUs, and which code a GPU is given. The driver
// is the fake one of this folder, and the compiler a script that writes no more than the fake
// needs.
#include <cstdlib>
#include <fstream>
#include <functional>

#include "../../generate/support.h"
#include "../contract.h"
#include "fake_cuda.h"
#include "generate/generate.h"
#include "generate/store.h"
#include "tune/attention.h"
#include "wavefire/activation.h"
#include "wavefire/attention.h"
#include "wavefire/device.h"
#include "wavefire/merge.h"
#include "wavefire/norm.h"
#include "wavefire/page.h"
#include "wavefire/quantize.h"
#include "wavefire/rope.h"
#include "wavefire/sampling.h"

namespace wavefire {
namespace {

using device::expect_error;
using device::open_gpu;

constexpr std::size_t gigabyte = std::size_t{1} << 30;
// The GPUs of the fake driver, and their capabilities.
enum : int { hopper, other_hopper, turing, ada, blackwell };
constexpr int capabilities[] = {90, 90, 75, 89, 120};

/// A driver without any past, and a compiler.
class FakeGpus : public testing::Test {
 protected:
  FakeGpus() {
    fake_cuda::Driver& driver = fake_cuda::driver();
    driver.ptx_status = driver.launch_status = 0;
    driver.launches.clear();
    write_compiler(cache_.folder().parent_path() / "nvcc");
  }

  std::vector<fake_cuda::Launch>& launches() { return fake_cuda::driver().launches; }

 private:
  /// Its objects say the threads of a block, as PTX does.
  static void write_compiler(const std::filesystem::path& path) {
    std::ofstream(path) << R"(#!/bin/sh
if [ "$1" = --version ]; then echo "fake nvcc, release 0"; exit; fi
while [ "$1" != -o ]; do shift; done
name=$(sed -n 's/.* const i32 \(.*\)_launch\[2\].*/\1/p' "$3")
echo "fake .b8 ${name}_launch[8] = {128};" > "$2"
)";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    Config changed = config();
    changed.nvcc = path;
    set_config(changed);
  }

  generate::TestCache cache_;
};

/// Memory for every tensor here; nothing works on it.
void* memory() {
  static std::vector<std::int32_t> words(1 << 16, 0);
  return words.data();
}

TensorView on(int gpu, DType dtype, std::initializer_list<std::int64_t> shape) {
  return TensorView::contiguous(memory(), dtype, shape, {DeviceType::cuda, gpu});
}

void normalize(int gpu) {
  rms_norm(on(gpu, DType::bf16, {2, 64}), on(gpu, DType::bf16, {64}), on(gpu, DType::bf16, {2, 64}),
           {});
}

TEST_F(FakeGpus, AreListedWithTheirArchitecture) {
  std::vector<std::string> architectures;
  for (const DeviceInfo& info : devices()) {
    if (info.tensors.type == DeviceType::cuda) architectures.push_back(info.architecture);
  }
  EXPECT_EQ(architectures,
            (std::vector<std::string>{"sm_90", "sm_90", "sm_75", "sm_89", "sm_120"}));
  expect_error(ErrorKind::invalid_argument, {"'cuda:5'", "cuda:0 to cuda:4"},
               [] { use_device("cuda:5"); });
}

TEST_F(FakeGpus, WorkGoesToTheDeviceOfTheTensors) {
  const device::Context before = open_gpu("cuda:0").driver().current();
  normalize(other_hopper);
  normalize(hopper);
  ASSERT_EQ(launches().size(), 2u);
  EXPECT_EQ(launches()[0].gpu, other_hopper);
  EXPECT_EQ(launches()[1].gpu, hopper);
  EXPECT_EQ(open_gpu("cuda:0").driver().current(), before);
}

/// An operation whose tensors are made by `at(argument, dtype, shape)`; arguments as errors name
/// them.
struct Operation {
  using At = std::function<TensorView(const char*, DType, std::initializer_list<std::int64_t>)>;
  const char* name;
  std::vector<const char*> arguments;
  std::function<void(const At&)> call;
};

constexpr DType b16 = DType::bf16, i32 = DType::i32, f32 = DType::f32;

const Operation operations[] = {
    {"rms_norm",
     {"x", "weight", "out"},
     [](const auto& at) {
       rms_norm(at("x", b16, {2, 64}), at("weight", b16, {64}), at("out", b16, {2, 64}));
     }},
    {"fused_add_rms_norm",
     {"x", "residual", "weight"},
     [](const auto& at) {
       fused_add_rms_norm(at("x", b16, {2, 64}), at("residual", b16, {2, 64}),
                          at("weight", b16, {64}));
     }},
    {"layer_norm",
     {"input", "gamma", "beta", "out"},
     [](const auto& at) {
       layer_norm(at("input", b16, {2, 64}), at("gamma", b16, {64}), at("beta", b16, {64}),
                  at("out", b16, {2, 64}));
     }},
    {"gated_activation",
     {"x", "out"},
     [](const auto& at) {
       gated_activation(GatedActivation::silu, at("x", b16, {2, 64}), at("out", b16, {2, 32}));
     }},
    {"merge_state",
     {"v_a", "s_a", "v_b", "s_b", "v", "s", "mask"},
     [](const auto& at) {
       merge_state(at("v_a", b16, {2, 4, 64}), at("s_a", f32, {2, 4}), at("v_b", b16, {2, 4, 64}),
                   at("s_b", f32, {2, 4}), at("v", b16, {2, 4, 64}), at("s", f32, {2, 4}),
                   at("mask", DType::u8, {2}));
     }},
    {"merge_states",
     {"v", "s", "v_out", "s_out"},
     [](const auto& at) {
       merge_states(at("v", b16, {2, 3, 4, 64}), at("s", f32, {2, 3, 4}),
                    at("v_out", b16, {2, 4, 64}), at("s_out", f32, {2, 4}));
     }},
    {"apply_rope",
     {"q", "k", "positions", "q_out", "k_out"},
     [](const auto& at) {
       apply_rope(at("q", b16, {2, 4, 64}), at("k", b16, {2, 1, 64}), at("positions", i32, {2}),
                  at("q_out", b16, {2, 4, 64}), at("k_out", b16, {2, 1, 64}), {});
     }},
    {"rope_positions",
     {"indptr", "offsets", "positions"},
     [](const auto& at) {
       rope_positions(at("indptr", i32, {3}), at("offsets", i32, {2}), at("positions", i32, {4}));
     }},
    {"append",
     {"append_key", "append_value", "batch_indices", "positions", "k_cache", "v_cache", "kv_indptr",
      "kv_indices", "kv_last_page_len"},
     [](const auto& at) {
       append_paged_kv_cache(at("append_key", b16, {2, 4, 64}), at("append_value", b16, {2, 4, 64}),
                             at("batch_indices", i32, {2}), at("positions", i32, {2}),
                             at("k_cache", b16, {3, 16, 4, 64}), at("v_cache", b16, {3, 16, 4, 64}),
                             {at("kv_indptr", i32, {2}), at("kv_indices", i32, {3}),
                              at("kv_last_page_len", i32, {1}), 16},
                             KvLayout::nhd);
     }},
    {"softmax",
     {"logits", "out"},
     [](const auto& at) {
       softmax(at("logits", f32, {2, 100}), {1, {}}, at("out", f32, {2, 100}));
     }},
    {"sample",
     {"weights", "samples", "valid"},
     [](const auto& at) {
       sample({at("weights", f32, {2, 100}), false, {}}, {}, {}, at("samples", i32, {2}),
              at("valid", DType::b1, {2}));
     }},
    {"mask_logits",
     {"logits", "out"},
     [](const auto& at) {
       mask_logits(at("logits", f32, {2, 100}), {3, {}}, at("out", f32, {2, 100}));
     }},
    {"packbits",
     {"x", "out"},
     [](const auto& at) {
       packbits(at("x", DType::u8, {100}), BitOrder::big, at("out", DType::u8, {13}));
     }},
    {"attention",
     {"q", "k", "v", "out", "lse"},
     [](const auto& at) {
       single_attention({.num_qo_heads = 4,
                         .num_kv_heads = 4,
                         .head_dim_qk = 64,
                         .device = {DeviceType::cuda, hopper}},
                        {.q = at("q", b16, {2, 4, 64}),
                         .k = at("k", b16, {3, 4, 64}),
                         .v = at("v", b16, {3, 4, 64}),
                         .out = at("out", b16, {2, 4, 64}),
                         .lse = at("lse", f32, {2, 4})});
     }},
};

TEST_F(FakeGpus, OneTensorElsewhereIsNamedAndNothingIsLaunched) {
  for (const Operation& operation : operations) {
    operation.call([&](const char*, DType dtype, auto shape) { return on(hopper, dtype, shape); });
    EXPECT_FALSE(launches().empty()) << operation.name;
    for (const char* wrong : operation.arguments) {
      for (const Device elsewhere : {Device{DeviceType::cuda, other_hopper}, Device{}}) {
        launches().clear();
        SCOPED_TRACE(std::string(operation.name) + ", " + wrong + " on " + to_string(elsewhere));
        // Spoilt is what comes first: then the next is the one that is named.
        const bool first = wrong == operation.arguments.front();
        const std::string named = first ? "" : std::string("'") + wrong;
        expect_error(ErrorKind::invalid_argument, {named, "cuda:0", to_string(elsewhere)}, [&] {
          operation.call([&](const char* argument, DType dtype, auto shape) {
            TensorView view = on(hopper, dtype, shape);
            if (std::string_view(argument) == wrong) view.device = elsewhere;
            return view;
          });
        });
        EXPECT_TRUE(launches().empty());
      }
    }
  }
}

TEST_F(FakeGpus, AnArchitectureWithoutKernelsIsNamed) {
  expect_error(ErrorKind::unsupported, {"no kernels for sm_75", "sm_80 and later", "gfx942"},
               [] { normalize(turing); });
  EXPECT_TRUE(launches().empty());
}

TEST_F(FakeGpus, OutOfMemoryHasTheNumbersAndTheDeviceGoesOn) {
  fake_cuda::Gpu& gpu = fake_cuda::driver().gpus[hopper];
  const std::int64_t batch = 1 << 16;
  std::vector<std::int32_t> counted(batch + 1);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::int32_t>(i);
  const TensorView indptr = TensorView::contiguous(counted.data(), DType::i32, {batch + 1});
  const AttentionOptions options = {.num_qo_heads = 4,
                                    .num_kv_heads = 4,
                                    .head_dim_qk = 64,
                                    .device = {DeviceType::cuda, hopper}};
  BatchAttention attention;
  gpu.memory_bytes = gpu.used_bytes + 1000;
  expect_error(ErrorKind::out_of_memory,
               {"cuda:0: out of device memory: asked for", "1000 of ", " are free"},
               [&] { attention.plan(options, indptr, indptr); });
  EXPECT_FALSE(attention.planned());
  gpu.memory_bytes = gigabyte;
  attention.plan(options, indptr, indptr);
  EXPECT_TRUE(attention.planned());
}

TEST_F(FakeGpus, ErrorsOfTheDriverCarryItsWords) {
  fake_cuda::driver().launch_status = 700;
  expect_error(ErrorKind::device, {"cuda: launch of norm_", "FAKE_ERROR_700", "of the fake driver"},
               [] { normalize(hopper); });
}

// The bundle of this build may have the kernel, in one form or another, or not.
TEST_F(FakeGpus, TakeWhatIsBuiltInBeforeAnythingIsCompiled) {
  using generate::Architecture;
  const generate::NormConfig config{.rows = {32, 8, 1}};
  for (const auto& [gpu, own] :
       {std::pair{ada, Architecture::sm89}, std::pair{blackwell, Architecture::sm120}}) {
    const generate::KernelSpec spec{own, config};
    const auto built_in = generate::find_built_in(spec);
    const generate::CompileCounter compilations;
    const generate::LoadedKernel& kernel =
        generate::kernel_on(device::gpu_of({DeviceType::cuda, gpu}), config);
    EXPECT_EQ(kernel.kernel.name(), built_in ? built_in->entry : entry_of(spec));
    EXPECT_EQ(compilations.count(), built_in ? 0 : 1);
  }
}

TEST_F(FakeGpus, ADriverOlderThanThePtxThatIsBuiltInGetsACompiledKernel) {
  const generate::KernelSpec spec{generate::Architecture::sm120,
                                  generate::ActivationConfig{.rows = {32, 8, 0}}};
  fake_cuda::driver().ptx_status = 222;
  const generate::CompileCounter compilations;
  const generate::LoadedKernel& kernel =
      generate::kernel_on(device::gpu_of({DeviceType::cuda, blackwell}), spec.config);
  EXPECT_EQ(kernel.kernel.name(), entry_of(spec));
  EXPECT_EQ(compilations.count(), 1);

  // Where nothing can be compiled, the error has the driver's words, too.
  const generate::KernelSpec other{generate::Architecture::sm120,
                                   generate::AppendConfig{.rows = {16, 16, 0}}};
  const std::string words = generate::find_built_in(other) ? "FAKE_ERROR_222" : "WAVEFIRE_JIT=off";
  Config off = config();
  off.jit = "off";
  set_config(off);
  expect_error(ErrorKind::compile, {"append.sm120", words}, [&] {
    generate::kernel_on(device::gpu_of({DeviceType::cuda, blackwell}), other.config);
  });
}

TEST_F(FakeGpus, WithoutCodeOfTheirOwnPathTakeThePortableKernel) {
  const tune::GpuAttentionProblem problem{.q_dtype = DType::f16,
                                          .kv_dtype = DType::f16,
                                          .rotates = false,
                                          .head_dim = 256,
                                          .portable = true};
  constexpr std::int64_t rows = 1000;
  const auto architecture = generate::Architecture::sm90;
  const auto portable = tune::gpu_attention(architecture, problem, rows).value();
  EXPECT_EQ(portable.architecture, architecture);
  generate::provide({portable.architecture, portable.config});

  const Device device{DeviceType::cuda, other_hopper};
  const auto own = tune::gpu_attention(architecture, {DType::f16, DType::f16, false, 256}, rows);
  EXPECT_EQ(own.value().architecture, generate::Architecture::sm90a);
  const generate::KernelSpec own_spec{own->architecture, own->config};
  EXPECT_TRUE(generate::can_provide(own_spec));  // there is a compiler
  Config off = config();
  off.jit = "off";
  set_config(off);
  EXPECT_EQ(generate::can_provide(own_spec), generate::find_built_in(own_spec) != nullptr);

  const generate::CompileCounter compilations;
  std::vector<std::int32_t> indptr = {0, rows};
  const TensorView lengths = TensorView::contiguous(indptr.data(), DType::i32, {2});
  BatchAttention attention;
  attention.plan({.num_qo_heads = 4,
                  .num_kv_heads = 4,
                  .head_dim_qk = 256,
                  .q_dtype = DType::f16,
                  .kv_dtype = DType::f16,
                  .device = device},
                 lengths, lengths);
  EXPECT_TRUE(attention.planned());
  EXPECT_EQ(compilations.count(), 0);
}

// In runs of their own, since a driver is initialised once: its answer is in the environment.
TEST(NoGpus, ADriverWithoutDevicesSaysSo) {
  for (const DeviceInfo& info : devices()) EXPECT_NE(info.tensors.type, DeviceType::cuda);
  EXPECT_EQ(why_no_driver("cuda"), "");
  expect_error(ErrorKind::device, {"'cuda:0' is not there", "libcuda.so.1 finds no device"},
               [] { use_device("cuda:0"); });
  expect_error(ErrorKind::device, {"'cuda:0'", "finds no device"}, [] { normalize(0); });
}

TEST(NoDriver, OneThatDoesNotStartSaysWhy) {
  EXPECT_NE(why_no_driver("cuda").find("cuInit failed: FAKE_ERROR_803"), std::string::npos);
  expect_error(ErrorKind::device, {"cuda: cuInit failed", "FAKE_ERROR_803"},
               [] { use_device("cuda:0"); });
  expect_error(ErrorKind::device, {"FAKE_ERROR_803"}, [] { normalize(0); });
  EXPECT_EQ(devices()[0].id, "cpu");
}

}  // namespace
}  // namespace wavefire

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* status = std::getenv("FAKE_CUDA_INIT")) {
    fake_cuda::driver().init_status = std::atoi(status);
  }
  for (const int capability : wavefire::capabilities) {
    fake_cuda::driver().gpus.push_back(
        {.capability = capability, .memory_bytes = wavefire::gigabyte});
  }
  return RUN_ALL_TESTS();
}
