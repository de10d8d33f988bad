// From a spec to code that runs: kernels compiled here agree with those built in, a user's source
// does what it says, and what goes wrong is told in the user's terms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/convert.h"
#include "device/cpu/levels.h"
#include "device/cpu/object.h"
#include "generate/compiler.h"
#include "generate/generate.h"
#include "support.h"
#include "wavefire/error.h"

namespace wavefire::generate {
namespace {

/// Of this machine, by the names of `cpu::Level`.
std::string level() { return cpu::name_of(cpu::active_level()); }

class Compiled {
 public:
  explicit Compiled(const KernelSpec& spec)
      : kernel_(provide(spec)), object_(name_of(spec), kernel_->object) {}
  template <class Function>
  Function* function() const {
    return reinterpret_cast<Function*>(object_.find(kernel_->entry));
  }

 private:
  std::shared_ptr<const Kernel> kernel_;
  cpu::Object object_;
};

constexpr int rows = 3, width = 37;  // the last vector of a row is not full at any level

std::vector<std::uint16_t> bf16_values(int count) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = core::to_narrow(DType::bf16, std::sin(static_cast<float>(i)) * 4.f);
  }
  return values;
}

float value_of(std::uint16_t bits) { return core::from_narrow(DType::bf16, bits); }

TEST(Compile, NormAgreesWithTheOneBuiltIn) {
  const TestCache cache;
  const Compiled compiled(parse_spec("norm." + level()));
  const std::vector<std::uint16_t> x = bf16_values(rows * width), weight = bf16_values(width);
  std::vector<std::uint16_t> ours(x.size()), built_in(x.size());
  norm::Params p;
  p.x = x.data();
  p.weight = weight.data();
  p.width = width;
  p.x_stride[0] = p.out_stride[0] = width;
  p.dtype = p.weight_dtype = DType::bf16;
  p.out = ours.data();
  compiled.function<void(const norm::Params&, i64, i64)>()(p, 0, rows);
  p.out = built_in.data();
  cpu::row_kernels().normalize(p, 0, rows);
  EXPECT_EQ(ours, built_in);
  EXPECT_NE(ours, std::vector<std::uint16_t>(x.size()));
}

const char* const squared_relu = R"(// max(x, 0)^2
template <class E>
WF_DEVICE E activate(E x) {
  const E positive = tile::max(x, tile::ElementTraits<E>::splat(0.f));
  return positive * positive;
}
)";

TEST(Compile, AUsersActivationRuns) {
  const TestCache cache;
  for (const std::string& target : {std::string("scalar"), level()}) {
    const Compiled compiled(parse_spec("activation." + target + ":kind=variant", squared_relu));
    const std::vector<std::uint16_t> x = bf16_values(rows * 2 * width);
    std::vector<std::uint16_t> out(static_cast<std::size_t>(rows) * width);
    activation::Params p;
    p.x = x.data();
    p.out = out.data();
    p.width = p.out_stride = width;
    p.x_stride = 2 * width;
    p.dtype = DType::bf16;
    compiled.function<void(const activation::Params&, i64, i64)>()(p, 0, rows);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < width; ++column) {
        const double gate = value_of(x[row * 2 * width + column]);
        const double up = value_of(x[row * 2 * width + width + column]);
        const double expected = std::pow(std::max(gate, 0.), 2) * up;
        // One rounding to bfloat16, and some of float32.
        EXPECT_NEAR(value_of(out[row * width + column]), expected, std::fabs(expected) * 0x1.02p-8)
            << target << ", row " << row << ", column " << column;
      }
    }
  }
}

std::string compile_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::compile);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Compile, AnErrorShowsTheUsersLine) {
  const TestCache cache;
  const char* source = "template <class E>\nWF_DEVICE E activate(E x) {\n  return wrong(x);\n}\n";
  const std::string message =
      compile_error([&] { provide(parse_spec("activation.scalar:kind=variant", source)); });
  EXPECT_NE(message.find("activation.scalar:kind=variant"), std::string::npos) << message;
  EXPECT_NE(message.find("variant:3:"), std::string::npos) << message;
  EXPECT_NE(message.find("wrong"), std::string::npos) << message;
  EXPECT_EQ(cache.count(""), 0) << "nothing of it is kept";
}

TEST(Compile, WithoutACompilerTheErrorSaysHowToGetOne) {
  const TestCache cache;
  Config none = config();
  none.host_compiler = none.nvcc = none.hip_compiler = "/nowhere/compiler";
  set_config(none);
  for (const char* name :
       {"append.scalar", "attention.sm80:operand=bfloat16", "attention.gfx942:operand=bfloat16"}) {
    const std::string message = compile_error([&] { provide(parse_spec(name)); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("/nowhere/compiler"), std::string::npos) << message;
    EXPECT_NE(message.find("install"), std::string::npos) << message;
  }
}

TEST(Compile, TheObserverHearsOfSuccessAndFailure) {
  const TestCache cache;
  std::vector<CompileEvent> events;
  set_compile_observer([&](const CompileEvent& event) { events.push_back(event); });
  provide(parse_spec("append.scalar"));
  provide(parse_spec("append.scalar"));
  EXPECT_THROW(provide(parse_spec("activation.scalar:kind=variant", "nonsense")), Error);
  set_compile_observer({});
  using Stage = CompileEvent::Stage;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].stage, Stage::started);
  EXPECT_EQ(events[0].kernel, "append.scalar");
  EXPECT_EQ(events[1].stage, Stage::finished);
  EXPECT_GT(events[1].seconds, 0.);
  EXPECT_EQ(events[2].stage, Stage::started);
  EXPECT_EQ(events[3].stage, Stage::failed);
}

}  // namespace
}  // namespace wavefire::generate
