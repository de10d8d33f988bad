#include "virtual/handlers/dpp.h"

#include "virtual/handlers/lanes.h"

namespace instinct::INSTINCT_LEVEL {
namespace {

// The lane that `lane` reads under `control`, or -1.
int dpp_source(u32 control, int lane) {
  const int row = lane & ~15, in_row = lane & 15;
  const int n = static_cast<int>(control & 15);
  if (control < 0x100) {  // quad_perm
    return (lane & ~3) | static_cast<int>(control >> 2 * (lane & 3) & 3);
  }
  switch (control & 0x1f0) {
    case 0x100: return in_row + n < 16 ? lane + n : -1;  // row_shl
    case 0x110: return in_row >= n ? lane - n : -1;      // row_shr
    case 0x120: return row | ((in_row - n) & 15);        // row_ror
    case 0x150: return row | n;                          // row_newbcast
    default: break;
  }
  switch (control) {
    case 0x130: return lane < 63 ? lane + 1 : -1;       // wave_shl:1
    case 0x134: return (lane + 1) & 63;                 // wave_rol:1
    case 0x138: return lane - 1;                        // wave_shr:1
    case 0x13c: return (lane - 1) & 63;                 // wave_ror:1
    case 0x140: return row | (15 - in_row);             // row_mirror
    case 0x141: return (lane & ~7) | (7 - (lane & 7));  // row_half_mirror
    case 0x142: return row ? row - 1 : -1;              // row_bcast:15
    case 0x143: return lane >= 32 ? 31 : -1;            // row_bcast:31
    default: return -2;
  }
}

struct DppTable {
  i16 source[0x160][64];
  DppTable() {
    for (u32 control = 0; control < 0x160; ++control) {
      for (int lane = 0; lane < 64; ++lane) {
        source[control][lane] = static_cast<i16>(dpp_source(control, lane));
      }
    }
  }
};

u64 row_and_bank_mask(const Dpp& dpp) {
  u64 mask = 0;
  for (u32 lane = 0; lane < 64; ++lane) {
    const bool on = (dpp.row_mask >> (lane >> 4) & 1) && (dpp.bank_mask >> (lane >> 2 & 3) & 1);
    mask |= u64{on} << lane;
  }
  return mask;
}

}  // namespace

u64 move_lanes(const Wave& w, const Instruction& in, const u32* s, u32 words, Row* d) {
  static const DppTable table;
  const u64 exec = w.exec();
  const i16* source = table.source[in.dpp.control < 0x160 ? in.dpp.control : 0x15f];
  if (source[0] == -2) unsupported(w, in, "DPP control");
  u64 valid = 0;
  for (u32 lane = 0; lane < 64; ++lane) {
    const int from = source[lane];
    const bool on = from >= 0 && (exec >> from & 1);
    valid |= u64{on} << lane;
    for (u32 k = 0; k < words; ++k) d[k].lane[lane] = on ? s[64 * k + static_cast<u32>(from)] : 0;
  }
  const u64 masks =
      in.dpp.row_mask == 0xf && in.dpp.bank_mask == 0xf ? ~u64{0} : row_and_bank_mask(in.dpp);
  return exec & masks & (in.dpp.bound_ctrl ? ~u64{0} : valid);
}

}  // namespace instinct::INSTINCT_LEVEL
