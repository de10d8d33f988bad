// The command line of wavefire-virtual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "virtual/execute.h"

namespace instinct::cli {

struct Output {
  std::size_t argument = 0;  // counts from 0
  std::string path;          // empty: print it
};

struct Options {
  std::string command;
  std::string file;
  std::string kernel;  // empty: the only one
  Dim3 grid;
  Dim3 block = {64, 1, 1};
  u32 dynamic_lds = 0;
  std::vector<std::string> arguments;  // as described in values.h
  std::vector<Output> outputs;
  std::optional<std::string> checks;
  u64 seed = 0;
  u32 orders = 4;
  int threads = 0;
  u64 limit = 0;
};

// What --help prints.
extern const char* const usage_text;

// Throws Error (invalid_value) with one line for people.
Options parse_options(int count, char** words);

u64 parse_number(const std::string& text, const char* what);

}  // namespace instinct::cli
