#include "device/cuda/driver.h"

#include <array>
#include <vector>

#include "core/check.h"

namespace wavefire::device::cuda {
namespace {

LibraryName driver_name() {
  return {.operation = "cuda",
          .what = "NVIDIA's driver",
          // The second: Windows' driver, seen from Linux inside it.
          .candidates = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"},
          .remedy = "install NVIDIA's driver, 525 or newer (it brings libcuda)"};
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

class CudaDriver final : public Driver {
 public:
  CudaDriver(const LibraryName& name, const Library& library)
      : Driver(name, library, common_symbols, extra_end),
        own_(load_table<Functions>(name, library, own_symbols)) {
    initialize("cuInit");
  }

  Properties properties(int ordinal) const override {
    Properties p = common_properties(ordinal, property_attributes<Attribute>);
    p.architecture = core::join("sm_", attribute(Attribute::capability_major, ordinal),
                                attribute(Attribute::capability_minor, ordinal));
    return p;
  }

  // The primary context is the one that PyTorch and the CUDA runtime use. It is never given back:
  // frameworks keep it as long as the process, too.
  Context context(int ordinal) override {
    Context context = 0;
    check(own_.retain_context(&context, ordinal), "cuDevicePrimaryCtxRetain");
    return context;
  }
  Context current() const override {
    Context context = 0;
    check(own_.get_current(&context), "cuCtxGetCurrent");
    return context;
  }
  void set_current(Context context) const override {
    check(own_.set_current(context), "cuCtxSetCurrent");
  }

  int allocate(void** pointer, std::size_t bytes) const override {
    std::uint64_t address = 0;
    const int status = own_.allocate(&address, bytes);
    *pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    return status;
  }
  int free(void* pointer) const override { return own_.free(address_of(pointer)); }
  int copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const override {
    return own_.copy(address_of(to), address_of(from), bytes, stream);
  }
  int fill(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const override {
    return own_.fill(address_of(to), value, bytes, stream);
  }

  ModuleHandle load(std::span<const std::byte> image) const override {
    // The driver is told no size: text must end with a zero.
    std::vector<std::byte> ended(image.begin(), image.end());
    ended.push_back(std::byte{0});
    std::array<char, 4096> log{};
    int options[] = {JitOption::error_log_buffer, JitOption::error_log_bytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    ModuleHandle module = nullptr;
    const int status = functions().module_load(&module, ended.data(), 2, options, values);
    try {
      check(status, "cuModuleLoadDataEx");
    } catch (const Error& error) {
      log.back() = '\0';
      const bool is_newer = status == unsupported_ptx_version;
      throw Error(is_newer ? ErrorKind::unsupported : error.kind(),
                  core::join(error.what(), log[0] == '\0' ? "" : "; ", log.data()));
    }
    return module;
  }
  void allow_dynamic_shared(FunctionHandle function, int bytes) const override {
    check(own_.set_function_attribute(function, FunctionAttribute::max_dynamic_shared_bytes, bytes),
          "cuFuncSetAttribute");
  }
  bool encode(tile::TensorMap& map, const void* data, const TensorShape& shape) const override {
    using Option = TensorMapOption;
    constexpr std::uint32_t every_element[TensorShape::rank] = {1, 1, 1, 1};
    return own_.encode_tensor_map(&map, Option::dtype_bf16, TensorShape::rank,
                                  const_cast<void*>(data), shape.dims, shape.strides, shape.box,
                                  every_element, Option::no_interleave, Option::swizzle_128,
                                  Option::l2_promotion_256, Option::fill_zeros) == Status::success;
  }

 private:
  Functions own_;
};

}  // namespace

std::unique_ptr<Driver> open_driver() {
  const LibraryName name = driver_name();
  return std::make_unique<CudaDriver>(name, Library::open(name));
}

}  // namespace wavefire::device::cuda
