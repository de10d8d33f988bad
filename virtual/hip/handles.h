// HIP's handles are pointers to objects that are kept here, so that one which is no handle (any
// more) is found out before it is used.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "virtual/hip/errors.h"

namespace instinct::hip {

template <class T, class Handle>
class Handles {
 public:
  // `what` names the objects in errors.
  explicit Handles(const char* what, hipError_t code = hipErrorInvalidHandle)
      : what_(what), code_(code) {}

  Handle add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    T* key = object.get();
    objects_.emplace(key, std::move(object));
    return reinterpret_cast<Handle>(key);
  }

  std::shared_ptr<T> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<const T*>(handle));
    if (found == objects_.end()) fail(handle);
    return found->second;
  }

  std::shared_ptr<T> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<const T*>(handle));
    if (found == objects_.end()) fail(handle);
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    objects.reserve(objects_.size());
    for (const auto& [key, object] : objects_) objects.push_back(object);
    return objects;
  }

  static Handle handle_of(const T* object) {
    return reinterpret_cast<Handle>(const_cast<T*>(object));
  }

 private:
  [[noreturn]] void fail(Handle handle) const {
    throw Failure(code_, hex(reinterpret_cast<u64>(handle)) + " is not a " + what_ +
                             " (never made, or destroyed)");
  }

  const char* what_;
  hipError_t code_;
  mutable std::mutex mutex_;
  std::unordered_map<const T*, std::shared_ptr<T>> objects_;
};

}  // namespace instinct::hip
