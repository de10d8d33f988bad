// What clang makes host programs call at their start, so that kernel<<<grid, block>>>() works: the
// host's function stands for the kernel of the same name in the code object linked into the
// program.
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "virtual/hip/hip_api.h"
#include "virtual/hip/image.h"
#include "virtual/hip/launch.h"

namespace instinct::hip {
namespace {

// "HIP fat binary" as emitted by clang (CGCUDANV.cpp: HIPFatMagic).
struct FatBinaryWrapper {
  u32 magic;
  u32 version;
  const void* binary;
  void* unused;
};
constexpr u32 magic_text = 0x48495046;  // "HIPF"

struct FatBinary {
  const void* image = nullptr;
  std::unordered_map<int, std::shared_ptr<Module>> modules;  // by device
};

struct HostFunction {
  FatBinary* binary;
  std::string name;
  std::unordered_map<int, std::shared_ptr<Function>> functions;  // by device
};

struct Variable {
  FatBinary* binary;
  std::string name;
};

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<FatBinary>> binaries;
  std::unordered_map<const void*, HostFunction> functions;
  std::unordered_map<const void*, Variable> variables;
};

// Constructors of the program call in here before ours have run.
Registry& registry() {
  static Registry& registry = *new Registry;
  return registry;
}

Module& module_of(FatBinary& binary, Device& device) {
  std::shared_ptr<Module>& module = binary.modules[device.ordinal()];
  if (!module) module = Runtime::get().load(device, read_image(binary.image));
  return *module;
}

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_lds;
  hipStream_t stream;
};

std::vector<CallConfiguration>& configurations() {
  thread_local std::vector<CallConfiguration> stack;
  return stack;
}

}  // namespace

std::shared_ptr<Function> registered_function(const void* host_function) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.functions.find(host_function);
  if (found == known.functions.end()) return nullptr;
  HostFunction& host = found->second;
  Device& device = current_device();
  std::shared_ptr<Function>& function = host.functions[device.ordinal()];
  if (!function) {
    const Module& module = module_of(*host.binary, device);
    const Kernel* kernel = module.object->find_kernel(host.name);
    if (!kernel) {
      throw Failure(hipErrorInvalidDeviceFunction, "the program has no kernel '" + host.name +
                                                       "' for " + name_of(device.target()));
    }
    function = std::make_shared<Function>(Function{&device, module.object, kernel});
    Runtime::get().functions.add(function);
  }
  return function;
}

namespace {

const Symbol& variable_of(const void* host_variable) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.variables.find(host_variable);
  require(found != known.variables.end(), "not a device variable", hipErrorInvalidSymbol);
  const Module& module = module_of(*found->second.binary, current_device());
  const Symbol* symbol = module.object->find_symbol(found->second.name);
  require(symbol != nullptr, "the code object lacks the variable", hipErrorInvalidSymbol);
  return *symbol;
}

void* place_in(const void* host_variable, std::size_t bytes, std::size_t offset) {
  const Symbol& symbol = variable_of(host_variable);
  require(offset <= symbol.size && bytes <= symbol.size - offset, "beyond the variable");
  return reinterpret_cast<void*>(symbol.address + offset);
}

}  // namespace
}  // namespace instinct::hip

using namespace instinct;
using namespace instinct::hip;

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): clang's names.
extern "C" {

void** __hipRegisterFatBinary(const void* data) {
  const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
  auto binary = std::make_unique<FatBinary>();
  if (wrapper && wrapper->magic == magic_text) binary->image = wrapper->binary;
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.binaries.push_back(std::move(binary));
  return reinterpret_cast<void**>(known.binaries.back().get());
}

void __hipUnregisterFatBinary(void**) {}  // the process ends

void __hipRegisterFunction(void** binary, const void* host_function, char*, const char* name,
                           unsigned, void*, void*, void*, void*, int*) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.functions[host_function] = {reinterpret_cast<FatBinary*>(binary), name, {}};
}

void __hipRegisterVar(void** binary, void* host_variable, char*, char* name, int, std::size_t, int,
                      int) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.variables[host_variable] = {reinterpret_cast<FatBinary*>(binary), name};
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t dynamic_lds,
                                      hipStream_t stream) {
  return call(__func__, [&] { configurations().push_back({grid, block, dynamic_lds, stream}); });
}

hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* dynamic_lds,
                                     hipStream_t* stream) {
  return call(__func__, [&] {
    require(!configurations().empty(), "no call is under way", hipErrorInvalidConfiguration);
    const CallConfiguration top = configurations().back();
    configurations().pop_back();
    *grid = top.grid;
    *block = top.block;
    *dynamic_lds = top.dynamic_lds;
    *stream = top.stream;
  });
}

hipError_t hipGetSymbolAddress(void** pointer, const void* symbol) {
  return call(__func__, [&] {
    require(pointer, "pointer is null");
    *pointer = place_in(symbol, 0, 0);
  });
}

hipError_t hipGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return call(__func__, [&] {
    require(bytes, "bytes is null");
    *bytes = variable_of(symbol).size;
  });
}

hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                             std::size_t offset, hipMemcpyKind) {
  void* to = nullptr;
  const hipError_t code = call(__func__, [&] { to = place_in(symbol, bytes, offset); });
  return code == hipSuccess ? hipMemcpy(to, from, bytes, hipMemcpyDefault) : code;
}

hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                               hipMemcpyKind) {
  const void* from = nullptr;
  const hipError_t code = call(__func__, [&] { from = place_in(symbol, bytes, offset); });
  return code == hipSuccess ? hipMemcpy(to, from, bytes, hipMemcpyDefault) : code;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
