// Plans and runs over time, and memory that lies in unusual ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "cases/allocations.h"
#include "cases/attention_data.h"
#include "wavefire/config.h"

namespace wavefire::cases {
namespace {

AttentionCase mixed_case(DType dtype = DType::bf16) {
  AttentionCase c;
  c.mode = Mode::batch_prefill;
  c.lengths = LengthPattern::mixed;
  c.page_size = 16;
  c.group = 4;
  c.num_kv_heads = 2;
  c.q = c.kv = c.out = dtype;
  c.masks = Masks::causal;
  c.workers = 5;
  return c;
}

void plan(BatchAttention& attention, const AttentionData& data) {
  if (data.attention_case().page_size > 0) {
    attention.plan(data.options, data.qo_indptr.view(), data.page_table(), data.mask());
  } else {
    attention.plan(data.options, data.qo_indptr.view(), data.kv_indptr.view(), data.mask());
  }
}

std::vector<unsigned char> fresh_result(AttentionData& data) {
  BatchAttention attention;
  plan(attention, data);
  attention.run(data.tensors);
  const std::vector<unsigned char> bytes = data.output_bytes();
  data.reset_outputs();
  return bytes;
}

TEST(AttentionRuns, APlanServesAnyNumberOfLayers) {
  AttentionData first(mixed_case());
  AttentionCase other = mixed_case();
  other.unused = Unused::nan;
  AttentionData second(other);  // same lengths and values elsewhere in memory
  const auto expected = fresh_result(first);
  BatchAttention attention;
  plan(attention, first);
  first.clobber_plan_inputs();
  for (int layer = 0; layer < 20; ++layer) {
    AttentionData& data = layer % 2 == 0 ? first : second;
    data.reset_outputs();
    attention.run(data.tensors);
    ASSERT_EQ(data.output_bytes(), expected);
  }
}

TEST(AttentionRuns, AnObjectForgetsItsFormerPlans) {
  std::vector<AttentionCase> cases;
  for (int i = 0; i < 6; ++i) {
    AttentionCase c = mixed_case(i % 2 == 0 ? DType::f32 : DType::f16);
    c.number = i;
    c.lengths = i % 3 == 0 ? LengthPattern::odd_long : LengthPattern::mixed;
    c.page_size = i % 2 == 0 ? 16 : 0;
    c.head_dim_qk = c.head_dim_vo = i % 3 == 1 ? 128 : 40;
    c.masks = i == 4 ? Masks::all : Masks::window;
    c.window_left = 20;
    c.positions = i == 5 ? Positions::rope : i == 2 ? Positions::alibi : Positions::none;
    c.workers = 1 + i;
    cases.push_back(c);
  }
  BatchAttention attention;
  for (int round = 0; round < 2; ++round) {
    for (const AttentionCase& c : cases) {
      AttentionData data(c);
      const auto expected = fresh_result(data);
      plan(attention, data);
      // A run over NaN must leave nothing behind either.
      const auto queries = static_cast<std::size_t>(data.tensors.q.size());
      std::vector<unsigned char> poison(queries * 4, 0xff);
      AttentionTensors tensors = data.tensors;
      tensors.q = TensorView::contiguous(poison.data(), c.q,
                                         {tensors.q.shape[0], tensors.q.shape[1], c.head_dim_qk});
      attention.run(tensors);
      data.reset_outputs();
      attention.run(data.tensors);
      ASSERT_EQ(data.output_bytes(), expected) << to_string(c);
    }
  }
}

TEST(AttentionRuns, ThreadsMayRunOnePlanAtTheSameTime) {
  AttentionData reference(mixed_case());
  const auto expected = fresh_result(reference);
  BatchAttention attention;
  plan(attention, reference);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      AttentionData mine(mixed_case());
      for (int round = 0; round < 5; ++round) {
        mine.reset_outputs();
        attention.run(mine.tensors);
        if (mine.output_bytes() != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(AttentionRuns, NothingIsAllocatedAfterTheFirstRun) {
  const Config before = config();
  Config serial = before;
  serial.parallel = "serial";  // an OpenMP runtime allocates as it likes
  set_config(serial);
  AttentionCase c = mixed_case();
  c.positions = Positions::alibi;
  c.masks = Masks::custom_causal;
  AttentionData data(c);
  BatchAttention attention;
  plan(attention, data);
  attention.run(data.tensors);
  EXPECT_GT(attention.joins(), 0);
  start_counting_allocations();
  for (int i = 0; i < 3; ++i) attention.run(data.tensors);
  EXPECT_EQ(stop_counting_allocations(), 0);
  // Nor does planning the same sizes again, once both of its buffers exist, cost more than messages
  // that nobody reads would.
  for (int i = 0; i < 2; ++i) plan(attention, data);
  attention.run(data.tensors);
  start_counting_allocations();
  plan(attention, data);
  attention.run(data.tensors);
  EXPECT_LT(stop_counting_allocations(), 60);
  set_config(before);
}

TEST(AttentionRuns, TheWorkspaceCountsWhatARunNeeds) {
  AttentionData data(mixed_case());
  BatchAttention attention;
  plan(attention, data);
  EXPECT_GT(attention.work_items(), 0);
  EXPECT_GT(attention.workspace_bytes(), attention.joins());
}

// Pages far apart: offsets pass 2^31 and 2^32 elements. The memory is committed lazily.
TEST(AttentionMemory, OffsetsAreSixtyFourBitsWide) {
  constexpr std::int64_t page_size = 16, heads = 8, dim = 128;
  for (DType dtype : {DType::e4m3fn, DType::f16}) {
    const HostTensor k(dtype, {262145, page_size, heads, dim});
    const HostTensor v(dtype, {262145, page_size, heads, dim});
    const HostTensor q(DType::f32, {1, heads, dim}), out(DType::f32, {1, heads, dim});
    std::mt19937 random(3);
    for (std::int64_t i = 0; i < q.view().size(); ++i) {
      q.view().as<float>()[i] = static_cast<float>(random() % 100) / 50 - 1;
    }
    std::vector<unsigned char> first;
    for (std::int32_t page : {3, 65536, 131071, 131072, 262144}) {
      std::mt19937 values(7);
      for (std::int64_t slot = 0; slot < 3; ++slot) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t d = 0; d < dim; ++d) {
            set(k.view(), {page, slot, h, d}, static_cast<double>(values() % 16) / 8 - 1);
            set(v.view(), {page, slot, h, d}, static_cast<double>(values() % 16) / 8 - 1);
          }
        }
      }
      const HostTensor qo = HostTensor::of(std::vector<std::int32_t>{0, 1});
      const HostTensor indices = HostTensor::of(std::vector<std::int32_t>{page});
      const HostTensor last = HostTensor::of(std::vector<std::int32_t>{3});
      AttentionOptions o;
      o.num_qo_heads = o.num_kv_heads = static_cast<int>(heads);
      o.head_dim_qk = static_cast<int>(dim);
      o.q_dtype = o.o_dtype = DType::f32;
      o.kv_dtype = dtype;
      BatchAttention attention;
      attention.plan(o, qo.view(), {qo.view(), indices.view(), last.view(), 16});
      AttentionTensors t;
      t.q = q.view();
      t.k = k.view();
      t.v = v.view();
      t.out = out.view();
      attention.run(t);
      if (first.empty()) first.assign(out.bytes().begin(), out.bytes().end());
      EXPECT_TRUE(std::ranges::equal(out.bytes(), first)) << name_of(dtype) << " page " << page;
    }
  }
}

TEST(AttentionMemory, RowsFarApartAreReached) {
  constexpr std::int64_t far = std::int64_t{1} << 31;
  const HostTensor k(DType::bf16, {3, 1, 64}, {far, 64, 1}),
      v(DType::bf16, {3, 1, 64}, {far, 64, 1});
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t d = 0; d < 64; ++d) set(v.view(), {j, 0, d}, static_cast<double>(j));
  }
  for (std::int64_t tokens : {1, 20}) {
    const HostTensor q(DType::bf16, {tokens, 1, 64}), out(DType::bf16, {tokens, 1, 64});
    AttentionOptions o;
    o.num_qo_heads = o.num_kv_heads = 1;
    o.head_dim_qk = 64;
    AttentionTensors t;
    t.q = q.view();
    t.k = k.view();
    t.v = v.view();
    t.out = out.view();
    single_attention(o, t);
    for (std::int64_t i = 0; i < tokens; ++i) EXPECT_EQ(get(out.view(), {i, 0, 5}), 1);
  }
}

/// The strides of dimensions of extent 1 say nothing.
TEST(AttentionMemory, StridesOfSingleHeadsAndPagesMayHoldAnything) {
  for (int page_size : {0, 1, 16}) {
    AttentionCase c = mixed_case();
    c.num_kv_heads = 1;
    c.page_size = page_size;
    AttentionData data(c);
    const auto expected = fresh_result(data);
    for (std::int64_t stride : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40}) {
      BatchAttention attention;
      plan(attention, data);
      AttentionTensors t = data.tensors;
      for (TensorView* view : {&t.k, &t.v}) {
        for (int d = 0; d < view->rank; ++d) {
          if (view->shape[d] == 1) view->strides[d] = stride;
        }
      }
      data.reset_outputs();
      attention.run(t);
      EXPECT_EQ(data.output_bytes(), expected) << "page size " << page_size << " stride " << stride;
    }
  }
}

TEST(AttentionMemory, BackwardStridesWork) {
  // Rows in reverse order through negative strides.
  constexpr std::int64_t keys = 40, dim = 64;
  const HostTensor k(DType::f32, {keys, 2, dim}), v(DType::f32, {keys, 2, dim});
  const HostTensor reversed_k(DType::f32, {keys, 2, dim}), reversed_v(DType::f32, {keys, 2, dim});
  std::mt19937 random(1);
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t d = 0; d < dim; ++d) {
        const double x = static_cast<double>(random() % 64) / 32 - 1, y = std::fmod(x * 17, 1);
        set(k.view(), {j, h, d}, x);
        set(v.view(), {j, h, d}, y);
        set(reversed_k.view(), {keys - 1 - j, h, d}, x);
        set(reversed_v.view(), {keys - 1 - j, h, d}, y);
      }
    }
  }
  for (std::int64_t tokens : {1, 9}) {
    const HostTensor q(DType::f32, {tokens, 2, dim});
    for (std::int64_t i = 0; i < q.view().size(); ++i) q.view().as<float>()[i] = 0.1f * (i % 7);
    AttentionOptions o;
    o.num_qo_heads = o.num_kv_heads = 2;
    o.head_dim_qk = static_cast<int>(dim);
    o.q_dtype = o.kv_dtype = o.o_dtype = DType::f32;
    o.causal = true;
    const HostTensor forward(DType::f32, {tokens, 2, dim}), backward(DType::f32, {tokens, 2, dim});
    AttentionTensors t;
    t.q = q.view();
    t.k = k.view();
    t.v = v.view();
    t.out = forward.view();
    single_attention(o, t);
    const auto backwards = [](TensorView view) {
      view.data = view.as<float>() + (view.shape[0] - 1) * view.strides[0];
      view.strides[0] = -view.strides[0];
      return view;
    };
    t.k = backwards(reversed_k.view());
    t.v = backwards(reversed_v.view());
    t.out = backward.view();
    single_attention(o, t);
    EXPECT_TRUE(std::ranges::equal(forward.bytes(), backward.bytes()));
  }
}

/// The same 160 rows as pages in an unusual order and one after the other; v = -k.
struct PagesAndRows {
  static constexpr std::int64_t page_size = 4, pages = 40, dim = 64;
  HostTensor k{DType::f16, {pages, page_size, 2, dim}}, v{DType::f16, {pages, page_size, 2, dim}};
  HostTensor rows_k{DType::f16, {pages * page_size, 2, dim}};
  HostTensor rows_v{DType::f16, {pages * page_size, 2, dim}};
  std::vector<std::int32_t> order = std::vector<std::int32_t>(pages);

  PagesAndRows() {
    for (std::int32_t i = 0; i < pages; ++i) order[static_cast<std::size_t>(i)] = pages - 1 - i;
    std::mt19937 random(1);
    std::shuffle(order.begin() + 10, order.end(), random);
    for (std::int64_t i = 0; i < pages * page_size * 2 * dim; ++i) {
      const std::int64_t j = i / (2 * dim), h = i / dim % 2, d = i % dim;
      const std::int32_t page = order[static_cast<std::size_t>(j / page_size)];
      const double x = static_cast<double>(random() % 64) / 32 - 1;
      set(k.view(), {page, j % page_size, h, d}, x);
      set(v.view(), {page, j % page_size, h, d}, -x);
      set(rows_k.view(), {j, h, d}, x);
      set(rows_v.view(), {j, h, d}, -x);
    }
  }
};

TEST(AttentionMemory, PagesMayBeSharedAndLieInAnyOrder) {
  constexpr std::int64_t page_size = PagesAndRows::page_size, pages = PagesAndRows::pages;
  constexpr std::int64_t dim = PagesAndRows::dim;
  const PagesAndRows data;
  // Two requests over the same pages, the second shorter.
  std::vector<std::int32_t> indices = data.order;
  indices.insert(indices.end(), data.order.begin(), data.order.begin() + 30);
  const HostTensor kv = HostTensor::of(std::vector<std::int32_t>{0, pages, pages + 30});
  const HostTensor table = HostTensor::of(indices);
  const HostTensor last = HostTensor::of(std::vector<std::int32_t>{4, 3});
  for (std::int32_t q_len : {1, 20}) {
    const HostTensor q(DType::f16, {2 * q_len, 4, dim}), out(DType::f16, {2 * q_len, 4, dim});
    for (std::int64_t i = 0; i < q.view().size(); ++i) {
      reference::encode(DType::f16, std::sin(static_cast<double>(i)), q.view().data, i);
    }
    const HostTensor qo = HostTensor::of(std::vector<std::int32_t>{0, q_len, 2 * q_len});
    AttentionOptions o;
    o.num_qo_heads = 4;
    o.num_kv_heads = 2;
    o.head_dim_qk = static_cast<int>(dim);
    o.q_dtype = o.kv_dtype = o.o_dtype = DType::f16;
    o.workers = 1;
    o.allow_split = false;
    BatchAttention attention;
    attention.plan(o, qo.view(), {kv.view(), table.view(), last.view(), page_size});
    AttentionTensors t;
    t.q = q.view();
    t.k = data.k.view();
    t.v = data.v.view();
    t.out = out.view();
    attention.run(t);
    const HostTensor expected(DType::f16, {q_len, 4, dim});
    for (std::int64_t b = 0; b < 2; ++b) {
      AttentionTensors rows = t;
      const std::int64_t keys = b == 0 ? pages * page_size : 29 * page_size + 3;
      rows.q.shape[0] = q_len;
      rows.q.data = q.bytes().data() + b * q_len * 4 * dim * 2;
      rows.k = data.rows_k.view();
      rows.v = data.rows_v.view();
      rows.k.shape[0] = rows.v.shape[0] = keys;
      rows.out = expected.view();
      single_attention(o, rows);
      const std::size_t bytes = expected.bytes().size();
      EXPECT_TRUE(std::ranges::equal(
          out.bytes().subspan(static_cast<std::size_t>(b) * bytes, bytes), expected.bytes()));
    }
  }
}

}  // namespace
}  // namespace wavefire::cases
