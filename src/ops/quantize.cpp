#include "wavefire/quantize.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <array>
#include <bit>
#include <cstring>

#include "device/cpu/parallel.h"
#include "ops/index.h"
#include "ops/rows.h"

namespace wavefire {
namespace {

void check_source(const char* operation, const TensorView& x) {
  core::check(operation, "x", x).defined().one_of({DType::b1, DType::u8}).rank(1);
}

void check_bytes(const char* operation, const TensorView& out, std::int64_t bytes) {
  core::check(operation, "out", out).defined().dtype(DType::u8).shape({bytes}).contiguous();
}

/// Eight elements to a byte: each becomes 0 or 1, and the product moves them next to each other.
std::uint8_t pack_eight(const std::uint8_t* bits, BitOrder order) {
  std::uint64_t v;
  std::memcpy(&v, bits, sizeof v);
  v |= (v >> 4) & 0x0f0f0f0f0f0f0f0full;
  v |= (v >> 2) & 0x3f3f3f3f3f3f3f3full;
  v |= (v >> 1) & 0x7f7f7f7f7f7f7f7full;
  v &= 0x0101010101010101ull;
  const std::uint64_t places =
      order == BitOrder::little ? 0x0102040810204080ull : 0x8040201008040201ull;
  return static_cast<std::uint8_t>((v * places) >> 56);
}

#ifdef __SSE2__
constexpr std::array<std::uint8_t, 256> reversed_bits = [] {
  std::array<std::uint8_t, 256> reversed{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) != 0) reversed[byte] |= static_cast<std::uint8_t>(0x80u >> bit);
    }
  }
  return reversed;
}();

/// Sixteen elements to two bytes.
void pack_sixteen(const std::uint8_t* bits, BitOrder order, std::uint8_t* out) {
  const __m128i elements = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits));
  const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(elements, _mm_setzero_si128()));
  const auto low = static_cast<std::uint8_t>(~zeros), high = static_cast<std::uint8_t>(~zeros >> 8);
  out[0] = order == BitOrder::little ? low : reversed_bits[low];
  out[1] = order == BitOrder::little ? high : reversed_bits[high];
}
#endif

/// Bits [begin, end) of x to bytes from `out` on; the last byte is filled up with zeros.
void pack(const TensorView& x, std::int64_t begin, std::int64_t end, BitOrder order,
          std::uint8_t* out) {
  const auto* bits = x.as<const std::uint8_t>();
  std::int64_t i = begin;
  if (x.strides[0] == 1 && std::endian::native == std::endian::little) {
#ifdef __SSE2__
    for (; i + 16 <= end; i += 16, out += 2) pack_sixteen(bits + i, order, out);
#endif
    for (; i + 8 <= end; i += 8) *out++ = pack_eight(bits + i, order);
  }
  for (; i < end; i += 8) {
    unsigned byte = 0;
    for (std::int64_t j = 0; j < std::min<std::int64_t>(8, end - i); ++j) {
      const unsigned set = bits[(i + j) * x.strides[0]] != 0 ? 1u : 0u;
      byte |= set << (order == BitOrder::little ? j : 7 - j);
    }
    *out++ = static_cast<std::uint8_t>(byte);
  }
}

/// What packing on a GPU is given.
index::Launch packing(const TensorView& x, BitOrder order, const TensorView& out) {
  return {.count = out.shape[0],
          .bits = x.as<const u8>(),
          .bits_size = x.shape[0],
          .bits_stride = x.strides[0],
          .packed = out.as<u8>(),
          .little = order == BitOrder::little};
}

}  // namespace

void packbits(const TensorView& x, BitOrder order, const TensorView& out) {
  const ops::Place place = ops::place_of("packbits", {{"x", x}, {"out", out}});
  check_source("packbits", x);
  const std::int64_t size = x.shape[0], bytes = (size + 7) / 8;
  check_bytes("packbits", out, bytes);
  if (!place.on_cpu()) {
    return ops::launch_index(place, index::Kind::packbits, packing(x, order, out));
  }
  cpu::parallel_ranges(bytes, 65536, [&](std::int64_t begin, std::int64_t end) {
    pack(x, begin * 8, std::min(end * 8, size), order, out.as<std::uint8_t>() + begin);
  });
}

void segment_packbits_indptr(const TensorView& indptr, const TensorView& out_indptr) {
  constexpr const char* operation = "segment_packbits";
  const ops::Place place =
      ops::place_of(operation, {{"indptr", indptr}, {"out_indptr", out_indptr}});
  const std::int64_t segments = ops::check_segments(operation, "indptr", indptr);
  core::check(operation, "out_indptr", out_indptr)
      .defined()
      .dtype(DType::i32)
      .shape({segments + 1})
      .writable();
  if (!place.on_cpu()) {
    return ops::launch_index(place, index::Kind::packed_indptr,
                             {.count = segments + 1,
                              .segments = segments,
                              .indptr = ops::index_numbers(indptr),
                              .out = ops::index_output(out_indptr)});
  }
  ops::check_indptr(operation, "indptr", indptr);
  std::int64_t bytes = 0;
  ops::write_int(out_indptr, 0, 0);
  for (std::int64_t i = 1; i <= segments; ++i) {
    bytes += (ops::read_int(indptr, i) - ops::read_int(indptr, i - 1) + 7) / 8;
    ops::write_int(out_indptr, i, bytes);
  }
}

void segment_packbits(const TensorView& x, const TensorView& indptr, BitOrder order,
                      const TensorView& out, const TensorView& out_indptr) {
  constexpr const char* operation = "segment_packbits";
  const ops::Place place = ops::place_of(
      operation, {{"x", x}, {"indptr", indptr}, {"out", out}, {"out_indptr", out_indptr}});
  check_source(operation, x);
  const std::int64_t segments = ops::check_segments(operation, "indptr", indptr);
  core::check(operation, "out_indptr", out_indptr).dtype(DType::i32).shape({segments + 1});
  if (!place.on_cpu()) {
    check_bytes(operation, out, -1);
    index::Launch p = packing(x, order, out);
    p.segments = segments;
    p.indptr = ops::index_numbers(indptr);
    p.packed_indptr = ops::index_numbers(out_indptr);
    return ops::launch_index(place, index::Kind::segment_packbits, p);
  }
  const std::int64_t size = ops::check_indptr(operation, "indptr", indptr);
  core::require(x.shape[0] >= size, operation, "x", x,
                core::join("at least ", size, " elements, the last entry of indptr"));
  check_bytes(operation, out, ops::check_indptr(operation, "out_indptr", out_indptr));
  for (std::int64_t i = 0; i < segments; ++i) {
    pack(x, ops::read_int(indptr, i), ops::read_int(indptr, i + 1), order,
         out.as<std::uint8_t>() + ops::read_int(out_indptr, i));
  }
}

}  // namespace wavefire
