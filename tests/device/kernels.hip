// Kernels of the device contract, compiled by clang for each architecture: gfx942, gfx950, and PTX
// for sm_80 and later.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))

#ifdef __NVPTX__
DEVICE inline int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE inline int group_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE inline int group_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE inline int group_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEVICE inline void barrier() { __syncthreads(); }
#else
DEVICE inline int thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline int group_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline int group_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE inline int group_z() { return __builtin_amdgcn_workgroup_id_z(); }
DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif

struct ScaleParams {
  const float* in;
  float* out;
  float factor;
  int count;
};

// Blocks of 64 threads. One struct.
KERNEL void scale(ScaleParams params) {
  const int i = 64 * group_x() + thread();
  if (i < params.count) params.out[i] = params.in[i] * params.factor;
}

// The same arguments, one after the other.
KERNEL void scale_each(const float* in, float* out, float factor, int count) {
  const int i = 64 * group_x() + thread();
  if (i < count) out[i] = in[i] * factor;
}

// Where each block of a grid of 2 x 3 x 4 believes to be.
KERNEL void places(int* out) {
  if (thread() == 0) {
    out[group_x() + 2 * (group_y() + 3 * group_z())] = group_x() + 10 * group_y() + 100 * group_z();
  }
}

struct ReverseParams {
  const int* in;
  int* out;
  int offset;  // of the integers that are used, in dynamic shared memory
};

// One block of 64 threads.
KERNEL void reverse(ReverseParams params) {
  extern SHARED int shared[];
  shared[params.offset + thread()] = params.in[thread()];
  barrier();
  params.out[thread()] = shared[params.offset + 63 - thread()];
}
