// What a loader has to understand: arguments of all kinds, symbols, relocations, LDS, limits.
#include "device.h"

struct Pair {
  int first;
  double second;
};

DEVICE int table[4] = {3, 1, 4, 1};
CONSTANT float scale[2] = {0.5f, 2.0f};
DEVICE int* pointer = &table[2];  // needs a relocation
DEVICE int zeroed[100];

GLOBAL_KERNEL THREADS(64) void arguments(const float* in, float* out, char letter, Pair pair,
                                         short n) {
  out[thread()] = in[thread()] * pair.second + letter + pair.first + n;
}

GLOBAL_KERNEL THREADS(64) void symbols(int* out) {
  out[thread()] = table[thread() & 3] + *pointer + zeroed[thread()] + int(scale[thread() & 1] * 2);
}

GLOBAL_KERNEL THREADS(256) void shares(int* out) {
  SHARED int fixed[1000];
  extern SHARED int dynamic[];
  fixed[thread()] = thread();
  dynamic[thread()] = 2 * thread();
  barrier();
  out[group() * 256 + thread()] = fixed[255 - thread()] + dynamic[255 - thread()];
}

GLOBAL_KERNEL void sizes(uint* out) {
  if (thread()) return;
  out[0] = __builtin_amdgcn_workgroup_size_x();
  out[1] = __builtin_amdgcn_workgroup_size_y();
  out[2] = __builtin_amdgcn_workgroup_size_z();
  out[3] = __builtin_amdgcn_grid_size_x();
  out[4] = __builtin_amdgcn_grid_size_y();
  out[5] = __builtin_amdgcn_grid_size_z();
}
