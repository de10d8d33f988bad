#include "virtual/handlers/lanes.h"

#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "virtual/handlers/dpp.h"

namespace instinct::INSTINCT_LEVEL {

const Row zero_rows[16] = {};

namespace {

// Row n: the words of the eight lanes of a byte.
struct MaskTable {
  alignas(32) u32 words[256][8];
  constexpr MaskTable() : words{} {
    for (u32 byte = 0; byte < 256; ++byte) {
      for (u32 i = 0; i < 8; ++i) words[byte][i] = byte >> i & 1 ? ~0u : 0;
    }
  }
};
constexpr MaskTable masks;

}  // namespace

void expand_mask(u64 mask, u32* words) {
  for (u32 i = 0; i < 8; ++i) std::memcpy(words + 8 * i, masks.words[mask >> 8 * i & 0xff], 32);
}

u64 sign_mask(const u32* words) {
  u64 mask = 0;
#if defined(__AVX512DQ__)
  for (u32 i = 0; i < 4; ++i) {
    mask |= u64{_mm512_movepi32_mask(_mm512_loadu_si512(words + 16 * i))} << 16 * i;
  }
#elif defined(__SSE2__)
  for (u32 i = 0; i < 16; ++i) {
    mask |= u64(_mm_movemask_ps(_mm_loadu_ps(reinterpret_cast<const float*>(words + 4 * i))))
            << 4 * i;
  }
#else
  for (u32 i = 0; i < 64; ++i) mask |= u64{words[i] >> 31} << i;
#endif
  return mask;
}

u64 nonzero_mask(const u32* words) {
  alignas(64) u32 signs[64];
  for (u32 i = 0; i < 64; ++i) signs[i] = words[i] | (0 - words[i]);
  return sign_mask(signs);
}

void blend(u32* d, const u32* s, u64 mask) {
  alignas(64) u32 words[64];
  expand_mask(mask, words);
#pragma GCC ivdep
  for (u32 i = 0; i < 64; ++i) d[i] = (s[i] & words[i]) | (d[i] & ~words[i]);
}

void unsupported(const Wave& w, const Instruction& in, const char* what) {
  w.group->fail(w, in, Fault::unsupported, -1, what);
}

// Vectors.

bool any_undefined(const Wave& w, const Instruction& in) {
  if (!w.track) return false;
  for (u32 i = 0; i < in.reads; ++i) {
    if (w.dirty.any(in.read[i])) return true;
  }
  return any_undefined_scalar(w, in);
}

namespace {

void fill(u32* d, u32 value) {
  for (u32 i = 0; i < 64; ++i) d[i] = value;
}

const u32* broadcast(u64 value, u32 words, Row* scratch) {
  fill(scratch[0].lane, static_cast<u32>(value));
  if (words > 1) fill(scratch[1].lane, static_cast<u32>(value >> 32));
  return scratch[0].lane;
}

}  // namespace

const u32* source_rows(Wave& w, const Operand& operand, u32 words, Row* scratch) {
  if (operand.kind == Operand::Kind::vector) return row(w, operand.first);
  if (words == 1) return broadcast(read_scalar(w, operand), 1, scratch);
  return broadcast(read_scalar64(w, operand), words, scratch);
}

const u32* undefined_rows(Wave& w, const Operand& operand, u32 words, Row* scratch) {
  if (operand.kind == Operand::Kind::vector) {
    const Span span{operand.first, static_cast<u16>(words)};
    if (!w.dirty.any(span)) return zero_rows[0].lane;
    for (u32 i = 0; i < words; ++i) {
      if (!w.dirty.test(operand.first + i)) fill(undefined_row(w, operand.first + i), 0);
    }
    return undefined_row(w, operand.first);
  }
  const u64 bits = undefined_scalar64(w, operand);
  return bits ? broadcast(bits, words, scratch) : zero_rows[0].lane;
}

void set_undefined(Wave& w, u32 first, u32 words, u64 mask, const u32* u) {
  for (u32 i = 0; i < words; ++i) {
    const u32 r = first + i;
    const bool was = w.dirty.test(r);
    if (!u && !was) continue;
    if (!u && mask == ~u64{0}) {
      w.dirty.reset(r);
      continue;
    }
    u32* bits = undefined_row(w, r);
    if (!was) fill(bits, 0);
    blend(bits, u ? u + 64 * i : zero_rows[0].lane, mask);
    if (nonzero_mask(bits))
      w.dirty.set(r);
    else
      w.dirty.reset(r);
  }
}

namespace {

// neg and abs, by the type of the source: the sign is in the last word.
const u32* modify(const Operand& operand, Type type, const u32* s, u32 words, Row* scratch) {
  if (!operand.negate && !operand.absolute) return s;
  const u32 sign = type == Type::f16 || type == Type::bf16 ? 0x8000 : 0x80000000;
  const u32 keep = operand.absolute ? ~sign : ~0u;
  const u32 flip = operand.negate ? sign : 0;
  for (u32 k = 0; k < words; ++k) {
    const bool last = k + 1 == words;
    for (u32 i = 0; i < 64; ++i) {
      const u32 word = s[64 * k + i];
      scratch[k].lane[i] = last ? (word & keep) ^ flip : word;
    }
  }
  return scratch[0].lane;
}

// SDWA: a byte or word of the source, extended.
const u32* select(const Operand& operand, u8 part, const u32* s, u32* d) {
  if (part == 6) return s;
  const u32 bits = part < 4 ? 8 : 16;
  const u32 shift = part < 4 ? 8 * part : 16 * (part - 4);
  for (u32 i = 0; i < 64; ++i) {
    const u32 up = s[i] << (32 - bits - shift);
    d[i] = operand.sign_extend ? static_cast<u32>(static_cast<i32>(up) >> (32 - bits))
                               : up >> (32 - bits);
  }
  return d;
}

const u32* high_half(const u32* s, u32* d) {
  for (u32 i = 0; i < 64; ++i) d[i] = s[i] >> 16;
  return d;
}

// Denormal numbers as zero, if MODE says so.
const u32* flush(const u32* s, u32* d) {
  for (u32 i = 0; i < 64; ++i) d[i] = (s[i] & 0x7f800000) ? s[i] : s[i] & 0x80000000;
  return d;
}

bool is_half_type(Type type) {
  return type == Type::f16 || type == Type::b16 || type == Type::bf16;
}

Operand indexed(const Wave& w, const Operand& operand, u32 bit) {
  Operand moved = operand;
  if (w.gpr_index && (w.gpr_index_mode & bit) && operand.is_vector()) {
    moved.first = static_cast<u16>((operand.first + (w.scalar[m0_register] & 0xff)) % vector_count);
  }
  return moved;
}

void load_source(Wave& w, const Instruction& in, Sources& s, u32 i) {
  const Operand operand = indexed(w, in.src(i), 1u << i);
  const u32 words = in.opcode->src_words[i];
  const Type type = in.opcode->src_type[i];
  const bool packed = in.opcode->flags & is_packed;
  Row* scratch = s.scratch[i];
  s.row[i] = source_rows(w, operand, words, scratch);
  s.undefined[i] =
      s.dirty ? undefined_rows(w, operand, words, s.undefined_scratch[i]) : zero_rows[0].lane;
  Row moved[2], moved_undefined[2];
  if (in.dpp.used && i == 0) {
    s.mask = move_lanes(w, in, s.row[0], words, moved);
    std::memcpy(scratch, moved, words * sizeof(Row));
    if (s.dirty) {
      move_lanes(w, in, s.undefined[0], words, moved_undefined);
      std::memcpy(s.undefined_scratch[0], moved_undefined, words * sizeof(Row));
      s.undefined[0] = s.undefined_scratch[0][0].lane;
    }
    s.row[0] = scratch[0].lane;
  }
  if (in.sdwa.used && i < 2) {
    s.row[i] = select(operand, in.sdwa.source[i], s.row[i], scratch[0].lane);
    Operand zero = operand;
    zero.sign_extend = false;
    if (s.dirty) {
      s.undefined[i] =
          select(zero, in.sdwa.source[i], s.undefined[i], s.undefined_scratch[i][0].lane);
    }
  }
  if (!packed && is_half_type(type) && in.op_sel >> i & 1) {
    s.row[i] = high_half(s.row[i], scratch[0].lane);
    if (s.dirty) s.undefined[i] = high_half(s.undefined[i], s.undefined_scratch[i][0].lane);
  }
  if (!packed) s.row[i] = modify(operand, type, s.row[i], words, scratch);
  if (type == Type::f32 && words == 1 && w.flush_f32()) s.row[i] = flush(s.row[i], scratch[0].lane);
}

}  // namespace

void load_sources(Wave& w, const Instruction& in, Sources& s) {
  s.mask = w.exec();
  for (u32 i = 0; i < in.sources && i < 4; ++i) load_source(w, in, s, i);
}

namespace {

float apply_omod(float value, u8 omod, bool clamp) {
  if (omod == 1) value *= 2;
  if (omod == 2) value *= 4;
  if (omod == 3) value /= 2;
  // "CDNA3 ISA", clamp: to [0, 1]; NaN becomes 0 under DX10_CLAMP, the default.
  if (clamp) value = value > 0 ? (value < 1 ? value : 1) : 0;
  return value;
}

void modify_result(Wave& w, const Instruction& in, u32 words, Row* result) {
  if (!in.clamp && !in.omod) return;
  if (!(in.opcode->flags & float_result)) {
    if (in.omod) unsupported(w, in, "output modifier on an integer");
    return;  // kernels of integers saturate themselves
  }
  if (in.opcode->flags & is_packed || is_half_type(in.opcode->type)) {
    if (in.opcode->dst_words == 1) return;  // kernels of halves do it themselves
  }
  for (u32 i = 0; i < 64; ++i) {
    if (in.opcode->type == Type::f64) {
      double value = std::bit_cast<double>(result[0].lane[i] | u64{result[1].lane[i]} << 32);
      if (in.omod) value *= in.omod == 1 ? 2 : in.omod == 2 ? 4 : 0.5;
      if (in.clamp) value = value > 0 ? (value < 1 ? value : 1) : 0;
      const u64 bits = std::bit_cast<u64>(value);
      result[0].lane[i] = static_cast<u32>(bits);
      result[1].lane[i] = static_cast<u32>(bits >> 32);
      continue;
    }
    for (u32 k = 0; k < words; ++k) {
      u32& word = result[k].lane[i];
      word = std::bit_cast<u32>(apply_omod(std::bit_cast<float>(word), in.omod, in.clamp));
    }
  }
}

// SDWA: puts the low bits of the result at the place that dst_sel names.
void place(const Instruction& in, const u32* old, u32* d) {
  const u8 part = in.sdwa.dst;
  if (part == 6) return;
  const u32 bits = part < 4 ? 8 : 16;
  const u32 shift = part < 4 ? 8 * part : 16 * (part - 4);
  const u32 mask = ((1u << bits) - 1) << shift;
  for (u32 i = 0; i < 64; ++i) {
    const u32 value = d[i] << shift & mask;
    if (in.sdwa.unused == 2)
      d[i] = (old[i] & ~mask) | value;
    else if (in.sdwa.unused == 1) {
      d[i] = static_cast<u32>(static_cast<i32>(d[i] << (32 - bits)) >> (32 - bits)) << shift;
    } else
      d[i] = value;
  }
}

// A 16-bit result with op_sel for the destination, or one that keeps the other half.
void merge_half(const Instruction& in, const u32* old, u32* d) {
  const bool high = in.op_sel >> in.sources & 1;
  const bool keeps = high || in.opcode->flags & keeps_high;
  if (!keeps) return;
  for (u32 i = 0; i < 64; ++i) {
    d[i] = high ? (old[i] & 0xffff) | d[i] << 16 : (old[i] & 0xffff0000) | (d[i] & 0xffff);
  }
}

bool is_half_result(const Instruction& in) {
  return is_half_type(in.opcode->type) && !(in.opcode->flags & is_packed) &&
         in.opcode->dst_words == 1;
}

}  // namespace

void store_result(Wave& w, const Instruction& in, const Operand& dst, u32 words, Row* result,
                  const u32* undefined, u64 mask) {
  const Operand to = indexed(w, dst, 8);
  u32* d = row(w, to.first);
  modify_result(w, in, words, result);
  if (words == 1 && in.opcode->type == Type::f32 && w.flush_f32() &&
      in.opcode->flags & float_result) {
    flush(result[0].lane, result[0].lane);
  }
  Row bits[2];
  const bool half = is_half_result(in);
  if (in.sdwa.used || half) {
    if (undefined || w.dirty.test(to.first)) {
      // Where the result keeps bits, their definedness stays.
      u32* old = undefined_row(w, to.first);
      if (!w.dirty.test(to.first)) fill(old, 0);
      std::memcpy(bits[0].lane, undefined ? undefined : zero_rows[0].lane, sizeof(Row));
      if (in.sdwa.used)
        place(in, old, bits[0].lane);
      else
        merge_half(in, old, bits[0].lane);
      undefined = bits[0].lane;
    }
    if (in.sdwa.used)
      place(in, d, result[0].lane);
    else
      merge_half(in, d, result[0].lane);
  }
  for (u32 k = 0; k < words; ++k) {
    if (mask == ~u64{0})
      std::memcpy(d + 64 * k, result[k].lane, sizeof(Row));
    else
      blend(d + 64 * k, result[k].lane, mask);
  }
  if (w.track) set_undefined(w, to.first, words, mask, undefined);
}

// Any undefined bit of a lane's sources makes its result undefined.
void spread(const Instruction& in, const Sources& s, u32* d, u32 words) {
  std::memset(d, 0, sizeof(Row));
  for (u32 k = 0; k < in.sources && k < 4; ++k) {
    for (u32 word = 0; word < in.opcode->src_words[k]; ++word) {
      const u32* u =
          s.undefined[k] == zero_rows[0].lane ? zero_rows[0].lane : s.undefined[k] + 64 * word;
      for (u32 i = 0; i < 64; ++i) d[i] |= u[i];
    }
  }
  for (u32 i = 0; i < 64; ++i) d[i] = d[i] ? ~0u : 0;
  for (u32 word = 1; word < words; ++word) std::memcpy(d + 64 * word, d, sizeof(Row));
}

namespace {

// The destination as one more source: v_fmac and the like.
void load_accumulator(Wave& w, const Instruction& in, Sources& s) {
  const u32 i = in.sources;
  const u32 words = in.opcode->dst_words;
  const Operand dst = indexed(w, in.dst(), 8);
  s.row[i] = row(w, dst.first);
  s.undefined[i] =
      s.dirty ? undefined_rows(w, dst, words, s.undefined_scratch[i]) : zero_rows[0].lane;
  if (w.flush_f32() && in.opcode->type == Type::f32 && words == 1) {
    s.row[i] = flush(s.row[i], s.scratch[i][0].lane);
  }
}

void run_lanes_slowly(Wave& w, const Instruction& in, bool dirty) {
  Sources s;
  s.dirty = dirty;
  load_sources(w, in, s);
  if (in.opcode->flags & reads_dst) load_accumulator(w, in, s);
  const LaneContext context{in, w.exec(), w.mode};
  const u32 words = in.opcode->dst_words;
  Row undefined[2];
  if (dirty) {
    if (in.opcode->shadow)
      in.opcode->shadow(undefined[0].lane, s.row, s.undefined, context);
    else
      spread(in, s, undefined[0].lane, words);
    if (!in.opcode->shadow && in.opcode->flags & reads_dst) {
      const u32* u = s.undefined[in.sources];
      for (u32 i = 0; i < 64; ++i) undefined[0].lane[i] |= u[i] ? ~0u : 0;
      if (words > 1) undefined[1] = undefined[0];
    }
  }
  Row result[2];
  reinterpret_cast<LaneKernel>(in.kernel)(result[0].lane, s.row, context);
  store_result(w, in, in.dst(), words, result, dirty ? undefined[0].lane : nullptr, s.mask);
}

}  // namespace

void run_lanes(Wave& w, const Instruction& in) {
  const bool dirty = any_undefined(w, in);
  const Opcode& opcode = *in.opcode;
  if (!in.plain || dirty || w.slow) return run_lanes_slowly(w, in, dirty);
  Row scratch[4][2];
  const u32* s[4];
  for (u32 i = 0; i < in.sources; ++i) {
    s[i] = source_rows(w, in.src(i), opcode.src_words[i], scratch[i]);
  }
  const Operand& dst = in.dst();
  u32* d = row(w, dst.first);
  if (opcode.flags & reads_dst) s[in.sources] = d;
  const LaneContext context{in, w.exec(), w.mode};
  const LaneKernel kernel = reinterpret_cast<LaneKernel>(in.kernel);
  const u32 words = opcode.dst_words;
  if (words == 1 && w.exec() == ~u64{0}) {
    kernel(d, s, context);
  } else {
    Row result[2];
    kernel(result[0].lane, s, context);
    for (u32 k = 0; k < words; ++k) blend(d + 64 * k, result[k].lane, w.exec());
  }
  if (w.track && w.dirty.any({dst.first, static_cast<u16>(words)})) {
    set_undefined(w, dst.first, words, w.exec(), nullptr);
  }
}

// "CDNA3 ISA", VOPC: a bit for each active lane, 0 for the others.
void run_compare(Wave& w, const Instruction& in) {
  Sources s;
  s.dirty = any_undefined(w, in);
  load_sources(w, in, s);
  const LaneContext context{in, w.exec(), w.mode};
  const u64 exec = w.exec();
  const u64 mask = reinterpret_cast<MaskKernel>(in.kernel)(s.row, context) & exec;
  u64 undefined = 0;
  if (s.dirty) {
    Row bits;
    spread(in, s, bits.lane, 1);
    undefined = sign_mask(bits.lane) & exec;
  }
  write_scalar64(w, in.dst(), mask);
  if (w.track) set_undefined_scalar64(w, in.dst(), undefined);
  if (in.opcode->flags & writes_exec) {
    if (undefined) use_scalar(w, in, in.dst().first, undefined, "EXEC");
    w.set_exec(mask);
  }
}

}  // namespace instinct::INSTINCT_LEVEL
