// Words of the machine.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace instinct {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr u32 wave_lanes = 64;

enum class Target : u8 { gfx942, gfx950 };

constexpr const char* name_of(Target target) {
  return target == Target::gfx942 ? "gfx942" : "gfx950";
}

// Why something cannot be done: one line for people. `Kind` chooses the HIP error.
class Error : public std::runtime_error {
 public:
  enum class Kind : u8 {
    invalid_value,
    invalid_image,  // not a code object, or a broken one
    wrong_target,   // a code object for another processor
    not_found,      // no such kernel or symbol
    out_of_memory,
    launch_failure,  // the kernel did something wrong: there is a Report
    not_supported,
  };

  Error(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace instinct
