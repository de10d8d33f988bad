#include "device/hip/driver.h"

#include <array>

#include "core/check.h"
#include "wavefire/config.h"

namespace wavefire::device::hip {
namespace {

LibraryName hip_name() {
  return {.operation = "hip",
          .what = "AMD's HIP runtime",
          // The last is there to be told too old, rather than absent.
          .candidates = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so",
                         "/opt/rocm/lib/libamdhip64.so", "libamdhip64.so.5"},
          .remedy = "install ROCm 6.0 or newer (it brings libamdhip64)"};
}

LibraryName virtual_name() {
  const std::string file = "libwavefire_virtual.so";
  LibraryName name = {.operation = "virtual",
                      .what = "the virtual Instinct",
                      .candidates = {own_folder() + file, file},
                      .remedy =
                          "build Wavefire with LLVM 20 or newer (-DWAVEFIRE_BUILD_VIRTUAL=ON),"
                          " or say where it is with WAVEFIRE_VIRTUAL_LIBRARY"};
  if (const std::string& path = config().virtual_library; !path.empty()) name.candidates = {path};
  return name;
}

class HipDriver final : public Driver {
 public:
  HipDriver(const LibraryName& name, const Library& library, bool is_virtual)
      : Driver(name, library, common_symbols, extra_end),
        own_(load_table<Functions>(name, library, own_symbols)) {
    if (is_virtual) {
      load_into(own_, name, library, virtual_symbols);
      // Refused if the program used the virtual Instinct before: then its devices are there.
      own_.virtual_set_devices("gfx942,gfx950");
    }
    initialize("hipInit");
  }

  Properties properties(int ordinal) const override {
    Properties p = common_properties(ordinal, property_attributes<Attribute>);
    p.architecture = architecture(ordinal);
    return p;
  }

  Context context(int ordinal) override { return ordinal; }
  Context current() const override {
    int ordinal = 0;
    check(own_.get_device(&ordinal), "hipGetDevice");
    return ordinal;
  }
  void set_current(Context context) const override {
    check(own_.set_device(static_cast<int>(context)), "hipSetDevice");
  }

  int allocate(void** pointer, std::size_t bytes) const override {
    return own_.allocate(pointer, bytes);
  }
  int free(void* pointer) const override { return own_.free(pointer); }
  int copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) const override {
    return own_.copy(to, from, bytes, copy_kind_default, stream);
  }
  int fill(void* to, unsigned char value, std::size_t bytes, StreamHandle stream) const override {
    return own_.fill(to, value, bytes, stream);
  }

  ModuleHandle load(std::span<const std::byte> image) const override {
    ModuleHandle module = nullptr;
    const int status = own_.virtual_load != nullptr
                           ? own_.virtual_load(&module, image.data(), image.size())
                           : functions().module_load(&module, image.data(), 0, nullptr, nullptr);
    check(status, "hipModuleLoadData");
    return module;
  }
  // All of LDS is there for every kernel.
  void allow_dynamic_shared(FunctionHandle, int) const override {}

 protected:
  // A framework in this process asks for HIP's last error after launches of its own: ours must not
  // be found there.
  std::string take_detail() const override {
    own_.last_error();
    return own_.virtual_last_error != nullptr ? own_.virtual_last_error() : "";
  }

 private:
  /// "gfx942", of "gfx942:sramecc+:xnack-".
  std::string architecture(int ordinal) const {
    alignas(std::max_align_t) std::array<char, PropertiesLayout::size> properties{};
    check(own_.properties(properties.data(), ordinal), "hipGetDeviceProperties");
    const std::string_view name(properties.data() + PropertiesLayout::architecture);
    return std::string(name.substr(0, name.find(':')));
  }

  Functions own_;
};

}  // namespace

std::unique_ptr<Driver> open_driver() {
  const LibraryName name = hip_name();
  return std::make_unique<HipDriver>(name, Library::open(name), false);
}

std::unique_ptr<Driver> open_virtual_driver() {
  const LibraryName name = virtual_name();
  return std::make_unique<HipDriver>(name, Library::open(name), true);
}

}  // namespace wavefire::device::hip
