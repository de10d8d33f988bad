// Appending to paged caches over a table of dtypes, layouts and page sizes: every slot of every
// page, byte for byte.
#include <gtest/gtest.h>

#include <array>

#include "cases/rows.h"
#include "wavefire/page.h"

namespace wavefire::cases {
namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int code = 0; code < dtype_count; ++code) all.push_back(static_cast<DType>(code));
  return all;
}
const std::vector<DType> dtypes = all_dtypes();

/// Tables of three requests over a pool of `pages` pages in no order; request 1 has none.
struct Tables {
  int page_size;
  HostTensor indptr = HostTensor::of(std::vector<std::int32_t>{0, 3, 3, 5});
  HostTensor indices = HostTensor::of(std::vector<std::int32_t>{6, 0, 4, 2, 7});
  HostTensor last;
  explicit Tables(int size)
      : page_size(size), last(HostTensor::of(std::vector<std::int32_t>{1, 0, size})) {}
  PageTable view() const { return {indptr.view(), indices.view(), last.view(), page_size}; }
};
constexpr std::int64_t pool = 8;

/// (request, position) of each token, all different; a request below 0 is padding.
struct Tokens {
  std::vector<std::int32_t> request, position;
  explicit Tokens(int page_size) {
    const std::vector<std::pair<int, int>> all = {
        {0, 0}, {2, 2 * page_size - 1}, {-1, 12345}, {0, 3 * page_size - 1}, {-7, -5},
        {2, 0}, {0, page_size}};
    for (auto [r, p] : all) {
      request.push_back(r);
      position.push_back(p);
    }
  }
};

/// The cache as [pages, slots, heads, dim], whatever its layout.
TensorView as_nhd(TensorView cache, KvLayout layout) {
  if (layout == KvLayout::hnd) {
    std::swap(cache.shape[1], cache.shape[2]);
    std::swap(cache.strides[1], cache.strides[2]);
  }
  return cache;
}

/// How K and V lie: two tensors, the halves of one on an axis behind the pages, or side by side in
/// the last dimension.
enum class Packing { apart, halves, side_by_side };

struct Caches {
  HostTensor first, second;
  TensorView k, v;

  Caches(DType dtype, KvLayout layout, Packing packing, std::array<std::int64_t, 4> nhd) {
    const auto [pages, slots, heads, dim] = nhd;
    const std::int64_t a = layout == KvLayout::nhd ? slots : heads;
    const std::int64_t b = layout == KvLayout::nhd ? heads : slots;
    switch (packing) {
      case Packing::apart:
        first = HostTensor(dtype, {pages, a, b, dim}, {a * (b * dim + 5), b * dim + 5, dim, 1});
        second = HostTensor(dtype, {pages, a, b, dim});
        k = first.view();
        v = second.view();
        break;
      case Packing::halves:
        first = HostTensor(dtype, {pages, 2 * a, b, dim});
        k = v = changed(first.view(), [&](auto& view) { view.shape[1] = a; });
        v.data = v.as<char>() + a * b * dim * size_of(dtype);
        break;
      case Packing::side_by_side:
        first = HostTensor(dtype, {pages, a, b, 2 * dim});
        k = v = changed(first.view(), [&](auto& view) { view.shape[3] = dim; });
        v.data = v.as<char>() + dim * size_of(dtype);
        break;
    }
  }
};

HostTensor numbered(DType dtype, const std::vector<std::int64_t>& shape, Layout layout, int salt) {
  HostTensor tensor(dtype, shape, strides_of(shape, layout));
  std::mt19937 random(static_cast<unsigned>(salt));
  for (unsigned char& byte : tensor.bytes()) byte = static_cast<unsigned char>(random());
  return tensor;
}

std::vector<unsigned char> bytes_at(const TensorView& view, const std::vector<std::int64_t>& i) {
  const auto* p = view.as<const unsigned char>() + offset_of(view, i) * size_of(view.dtype);
  return {p, p + size_of(view.dtype)};
}

TEST(Append, WritesEachTokenToItsSlotAndNothingElse) {
  constexpr int page_sizes[] = {1, 3, 16, 64};
  constexpr std::int64_t dims[] = {1, 8, 24, 128};
  for_covering({dtype_count, 2, 3, 4, 4, 3, 2}, [&](const std::vector<int>& f) {
    const DType dtype = dtypes[f[0]];
    const KvLayout layout = f[1] == 0 ? KvLayout::nhd : KvLayout::hnd;
    const int page_size = page_sizes[f[3]];
    const std::int64_t heads = 1 + 2 * f[6], dim = dims[f[4]];
    const Tables tables(page_size);
    const Tokens tokens(page_size);
    const auto count = static_cast<std::int64_t>(tokens.request.size());
    const HostTensor key = numbered(dtype, {count, heads, dim}, layouts[f[5]], 1);
    const HostTensor value = numbered(dtype, {count, heads, dim}, layouts[f[5]], 2);
    Caches caches(dtype, layout, static_cast<Packing>(f[2]), {pool, page_size, heads, dim});
    for (HostTensor* memory : {&caches.first, &caches.second}) {
      std::fill(memory->bytes().begin(), memory->bytes().end(), 0xa5);
    }
    append_paged_kv_cache(key.view(), value.view(), HostTensor::of(tokens.request).view(),
                          HostTensor::of(tokens.position).view(), caches.k, caches.v, tables.view(),
                          layout);
    const std::vector<unsigned char> untouched(static_cast<std::size_t>(size_of(dtype)), 0xa5);
    for (int side = 0; side < 2; ++side) {
      const TensorView cache = as_nhd(side == 0 ? caches.k : caches.v, layout);
      const TensorView& rows = side == 0 ? key.view() : value.view();
      std::vector<std::int64_t> owner(static_cast<std::size_t>(pool * page_size), -1);
      for (std::int64_t t = 0; t < count; ++t) {
        const std::int64_t r = tokens.request[static_cast<std::size_t>(t)];
        const std::int64_t p = tokens.position[static_cast<std::size_t>(t)];
        if (r < 0) continue;
        const auto* indptr = tables.indptr.view().as<std::int32_t>();
        const std::int64_t page =
            tables.indices.view().as<std::int32_t>()[indptr[r] + p / page_size];
        owner[static_cast<std::size_t>(page * page_size + p % page_size)] = t;
      }
      for_elements({pool, page_size, heads, dim}, [&](const auto& i) {
        const std::int64_t t = owner[static_cast<std::size_t>(i[0] * page_size + i[1])];
        const auto expected = t < 0 ? untouched : bytes_at(rows, {t, i[2], i[3]});
        ASSERT_EQ(bytes_at(cache, i), expected) << "page " << i[0] << " slot " << i[1];
      });
    }
  });
}

TEST(Append, PagesBeyond31BitsOfOffset) {
  // 16 slots of 8 heads of 128: pages are 16 Ki elements apart. Memory is committed lazily.
  const std::int64_t pages = 262145;
  HostTensor cache(DType::f16, {pages, 16, 8, 128});
  const HostTensor key = numbered(DType::f16, {4, 8, 128}, Layout::packed, 1);
  const HostTensor indptr = HostTensor::of(std::vector<std::int32_t>{0, 4});
  const HostTensor indices = HostTensor::of(std::vector<std::int32_t>{3, 131071, 131072, 262144});
  const HostTensor last = HostTensor::of(std::vector<std::int32_t>{16});
  const HostTensor request = HostTensor::of(std::vector<std::int32_t>{0, 0, 0, 0});
  const HostTensor position = HostTensor::of(std::vector<std::int32_t>{5, 21, 37, 53});
  append_paged_kv_cache(key.view(), key.view(), request.view(), position.view(), cache.view(),
                        cache.view(), {indptr.view(), indices.view(), last.view(), 16},
                        KvLayout::nhd);
  for (std::int64_t t = 0; t < 4; ++t) {
    const std::int64_t page = indices.view().as<std::int32_t>()[t];
    for_elements({8, 128}, [&](const auto& i) {
      ASSERT_EQ(bytes_at(cache.view(), {page, 5, i[0], i[1]}),
                bytes_at(key.view(), {t, i[0], i[1]}));
    });
  }
}

TEST(Append, DimensionsOfOneHaveAnyStride) {
  for (std::int64_t stride : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40}) {
    HostTensor cache(DType::f32, {8, 4, 1, 16});
    const TensorView view = changed(cache.view(), [&](auto& v) { v.strides[2] = stride; });
    const HostTensor key = numbered(DType::f32, {1, 1, 16}, Layout::packed, 1);
    const Tables tables(4);
    append_paged_kv_cache(changed(key.view(), [&](auto& v) { v.strides[1] = stride; }), key.view(),
                          HostTensor::of(std::vector<std::int32_t>{2}).view(),
                          HostTensor::of(std::vector<std::int32_t>{6}).view(), view, view,
                          tables.view(), KvLayout::nhd);
    for (std::int64_t d = 0; d < 16; ++d) {
      ASSERT_EQ(bytes_at(cache.view(), {7, 2, 0, d}), bytes_at(key.view(), {0, 0, d}));
    }
  }
}

TEST(AppendMla, WritesBothPartsFromTheHalvesOfOneBuffer) {
  for (DType dtype : {DType::bf16, DType::e4m3fn}) {
    const HostTensor rows = numbered(dtype, {7, 576}, Layout::gaps, 3);
    HostTensor cache(dtype, {pool, 4, 576});
    const auto part = [](TensorView view, int axis, std::int64_t begin, std::int64_t size) {
      view.data = view.as<char>() + begin * size_of(view.dtype);
      view.shape[axis] = size;
      return view;
    };
    const Tables tables(4);
    const Tokens tokens(4);
    append_paged_mla_kv_cache(part(rows.view(), 1, 0, 512), part(rows.view(), 1, 512, 64),
                              HostTensor::of(tokens.request).view(),
                              HostTensor::of(tokens.position).view(), part(cache.view(), 2, 0, 512),
                              part(cache.view(), 2, 512, 64), tables.view());
    const std::vector<std::array<std::int64_t, 3>> expected = {// token, page, slot
                                                               {0, 6, 0},
                                                               {1, 7, 3},
                                                               {3, 4, 3},
                                                               {5, 2, 0},
                                                               {6, 0, 0}};
    for (auto [token, page, slot] : expected) {
      for (std::int64_t d = 0; d < 576; ++d) {
        ASSERT_EQ(bytes_at(cache.view(), {page, slot, d}), bytes_at(rows.view(), {token, d}));
      }
    }
  }
}

TEST(Append, BadInputIsNamedAndNothingIsWritten) {
  const Tables tables(4);
  HostTensor key = numbered(DType::f32, {2, 3, 8}, Layout::packed, 1);
  HostTensor cache(DType::f32, {pool, 4, 3, 8});
  cache.fill(-7);
  const TensorView kv = key.view(), cv = cache.view();
  const auto run = [&](std::vector<std::int32_t> requests, std::vector<std::int32_t> positions,
                       const TensorView& k, const TensorView& v, const TensorView& c,
                       const TensorView& d, const PageTable& t) {
    append_paged_kv_cache(k, v, HostTensor::of(requests).view(), HostTensor::of(positions).view(),
                          c, d, t, KvLayout::nhd);
  };
  const PageTable t = tables.view();
  expect_rejected("positions", [&] { run({0, 0}, {0, 12}, kv, kv, cv, cv, t); });
  expect_rejected("positions", [&] { run({0, 0}, {0, -1}, kv, kv, cv, cv, t); });
  expect_rejected("positions", [&] { run({0, 1}, {0, 0}, kv, kv, cv, cv, t); });
  expect_rejected("batch_indices", [&] { run({0, 3}, {0, 0}, kv, kv, cv, cv, t); });
  expect_rejected("batch_indices", [&] { run({0}, {0, 0}, kv, kv, cv, cv, t); });
  expect_rejected("kv_indices", [&] {
    const TensorView few = changed(cv, [](auto& v) { v.shape[0] = 4; });
    run({0, 0}, {0, 11}, kv, kv, few, cv, t);
  });
  expect_rejected("kv_indices", [&] {
    PageTable short_table = t;
    short_table.indices.shape[0] = 4;
    run({0, 0}, {0, 1}, kv, kv, cv, cv, short_table);
  });
  const HostTensor decreasing = HostTensor::of(std::vector<std::int32_t>{0, 3, 2, 5});
  const HostTensor late = HostTensor::of(std::vector<std::int32_t>{1, 3, 3, 5});
  for (const HostTensor* indptr : {&decreasing, &late}) {
    expect_rejected("kv_indptr", [&] {
      PageTable bad = t;
      bad.indptr = indptr->view();
      run({0, 0}, {0, 1}, kv, kv, cv, cv, bad);
    });
  }
  expect_rejected("append_key", [&] {
    run({0, 0}, {0, 1}, changed(kv, [](auto& v) { v.strides[2] = 2; }), kv, cv, cv, t);
  });
  expect_rejected("append_value", [&] {
    run({0, 0}, {0, 1}, kv, changed(kv, [](auto& v) { v.dtype = DType::i32; }), cv, cv, t);
  });
  expect_rejected("k_cache", [&] {
    run({0, 0}, {0, 1}, kv, kv, changed(cv, [](auto& v) { v.dtype = DType::i32; }), cv, t);
  });
  expect_rejected("k_cache", [&] {
    run({0, 0}, {0, 1}, kv, kv, changed(cv, [](auto& v) { v.shape[2] = 2; }), cv, t);
  });
  expect_rejected("v_cache", [&] {
    run({0, 0}, {0, 1}, kv, kv, cv, changed(cv, [](auto& v) { v.strides[3] = 2; }), t);
  });
  for (double v : values_of(cv)) ASSERT_EQ(v, -7);
  run({}, {}, changed(kv, [](auto& v) { v.shape[0] = 0; }),
      changed(kv, [](auto& v) { v.shape[0] = 0; }), cv, cv, t);
}

// A request with pages has 1 to page_size tokens on the last one. Tables has request 1 without.
TEST(Append, LastPagesAreChecked) {
  const Tables tables(4);
  HostTensor rows = numbered(DType::f32, {1, 3, 8}, Layout::packed, 1);
  HostTensor cache(DType::f32, {pool, 4, 3, 8}), lengths(DType::i32, {3});
  const HostTensor zero = HostTensor::of(std::vector<std::int32_t>{0});
  const auto run = [&](std::vector<std::int32_t> last_page_len) {
    const HostTensor last = HostTensor::of(last_page_len);
    PageTable t = tables.view();
    t.last_page_len = last.view();
    append_paged_kv_cache(rows.view(), rows.view(), zero.view(), zero.view(), cache.view(),
                          cache.view(), t, KvLayout::nhd);
    sequence_lengths(t.indptr, t.last_page_len, t.page_size, lengths.view());
  };
  cache.fill(-7);
  for (std::vector<std::int32_t> bad :
       {std::vector<std::int32_t>{0, 0, 4}, {5, 0, 4}, {-1, 0, 4}, {1, 0, 0}, {1, 0, 5}, {1, 0}}) {
    expect_rejected("kv_last_page_len", [&] { run(bad); });
    expect_rejected("kv_last_page_len", [&] {
      sequence_lengths(tables.indptr.view(), HostTensor::of(bad).view(), 4, lengths.view());
    });
  }
  for (double v : values_of(cache.view())) ASSERT_EQ(v, -7);
  for (std::int32_t without_pages : {0, 4, -1, 99}) {
    run({1, without_pages, 4});
    EXPECT_EQ(lengths.view().as<std::int32_t>()[1], 0);
  }
  expect_rejected("kv_indptr", [&] {
    const HostTensor many = HostTensor::of(std::vector<std::int32_t>{0, 1 << 30});
    const HostTensor one = HostTensor::of(std::vector<std::int32_t>{1});
    HostTensor out(DType::i32, {1});
    sequence_lengths(many.view(), one.view(), 16, out.view());
  });
}

TEST(BatchIndices, PositionsAndLengths) {
  const HostTensor indptr = HostTensor::of(std::vector<std::int32_t>{0, 2, 2, 5});
  const HostTensor lengths = HostTensor::of(std::vector<std::int32_t>{4, 9, 3});
  HostTensor batch(DType::i32, {7}), positions(DType::i32, {7});
  batch.fill_bits(0x7fffffff);
  positions.fill_bits(0x7fffffff);
  batch_indices_positions(indptr.view(), lengths.view(), batch.view(), positions.view());
  const auto list = [](const HostTensor& t) {
    const auto* p = t.view().as<std::int32_t>();
    return std::vector<std::int32_t>(p, p + t.view().shape[0]);
  };
  EXPECT_EQ(list(batch), (std::vector<std::int32_t>{0, 0, 2, 2, 2, -1, -1}));
  EXPECT_EQ(list(positions), (std::vector<std::int32_t>{2, 3, 0, 1, 2, 0, 0}));
  const Tables tables(16);
  HostTensor out(DType::i32, {3});
  sequence_lengths(tables.indptr.view(), tables.last.view(), 16, out.view());
  EXPECT_EQ(list(out), (std::vector<std::int32_t>{33, 0, 32}));
}

TEST(BatchIndices, BadLengthsAreNamed) {
  const HostTensor indptr = HostTensor::of(std::vector<std::int32_t>{0, 2, 2, 5});
  const HostTensor few = HostTensor::of(std::vector<std::int32_t>{4, 9, 2});
  const HostTensor batch(DType::i32, {5}), positions(DType::i32, {5});
  expect_rejected("seq_lens", [&] {
    batch_indices_positions(indptr.view(), few.view(), batch.view(), positions.view());
  });
}

}  // namespace
}  // namespace wavefire::cases
