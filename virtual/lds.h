// The local data share of a workgroup, and who touched which byte since the last barrier.
#pragma once

#include <memory>
#include <vector>

#include "virtual/types.h"

namespace instinct {

// Between two barriers (an epoch) two waves may meet at a byte only if both read. The record of a
// byte is epoch * 32 + wave; as reader, several_waves stands for more than one wave.
struct Lds {
  static constexpr u32 several_waves = 31;
  static constexpr u16 dma_under_way = 0xffff;  // a DMA to the place is not yet waited for
  static constexpr u32 epochs = 2046;
  static constexpr u32 slack = 64;  // bytes behind the end that may be looked at

  explicit Lds(u32 bytes);
  // Before each workgroup: undefined, no records.
  void reset(u32 bytes, bool track_undefined, bool track_races);
  void next_epoch();

  u32 size = 0;
  u32 epoch = 1;
  bool races = false;
  std::unique_ptr<u8[]> data;
  std::unique_ptr<u8[]> undefined;  // undefined bits of each byte
  std::unique_ptr<u16[]> writer;
  std::unique_ptr<u16[]> reader;
  // Lanes' addresses of accesses that are under way (InFlight::lds_record).
  struct Record {
    u64 exec = 0;
    u32 bytes = 0;  // at each address
    u32 address[64];
  };
  std::vector<Record> records;
  std::vector<u32> free_records;
  u32 new_record();
};

}  // namespace instinct
