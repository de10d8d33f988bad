// Row, page and sampling operations for Python.
#include "ffi/tensors.h"
#include "wavefire/activation.h"
#include "wavefire/norm.h"
#include "wavefire/page.h"
#include "wavefire/quantize.h"
#include "wavefire/rope.h"
#include "wavefire/sampling.h"

namespace wavefire::bindings {
namespace {

void rms_norm_(Tensor x, Tensor weight, Tensor out, double eps, double weight_bias) {
  guarded_on(x, [&] {
    rms_norm(view_of(x), view_of(weight), view_of(out),
             {static_cast<float>(eps), static_cast<float>(weight_bias)});
  });
}

void fused_add_rms_norm_(Tensor x, Tensor residual, Tensor weight, double eps, double weight_bias) {
  guarded_on(x, [&] {
    fused_add_rms_norm(view_of(x), view_of(residual), view_of(weight),
                       {static_cast<float>(eps), static_cast<float>(weight_bias)});
  });
}

void layer_norm_(Tensor x, Tensor weight, MaybeTensor bias, Tensor out, double eps) {
  guarded_on(x, [&] {
    layer_norm(view_of(x), view_of(weight), view_of(bias), view_of(out), static_cast<float>(eps));
  });
}

void gated_activation_(std::int64_t kind, Tensor x, Tensor out) {
  guarded_on(
      x, [&] { gated_activation(static_cast<GatedActivation>(kind), view_of(x), view_of(out)); });
}

/// `cos_sin` absent: angles from the frequencies.
void apply_rope_(Tensor q, MaybeTensor k, Tensor positions, MaybeTensor cos_sin, Tensor q_out,
                 MaybeTensor k_out, std::int64_t rotary_dim, bool interleaved, double scale,
                 double theta, double low, double high, double old_context) {
  guarded_on(q, [&] {
    RopeOptions o;
    o.rotary_dim = to_int("apply_rope", "rotary_dim", rotary_dim);
    o.interleaved = interleaved;
    o.frequencies = {static_cast<float>(scale), static_cast<float>(theta), static_cast<float>(low),
                     static_cast<float>(high), static_cast<float>(old_context)};
    if (cos_sin.has_value()) {
      apply_rope_with_cache(view_of(q), view_of(k), view_of(positions), view_of(cos_sin),
                            view_of(q_out), view_of(k_out), o);
    } else {
      apply_rope(view_of(q), view_of(k), view_of(positions), view_of(q_out), view_of(k_out), o);
    }
  });
}

void rope_positions_(Tensor indptr, Tensor offsets, Tensor positions) {
  guarded_on(indptr,
             [&] { rope_positions(view_of(indptr), view_of(offsets), view_of(positions)); });
}

void append_paged_kv_cache_(Tensor key, Tensor value, Tensor batch_indices, Tensor positions,
                            Tensor k_cache, Tensor v_cache, Tensor indptr, Tensor indices,
                            Tensor last_page_len, std::int64_t page_size, bool hnd) {
  guarded_on(key, [&] {
    append_paged_kv_cache(view_of(key), view_of(value), view_of(batch_indices), view_of(positions),
                          view_of(k_cache), view_of(v_cache),
                          {view_of(indptr), view_of(indices), view_of(last_page_len),
                           to_int("paged KV cache", "page_size", page_size)},
                          hnd ? KvLayout::hnd : KvLayout::nhd);
  });
}

void append_paged_mla_kv_cache_(Tensor ckv, Tensor kpe, Tensor batch_indices, Tensor positions,
                                Tensor ckv_cache, Tensor kpe_cache, Tensor indptr, Tensor indices,
                                Tensor last_page_len, std::int64_t page_size) {
  guarded_on(ckv, [&] {
    append_paged_mla_kv_cache(view_of(ckv), view_of(kpe), view_of(batch_indices),
                              view_of(positions), view_of(ckv_cache), view_of(kpe_cache),
                              {view_of(indptr), view_of(indices), view_of(last_page_len),
                               to_int("paged KV cache", "page_size", page_size)});
  });
}

void batch_indices_positions_(Tensor append_indptr, Tensor seq_lens, Tensor batch_indices,
                              Tensor positions) {
  guarded_on(append_indptr, [&] {
    batch_indices_positions(view_of(append_indptr), view_of(seq_lens), view_of(batch_indices),
                            view_of(positions));
  });
}

void sequence_lengths_(Tensor indptr, Tensor last_page_len, std::int64_t page_size, Tensor out) {
  guarded_on(indptr, [&] {
    sequence_lengths(view_of(indptr), view_of(last_page_len),
                     to_int("paged KV cache", "page_size", page_size), view_of(out));
  });
}

void packbits_(Tensor x, bool little, Tensor out) {
  guarded_on(
      x, [&] { packbits(view_of(x), little ? BitOrder::little : BitOrder::big, view_of(out)); });
}

void segment_packbits_indptr_(Tensor indptr, Tensor out_indptr) {
  guarded_on(indptr, [&] { segment_packbits_indptr(view_of(indptr), view_of(out_indptr)); });
}

void segment_packbits_(Tensor x, Tensor indptr, bool little, Tensor out, Tensor out_indptr) {
  guarded_on(x, [&] {
    segment_packbits(view_of(x), view_of(indptr), little ? BitOrder::little : BitOrder::big,
                     view_of(out), view_of(out_indptr));
  });
}

void softmax_(Tensor logits, double temperature, MaybeTensor temperatures, Tensor out) {
  guarded_on(logits,
             [&] { softmax(view_of(logits), {temperature, view_of(temperatures)}, view_of(out)); });
}

SamplingFilters read_filters(double top_k, const MaybeTensor& top_ks, double top_p,
                             const MaybeTensor& top_ps, double min_p, const MaybeTensor& min_ps,
                             bool top_k_first) {
  return {
      {top_k, view_of(top_ks)}, {top_p, view_of(top_ps)}, {min_p, view_of(min_ps)}, top_k_first};
}

void sample_(Tensor weights, bool logits, MaybeTensor indices, double top_k, MaybeTensor top_ks,
             double top_p, MaybeTensor top_ps, double min_p, MaybeTensor min_ps, bool top_k_first,
             std::int64_t seed, MaybeTensor seeds, std::int64_t offset, MaybeTensor offsets,
             Tensor samples, MaybeTensor valid) {
  guarded_on(weights, [&] {
    sample({view_of(weights), logits, view_of(indices)},
           read_filters(top_k, top_ks, top_p, top_ps, min_p, min_ps, top_k_first),
           {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(offset), view_of(seeds),
            view_of(offsets)},
           view_of(samples), view_of(valid));
  });
}

void renormalize_(Tensor probs, double top_k, MaybeTensor top_ks, double top_p, MaybeTensor top_ps,
                  Tensor out) {
  guarded_on(probs, [&] {
    renormalize(view_of(probs), read_filters(top_k, top_ks, top_p, top_ps, 0, {}, false),
                view_of(out));
  });
}

void mask_logits_(Tensor logits, double top_k, MaybeTensor top_ks, Tensor out) {
  guarded_on(logits, [&] { mask_logits(view_of(logits), {top_k, view_of(top_ks)}, view_of(out)); });
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(rms_norm, rms_norm_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fused_add_rms_norm, fused_add_rms_norm_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(layer_norm, layer_norm_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(gated_activation, gated_activation_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(apply_rope, apply_rope_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(rope_positions, rope_positions_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(append_paged_kv_cache, append_paged_kv_cache_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(append_paged_mla_kv_cache, append_paged_mla_kv_cache_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(batch_indices_positions, batch_indices_positions_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sequence_lengths, sequence_lengths_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(packbits, packbits_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(segment_packbits_indptr, segment_packbits_indptr_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(segment_packbits, segment_packbits_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(softmax, softmax_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sample, sample_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(renormalize, renormalize_);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mask_logits, mask_logits_);

}  // namespace wavefire::bindings
