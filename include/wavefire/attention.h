// Attention over ragged or paged keys and values, for prefill and decode alike.
//
// logit = cap(q . k * sm_scale) + bias, softmax over the keys that the masks keep, out = P v.
// A query row that sees no key gives output 0 and LSE -inf. LSE is in base 2, float32.
#pragma once

#include <memory>
#include <optional>

#include "wavefire/tensor_view.h"

namespace wavefire {

enum class KvLayout : unsigned char { nhd, hnd };
enum class PositionMode : unsigned char { none, rope_llama, alibi };

/// Rotary frequencies: theta^(-2i/d) / scale; with `low_freq_factor` > 0 LLaMA 3.1's smoothed ones.
struct RopeParameters {
  float scale = 1.f;
  float theta = 1e4f;
  float low_freq_factor = 0.f;
  float high_freq_factor = 0.f;
  float old_context_len = 0.f;
};

/// What a plan fixes.
struct AttentionOptions {
  int num_qo_heads = 0;
  int num_kv_heads =
      0;  // divides num_qo_heads; query head h uses KV head h / (num_qo_heads / num_kv_heads)
  int head_dim_qk = 0;           // a multiple of 8 up to 512
  int head_dim_vo = 0;           // likewise; 0: the same as head_dim_qk
  DType q_dtype = DType::bf16;   // f32, f16 or bf16
  DType kv_dtype = DType::bf16;  // those or any fp8 type
  DType o_dtype = DType::bf16;   // f32, f16 or bf16
  KvLayout kv_layout = KvLayout::nhd;
  bool causal = false;              // keep kv <= q + kv_len - q_len
  std::int64_t window_left = -1;    // keep kv >= q + kv_len - q_len - window_left; -1: no bound
  std::optional<float> sm_scale{};  // default 1 / sqrt(head_dim_qk)
  float logits_soft_cap = 0.f;      // 0: none
  PositionMode position_mode = PositionMode::none;
  RopeParameters rope{};
  int fixed_split_kv =
      0;  // > 0: cut KV ranges at multiples of it, so that results do not depend on the batch
  bool allow_split = true;  // false: never split a KV range, whatever fixed_split_kv is
  int workers = 0;          // shares of the work; 0: as many as suit the device
  Device device{};          // of the tensors of a run
  /// On a GPU, > 0: runs may be captured in a graph that is replayed after later plans. The first
  /// plan then fixes the launches and, by its batch size and query lengths, the capacity; page
  /// tables may have up to so many entries.
  std::int64_t graph_pages = 0;
};

/// A page table in CSR form. Request b owns indices[indptr[b] .. indptr[b + 1]); the last of its
/// pages holds last_page_len[b] tokens, 1 to page_size. A request without pages has no tokens.
struct PageTable {
  TensorView indptr{};         // i32 [batch + 1]
  TensorView indices{};        // i32 [at least indptr[batch]]
  TensorView last_page_len{};  // i32 [batch]
  int page_size = 1;
};

/// A custom mask: `bits` is either b1 [sum of q_len * kv_len], row-major for each request, or
/// packed u8 (little-endian bits, every request padded to a byte) with `indptr` i32 [batch + 1] in
/// bytes. It combines with `causal` and `window_left`.
struct CustomMask {
  TensorView bits{};
  TensorView indptr{};
};

/// The tensors of one run. Undefined views are absent.
struct AttentionTensors {
  TensorView q{};  // [tokens, num_qo_heads, head_dim_qk]
  // Paged: nhd [pages, page_size, num_kv_heads, head_dim], hnd [pages, num_kv_heads, page_size,
  // head_dim]. Ragged: nhd [rows, num_kv_heads, head_dim], hnd [num_kv_heads, rows, head_dim].
  TensorView k{};
  TensorView v{};
  TensorView out{};  // [tokens, num_qo_heads, head_dim_vo]
  TensorView lse{};  // f32 [tokens, num_qo_heads], optional
  // A second segment of the keys (MLA's rope part); dims of k and k_tail add up to head_dim_qk.
  TensorView k_tail{};
  float q_scale = 1.f, k_scale = 1.f, v_scale = 1.f;
  TensorView q_head_scale{};  // f32 [num_qo_heads], optional, multiplies q_scale
  TensorView k_head_scale{};  // f32 [num_kv_heads], optional
  TensorView v_head_scale{};  // f32 [num_kv_heads], optional
  TensorView sinks{};  // f32 [num_qo_heads], optional: a logit without a value in every softmax;
                       // LSE includes it; -inf: none for that head
  TensorView alibi_slopes{};  // f32 [num_qo_heads]; optional under PositionMode::alibi (default:
                              // the slopes of the paper)
};

/// Plans once for a batch and runs many times, for instance once a layer. run() may be called by
/// several threads at the same time, plan() by one while nobody runs.
///
/// On a GPU plan() and run() put their work on the current stream (device.h) and wait for nothing,
/// but that index arrays on the GPU are copied to the host first: pass them on the host where that
/// matters. All work of one object must be in order: one stream, or streams that wait for each
/// other.
class BatchAttention {
 public:
  BatchAttention();
  ~BatchAttention();
  BatchAttention(BatchAttention&&) noexcept;
  BatchAttention& operator=(BatchAttention&&) noexcept;

  /// `qo_indptr`: i32 [batch + 1], non-decreasing, first entry 0. Arrays are on the host or on
  /// `options.device`. Throws `Error` and keeps the previous plan when an argument is not
  /// acceptable.
  void plan(const AttentionOptions& options, const TensorView& qo_indptr, const PageTable& pages,
            const CustomMask& mask = {});
  /// The same over contiguous rows: `kv_indptr` i32 [batch + 1].
  void plan(const AttentionOptions& options, const TensorView& qo_indptr,
            const TensorView& kv_indptr, const CustomMask& mask = {});

  /// Checks the tensors against the plan, then writes `out` and `lse`. On an error nothing is
  /// written.
  void run(const AttentionTensors& tensors) const;

  bool planned() const;
  std::int64_t workspace_bytes() const;  // of partial results; the plan owns them
  int work_items() const;
  int joins() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One request without a plan to keep: q [tokens, ...], all rows of ragged k and v. As a batch of
/// one.
void single_attention(const AttentionOptions& options, const AttentionTensors& tensors,
                      const CustomMask& mask = {});

/// ALiBi slopes of Press et al. (2022) for any number of heads, f32 [num_heads].
void alibi_slopes(int num_heads, float* out);

}  // namespace wavefire
