// Arguments of a kernel from the command line: numbers, and memory with its content.
#pragma once

#include <string>
#include <vector>

#include "virtual/code_object.h"
#include "virtual/memory.h"

namespace instinct::cli {

enum class Type : u8 { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

u32 bytes_of(Type type);

// An argument as it is passed, and what is known of its memory.
struct Value {
  std::vector<std::byte> bytes;
  u64 address = 0;  // of its memory; 0: a number
  u64 count = 0;
  Type type = Type::i32;
};

// Throws Error (invalid_value). `seed` makes random content.
Value make_value(const std::string& text, const KernelArgument& argument, Memory& memory, u64 seed);

// A few rows of numbers.
std::string text_of(const Value& value);

}  // namespace instinct::cli
