// Built-in kernels: the file, the lists of what goes into it, and what devices ask for.
#include "generate/bundle.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

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
  EXPECT_LT(std::filesystem::file_size(path), 1000u) << "compressed";
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

TEST(Bundle, PtxOfAListIsForTheOldestGpuThatTakesIt) {
  constexpr std::string_view ptx[] = {"ptx"};
  const std::string list =
      "rope:lanes=64,teams=1\n"
      "sampling.sm80:lanes=256,blocks=1,kept=4\n"
      "sampling.sm90:lanes=256,blocks=8,kept=4\n"
      "attention.sm90a:operand=bfloat16,tile_rows=128,tile_kv=128,custom_mask=0,tensor_maps=1\n";
  std::vector<std::string> names;
  for (const KernelSpec& spec : specs_of_list(list, ptx)) names.push_back(name_of(spec));
  EXPECT_EQ(names, (std::vector<std::string>{"rope.compute80:lanes=64,teams=1",
                                             "sampling.compute80:lanes=256,blocks=1,kept=4",
                                             "sampling.compute90:lanes=256,blocks=8,kept=4"}));
}

TEST(Bundle, ListsOfTheDefaultBuildAreShort) {
  for (const char* wanted : {"sm80", "sm90", "ptx", "gfx942", "gfx950"}) {
    std::map<std::string, int> counts;
    const char* list = wanted[0] == 'g' ? "amd" : "minimal";
    for (const std::string& name : names_of_list(list, wanted)) {
      const std::size_t dot = name.find('.') + 1;
      const std::string architecture = name.substr(dot, name.find(':') - dot);
      ++counts[architecture];
    }
    for (const auto& [architecture, count] : counts) EXPECT_LE(count, 60) << architecture;
  }
}

TEST(Bundle, AGpuIsGivenItsOwnCodeThenThatOfRelativesThenPtx) {
  const TestCache cache;
  const auto path = cache.folder().parent_path() / "some.bundle";
  const auto spec_for = [](Architecture architecture) {
    return KernelSpec{architecture, RopeConfig{{64, 1, 0}}};
  };
  std::map<std::string, Entry> entries;
  const auto given = [&](const KernelSpec& spec) -> std::string {
    write_bundle(path, entries);
    const auto kernel = find_built_in(spec, Bundle(path));
    return kernel ? kernel->entry + " " + kernel->object : "";
  };
  const auto add = [&](const KernelSpec& spec) {
    entries[kernel_id(spec)] = {text_of(spec), "compiler", name_of(spec.architecture)};
  };
  const KernelSpec ada = spec_for(Architecture::sm89), blackwell = spec_for(Architecture::sm120);
  EXPECT_EQ(given(ada), "");
  add(spec_for(Architecture::compute80));
  EXPECT_EQ(given(ada), "rope_compute80_lanes_64_teams_1 compute80");
  EXPECT_EQ(given(blackwell), "rope_compute80_lanes_64_teams_1 compute80");
  EXPECT_EQ(given(spec_for(Architecture::gfx942)), "");
  add(spec_for(Architecture::sm80));
  EXPECT_EQ(given(ada), "rope_sm80_lanes_64_teams_1 sm80");
  EXPECT_EQ(given(blackwell), "rope_compute80_lanes_64_teams_1 compute80");
  add(ada);
  EXPECT_EQ(given(ada), "rope_sm89_lanes_64_teams_1 sm89");
  EXPECT_EQ(given(spec_for(Architecture::sm86)), "rope_sm80_lanes_64_teams_1 sm80");

  // Clusters are compute90's at least, and nothing before it is asked for them.
  const SamplingConfig clustered{.lanes = 256, .blocks = 8, .kept = 4};
  EXPECT_EQ(given({Architecture::sm120, clustered}), "");
  add({Architecture::compute90, clustered});
  EXPECT_EQ(given({Architecture::sm120, clustered}),
            "sampling_compute90_lanes_256_blocks_8_kept_4 compute90");
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

// A build without a clang for them, or without kernels, has nothing to show.
TEST(Bundle, TheBuildsKernelsForAmdAreFoundAndOfVersion5) {
  constexpr char code_object_version_5 = 3;  // ELFABIVERSION_AMDGPU_HSA_V5
  constexpr std::size_t abi_version = 8;     // EI_ABIVERSION
  std::istringstream architectures(WAVEFIRE_BUILT_IN_FOR);
  for (std::string architecture; architectures >> architecture;) {
    if (!architecture.starts_with("gfx")) continue;
    for (const std::string& name : names_of_list("amd", architecture)) {
      const auto kernel = find_built_in(parse_spec(name));
      ASSERT_TRUE(kernel) << name;
      EXPECT_EQ(kernel->object.at(abi_version), code_object_version_5) << name;
    }
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
  EXPECT_EQ(architecture_of_gpu("sm_110"), Architecture::compute90);  // a generation of its own
  for (const char* name : {"sm_75", "gfx90a", "sm_90x", "compute_80", ""}) {
    EXPECT_THROW(architecture_of_gpu(name), Error) << name;
  }
}

TEST(Targets, CodeForAGpuIsItsGenerationsOrPtx) {
  using enum Architecture;
  EXPECT_EQ(code_for(sm80), (std::vector{sm80, compute80}));
  EXPECT_EQ(code_for(sm89), (std::vector{sm89, sm86, sm80, compute80}));
  EXPECT_EQ(code_for(sm90), (std::vector{sm90, compute90, compute80}));
  EXPECT_EQ(code_for(sm120), (std::vector{sm120, compute90, compute80}));
  EXPECT_EQ(code_for(compute90), (std::vector{compute90, compute80}));
  for (const Architecture alone : {scalar, avx512, sm90a, gfx942}) {
    EXPECT_EQ(code_for(alone), std::vector{alone});
  }
}

TEST(Targets, PtxSaysItsLaunch) {
  const std::string ptx =
      "//\n.version 9.0\n.global .align 4 .b8 norm_launch[8] = {128, 0, 0, 0, 128, 64, 1};\n"
      ".global .align 4 .b8 short_launch[8] = {0, 1};\n";
  const std::optional<LaunchInfo> info = launch_info_of(ptx, "norm");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->threads, 128);
  EXPECT_EQ(info->dynamic_shared_bytes, 128 + (64 << 8) + (1 << 16));
  EXPECT_EQ(launch_info_of(ptx, "short").value().threads, 256);
  EXPECT_FALSE(launch_info_of(ptx, "nor").has_value());
  EXPECT_FALSE(launch_info_of(".b8 norm_launch[8] = {12", "norm").has_value());
}

// Whatever compiler this machine has for a GPU tells the launch in its objects.
TEST(Targets, ObjectsSayTheirLaunch) {
  const TestCache cache;
  for (const char* name :
       {"norm.sm80:lanes=256,teams=1,kept=4", "norm.compute80:lanes=256,teams=1,kept=4",
        "norm.gfx942:lanes=256,teams=1,kept=4"}) {
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
  // 1024 threads have 64 registers each, and that many are kept of the row.
  const KernelSpec large{Architecture::sm90, NormConfig{.rows = {32, 32, 8}}};
  const std::string fits = compiled(small), spills = compiled(large);
  if (spills.empty()) GTEST_SKIP() << "no CUDA compiler";
  EXPECT_NO_THROW(require_registers_only(small, fits));
  try {
    require_registers_only(large, spills);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("local memory"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("teams=32,kept=8"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace wavefire::generate
