// What the source of a GPU kernel instantiates. A kernel is, for some architecture, schedule and
// configuration,
//
//   using Kernel = attention::Entry<Arch, Schedule, config>;
//   extern "C" WF_GLOBAL void __launch_bounds__(Kernel::threads)
//       name(const __grid_constant__ Kernel::Launch params) {
//     extern __shared__ __align__(1024) u8 memory[];
//     Kernel::run(params, memory);
//   }
//
// launched with `params.workers` blocks of `threads` threads and `shared_bytes` of dynamic shared
// memory.
#pragma once

#include "attention/attend.h"

WF_NAMESPACE_BEGIN(attention)

template <class Arch, class Schedule, Config config>
struct Entry {
  using Steps = attention::Steps<Arch, config>;
  using Launch = typename Steps::Launch;
  static constexpr int threads = Arch::block_threads;
  static constexpr int shared_bytes = sizeof(typename Steps::Shared);

  WF_DEVICE static void run(const Launch& params, void* memory) {
    auto& shared = *static_cast<typename Steps::Shared*>(memory);
    Arch::init(shared.barriers);
    if constexpr (requires { typename Schedule::Load; }) {
      // One branch, at the end of which nothing comes: each kind of lanes has its own registers.
      if (Arch::computes()) {
        Arch::begin_computing();
        work<typename Schedule::Compute>(params, shared);
      } else {
        Arch::begin_loading();
        work<typename Schedule::Load>(params, shared);
      }
    } else {
      work<Schedule>(params, shared);
    }
  }

 private:
  template <class Order>
  WF_DEVICE static void work(const Launch& params, typename Steps::Shared& shared) {
    Steps steps(params, shared);
    attend<Arch, Order>(params, Arch::worker(), steps);
  }
};

WF_NAMESPACE_END
