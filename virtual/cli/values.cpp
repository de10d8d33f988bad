#include "virtual/cli/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>

#include "virtual/cli/options.h"

namespace instinct::cli {
namespace {

struct TypeInfo {
  const char* name;
  u32 bytes;
  bool real;
};

// In the order of Type.
constexpr std::array<TypeInfo, 12> type_table = {{{"i8", 1, false},
                                                  {"u8", 1, false},
                                                  {"i16", 2, false},
                                                  {"u16", 2, false},
                                                  {"i32", 4, false},
                                                  {"u32", 4, false},
                                                  {"i64", 8, false},
                                                  {"u64", 8, false},
                                                  {"f16", 2, true},
                                                  {"bf16", 2, true},
                                                  {"f32", 4, true},
                                                  {"f64", 8, true}}};

const TypeInfo& info(Type type) { return type_table[static_cast<std::size_t>(type)]; }

std::optional<Type> type_named(std::string_view name) {
  const auto found = std::ranges::find(type_table, name, &TypeInfo::name);
  if (found == type_table.end()) return std::nullopt;
  return static_cast<Type>(found - type_table.begin());
}

std::string type_names() {
  std::string names;
  for (const TypeInfo& type : type_table)
    names += (names.empty() ? "" : " ") + std::string(type.name);
  return names;
}

[[noreturn]] void fail(const std::string& text, const std::string& why) {
  throw Error(Error::Kind::invalid_value, "argument '" + text + "': " + why);
}

// To nearest, ties to even.
u16 half_bits(double value) {
  const _Float16 half = static_cast<_Float16>(value);
  u16 bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

u16 brain_bits(float value) {
  u32 bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return static_cast<u16>(bits >> 16 | 64);
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// A number's bits in the low bytes.
u64 encode(Type type, double real, i64 whole) {
  u64 bits = static_cast<u64>(whole);
  switch (type) {
    case Type::f16: return half_bits(real);
    case Type::bf16: return brain_bits(static_cast<float>(real));
    case Type::f32: {
      const float value = static_cast<float>(real);
      bits = 0;
      std::memcpy(&bits, &value, 4);
      return bits;
    }
    case Type::f64: std::memcpy(&bits, &real, 8); return bits;
    default: return bits;
  }
}

double decode_real(Type type, const std::byte* from) {
  u32 word = 0;
  switch (type) {
    case Type::f16: {
      _Float16 half;
      std::memcpy(&half, from, 2);
      return static_cast<double>(half);
    }
    case Type::bf16: std::memcpy(reinterpret_cast<std::byte*>(&word) + 2, from, 2); break;
    case Type::f32: std::memcpy(&word, from, 4); break;
    default: {
      double value;
      std::memcpy(&value, from, 8);
      return value;
    }
  }
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

struct Number {
  double real = 0;
  i64 whole = 0;
};

// Of any type; an integer has to be one.
Number parse(const std::string& text, const std::string& number, bool real) {
  Number value;
  const char* end = number.data() + number.size();
  const auto as_real = std::from_chars(number.data(), end, value.real);
  if (number.empty() || as_real.ec != std::errc() || as_real.ptr != end) {
    fail(text,
         "'" + number + "' is no number; decimal ones are accepted, as 12, -1.5, 1e-3, inf or nan");
  }
  if (real) return value;
  const auto as_whole = std::from_chars(number.data(), end, value.whole);
  if (as_whole.ec != std::errc() || as_whole.ptr != end) {
    u64 large = 0;  // beyond 2^63
    const auto as_large = std::from_chars(number.data(), end, large);
    if (as_large.ec != std::errc() || as_large.ptr != end) {
      fail(text, "'" + number + "' is no integer of 64 bits");
    }
    value.whole = static_cast<i64>(large);
  }
  return value;
}

// A number: `i32=5`, or a bare one, whose type follows from its look and the argument's size.
Value make_number(const std::string& text, const std::optional<Type>& named,
                  const std::string& number, const KernelArgument& argument) {
  const bool real =
      named ? info(*named).real : number.find_first_of(".einEIN") != std::string::npos;
  const Number parsed = parse(text, number, real);
  Type type = Type::i64;
  if (named) {
    type = *named;
  } else if (real) {
    type = argument.size == 8 ? Type::f64 : argument.size == 2 ? Type::f16 : Type::f32;
  }
  const u32 bytes = named || real ? info(type).bytes : std::min(argument.size, 8u);
  if (bytes != argument.size) {
    fail(text, "has " + std::to_string(bytes) + " bytes; the kernel's has " +
                   std::to_string(argument.size));
  }
  const u64 bits = encode(type, parsed.real, parsed.whole);
  Value value;
  value.type = type;
  value.bytes.resize(bytes);
  std::memcpy(value.bytes.data(), &bits, bytes);
  return value;
}

void fill_with(const std::string& text, const Value& value, const std::string& content, u64 seed) {
  const bool real = info(value.type).real;
  const u32 bytes = info(value.type).bytes;
  auto* to = reinterpret_cast<std::byte*>(value.address);
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const bool random = content == "random";
  const bool iota = content == "iota";
  const Number constant = random || iota ? Number{} : parse(text, content, real);
  for (u64 i = 0; i < value.count; ++i) {
    Number number = constant;
    if (iota) number = {static_cast<double>(i), static_cast<i64>(i)};
    if (random) number = {normal(engine), static_cast<i64>(engine() % 100)};
    const u64 bits = encode(value.type, number.real, number.whole);
    std::memcpy(to + i * bytes, &bits, bytes);
  }
}

u64 fill_from_file(const std::string& text, const Value& value, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(text, "cannot read '" + path + "'");
  const u64 bytes = value.count * info(value.type).bytes;
  file.read(reinterpret_cast<char*>(value.address), static_cast<std::streamsize>(bytes));
  return static_cast<u64>(file.gcount());  // what is missing stays undefined
}

Value make_memory(const std::string& text, Type type, const std::string& count,
                  const std::optional<std::string>& content, const KernelArgument& argument,
                  Memory& memory, u64 seed) {
  if (argument.size != 8)
    fail(text,
         "memory for an argument of " + std::to_string(argument.size) + " bytes; a pointer has 8");
  Value value;
  value.type = type;
  value.count = parse_number(count, "the count of an argument");
  constexpr u64 max_count = 1ull << 40;
  if (value.count == 0 || value.count > max_count) {
    fail(text, "a count of " + count + "; 1 to 2^40 values are accepted");
  }
  value.address = memory.allocate(value.count * info(type).bytes);
  value.bytes.resize(8);
  std::memcpy(value.bytes.data(), &value.address, 8);
  if (!content) return value;
  u64 defined = value.count * info(type).bytes;
  if (content->starts_with("@")) {
    defined = fill_from_file(text, value, content->substr(1));
  } else {
    fill_with(text, value, *content, seed);
  }
  memory.set_defined(value.address, defined);
  return value;
}

}  // namespace

u32 bytes_of(Type type) { return info(type).bytes; }

Value make_value(const std::string& text, const KernelArgument& argument, Memory& memory,
                 u64 seed) {
  const std::size_t equals = text.find('=');
  const std::string head = text.substr(0, equals);
  const std::optional<std::string> content =
      equals == std::string::npos ? std::nullopt : std::optional(text.substr(equals + 1));
  const std::size_t colon = head.find(':');
  const std::optional<Type> type = type_named(head.substr(0, colon));
  if (colon != std::string::npos) {
    if (!type) fail(text, "no type '" + head.substr(0, colon) + "'; there are " + type_names());
    return make_memory(text, *type, head.substr(colon + 1), content, argument, memory, seed);
  }
  if (type && !content)
    fail(text, "a type alone; " + text + "=NUMBER and " + text + ":COUNT are accepted");
  if (!type && content)
    fail(text, "no type '" + head.substr(0, colon) + "'; there are " + type_names());
  return make_number(text, type, content ? *content : text, argument);
}

std::string text_of(const Value& value) {
  constexpr u64 most_printed = 256;
  constexpr u64 columns_printed = 8;
  const std::byte* from =
      value.address ? reinterpret_cast<const std::byte*>(value.address) : value.bytes.data();
  const u64 count = value.address ? value.count : 1;
  const u32 bytes = info(value.type).bytes;
  std::string out;
  for (u64 i = 0; i < std::min(count, most_printed); ++i) {
    char number[64];
    if (info(value.type).real) {
      std::snprintf(number, sizeof(number), "%12.6g", decode_real(value.type, from + i * bytes));
    } else {
      u64 bits = 0;
      std::memcpy(&bits, from + i * bytes, bytes);
      const bool is_signed = info(value.type).name[0] == 'i';
      const u32 unused = 64 - 8 * bytes;
      const i64 whole = static_cast<i64>(bits << unused) >> unused;
      std::snprintf(number, sizeof(number), is_signed ? "%12lld" : "%12llu",
                    is_signed ? static_cast<long long>(whole) : static_cast<long long>(bits));
    }
    out += number;
    out += i % columns_printed == columns_printed - 1 || i + 1 == std::min(count, most_printed)
               ? "\n"
               : " ";
  }
  if (count > most_printed) out += "... " + std::to_string(count - most_printed) + " more\n";
  return out;
}

}  // namespace instinct::cli
