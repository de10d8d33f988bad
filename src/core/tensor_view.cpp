#include "wavefire/tensor_view.h"

#include "core/check.h"

namespace wavefire {

std::string to_string(Device device) {
  static constexpr const char* names[] = {"cpu", "cuda", "hip"};
  return core::join(names[static_cast<int>(device.type)], ":", device.index);
}

TensorView TensorView::contiguous(void* data, DType dtype,
                                  std::initializer_list<std::int64_t> shape, Device device) {
  if (shape.size() > max_rank) {
    core::fail_argument("TensorView::contiguous", "shape", core::join("of rank ", shape.size()),
                        core::join("up to rank ", max_rank));
  }
  TensorView view{data, dtype, device, static_cast<int>(shape.size()), {}, {}};
  std::copy(shape.begin(), shape.end(), view.shape);
  std::int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    core::require(view.shape[d] >= 0, "TensorView::contiguous", "shape", view.shape[d],
                  "extents of 0 or more");
    view.strides[d] = stride;
    stride *= view.shape[d];
  }
  return view;
}

std::int64_t TensorView::size() const {
  std::int64_t size = 1;
  for (int d = 0; d < rank; ++d) size *= shape[d];
  return size;
}

bool TensorView::is_contiguous() const {
  if (size() == 0) return true;
  std::int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != stride) return false;
    stride *= shape[d];
  }
  return true;
}

std::string to_string(const TensorView& view) {
  if (view.rank < 0 || view.rank > max_rank) {  // there are no extents to show
    return core::join(name_of(view.dtype), " of rank ", view.rank, " on ", to_string(view.device));
  }
  const auto list = [&](const std::int64_t* values) {
    std::string text;
    for (int d = 0; d < view.rank; ++d) text += (d > 0 ? ", " : "") + std::to_string(values[d]);
    return text;
  };
  return core::join(name_of(view.dtype), "[", list(view.shape), "] (strides ", list(view.strides),
                    ") on ", to_string(view.device));
}

}  // namespace wavefire
