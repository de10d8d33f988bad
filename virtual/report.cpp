#include "virtual/report.h"

#include <cstdio>

namespace instinct {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::out_of_bounds: return "access out of bounds";
    case Fault::race: return "race in LDS";
    case Fault::undefined_value: return "undefined value";
    case Fault::not_waited_for: return "not waited for";
    case Fault::wait_states: return "missing wait states";
    case Fault::barrier: return "barrier mismatch";
    case Fault::stuck: return "no progress";
    case Fault::unknown_instruction: return "unknown instruction";
    case Fault::unsupported: return "unsupported";
    case Fault::bad_program_counter: return "bad program counter";
  }
  return "";
}

std::string Report::text() const {
  char place[64];
  std::snprintf(place, sizeof(place), "%llx", static_cast<unsigned long long>(address));
  std::string out = std::string(name_of(fault)) + ": " + message + "\n  kernel " + kernel;
  if (!function.empty() && function != kernel) out += ", in " + function;
  out += "\n  at " + std::string(place) + ": " + instruction;
  if (line) out += "\n  source " + line->file + ":" + std::to_string(line->line);
  out += "\n  workgroup (" + std::to_string(workgroup[0]) + ", " + std::to_string(workgroup[1]) +
         ", " + std::to_string(workgroup[2]) + "), wave " + std::to_string(wave);
  if (lane >= 0) out += ", lane " + std::to_string(lane);
  return out;
}

Checks Checks::parse(std::string_view text) {
  if (text.empty() || text == "all") return {};
  Checks checks = none();
  if (text == "none") return checks;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (name == "bounds")
      checks.bounds = true;
    else if (name == "races")
      checks.races = true;
    else if (name == "undefined")
      checks.undefined = true;
    else if (name == "waits")
      checks.waits = true;
    else if (name == "hazards")
      checks.hazards = true;
    else if (name == "barriers")
      checks.barriers = true;
    else
      throw Error(Error::Kind::invalid_value,
                  "checks: '" + std::string(name) +
                      "' is none of all, none, bounds, races, undefined, waits, hazards, barriers");
  }
  return checks;
}

}  // namespace instinct
