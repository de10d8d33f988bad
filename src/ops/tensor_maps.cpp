#include "ops/tensor_maps.h"

#include <algorithm>

namespace wavefire::ops {
namespace {

constexpr std::uint32_t element_bytes = 2;
constexpr std::uint32_t box_columns = 64;  // 128 bytes
constexpr int swizzled_rows = 8;           // after which the swizzle repeats

/// Rows that lie in one page and fill a tile evenly; 0: there are none.
int box_rows_of(const attention::Params& p, int tile_kv) {
  if (p.page_table == nullptr || p.page_size % tile_kv == 0) return tile_kv;
  const bool fit = tile_kv % p.page_size == 0 && p.page_size % swizzled_rows == 0;
  return fit ? p.page_size : 0;
}

/// What the driver asks of a tensor map (CUDA Driver API, cuTensorMapEncodeTiled): it is not called
/// with what it would refuse.
bool can_encode(const void* data, const device::TensorShape& shape) {
  const auto good_dim = [](std::uint64_t dim) { return dim > 0 && dim <= std::uint64_t{1} << 32; };
  const auto good_stride = [](std::uint64_t stride) {
    return stride % 16 == 0 && stride < std::uint64_t{1} << 40;
  };
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
         std::ranges::all_of(shape.dims, good_dim) &&
         std::ranges::all_of(shape.strides, good_stride);
}

bool encode(const Place& place, tile::TensorMap& map, const attention::KvTensor& tensor,
            const attention::Params& p, std::int64_t kv_rows, int box_rows) {
  const bool paged = p.page_table != nullptr;
  const auto bytes = [](i64 stride) { return static_cast<std::uint64_t>(stride) * element_bytes; };
  const device::TensorShape shape = {
      .dims = {static_cast<std::uint64_t>(tensor.dims),
               static_cast<std::uint64_t>(paged ? p.page_size : kv_rows),
               static_cast<std::uint64_t>(p.num_kv_heads),
               static_cast<std::uint64_t>(paged ? p.num_pages : 1)},
      .strides = {bytes(tensor.stride_token), bytes(tensor.stride_head),
                  bytes(paged ? tensor.stride_page : tensor.stride_token)},
      .box = {box_columns, static_cast<std::uint32_t>(box_rows), 1, 1}};
  return can_encode(tensor.data, shape) && place.gpu->driver().encode(map, tensor.data, shape);
}

}  // namespace

tile::KvTensorMaps kv_tensor_maps(const Place& place, const attention::Params& p, int tile_kv,
                                  std::int64_t kv_rows) {
  tile::KvTensorMaps maps;
  const int box_rows = box_rows_of(p, tile_kv);
  if (box_rows == 0) return maps;
  const auto guard = place.gpu->guard();
  const bool encoded = encode(place, maps.map[0], p.k[0], p, kv_rows, box_rows) &&
                       encode(place, maps.map[1], p.v, p, kv_rows, box_rows);
  maps.box_rows = encoded ? box_rows : 0;
  return maps;
}

}  // namespace wavefire::ops
