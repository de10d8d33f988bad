// Built-in kernels: the file, the lists of what goes into it, and what devices ask for.
#include "generate/bundle.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "attention/sm80/policy.h"
#include "generate/files.h"
#include "generate/generate.h"
#include "generate/resources.h"
#include "generate/target.h"
#include "support.h"
#include "tune/attention.h"
#include "tune/rows.h"
#include "wavefire/error.h"

namespace wavefire::generate {
namespace {

constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};

/// The kernels of a list, for an architecture.
std::set<std::string> names_of_list(const std::string& name, const std::string& architecture) {
  const std::string list = read_file(std::string(WAVEFIRE_BUNDLES) + "/" + name + ".txt");
  const std::string_view architectures[] = {architecture};
  std::set<std::string> names;
  for (const KernelSpec& spec : specs_of_list(list, architectures)) {
    EXPECT_TRUE(names.insert(name_of(spec)).second) << name_of(spec) << " stands there twice";
  }
  return names;
}

TEST(Bundle, EntriesComeBackAndBrokenOnesDoNot) {
  const TestCache cache;
  const auto path = cache.folder().parent_path() / "some.bundle";
  const Entry first = {"a.b", "compiler", std::string("object\0one", 10)};
  const Entry second = {"c.d", "compiler", std::string(5000, 'x')};
  write_bundle(path, {{"11", first}, {"22", second}});
  const Bundle bundle(path);
  EXPECT_EQ(bundle.ids(), (std::vector<std::string>{"11", "22"}));
  EXPECT_EQ(bundle.load("11").value().object, first.object);
  EXPECT_EQ(bundle.load("22").value().object, second.object);
  EXPECT_FALSE(bundle.load("33").has_value());

  std::string bytes = read_file(path);
  bytes[bytes.size() - 10] ^= 1;
  write_file(path, bytes);
  EXPECT_TRUE(Bundle(path).load("11").has_value());
  EXPECT_FALSE(Bundle(path).load("22").has_value());
  write_file(path, "wavefire bundle 9 1\n11 0 0\n");
  EXPECT_TRUE(Bundle(path).ids().empty());
  EXPECT_TRUE(Bundle(path.string() + ".absent").ids().empty());
}

TEST(Bundle, TheCommonListHasWhatDevicesAskFor) {
  const std::set<std::string> common = names_of_list("common", "sm90");
  std::set<std::string> asked;
  const auto ask = [&](const KernelConfig& config) {
    asked.insert(name_of(KernelSpec{Architecture::sm90, config}));
  };
  for (DType dtype : dtypes) {
    for (std::int64_t width : {1, 256, 257, 4096, 4097, 8192, 8193, 100000}) {
      const RowTeams rows = tune::norm_rows(width);
      for (DType weight : dtypes) ask(NormConfig{norm::Kind::rms, dtype, weight, rows});
      ask(NormConfig{.kind = norm::Kind::layer, .dtype = dtype, .rows = rows});
      for (Activation kind : {Activation::silu, Activation::gelu, Activation::gelu_tanh}) {
        ask(ActivationConfig{kind, dtype, tune::activation_rows(width)});
      }
    }
    for (DType out : dtypes) ask(MergeConfig{dtype, out, tune::head_rows()});
    for (int head_dim : {8, 64, 72, 128, 136, 256}) {
      for (std::int64_t rows : {1, 16, 17, 1000}) {
        const auto chosen = [&](DType kv, bool mask) {
          const auto kernel = tune::gpu_attention(
              Architecture::sm90, {dtype, kv, /*rotates=*/false, head_dim, mask}, rows);
          ASSERT_TRUE(kernel.has_value());
          asked.insert(name_of(KernelSpec{kernel->architecture, kernel->config}));
        };
        for (bool mask : {false, true}) chosen(dtype, mask);
        if (dtype != DType::f32 && head_dim <= 128 && rows <= 16) chosen(DType::e4m3fn, false);
      }
    }
  }
  ask(RopeConfig{tune::rope_rows()});
  ask(AppendConfig{tune::append_rows()});
  for (int kind = 0; kind <= static_cast<int>(index::Kind::segment_packbits); ++kind) {
    ask(IndexConfig{static_cast<index::Kind>(kind), tune::index_rows()});
  }
  for (int kind = 0; kind <= static_cast<int>(sampling::Kind::mask); ++kind) {
    for (std::int64_t size : {1, 32768, 128256, 262144, 300000}) {
      for (std::int64_t rows : {1, 64, 200}) {
        ask(tune::sampling_rows(static_cast<sampling::Kind>(kind), size, rows,
                                {true, 227 << 10, 132}));
      }
    }
  }
  EXPECT_EQ(asked, common);
  for (const std::string& name : names_of_list("minimal", "sm90")) {
    EXPECT_EQ(common.count(name), 1) << name;
  }
}

TEST(Bundle, TheAmdListHasWhatAttentionAsksFor) {
  for (const Architecture architecture : {Architecture::gfx942, Architecture::gfx950}) {
    std::set<std::string> listed, asked;
    for (const std::string& name : names_of_list("amd", name_of(architecture))) {
      if (name.starts_with("attention")) listed.insert(name);
    }
    for (DType dtype : {DType::f16, DType::bf16}) {
      for (int head_dim : {8, 64, 72, 128, 136, 256}) {
        for (std::int64_t rows : {0, 1, 32, 33, 1000}) {
          const auto kernel =
              tune::gpu_attention(architecture, {dtype, dtype, /*rotates=*/false, head_dim}, rows);
          asked.insert(name_of(KernelSpec{architecture, kernel.value().config}));
        }
      }
    }
    EXPECT_EQ(asked, listed);
    const tune::GpuAttentionProblem wide = {DType::bf16, DType::bf16, /*rotates=*/false, 264};
    EXPECT_FALSE(tune::gpu_attention(architecture, wide, 1).has_value());
  }
}

TEST(Targets, DevicesTakeTheirOwnCodeOrThatOfTheNearestBeforeThem) {
  EXPECT_EQ(architecture_of_gpu("sm_80"), Architecture::sm80);
  EXPECT_EQ(architecture_of_gpu("sm_87"), Architecture::sm86);
  EXPECT_EQ(architecture_of_gpu("sm_90"), Architecture::sm90);
  EXPECT_EQ(architecture_of_gpu("sm_103"), Architecture::sm100);
  EXPECT_EQ(architecture_of_gpu("sm_121"), Architecture::sm120);
  EXPECT_EQ(architecture_of_gpu("gfx942"), Architecture::gfx942);
  EXPECT_EQ(architecture_of_gpu("gfx950"), Architecture::gfx950);
  for (const char* name : {"sm_75", "sm_110", "gfx90a", "sm_90x", ""}) {
    EXPECT_THROW(architecture_of_gpu(name), Error) << name;
  }
}

// Whatever compiler this machine has for a GPU tells the launch in its objects.
TEST(Targets, ObjectsSayTheirLaunch) {
  const TestCache cache;
  for (const char* name :
       {"norm.sm80:lanes=256,teams=1,kept=4",
        "attention.gfx942:operand=bfloat16,element_bytes=2,tile_rows=128,k_segments=1,rope=0"}) {
    std::shared_ptr<const Kernel> kernel;
    try {
      kernel = provide(parse_spec(name));
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("no compiler"), std::string::npos) << error.what();
      continue;
    }
    const std::optional<LaunchInfo> info = launch_info_of(kernel->object, kernel->entry);
    ASSERT_TRUE(info.has_value()) << name;
    EXPECT_EQ(info->threads, 256);
    EXPECT_EQ(info->dynamic_shared_bytes, 0);
    EXPECT_FALSE(launch_info_of(kernel->object, "other").has_value());
  }
  EXPECT_FALSE(launch_info_of("no object", "norm").has_value());
}

TEST(Bundle, RefusesKernelsThatSpill) {
  const TestCache cache;
  const auto compiled = [](const KernelSpec& spec) -> std::string {
    try {
      return provide(spec)->object;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("no compiler"), std::string::npos) << error.what();
      return {};
    }
  };
  const KernelSpec small{Architecture::sm90, ActivationConfig{.rows = {32, 8, 0}}};
  const KernelSpec wide{Architecture::sm90, attention::float_config_of(512)};
  const std::string fits = compiled(small), spills = compiled(wide);
  if (spills.empty()) GTEST_SKIP() << "no CUDA compiler";
  EXPECT_NO_THROW(require_registers_only(small, fits));
  try {
    require_registers_only(wide, spills);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("local memory"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("head_dim_qk=512"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace wavefire::generate
