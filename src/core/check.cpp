#include "core/check.h"

#include <algorithm>

namespace wavefire {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument: return "invalid argument";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::out_of_memory: return "out of memory";
    case ErrorKind::compile: return "compile";
    case ErrorKind::device: return "device";
    case ErrorKind::internal: return "internal";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, const TensorView& view) {
  return out << to_string(view);
}

namespace core {

void throw_invalid(std::string_view operation, std::string_view argument, const std::string& value,
                   const std::string& accepted) {
  throw Error(ErrorKind::invalid_argument,
              join(operation, ": '", argument, "' is ", value, "; accepted: ", accepted));
}

void fail_unsupported(std::string_view operation, const std::string& what) {
  throw Error(ErrorKind::unsupported, join(operation, ": ", what));
}

Device common_device(std::string_view operation, std::initializer_list<Argument> arguments) {
  const Argument* first = nullptr;
  for (const Argument& argument : arguments) {
    if (!argument.view.defined()) continue;
    if (first == nullptr) first = &argument;
    if (argument.view.device != first->view.device) {
      const std::string wanted = to_string(first->view.device);
      fail_argument(operation, argument.name, join("on ", to_string(argument.view.device)),
                    join("a tensor on ", wanted, ", where '", first->name, "' is"));
    }
  }
  return first != nullptr ? first->view.device : Device{};
}

TensorRule check(std::string_view operation, std::string_view argument, const TensorView& view) {
  if (view.rank < 0 || view.rank > max_rank) {
    fail_argument(operation, argument, join("of rank ", view.rank), join("rank 0 to ", max_rank));
  }
  if (view.data == nullptr && view.defined() && view.size() != 0) {
    fail_argument(operation, argument,
                  join("without data, though it has ", view.size(), " elements"),
                  "a tensor with data");
  }
  return {operation, argument, view};
}

const TensorRule& TensorRule::defined() const {
  if (!view.defined()) fail_argument(operation, argument, "absent", "a tensor");
  return *this;
}

const TensorRule& TensorRule::on(Device accepted) const {
  if (view.device != accepted) {
    fail_argument(operation, argument, join("on ", to_string(view.device)),
                  join("a tensor on ", to_string(accepted), ", the plan's device"));
  }
  return *this;
}

const TensorRule& TensorRule::dtype(DType accepted) const { return one_of({accepted}); }

const TensorRule& TensorRule::one_of(std::initializer_list<DType> accepted) const {
  for (DType dtype : accepted) {
    if (view.dtype == dtype) return *this;
  }
  std::string names;
  for (DType dtype : accepted) {
    names += (names.empty() ? "" : ", ") + std::string(wavefire::name_of(dtype));
  }
  fail_argument(operation, argument, wavefire::name_of(view.dtype), names);
}

const TensorRule& TensorRule::rank(int accepted) const {
  if (view.rank != accepted) {
    fail_argument(operation, argument, view, join("rank ", accepted));
  }
  return *this;
}

const TensorRule& TensorRule::shape(std::initializer_list<std::int64_t> accepted) const {
  const auto fits = [](std::int64_t wanted, std::int64_t extent) {
    return wanted < 0 || extent == wanted;
  };
  if (view.rank == static_cast<int>(accepted.size()) &&
      std::equal(accepted.begin(), accepted.end(), view.shape, fits)) {
    return *this;
  }
  std::string text;
  for (std::int64_t extent : accepted) {
    text += (text.empty() ? "" : ", ") + (extent < 0 ? std::string("*") : std::to_string(extent));
  }
  fail_argument(operation, argument, view, join("shape [", text, "]"));
}

const TensorRule& TensorRule::last_dim_contiguous() const {
  if (view.rank > 0 && view.shape[view.rank - 1] > 1 && view.strides[view.rank - 1] != 1) {
    fail_argument(operation, argument, view, "a contiguous last dimension (stride 1)");
  }
  return *this;
}

const TensorRule& TensorRule::contiguous() const {
  if (!view.is_contiguous()) {
    fail_argument(operation, argument, view, "a contiguous tensor");
  }
  return *this;
}

const TensorRule& TensorRule::writable() const {
  for (int d = 0; d < view.rank; ++d) {
    if (view.shape[d] > 1 && view.strides[d] == 0) {
      fail_argument(operation, argument, view, "a tensor whose elements are distinct");
    }
  }
  return *this;
}

}  // namespace core
}  // namespace wavefire
