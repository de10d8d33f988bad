// The state of a wave: registers, what is known about them, and what is under way.
#pragma once

#include <array>

#include "virtual/instruction.h"
#include "virtual/types.h"

namespace instinct {

class Workgroup;

struct alignas(64) Row {
  u32 lane[wave_lanes];
};

// A set of registers as bits.
template <int word_count>
struct Bits {
  std::array<u64, word_count> word{};

  bool test(u32 i) const { return word[i >> 6] >> (i & 63) & 1; }
  void set(u32 i) { word[i >> 6] |= u64{1} << (i & 63); }
  void reset(u32 i) { word[i >> 6] &= ~(u64{1} << (i & 63)); }
  bool any(Span span) const {
    const u32 first = span.first >> 6, shift = span.first & 63;
    const u64 mask = span.count >= 64 ? ~u64{0} : (u64{1} << span.count) - 1;
    if (word[first] & mask << shift) return true;
    return shift + span.count > 64 && (word[first + 1] & mask >> (64 - shift));
  }
  void set(Span span) {
    for (u32 i = 0; i < span.count; ++i) set(span.first + i);
  }
  void reset(Span span) {
    for (u32 i = 0; i < span.count; ++i) reset(span.first + i);
  }
};

// An access to memory that a counter still counts.
struct InFlight {
  enum class Kind : u8 { store, vector_load, lds_dma, lds, scalar_load, flat };
  Kind kind = Kind::store;
  Span vectors = {};    // registers that will be written
  u64 scalars[2] = {};  // likewise, as bits
  const Instruction* instruction = nullptr;
  // LDS that is written (lds_dma, lds) or read (lds); for the race check.
  u32 lds_record[2] = {~0u, ~0u};
};

// Counted accesses, oldest first.
template <int capacity>
class Queue {
 public:
  u32 size() const { return tail_ - head_; }
  bool full() const { return size() == capacity; }
  InFlight& operator[](u32 i) { return entries_[(head_ + i) % capacity]; }
  const InFlight& operator[](u32 i) const { return entries_[(head_ + i) % capacity]; }
  void push(const InFlight& entry) { entries_[tail_++ % capacity] = entry; }
  void pop() { ++head_; }
  void clear() { head_ = tail_ = 0; }

 private:
  u32 head_ = 0, tail_ = 0;
  InFlight entries_[capacity];
};

// What the rules for wait states look back at.
struct Issued {
  const Instruction* instruction = nullptr;
  u64 clock = 0;
};

struct Wave {
  enum class State : u8 { running, at_barrier, ended };

  const Instruction* next = nullptr;
  Workgroup* group = nullptr;
  Row* vector = nullptr;     // vector_count rows
  Row* undefined = nullptr;  // vector_count rows of undefined bits; valid where `dirty` is set
  State state = State::running;
  bool yields = false;  // another wave should run now
  bool scc = false;
  bool scc_undefined = false;
  bool track = false;  // whether undefined values are followed
  bool slow = false;   // denormals are flushed, or registers are indexed
  u32 mode = 0;        // the MODE register
  u32 index = 0;       // in the workgroup
  u64 exec_mask = 0;   // == scalar[exec_register], scalar[exec_register + 1]

  Bits<8> dirty;    // vector registers with some undefined bit
  Bits<8> pending;  // vector registers to which a load is under way
  u64 scalar_dirty[2] = {};
  u64 scalar_pending[2] = {};
  bool any_pending = false;

  u32 scalar[scalar_count] = {};
  u32 scalar_undefined[128] = {};

  Queue<64> vm;
  Queue<64> lgkm;

  // Wait states.
  static constexpr u32 issued_capacity = 32;
  u64 clock = 64;         // wait states since the start
  u64 produced[16] = {};  // when an instruction of each class (hazards.cpp) was issued last
  u64 matrix_until = 0;   // until then, results of matrix instructions may not be there
  u32 issued_count = 0;
  Issued issued[issued_capacity];

  u64 executed = 0;  // instructions
  u64 barriers = 0;
  bool gpr_index = false;  // s_set_gpr_idx_on
  u32 gpr_index_mode = 0;

  u64 exec() const { return exec_mask; }
  void set_exec(u64 value) {
    exec_mask = value;
    scalar[exec_register] = static_cast<u32>(value);
    scalar[exec_register + 1] = static_cast<u32>(value >> 32);
  }
  u64 scalar64(u32 first) const { return scalar[first] | u64{scalar[first + 1]} << 32; }
  bool flush_f32() const { return (mode >> 4 & 3) != 3; }
  bool flush_f16() const { return (mode >> 6 & 3) != 3; }
  bool ieee() const { return mode >> 9 & 1; }
};

}  // namespace instinct
