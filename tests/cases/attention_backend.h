// Who computes a case. The tables and harnesses know backends by this alone.
#pragma once

#include <string>

#include "cases/attention_data.h"

namespace wavefire::cases {

class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  virtual std::string name() const = 0;
  /// The case, with other values where the backend has no kernels for a feature's.
  virtual AttentionCase nearest(const AttentionCase& c) const { return c; }
  /// The type that its products round p (and rotated q and k) to.
  virtual DType operand(const AttentionCase& c) const = 0;
  /// The weights are summed before they are rounded to `operand`, so that those rounded need not
  /// sum up to 1 (Arch::rounds_weights).
  virtual bool rounds_after_the_sum(const AttentionCase&) const { return false; }
  /// Plans and runs. Spoils the plan's inputs between the two.
  virtual void run(AttentionData& data) = 0;
};

/// The library on the tests' device; on the CPU at the level that Config names.
class LibraryAttention : public AttentionBackend {
 public:
  std::string name() const override;
  AttentionCase nearest(const AttentionCase& c) const override;
  DType operand(const AttentionCase& c) const override;
  bool rounds_after_the_sum(const AttentionCase& c) const override;
  void run(AttentionData& data) override;
};

}  // namespace wavefire::cases
