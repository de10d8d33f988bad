// What the tests of row operations share: tables of features, random rows of any layout, and the
// comparison with a reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cases/covering.h"
#include "cases/host_tensor.h"
#include "wavefire/error.h"

namespace wavefire::cases {

inline constexpr DType value_dtypes[] = {DType::f32, DType::f16, DType::bf16};

/// Calls f(values) for a table in which every pair of values of two features occurs.
inline void for_covering(const std::vector<int>& sizes,
                         const std::function<void(const std::vector<int>&)>& f) {
  const FeatureSpace space{sizes, [](int, int, int, int) { return true; }};
  for (const Row& row : covering_table(space)) {
    std::string text;
    for (int value : row) text += std::to_string(value) + " ";
    SCOPED_TRACE("features " + text);
    f(row);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Strides of a tensor whose innermost dimension is contiguous: packed, rows apart, or rows in
/// another order.
enum class Layout { packed, gaps, transposed };
inline constexpr Layout layouts[] = {Layout::packed, Layout::gaps, Layout::transposed};

inline std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape, Layout layout) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  const std::size_t last = shape.size() - 1;
  std::int64_t stride = shape[last] + (layout == Layout::packed ? 0 : 3);
  for (std::size_t i = 0; i < last; ++i) {
    const std::size_t d = layout == Layout::transposed ? i : last - 1 - i;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

/// Every element index of `shape`, in row-major order.
inline void for_elements(const std::vector<std::int64_t>& shape,
                         const std::function<void(const std::vector<std::int64_t>&)>& f) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  std::vector<std::int64_t> index(shape.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
    f(index);
  }
}

inline std::int64_t offset_of(const TensorView& view, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
  return offset;
}
inline double get(const TensorView& view, const std::vector<std::int64_t>& index) {
  return reference::decode(view.dtype, view.data, offset_of(view, index));
}
inline void set(const TensorView& view, const std::vector<std::int64_t>& index, double value) {
  reference::encode(view.dtype, value, view.data, offset_of(view, index));
}

/// A tensor of normally distributed values; the gaps between its rows hold NaN.
inline HostTensor random_tensor(DType dtype, const std::vector<std::int64_t>& shape, Layout layout,
                                std::mt19937& random, double scale = 1) {
  HostTensor tensor(dtype, shape, strides_of(shape, layout));
  tensor.fill(std::numeric_limits<double>::quiet_NaN());
  std::normal_distribution<double> normal;
  for_elements(shape,
               [&](const auto& index) { set(tensor.view(), index, scale * normal(random)); });
  return tensor;
}

/// The elements of `view` as doubles, in row-major order.
inline std::vector<double> values_of(const TensorView& view) {
  std::vector<double> values;
  const std::vector<std::int64_t> shape(view.shape, view.shape + view.rank);
  for_elements(shape, [&](const auto& index) { values.push_back(get(view, index)); });
  return values;
}

/// Bytes of `tensor` that belong to no element keep their NaN: nothing was written between rows.
inline void expect_gaps_untouched(const HostTensor& tensor) {
  const TensorView& view = tensor.view();
  const auto elements = static_cast<std::int64_t>(tensor.bytes().size()) / size_of(view.dtype);
  std::vector<char> used(static_cast<std::size_t>(elements));
  const std::vector<std::int64_t> shape(view.shape, view.shape + view.rank);
  for_elements(shape,
               [&](const auto& i) { used[static_cast<std::size_t>(offset_of(view, i))] = 1; });
  for (std::int64_t i = 0; i < elements; ++i) {
    if (used[static_cast<std::size_t>(i)] == 0) {
      ASSERT_TRUE(std::isnan(reference::decode(view.dtype, tensor.bytes().data(), i)))
          << "element " << i << " between the rows was written";
    }
  }
}

/// Compares with the reference: error at most tolerance(i, expected).
inline void expect_values(const std::vector<double>& got, const std::vector<double>& expected,
                          const std::function<double(std::size_t, double)>& tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(got[i] - expected[i]), tolerance(i, expected[i]))
        << "element " << i << " is " << got[i] << ", expected " << expected[i];
  }
}

/// `f` throws an invalid_argument that names `argument` and its value, in one line.
inline void expect_rejected(const char* argument, const std::function<void()>& f) {
  try {
    f();
    ADD_FAILURE() << argument << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    const std::string text = error.what();
    EXPECT_NE(text.find(std::string("'") + argument + "' is "), std::string::npos) << text;
    EXPECT_NE(text.find("; accepted: "), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

/// A copy of `view`, changed.
template <class Change>
TensorView changed(TensorView view, Change&& change) {
  change(view);
  return view;
}

}  // namespace wavefire::cases
