#include "virtual/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace instinct {
namespace {

constexpr u64 allocation_alignment = 256;
// Unused addresses on each side of an allocation, so that an access just beyond one never falls
// into another.
constexpr u64 gap_bytes = 4096;
constexpr u64 page_size = 4096;
// Freed memory whose addresses are not used again yet.
constexpr std::size_t max_quarantine = 1024;

u64 round_up(u64 bytes, u64 unit) { return (bytes + unit - 1) / unit * unit; }

// Zero pages that appear when they are written.
void* map_pages(u64 bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

}  // namespace

struct Memory::Owned {
  u64 base;
  void* pages;
  u64 page_bytes;
  void* shadow;  // or nullptr
  u64 shadow_bytes;

  void drop_shadow() {
    if (shadow) munmap(shadow, shadow_bytes);
    shadow = nullptr;
  }
  void drop() {
    drop_shadow();
    munmap(pages, page_bytes);
  }
};

const Allocation* MemoryMap::below(u64 address) const {
  const auto after = std::ranges::upper_bound(live_, address, {}, &Allocation::base);
  return after == live_.begin() ? nullptr : &*(after - 1);
}

const Allocation* MemoryMap::above(u64 address) const {
  const auto after = std::ranges::upper_bound(live_, address, {}, &Allocation::base);
  return after == live_.end() ? nullptr : &*after;
}

const Allocation* MemoryMap::find(u64 address) const {
  const Allocation* allocation = below(address);
  return allocation && address < allocation->end() ? allocation : nullptr;
}

const Allocation* MemoryMap::find_freed(u64 address) const {
  for (const Allocation& freed : freed_) {
    if (freed.contains(address, 1)) return &freed;
  }
  return nullptr;
}

Memory::Memory(u64 capacity_bytes) : capacity_(capacity_bytes) {}

Memory::~Memory() {
  for (Owned& owned : owned_) owned.drop();
  for (Owned& owned : quarantine_) owned.drop();
}

u64 Memory::allocate(u64 bytes, Allocation::Kind kind) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > capacity_ - used_) {
    throw Error(Error::Kind::out_of_memory, "cannot allocate " + std::to_string(bytes) +
                                                " bytes: " + std::to_string(capacity_ - used_) +
                                                " of " + std::to_string(capacity_) + " are free");
  }
  // The end of the data is the end of what is mapped only up to alignment: the gap is there in
  // any case.
  Owned owned = {};
  owned.page_bytes = round_up(bytes, page_size) + 2 * gap_bytes;
  owned.pages = map_pages(owned.page_bytes);
  if (kind == Allocation::Kind::device) {
    owned.shadow_bytes = round_up(bytes, page_size);
    owned.shadow = map_pages(owned.shadow_bytes);
  }
  if (!owned.pages || (kind == Allocation::Kind::device && !owned.shadow)) {
    if (owned.pages) munmap(owned.pages, owned.page_bytes);
    owned.drop_shadow();
    throw Error(Error::Kind::out_of_memory,
                "cannot allocate " + std::to_string(bytes) + " bytes: the host has no more");
  }
  owned.base = reinterpret_cast<u64>(owned.pages) + gap_bytes;
  static_assert(gap_bytes % allocation_alignment == 0);
  owned_.push_back(owned);
  used_ += bytes;
  insert({owned.base, bytes, next_id_++, kind, true, static_cast<u8*>(owned.shadow)});
  return owned.base;
}

void Memory::free(u64 address) {
  const std::lock_guard lock(mutex_);
  const auto owned = std::ranges::find(owned_, address, &Owned::base);
  if (owned == owned_.end()) {
    throw Error(Error::Kind::invalid_value, "not the address of an allocation");
  }
  Allocation freed = erase(address);
  used_ -= freed.size;
  freed.defined = nullptr;
  current_.freed_.push_back(freed);
  owned->drop_shadow();
  madvise(owned->pages, owned->page_bytes, MADV_DONTNEED);
  quarantine_.push_back(*owned);
  owned_.erase(owned);
  if (quarantine_.size() > max_quarantine) {
    quarantine_.front().drop();
    quarantine_.erase(quarantine_.begin());
    current_.freed_.erase(current_.freed_.begin());
  }
}

bool Memory::owns(u64 address) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(owned_, address, &Owned::base) != owned_.end();
}

void Memory::add(u64 base, u64 bytes, Allocation::Kind kind, bool writable) {
  const std::lock_guard lock(mutex_);
  if (base == 0 || bytes == 0 || base + bytes < base) {
    throw Error(Error::Kind::invalid_value, "not a range of addresses");
  }
  const Allocation* below = current_.below(base + bytes - 1);
  if (below && below->end() > base) {
    throw Error(Error::Kind::invalid_value, "a part of it is known already");
  }
  insert({base, bytes, next_id_++, kind, writable, nullptr});
}

void Memory::remove(u64 base) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(owned_, base, &Owned::base) != owned_.end()) {
    throw Error(Error::Kind::invalid_value, "it was not registered but allocated");
  }
  erase(base);
}

void Memory::insert(const Allocation& allocation) {
  std::vector<Allocation>& live = current_.live_;
  live.insert(std::ranges::upper_bound(live, allocation.base, {}, &Allocation::base), allocation);
  picture_.reset();
}

Allocation Memory::erase(u64 base) {
  const auto place = std::ranges::find(current_.live_, base, &Allocation::base);
  if (place == current_.live_.end()) {
    throw Error(Error::Kind::invalid_value, "not the address of an allocation");
  }
  const Allocation allocation = *place;
  current_.live_.erase(place);
  picture_.reset();
  return allocation;
}

void Memory::allow_host_memory(bool allow) {
  const std::lock_guard lock(mutex_);
  host_allowed_ = allow;
}

void Memory::set_peer(const Memory* peer, bool visible) {
  const std::lock_guard lock(mutex_);
  std::erase(peers_, peer);
  if (visible) peers_.push_back(peer);
}

std::shared_ptr<const MemoryMap> Memory::map() const {
  auto own = own_map();
  std::vector<const Memory*> peers;
  {
    const std::lock_guard lock(mutex_);
    peers = peers_;
  }
  if (peers.empty()) return own;
  // Each with its own lock, one after another: two devices may be each other's peers.
  auto all = std::make_shared<MemoryMap>(*own);
  for (const Memory* peer : peers) {
    for (const Allocation& allocation : peer->own_map()->live_) {
      if (allocation.kind == Allocation::Kind::device) all->live_.push_back(allocation);
    }
  }
  std::ranges::sort(all->live_, {}, &Allocation::base);
  return all;
}

std::shared_ptr<const MemoryMap> Memory::own_map() const {
  const std::lock_guard lock(mutex_);
  if (host_allowed_) {
    auto picture = std::make_shared<MemoryMap>(current_);
    add_process(*picture);
    return picture;
  }
  if (!picture_) picture_ = std::make_shared<MemoryMap>(current_);
  return picture_;
}

// All else that the process has mapped, less the surroundings of our own allocations.
void Memory::add_process(MemoryMap& map) const {
  using Range = std::pair<u64, u64>;
  std::vector<Range> taken;
  taken.reserve(current_.live_.size() + owned_.size() + quarantine_.size());
  for (const Allocation& allocation : current_.live_) {
    taken.emplace_back(allocation.base, allocation.end());
  }
  for (const auto* list : {&owned_, &quarantine_}) {
    for (const Owned& owned : *list) {
      taken.emplace_back(owned.base - gap_bytes, owned.base - gap_bytes + owned.page_bytes);
    }
  }
  std::ranges::sort(taken);
  std::ifstream maps("/proc/self/maps");
  auto next = taken.begin();
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    u64 begin = 0;
    u64 end = 0;
    char dash = 0;
    std::string rights;
    fields >> std::hex >> begin >> dash >> end >> rights;
    if (!fields || rights.size() < 2 || rights[0] != 'r') continue;
    const auto add = [&](u64 until) {
      if (begin >= until) return;
      map.live_.push_back(
          {begin, until - begin, 0, Allocation::Kind::process, rights[1] == 'w', nullptr});
    };
    while (next != taken.end() && next->second <= begin) ++next;
    for (auto range = next; range != taken.end() && range->first < end; ++range) {
      add(range->first);
      begin = std::max(begin, range->second);
    }
    add(end);
  }
  std::ranges::sort(map.live_, {}, &Allocation::base);
}

std::optional<Allocation> Memory::find(u64 address) const {
  const std::lock_guard lock(mutex_);
  const Allocation* allocation = current_.find(address);
  return allocation ? std::optional(*allocation) : std::nullopt;
}

void Memory::set_defined(u64 address, u64 bytes) {
  const std::lock_guard lock(mutex_);
  const Allocation* allocation = current_.find(address);
  if (!allocation || !allocation->defined || !allocation->contains(address, bytes)) return;
  std::memset(allocation->defined + (address - allocation->base), 0xff, bytes);
}

void Memory::copy_defined(u64 to, u64 from, u64 bytes) {
  const std::lock_guard lock(mutex_);
  const Allocation* target = current_.find(to);
  if (!target || !target->defined || !target->contains(to, bytes)) return;
  u8* shadow = target->defined + (to - target->base);
  const Allocation* source = current_.find(from);
  if (source && source->defined && source->contains(from, bytes)) {
    std::memmove(shadow, source->defined + (from - source->base), bytes);
  } else {
    std::memset(shadow, 0xff, bytes);
  }
}

u64 Memory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace instinct
