// Blocks that run at the same time and write to each other's shared memory.
#pragma once

#include "tile/sm80/rows.h"

#include "tile/row_group.h"  // behind the instructions

WF_NAMESPACE_BEGIN(tile)

namespace isa {

/// Where another block of the cluster has what lies at `address` here.
WF_DEVICE u32 address_in_block(u32 address, int rank) {
  u32 r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}
WF_DEVICE void store_in_cluster(u32 address, u32 word) {
  asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
/// A barrier for all threads of all blocks; what they stored before the first half is seen behind
/// the second.
WF_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
WF_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace isa

/// Neighbouring blocks, as many as __cluster_dims__ says.
template <int blocks>
struct Cluster {
  static constexpr int count = blocks;
  WF_DEVICE static int rank() { return isa::block() % blocks; }
  template <class T>
  WF_DEVICE static void store(T* p, int rank, T value) {
    u32 address = isa::address_in_block(isa::shared_address(p), rank);
    map_words(value, [&](u32 word) {
      isa::store_in_cluster(address, word);
      address += 4;
      return word;
    });
  }
  template <int lanes>
  WF_DEVICE static void sync() {
    isa::cluster_arrive();
    isa::cluster_wait();
  }
  WF_DEVICE static void arrive() { isa::cluster_arrive(); }
  WF_DEVICE static void wait() { isa::cluster_wait(); }
};

WF_NAMESPACE_END
