// The memory of a device. Addresses are host addresses; what a kernel may touch is what stands in
// here, and everything else is out of bounds.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "virtual/types.h"

namespace instinct {

struct Allocation {
  enum class Kind : u8 {
    device,  // hipMalloc
    host,    // hipHostMalloc, hipHostRegister
    code,    // a segment of a code object
    process  // anything else that is mapped, if host memory is unchecked
  };
  u64 base = 0;
  u64 size = 0;
  u64 id = 0;  // counts from 1, for reports
  Kind kind = Kind::device;
  bool writable = true;
  // A byte for each byte: the mask of its bits that something wrote. nullptr: all are defined (host
  // memory, code). Zero means undefined, so that pages appear as they are written.
  u8* defined = nullptr;

  u64 end() const { return base + size; }
  bool contains(u64 address, u64 bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
};

// A picture of what is allocated, fixed while a kernel runs. Safe for any number of threads.
class MemoryMap {
 public:
  // The allocation in which an access of one byte at `address` falls, or nullptr.
  const Allocation* find(u64 address) const;
  // The nearest allocations below and above, for reports.
  const Allocation* below(u64 address) const;
  const Allocation* above(u64 address) const;
  // The freed allocation that held `address`, as long as its addresses are not used again.
  const Allocation* find_freed(u64 address) const;

 private:
  friend class Memory;
  std::vector<Allocation> live_;   // by address, disjoint
  std::vector<Allocation> freed_;  // those in quarantine, oldest first
};

class Memory {
 public:
  explicit Memory(u64 capacity_bytes = ~0ull);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Memory of the device: aligned to 256 bytes, undefined, with unused addresses on both sides.
  // With `kind` host: defined. Throws Error out_of_memory.
  u64 allocate(u64 bytes, Allocation::Kind kind = Allocation::Kind::device);
  void free(u64 address);        // throws Error unless it is the base of an allocation
  bool owns(u64 address) const;  // whether free() would take it

  // Memory that belongs to others: host memory, code objects.
  void add(u64 base, u64 bytes, Allocation::Kind kind, bool writable = true);
  void remove(u64 base);

  // Whether kernels may use all memory that the process has mapped, as on a machine whose GPU
  // sees host memory (XNACK).
  void allow_host_memory(bool allow);

  // Lets kernels of this device use the memory of another, or no longer. Not for itself.
  void set_peer(const Memory* peer, bool visible);

  std::shared_ptr<const MemoryMap> map() const;
  std::optional<Allocation> find(u64 address) const;

  // For copies and fills by the host; `bytes` within one allocation, else nothing happens.
  void set_defined(u64 address, u64 bytes);
  void copy_defined(u64 to, u64 from, u64 bytes);

  u64 capacity() const { return capacity_; }
  u64 used() const;

 private:
  struct Owned;
  void insert(const Allocation& allocation);
  Allocation erase(u64 base);
  void add_process(MemoryMap& map) const;
  std::shared_ptr<const MemoryMap> own_map() const;

  u64 capacity_;
  mutable std::mutex mutex_;
  u64 used_ = 0;
  u64 next_id_ = 1;
  bool host_allowed_ = false;
  MemoryMap current_;
  mutable std::shared_ptr<const MemoryMap> picture_;  // of current_; null after a change
  std::vector<const Memory*> peers_;
  std::vector<Owned> quarantine_;
  std::vector<Owned> owned_;
};

}  // namespace instinct
