// Branches that diverge, loops, calls, barriers, sizes of grids.
#include "device.h"

GLOBAL_KERNEL THREADS(64) void diverging_loop(const int* in, int* out) {
  int value = in[thread()];
  int sum = 0;
  while (value > 0) {
    if (value % 3 == 0) {
      sum += value;
    } else {
      sum -= 2;
      if (sum < -40) break;
    }
    value -= 1 + (value & 1);
  }
  out[thread()] = sum;
}

GLOBAL_KERNEL THREADS(64) void nested(const int* in, int* out) {
  int steps = 0;
  for (int i = 0; i < in[thread()] % 5; ++i) {
    for (int j = i; j < in[thread() ^ 1] % 4; ++j) {
      if ((i + j) % 2) continue;
      steps += i * 10 + j + 1;
    }
  }
  out[thread()] = steps;
}

GLOBAL_KERNEL THREADS(64) void switches(const int* in, int* out) {
  int value = in[thread()];
  switch (value % 6) {
    case 0: value = value * 3; break;
    case 1: value = value ^ 0x55;
    case 2: value = value - 7; break;
    case 3: value = -value; break;
    case 5: value = value << 2; break;
    default: value = 99;
  }
  out[thread()] = value;
}

__attribute__((noinline)) DEVICE int mix(int x, int y) { return x * y + (x >> 3) - (y << 1); }

// A call, in a loop with a count that differs between lanes.
GLOBAL_KERNEL THREADS(64) void calls(const int* in, int* out) {
  int sum = 1;
  for (int i = 0; i < in[thread()] % 7; ++i) sum = mix(in[thread()] + i, sum);
  out[thread()] = sum;
}

// A call that needs a stack: recursion.
__attribute__((noinline)) DEVICE int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

GLOBAL_KERNEL THREADS(64) void recursion(const int* in, int* out) {
  out[thread()] = fibonacci(in[thread()] % 9);
}

using Function = int (*)(int, int);
__attribute__((noinline)) DEVICE int larger(int x, int y) { return x > y ? x : y; }

GLOBAL_KERNEL THREADS(64) void function_pointers(const int* in, int* out) {
  const Function function = in[thread()] % 2 ? mix : larger;
  out[thread()] = function(in[thread()], 11);
}

// Waves pass values around by turns.
GLOBAL_KERNEL THREADS(256) void barriers(const int* in, int* out, int rounds) {
  SHARED int ring[2][256];
  ring[0][thread()] = in[thread()];
  for (int i = 0; i < rounds; ++i) {
    barrier();
    ring[1 - i % 2][thread()] = ring[i % 2][(thread() + 37) % 256] + 1;
  }
  barrier();
  out[thread()] = ring[rounds % 2][thread()];
}

// Lanes that have ended early do not count.
GLOBAL_KERNEL THREADS(128) void early_exit(const int* in, int* out, int count) {
  if (thread() >= count) return;
  out[thread()] = in[thread()] * 2;
}

GLOBAL_KERNEL void places(uint* out) {
  const uint width = __builtin_amdgcn_workgroup_size_x() * __builtin_amdgcn_grid_size_x() /
                     __builtin_amdgcn_workgroup_size_x();
  const uint height = __builtin_amdgcn_grid_size_y();
  const uint x = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() +
                 __builtin_amdgcn_workitem_id_x();
  const uint y = __builtin_amdgcn_workgroup_id_y() * __builtin_amdgcn_workgroup_size_y() +
                 __builtin_amdgcn_workitem_id_y();
  const uint z = __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_z() +
                 __builtin_amdgcn_workitem_id_z();
  out[(z * height + y) * width + x] = x + 100 * y + 10000 * z;
}

GLOBAL_KERNEL void dynamic_lds(uint* out) {
  extern SHARED uint tile[];
  const uint count = __builtin_amdgcn_workgroup_size_x();
  tile[thread()] = thread() * 3;
  barrier();
  out[group() * count + thread()] = tile[count - 1 - thread()];
}

GLOBAL_KERNEL THREADS(64) void clocks(ulong* out) {
  const ulong first = __builtin_readcyclecounter();
  const ulong real = __builtin_amdgcn_s_memrealtime();
  const ulong second = __builtin_readcyclecounter();
  if (thread() == 0) {
    out[0] = second >= first;
    out[1] = real > 0;
  }
}
