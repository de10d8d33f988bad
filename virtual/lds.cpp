#include "virtual/lds.h"

#include <cstring>

namespace instinct {

Lds::Lds(u32 bytes)
    : data(new u8[bytes + slack]),
      undefined(new u8[bytes + slack]),
      writer(new u16[bytes + slack]),
      reader(new u16[bytes + slack]) {}

void Lds::reset(u32 bytes, bool track_undefined, bool track_races) {
  size = bytes;
  epoch = 1;
  races = track_races;
  // What nothing wrote is conspicuous: a NaN in every format.
  std::memset(data.get(), 0xff, bytes + slack);
  std::memset(undefined.get(), track_undefined ? 0xff : 0, bytes + slack);
  std::memset(writer.get(), 0, 2 * (bytes + slack));
  std::memset(reader.get(), 0, 2 * (bytes + slack));
  records.clear();
  free_records.clear();
}

void Lds::next_epoch() {
  if (++epoch < epochs) return;
  epoch = 1;
  for (u32 i = 0; i < size; ++i) {
    if (writer[i] != dma_under_way) writer[i] = 0;
  }
  std::memset(reader.get(), 0, 2 * size);
}

u32 Lds::new_record() {
  if (free_records.empty()) {
    records.emplace_back();
    return static_cast<u32>(records.size() - 1);
  }
  const u32 record = free_records.back();
  free_records.pop_back();
  return record;
}

}  // namespace instinct
