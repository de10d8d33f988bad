#include "virtual/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace instinct {
namespace {

u8* at(u64 address) { return reinterpret_cast<u8*>(address); }

TEST(Memory, finds_what_is_allocated) {
  Memory memory;
  const u64 a = memory.allocate(1000);
  const u64 b = memory.allocate(1);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 256, 0u);
  const auto map = memory.map();
  ASSERT_NE(map->find(a), nullptr);
  EXPECT_EQ(map->find(a)->base, a);
  EXPECT_EQ(map->find(a + 999)->id, map->find(a)->id);
  EXPECT_EQ(map->find(a + 1000), nullptr);
  EXPECT_EQ(map->find(a - 1), nullptr);
  EXPECT_EQ(map->find(b)->size, 1u);
  EXPECT_EQ(map->find(0), nullptr);
  EXPECT_EQ(map->find(~0ull), nullptr);
  EXPECT_EQ(map->below(a + 1000)->base, a);
  EXPECT_EQ(map->above(a - 1)->base, a);
  EXPECT_EQ(memory.used(), 1001u);
}

TEST(Memory, keeps_allocations_apart) {
  Memory memory;
  const u64 a = memory.allocate(4096);
  const u64 b = memory.allocate(4096);
  EXPECT_GE(a < b ? b - a : a - b, 3 * 4096u);
}

TEST(Memory, contains_no_range_that_wraps) {
  const Allocation allocation = {.base = 1000, .size = 100};
  EXPECT_TRUE(allocation.contains(1000, 100));
  EXPECT_TRUE(allocation.contains(1096, 4));
  EXPECT_FALSE(allocation.contains(1097, 4));
  EXPECT_FALSE(allocation.contains(999, 4));
  EXPECT_FALSE(allocation.contains(1004, ~0ull));
}

TEST(Memory, remembers_what_was_freed) {
  Memory memory;
  const u64 a = memory.allocate(100);
  const u64 id = memory.find(a)->id;
  const auto before = memory.map();
  memory.free(a);
  EXPECT_NE(before->find(a), nullptr);  // a picture does not change
  EXPECT_EQ(memory.map()->find(a), nullptr);
  ASSERT_NE(memory.map()->find_freed(a + 99), nullptr);
  EXPECT_EQ(memory.map()->find_freed(a + 99)->id, id);
  EXPECT_EQ(memory.map()->find_freed(a + 100), nullptr);
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_THROW(memory.free(a), Error);
}

TEST(Memory, does_not_reuse_addresses_at_once) {
  Memory memory;
  const u64 a = memory.allocate(100);
  memory.free(a);
  for (int i = 0; i < 100; ++i) EXPECT_NE(memory.allocate(100), a);
}

TEST(Memory, frees_only_what_it_allocated) {
  Memory memory;
  const u64 a = memory.allocate(100);
  std::vector<u8> host(100);
  const u64 h = reinterpret_cast<u64>(host.data());
  memory.add(h, 100, Allocation::Kind::host);
  EXPECT_THROW(memory.free(a + 1), Error);
  EXPECT_THROW(memory.free(h), Error);
  EXPECT_THROW(memory.remove(a), Error);
  EXPECT_THROW(memory.add(h + 50, 10, Allocation::Kind::host), Error);
  EXPECT_THROW(memory.add(a - 10, 11, Allocation::Kind::host), Error);
  memory.remove(h);
  EXPECT_EQ(memory.map()->find(h), nullptr);
  EXPECT_NE(memory.map()->find(a), nullptr);
}

TEST(Memory, has_a_capacity) {
  Memory memory(1000);
  const u64 a = memory.allocate(600);
  try {
    memory.allocate(401);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::out_of_memory);
  }
  memory.free(a);
  EXPECT_NO_THROW(memory.allocate(1000));
  EXPECT_THROW(Memory().allocate(1ull << 60), Error);
}

TEST(Memory, knows_what_is_defined) {
  Memory memory;
  const u64 a = memory.allocate(64);
  const u64 b = memory.allocate(64);
  const u8* defined = memory.find(a)->defined;
  ASSERT_NE(defined, nullptr);
  EXPECT_EQ(defined[0], 0);
  memory.set_defined(a + 4, 8);
  EXPECT_EQ(defined[3], 0);
  EXPECT_EQ(defined[4], 0xff);
  EXPECT_EQ(defined[11], 0xff);
  EXPECT_EQ(defined[12], 0);
  memory.copy_defined(b, a, 8);
  const u8* copied = memory.find(b)->defined;
  EXPECT_EQ(copied[3], 0);
  EXPECT_EQ(copied[4], 0xff);
  u8 host[64] = {};
  memory.copy_defined(b, reinterpret_cast<u64>(host), 64);
  EXPECT_EQ(copied[63], 0xff);
  memory.set_defined(a + 60, 8);  // not within the allocation: nothing
  EXPECT_EQ(defined[60], 0);
}

TEST(Memory, takes_host_memory_for_defined) {
  Memory memory;
  EXPECT_EQ(memory.find(memory.allocate(64, Allocation::Kind::host))->defined, nullptr);
}

TEST(Memory, sees_the_process_only_if_told) {
  Memory memory;
  static int variable = 1;
  const u64 address = reinterpret_cast<u64>(&variable);
  const u64 a = memory.allocate(100);
  EXPECT_EQ(memory.map()->find(address), nullptr);
  memory.allow_host_memory(true);
  const auto map = memory.map();
  ASSERT_NE(map->find(address), nullptr);
  EXPECT_EQ(map->find(address)->kind, Allocation::Kind::process);
  EXPECT_TRUE(map->find(address)->writable);
  EXPECT_FALSE(map->find(reinterpret_cast<u64>("text"))->writable);
  EXPECT_EQ(map->find(a)->kind, Allocation::Kind::device);
  EXPECT_EQ(map->find(a + 100), nullptr);  // still a hole
  memory.free(a);
  EXPECT_EQ(memory.map()->find(a), nullptr);
}

TEST(Memory, is_safe_between_threads) {
  Memory memory;
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const u64 a = memory.allocate(1000);
      std::memset(at(a), 1, 1000);
      memory.set_defined(a, 1000);
      EXPECT_NE(memory.map()->find(a), nullptr);
      memory.free(a);
    }
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace instinct
