// Names of kernels: what is written is read back, and bad text is refused by name.
#include "generate/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "generate/fields.h"
#include "generate/sha256.h"
#include "generate/source.h"
#include "wavefire/error.h"

namespace wavefire::generate {
namespace {

using Random = std::mt19937;

int below(Random& random, int end) { return std::uniform_int_distribution(0, end - 1)(random); }

void set_randomly(Random& random, int& value) { value = 1 + below(random, 65536); }
void set_randomly(Random& random, bool& value) { value = below(random, 2) == 1; }
void set_randomly(Random& random, DType& value) {
  value = static_cast<DType>(below(random, dtype_count));
}
void set_randomly(Random& random, norm::Kind& value) {
  value = static_cast<norm::Kind>(below(random, 2));
}
void set_randomly(Random& random, index::Kind& value) {
  value = static_cast<index::Kind>(below(random, 6));
}
void set_randomly(Random& random, sampling::Kind& value) {
  value = static_cast<sampling::Kind>(below(random, 5));
}
void set_randomly(Random& random, Activation& value) {
  value = static_cast<Activation>(below(random, 4));
}

bool is_possible(const KernelSpec& spec) {
  try {
    check_spec(spec);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A spec that exists, of any operation.
KernelSpec random_spec(Random& random) {
  static const KernelConfig configs[] = {attention::Config{}, NormConfig{},    ActivationConfig{},
                                         MergeConfig{},       RopeConfig{},    AppendConfig{},
                                         IndexConfig{},       SamplingConfig{}};
  for (;;) {
    KernelSpec spec = {static_cast<Architecture>(below(random, architecture_count)),
                       configs[below(random, static_cast<int>(std::size(configs)))]};
    std::visit(
        [&](auto& config) {
          visit_fields(config, [&](std::string_view field, auto& value) {
            // Sizes that exist are rare among all numbers.
            if (below(random, 3) == 0) set_randomly(random, value);
            if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, int>) {
              if (field.starts_with("head_dim")) value = 16 * (1 + below(random, 64));
              if (field == "tile_rows") value = 16 * (1 + below(random, 8));
              if (field == "lanes") value = below(random, 2) * 32;
              if (field == "blocks") value = 1 << below(random, 4);
              if (field == "teams") value = below(random, 9);
              if (field == "kept") value = below(random, 3);
            }
          });
        },
        spec.config);
    if (below(random, 4) == 0) spec.variant = "a\nb=" + std::to_string(below(random, 9)) + ",\n";
    if (is_possible(spec)) return spec;
  }
}

TEST(KernelSpec, TextIsReadBack) {
  Random random(1);
  std::set<std::string> operations, names;
  for (int i = 0; i < 2000; ++i) {
    const KernelSpec spec = random_spec(random);
    const std::string text = text_of(spec);
    ASSERT_EQ(parse_spec(text), spec) << text;
    ASSERT_EQ(text_of(parse_spec(text)), text);
    operations.insert(operation_of(spec));
    names.insert(name_of(spec));
  }
  EXPECT_EQ(operations.size(), 8u);
  EXPECT_GT(names.size(), 300u);
}

TEST(KernelSpec, DifferentKernelsHaveDifferentNamesAndEntries) {
  Random random(2);
  std::vector<KernelSpec> specs;
  std::set<std::string> names, entries;
  for (int i = 0; i < 500; ++i) {
    const KernelSpec spec = random_spec(random);
    if (std::find(specs.begin(), specs.end(), spec) != specs.end()) continue;
    specs.push_back(spec);
    names.insert(name_of(spec));
    entries.insert(entry_of(spec));
    EXPECT_LE(entry_of(spec).size(), 100u);
  }
  EXPECT_EQ(names.size(), specs.size());
  EXPECT_EQ(entries.size(), specs.size());
}

TEST(KernelSpec, FieldsComeInAnyOrder) {
  const KernelSpec spec = parse_spec("norm.avx2:weight_dtype=float32,kind=rms,dtype=float16");
  EXPECT_EQ(name_of(spec), "norm.avx2:dtype=float16,weight_dtype=float32");
}

struct Bad {
  const char* text;
  std::vector<const char*> parts;  // of the message
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class BadText : public testing::TestWithParam<Bad> {};

TEST_P(BadText, IsRefusedByName) {
  try {
    parse_spec(GetParam().text);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    for (const char* part : GetParam().parts) {
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    KernelSpec, BadText,
    testing::Values(Bad{"", {"operation.architecture"}},
                    Bad{"norm", {"'norm'", "operation.architecture"}},
                    Bad{"sum.avx2", {"'operation'", "'sum'", "attention, norm"}},
                    Bad{"norm.avx9", {"'architecture'", "'avx9'", "avx512"}},
                    Bad{"norm.avx2:dtype", {"'dtype'", "field=value"}},
                    Bad{"norm.avx2:size=3", {"'size'", "kind, dtype, weight_dtype"}},
                    Bad{"rope.avx2:size=3", {"'size'", "lanes, teams"}},
                    Bad{"norm.avx2:dtype=int7", {"'dtype'", "'int7'", "bfloat16"}},
                    Bad{"norm.avx2:dtype=int32", {"'dtype'", "int32", "float16"}},
                    Bad{"norm.avx2:kind=layer,weight_dtype=float32", {"'weight_dtype'", "layer"}},
                    Bad{"norm.sm90a", {"sm90a", "CPUs"}},
                    Bad{"norm.sm80", {"lanes=0", "power of 2"}},
                    Bad{"norm.sm80:lanes=64,teams=2", {"lanes=64,teams=2", "one team"}},
                    Bad{"merge.sm80:lanes=32,teams=8,kept=1", {"'kept'", "norm"}},
                    Bad{"sampling.avx2", {"avx2", "sm80"}},
                    Bad{"sampling.sm80:lanes=256,blocks=8", {"'blocks'", "up to 1"}},
                    Bad{"sampling.sm90:lanes=96,blocks=1", {"'lanes'", "96"}},
                    Bad{"sampling.gfx942:lanes=32,blocks=1", {"'lanes'", "from 64"}},
                    Bad{"sampling.gfx950:lanes=256,blocks=8", {"'blocks'", "up to 1"}},
                    Bad{"sampling.sm90:lanes=256,blocks=8,kept=2", {"'kept'", "multiple of 4"}},
                    Bad{"sampling.sm90:kind=draw,lanes=256,blocks=8,kept=4", {"'kept'", "softmax"}},
                    Bad{"norm.avx2:lanes=8", {"lanes=8", "CPUs"}},
                    Bad{"attention.scalar:stages=two", {"'stages'", "'two'", "whole number"}},
                    Bad{"attention.scalar:stages=99999999999", {"'stages'", "whole number"}},
                    Bad{"attention.scalar:stages=-1", {"'stages'", "whole number"}},
                    Bad{"attention.scalar:head_dim_qk=60", {"head_dim", "60", "multiples of 8"}},
                    Bad{"attention.scalar:operand=bfloat16", {"operand", "avx512"}},
                    Bad{"attention.sm90a:operand=float32", {"operand", "float32", "bfloat16"}},
                    Bad{"index.avx2", {"'architecture'", "avx2", "sm80", "gfx942"}},
                    Bad{"activation.avx2:kind=variant", {"'variant'", "missing", "activate"}},
                    Bad{"activation.avx2\nint x;", {"'variant'", "given", "kind=variant"}},
                    Bad{"activation.avx2:kind=variant,variant=0123\nint x;", {"'0123'", "hash"}}));

TEST(KernelSpec, HashIsSha256) {
  // FIPS 180-4's examples, and one that fills a block.
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Source, NamesTheKernelAndTheUsersLines) {
  const std::string text = source_of(parse_spec("activation.avx2:kind=variant", "// first\n"));
  EXPECT_TRUE(text.starts_with("// activation.avx2:kind=variant,variant=")) << text;
  EXPECT_NE(text.find("#line 1 \"variant\"\n// first\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace wavefire::generate
