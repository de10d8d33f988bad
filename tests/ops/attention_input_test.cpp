// Bad input: one line with operation, argument, value and what is accepted; nothing is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "cases/host_tensor.h"
#include "wavefire/attention.h"
#include "wavefire/error.h"

namespace wavefire::cases {
namespace {

/// A good call, to be spoilt: requests of (3, 5) and (1, 4) tokens on pages of 2.
struct Call {
  AttentionOptions options;
  HostTensor qo = HostTensor::of(std::vector<std::int32_t>{0, 3, 4});
  HostTensor kv = HostTensor::of(std::vector<std::int32_t>{0, 3, 5});
  HostTensor pages = HostTensor::of(std::vector<std::int32_t>{4, 0, 2, 1, 3});
  HostTensor last = HostTensor::of(std::vector<std::int32_t>{1, 2});
  HostTensor rows = HostTensor::of(std::vector<std::int32_t>{0, 5, 9});
  HostTensor q{DType::f32, {4, 4, 16}}, out{DType::f32, {4, 4, 16}}, lse{DType::f32, {4, 4}};
  HostTensor k{DType::f32, {5, 2, 2, 16}}, v{DType::f32, {5, 2, 2, 16}};
  HostTensor ragged_k{DType::f32, {9, 2, 16}}, ragged_v{DType::f32, {9, 2, 16}};
  HostTensor heads = HostTensor::of(std::vector<float>{1, 1, 1, 1});
  HostTensor kv_heads = HostTensor::of(std::vector<float>{1, 1});
  HostTensor bits = HostTensor::of_bytes(DType::b1, std::vector<std::uint8_t>(19, 1));
  HostTensor packed = HostTensor::of_bytes(DType::u8, {0xff, 0xff, 0xff});
  HostTensor packed_indptr = HostTensor::of(std::vector<std::int32_t>{0, 2, 3});
  TensorView qo_indptr = qo.view(), kv_rows = rows.view();
  PageTable table{kv.view(), pages.view(), last.view(), 2};
  CustomMask mask;
  AttentionTensors tensors;
  bool paged = true;

  Call() {
    options.num_qo_heads = 4;
    options.num_kv_heads = 2;
    options.head_dim_qk = 16;
    options.q_dtype = options.kv_dtype = options.o_dtype = DType::f32;
    for (HostTensor* tensor : {&q, &k, &v, &ragged_k, &ragged_v}) tensor->fill(0.5);
    tensors.q = q.view();
    tensors.k = k.view();
    tensors.v = v.view();
    tensors.out = out.view();
    tensors.lse = lse.view();
    out.fill(-7);
    lse.fill(-7);
  }
  void use_rows() {
    paged = false;
    tensors.k = ragged_k.view();
    tensors.v = ragged_v.view();
  }
  void plan(BatchAttention& attention) const {
    if (paged) {
      attention.plan(options, qo_indptr, table, mask);
    } else {
      attention.plan(options, qo_indptr, kv_rows, mask);
    }
  }
  bool written() const {
    const auto touched = [](const HostTensor& tensor) {
      const auto* data = tensor.view().as<float>();
      return std::any_of(data, data + tensor.view().size(), [](float x) { return x != -7; });
    };
    return touched(out) || touched(lse);
  }
};

TensorView with(TensorView view, const std::function<void(TensorView&)>& change) {
  change(view);
  return view;
}
HostTensor ints(const std::vector<std::int32_t>& values) { return HostTensor::of(values); }

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

struct BadCall {
  const char* what;
  std::function<void(Call&)> spoil;
  const char* argument;  // with quotes in the message
  const char* value;
  const char* accepted;
};

void set_int(const HostTensor& tensor, std::int64_t at, std::int32_t value) {
  tensor.view().as<std::int32_t>()[at] = value;
}

const BadCall bad_plans[] = {
    {"heads do not divide", [](Call& c) { c.options.num_qo_heads = 5; }, "num_qo_heads", "5",
     "multiple of num_kv_heads (2)"},
    {"no heads", [](Call& c) { c.options.num_kv_heads = 0; }, "num_kv_heads", "0", "1 or more"},
    {"head dim", [](Call& c) { c.options.head_dim_qk = 20; }, "head_dim_qk", "20", "multiple of 8"},
    {"head dim too large", [](Call& c) { c.options.head_dim_qk = 576; }, "head_dim_qk", "576",
     "8 to 512"},
    {"value dim", [](Call& c) { c.options.head_dim_vo = -8; }, "head_dim_vo", "-8",
     "multiple of 8"},
    {"q dtype", [](Call& c) { c.options.q_dtype = DType::e4m3fn; }, "q_dtype", "float8_e4m3fn",
     "bfloat16"},
    {"kv dtype", [](Call& c) { c.options.kv_dtype = DType::i32; }, "kv_dtype", "int32", "float8"},
    {"output dtype", [](Call& c) { c.options.o_dtype = DType::u8; }, "o_dtype", "uint8", "float16"},
    {"window", [](Call& c) { c.options.window_left = -2; }, "window_left", "-2", "-1 (no bound)"},
    {"cap", [](Call& c) { c.options.logits_soft_cap = -1; }, "logits_soft_cap", "-1",
     "0 (none) or a number from 2^-100 to 2^100"},
    {"cap NaN", [](Call& c) { c.options.logits_soft_cap = nan; }, "logits_soft_cap", "nan",
     "0 (none) or a number from 2^-100 to 2^100"},
    {"scale NaN", [](Call& c) { c.options.sm_scale = nan; }, "sm_scale", "nan", "finite"},
    {"scale inf", [](Call& c) { c.options.sm_scale = inf; }, "sm_scale", "inf", "finite"},
    {"rope scale", [](Call& c) { c.options.rope.scale = 0; }, "rope_scale", "0", "positive"},
    {"rope theta", [](Call& c) { c.options.rope.theta = nan; }, "rope_theta", "nan", "positive"},
    {"rope smoothing", [](Call& c) { c.options.rope = {8, 1e4f, 4, 1, 8192}; },
     "rope high_freq_factor", "1", "more than low_freq_factor (4)"},
    {"rope context", [](Call& c) { c.options.rope = {8, 1e4f, 1, 4, 0}; }, "rope old_context_len",
     "0", "positive"},
    {"split", [](Call& c) { c.options.fixed_split_kv = -1; }, "fixed_split_kv", "-1", "or more"},
    {"workers", [](Call& c) { c.options.workers = -1; }, "workers", "-1", "or more"},

    {"indptr absent", [](Call& c) { c.qo_indptr = {}; }, "qo_indptr", "absent", "a tensor"},
    {"indptr int64", [](Call& c) { c.qo_indptr.dtype = DType::i64; }, "qo_indptr", "int64",
     "int32"},
    {"indptr rank",
     [](Call& c) { c.qo_indptr = TensorView::contiguous(c.qo.view().data, DType::i32, {1, 3}); },
     "qo_indptr", "[1, 3]", "rank 1"},
    {"indptr empty", [](Call& c) { c.qo_indptr.shape[0] = 0; }, "qo_indptr", "[0]", "one entry"},
    {"indptr on a device", [](Call& c) { c.qo_indptr.device = {DeviceType::cuda, 1}; }, "qo_indptr",
     "cuda:1", "cpu"},
    {"indptr first entry", [](Call& c) { set_int(c.qo, 0, 1); }, "qo_indptr", "1 at 0",
     "0 as the first"},
    {"indptr decreases", [](Call& c) { set_int(c.qo, 2, 2); }, "qo_indptr", "2 at 2 after 3",
     "do not decrease"},
    {"kv_indptr decreases", [](Call& c) { set_int(c.kv, 1, 6); }, "kv_indptr", "5 at 2 after 6",
     "do not decrease"},
    {"kv_indptr length", [](Call& c) { c.table.indptr.shape[0] = 2; }, "kv_indptr", "[2]",
     "shape [3]"},
    {"rows' indptr length",
     [](Call& c) {
       c.use_rows();
       c.kv_rows.shape[0] = 2;
     },
     "kv_indptr", "[2]", "shape [3]"},
    {"rows' indptr first",
     [](Call& c) {
       c.use_rows();
       set_int(c.rows, 0, -1);
     },
     "kv_indptr", "-1 at 0", "0 as the first"},
    {"page size", [](Call& c) { c.table.page_size = 0; }, "page_size", "0", "1 or more"},
    {"too few indices", [](Call& c) { c.table.indices.shape[0] = 4; }, "kv_indices", "[4]",
     "at least 5"},
    {"index below 0", [](Call& c) { set_int(c.pages, 3, -2); }, "kv_indices", "-2 at 3",
     "0 or more"},
    {"last page too long", [](Call& c) { set_int(c.last, 1, 3); }, "kv_last_page_len", "3 at 1",
     "1 to page_size (2)"},
    {"last page empty", [](Call& c) { set_int(c.last, 0, 0); }, "kv_last_page_len", "0 at 0",
     "1 to page_size (2)"},
    {"last pages missing", [](Call& c) { c.table.last_page_len.shape[0] = 1; }, "kv_last_page_len",
     "[1]", "shape [2]"},
    {"request too long", [](Call& c) { c.table.page_size = 1 << 30; }, "kv_indptr", "2147483649",
     "up to 1073741824"},

    {"mask too short",
     [](Call& c) {
       c.mask.bits = c.bits.view();
       --c.mask.bits.shape[0];
     },
     "custom_mask", "[18]", "shape [19]"},
    {"mask dtype", [](Call& c) { c.mask.bits = c.q.view(); }, "custom_mask", "float32", "bool"},
    {"mask rank",
     [](Call& c) { c.mask.bits = TensorView::contiguous(c.bits.view().data, DType::b1, {1, 19}); },
     "custom_mask", "[1, 19]", "rank 1"},
    {"mask strided",
     [](Call& c) {
       c.mask.bits = c.bits.view();
       c.mask.bits.strides[0] = 2;
     },
     "custom_mask", "strides 2", "contiguous"},
    {"bools with an indptr", [](Call& c) { c.mask = {c.bits.view(), c.packed_indptr.view()}; },
     "custom_mask indptr", "given", "packed bits"},
    {"packed without indptr", [](Call& c) { c.mask.bits = c.packed.view(); }, "custom_mask indptr",
     "absent", "a tensor"},
    {"packed too short",
     [](Call& c) {
       c.mask = {c.packed.view(), c.packed_indptr.view()};
       --c.mask.bits.shape[0];
     },
     "custom_mask", "[2]", "at least 3 bytes"},
    {"packed in bits",
     [](Call& c) {
       c.mask = {c.packed.view(), c.packed_indptr.view()};
       set_int(c.packed_indptr, 1, 1);
     },
     "custom_mask indptr", "1 bytes for request 0", "at least 2 bytes"},
};

using V = TensorView;
const HostTensor half(DType::f16, {4, 4, 16});

const BadCall bad_runs[] = {
    {"q absent", [](Call& c) { c.tensors.q = {}; }, "q", "absent", "a tensor"},
    {"q dtype", [](Call& c) { c.tensors.q = half.view(); }, "q", "float16", "float32"},
    {"q rank", [](Call& c) { c.tensors.q.rank = 2; }, "q", "[4, 4]", "shape [4, 4, 16]"},
    {"q tokens", [](Call& c) { c.tensors.q.shape[0] = 3; }, "q", "[3, 4, 16]", "shape [4, 4, 16]"},
    {"q heads", [](Call& c) { c.tensors.q.shape[1] = 2; }, "q", "[4, 2, 16]", "shape [4, 4, 16]"},
    {"q strides", [](Call& c) { c.tensors.q.strides[2] = 4; }, "q", "strides 64, 16, 4",
     "stride 1"},
    {"q device", [](Call& c) { c.tensors.q.device = {DeviceType::hip, 0}; }, "q", "hip:0", "cpu"},
    {"out absent", [](Call& c) { c.tensors.out = {}; }, "out", "absent", "a tensor"},
    {"out dtype", [](Call& c) { c.tensors.out = half.view(); }, "out", "float16", "float32"},
    {"out shape", [](Call& c) { c.tensors.out.shape[2] = 8; }, "out", "[4, 4, 8]",
     "shape [4, 4, 16]"},
    {"out shares elements", [](Call& c) { c.tensors.out.strides[0] = 0; }, "out", "strides 0",
     "distinct"},
    {"out last stride", [](Call& c) { c.tensors.out.strides[2] = 2; }, "out", "strides 64, 16, 2",
     "stride 1"},
    {"lse dtype", [](Call& c) { c.tensors.lse.dtype = DType::f16; }, "lse", "float16", "float32"},
    {"lse shape", [](Call& c) { c.tensors.lse.shape[1] = 2; }, "lse", "[4, 2]", "shape [4, 4]"},
    {"k absent", [](Call& c) { c.tensors.k = {}; }, "k", "absent", "a tensor"},
    {"k dtype", [](Call& c) { c.tensors.k.dtype = DType::bf16; }, "k", "bfloat16", "float32"},
    {"k page size", [](Call& c) { c.tensors.k.shape[1] = 1; }, "k", "[5, 1, 2, 16]",
     "shape [*, 2, 2, 16]"},
    {"k last stride", [](Call& c) { c.tensors.k.strides[3] = 2; }, "k", "strides 64, 32, 16, 2",
     "stride 1"},
    {"k layout",
     [](Call& c) { c.tensors.k = V::contiguous(c.k.view().data, DType::f32, {5, 2, 1, 32}); }, "k",
     "[5, 2, 1, 32]", "shape [*, 2, 2, 16]"},
    {"page beyond k", [](Call& c) { c.tensors.k.shape[0] = 4; }, "kv_indices", "page 4",
     "below 4, the pages of 'k'"},
    {"page beyond v", [](Call& c) { c.tensors.v.shape[0] = 3; }, "kv_indices", "page 4",
     "below 3, the pages of 'v'"},
    {"v dims", [](Call& c) { c.tensors.v.shape[3] = 8; }, "v", "[5, 2, 2, 8]",
     "shape [*, 2, 2, 16]"},
    {"v device", [](Call& c) { c.tensors.v.device = {DeviceType::cuda, 0}; }, "v", "cuda:0", "cpu"},
    {"too few rows",
     [](Call& c) {
       c.use_rows();
       c.tensors.k.shape[0] = 8;
     },
     "k", "[8, 2, 16]", "at least 9 rows"},
    {"rows of the other layout",
     [](Call& c) {
       c.use_rows();
       c.tensors.v = V::contiguous(c.v.view().data, DType::f32, {2, 9, 16});
     },
     "v", "[2, 9, 16]", "shape [*, 2, 16]"},
    {"tail dims",
     [](Call& c) { c.tensors.k_tail = with(c.k.view(), [](V& v) { v.shape[3] = 4; }); }, "k_tail",
     "[5, 2, 2, 4]", "multiple of 8 columns"},
    {"tail leaves nothing", [](Call& c) { c.tensors.k_tail = c.k.view(); }, "k_tail",
     "[5, 2, 2, 16]", "fewer than head_dim_qk (16)"},
    {"k not shortened by its tail",
     [](Call& c) { c.tensors.k_tail = with(c.k.view(), [](V& v) { v.shape[3] = 8; }); }, "k",
     "[5, 2, 2, 16]", "shape [*, 2, 2, 8]"},
    {"q scale", [](Call& c) { c.tensors.q_scale = nan; }, "q_scale", "nan", "finite"},
    {"k scale", [](Call& c) { c.tensors.k_scale = inf; }, "k_scale", "inf", "finite"},
    {"v scale", [](Call& c) { c.tensors.v_scale = -inf; }, "v_scale", "-inf", "finite"},
    {"scales overflow",
     [](Call& c) {
       c.tensors.q_scale = 1e30f;
       c.tensors.k_scale = 1e30f;
     },
     "q_scale", "1e+30", "finite product"},
    {"head scale NaN",
     [](Call& c) {
       c.heads.view().as<float>()[2] = nan;
       c.tensors.q_head_scale = c.heads.view();
     },
     "q_head_scale", "nan at 2", "finite"},
    {"head scale count", [](Call& c) { c.tensors.k_head_scale = c.heads.view(); }, "k_head_scale",
     "[4]", "shape [2]"},
    {"head scale dtype",
     [](Call& c) {
       c.tensors.v_head_scale = with(c.kv_heads.view(), [](V& v) { v.dtype = DType::i32; });
     },
     "v_head_scale", "int32", "float32"},
    {"sink NaN",
     [](Call& c) {
       c.heads.view().as<float>()[0] = nan;
       c.tensors.sinks = c.heads.view();
     },
     "sinks", "nan at 0", "or -inf"},
    {"sink inf",
     [](Call& c) {
       c.heads.view().as<float>()[3] = inf;
       c.tensors.sinks = c.heads.view();
     },
     "sinks", "inf at 3", "or -inf"},
    {"sink strided",
     [](Call& c) { c.tensors.sinks = with(c.heads.view(), [](V& v) { v.strides[0] = 2; }); },
     "sinks", "strides 2", "contiguous"},
    {"slopes without ALiBi", [](Call& c) { c.tensors.alibi_slopes = c.heads.view(); },
     "alibi_slopes", "given", "ALIBI"},
};

/// Runs f, which must throw a one-line message that says all of it.
template <class F>
void expect_message(const BadCall& bad, const char* operation, F&& f) {
  try {
    f();
    ADD_FAILURE() << bad.what << ": accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << text;
    EXPECT_TRUE(text.starts_with(std::string(operation) + ": '" + bad.argument + "' is ")) << text;
    const std::size_t accepted = text.find("; accepted: ");
    ASSERT_NE(accepted, std::string::npos) << text;
    EXPECT_NE(text.substr(0, accepted).find(bad.value), std::string::npos) << text;
    EXPECT_NE(text.substr(accepted).find(bad.accepted), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(AttentionInput, TheCallThatTheTablesSpoilIsGood) {
  for (bool paged : {true, false}) {
    Call call;
    if (!paged) call.use_rows();
    BatchAttention attention;
    call.plan(attention);
    attention.run(call.tensors);
    EXPECT_TRUE(call.written());
  }
}

TEST(AttentionInput, BadPlansNameArgumentValueAndWhatIsAccepted) {
  for (const BadCall& bad : bad_plans) {
    SCOPED_TRACE(bad.what);
    Call good, call;
    BatchAttention attention;
    good.plan(attention);
    bad.spoil(call);
    expect_message(bad, "attention plan", [&] { call.plan(attention); });
    attention.run(good.tensors);  // the plan before still stands
    EXPECT_TRUE(good.written());
  }
}

TEST(AttentionInput, BadRunsNameArgumentValueAndWhatIsAcceptedAndWriteNothing) {
  for (const BadCall& bad : bad_runs) {
    SCOPED_TRACE(bad.what);
    Call call;
    bad.spoil(call);
    BatchAttention attention;
    call.plan(attention);
    expect_message(bad, "attention", [&] { attention.run(call.tensors); });
    EXPECT_FALSE(call.written());
  }
}

TEST(AttentionInput, RunningWithoutAPlanIsAnError) {
  Call call;
  BatchAttention attention;
  EXPECT_FALSE(attention.planned());
  EXPECT_EQ(attention.workspace_bytes(), 0);
  EXPECT_THROW(attention.run(call.tensors), Error);
  call.plan(attention);
  const BatchAttention moved = std::move(attention);
  EXPECT_THROW(attention.run(call.tensors), Error);  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(call.written());
  call.plan(attention);  // a moved-from object may be planned anew
  attention.run(call.tensors);
  moved.run(call.tensors);
}

TEST(AttentionInput, IndexArraysMayHaveAnyStride) {
  Call call;
  BatchAttention attention;
  call.plan(attention);
  attention.run(call.tensors);
  const std::vector<unsigned char> expected(call.out.bytes().begin(), call.out.bytes().end());
  const HostTensor qo = ints({0, -1, 3, -1, 4}), kv = ints({0, -1, 3, -1, 5});
  const HostTensor pages = ints({4, 9, 0, 9, 2, 9, 1, 9, 3}), last = ints({1, -1, 2});
  const auto strided = [](const HostTensor& tensor) {
    TensorView view = tensor.view();
    view.shape[0] = (view.shape[0] + 1) / 2;
    view.strides[0] = 2;
    return view;
  };
  call.qo_indptr = strided(qo);
  call.table = {strided(kv), strided(pages), strided(last), 2};
  call.out.fill(-7);
  call.plan(attention);
  attention.run(call.tensors);
  EXPECT_TRUE(std::ranges::equal(call.out.bytes(), expected));
}

TEST(AttentionInput, SingleRequestsAreCheckedAlike) {
  Call call;
  AttentionTensors t = call.tensors;
  t.k = call.ragged_k.view();
  t.v = call.ragged_v.view();
  single_attention(call.options, t);
  EXPECT_TRUE(call.written());
  call.out.fill(-7);
  call.lse.fill(-7);
  t.v.shape[0] = 8;
  EXPECT_THROW(single_attention(call.options, t), Error);
  t.v = call.ragged_v.view();
  t.k = {};
  EXPECT_THROW(single_attention(call.options, t), Error);
  EXPECT_FALSE(call.written());
}

}  // namespace
}  // namespace wavefire::cases
