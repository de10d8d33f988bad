// The tensors that an attention case stands for, and what they mean to the reference.
#pragma once

#include <optional>
#include <vector>

#include "cases/attention_cases.h"
#include "cases/host_tensor.h"
#include "reference/attention.h"
#include "tolerance/tolerance.h"

namespace wavefire::cases {

enum class Values {
  random,
  ones,     // every value is 1: outputs are the sums of the weights
  payload,  // every row sees at most one key; values tell position, head and column apart
};

class AttentionData {
 public:
  /// `unused` overrides what the case puts into bytes that belong to no token.
  explicit AttentionData(const AttentionCase& c, Values values = Values::random,
                         std::optional<Unused> unused = {});

  // What a plan takes.
  AttentionOptions options;
  HostTensor qo_indptr, kv_indptr;
  HostTensor kv_indices, last_page_len;  // paged only
  HostTensor mask_bits, mask_indptr;     // undefined without a custom mask
  PageTable page_table() const;
  CustomMask mask() const;

  // What a run takes. `tensors.out` and `tensors.lse` hold NaN before.
  AttentionTensors tensors;

  /// Overwrites the index arrays and masks: a plan must not need them any more.
  void clobber_plan_inputs();
  void reset_outputs();
  /// The bytes of out and lse, gaps included.
  std::vector<unsigned char> output_bytes() const;
  /// True when the gaps of out and lse hold what reset_outputs() put there.
  bool gaps_untouched() const;

  const AttentionCase& attention_case() const { return case_; }
  const std::vector<reference::AttentionRequest>& requests() const { return requests_; }
  std::int64_t token_of_request(std::size_t b) const { return first_token_[b]; }
  tolerance::AttentionPrecision precision(DType operand) const;

 private:
  struct KvPlaces {  // element strides of the tensors that hold K and V
    std::int64_t page = 0, token = 0, head = 0;
  };
  void set_options();
  void make_requests(Values values);
  void make_mask(reference::AttentionRequest& request, Values values);
  void make_extras();
  void place_queries();
  void place_pages();
  void place_keys_and_values();
  void place_mask();
  TensorView kv_view(unsigned char* data, const KvPlaces& places, std::int64_t dims) const;
  KvPlaces kv_places(std::int64_t row_width, std::int64_t gap, bool joined) const;
  std::int64_t kv_elements(const KvPlaces& places) const;
  void write_rows(const TensorView& view, std::int64_t first_column, bool keys) const;

  AttentionCase case_;
  Unused unused_;
  std::vector<reference::AttentionRequest> requests_;
  std::vector<std::int64_t> first_token_;
  std::int64_t tokens_ = 0, slots_ = 0, pool_pages_ = 0;
  std::vector<std::int32_t> kv_first_, pages_;  // per request: first row or entry; page table
  HostTensor q_, k_, v_, tail_, out_, lse_;
  HostTensor sinks_, slopes_, q_scale_, k_scale_, v_scale_;
};

}  // namespace wavefire::cases
