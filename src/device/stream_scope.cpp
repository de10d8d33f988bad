#include "wavefire/device.h"

namespace wavefire {
namespace {

thread_local const StreamScope* innermost = nullptr;

}  // namespace

StreamScope::StreamScope(Device device, void* stream)
    : device_(device), stream_(stream), outer_(innermost) {
  innermost = this;
}
StreamScope::~StreamScope() { innermost = outer_; }

void* current_stream(Device device) {
  const StreamScope* scope = innermost;
  while (scope != nullptr && scope->device_ != device) scope = scope->outer_;
  return scope != nullptr ? scope->stream_ : nullptr;
}

}  // namespace wavefire
