// The fields of each configuration with their names: what writing, reading and emitting share.
#pragma once

#include <concepts>
#include <type_traits>

#include "generate/spec.h"

namespace wavefire::generate {

template <class T, class Wanted>
concept Is = std::same_as<std::remove_const_t<T>, Wanted>;

// Structured bindings: a field that is missing here does not compile.
template <Is<attention::Config> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [operand, stored, element_bytes, tile_rows, tile_kv, head_dim_qk, head_dim_vo, stages,
         bundle, k_segments, few_rows, window, custom_mask, soft_cap, alibi, rope, head_scales,
         tensor_maps] = config;
  visit("operand", operand);
  visit("stored", stored);
  visit("element_bytes", element_bytes);
  visit("tile_rows", tile_rows);
  visit("tile_kv", tile_kv);
  visit("head_dim_qk", head_dim_qk);
  visit("head_dim_vo", head_dim_vo);
  visit("stages", stages);
  visit("bundle", bundle);
  visit("k_segments", k_segments);
  visit("few_rows", few_rows);
  visit("window", window);
  visit("custom_mask", custom_mask);
  visit("soft_cap", soft_cap);
  visit("alibi", alibi);
  visit("rope", rope);
  visit("head_scales", head_scales);
  visit("tensor_maps", tensor_maps);
}

template <Is<RowTeams> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [lanes, teams, kept] = config;
  visit("lanes", lanes);
  visit("teams", teams);
  visit("kept", kept);
}

template <Is<NormConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [kind, dtype, weight_dtype, rows] = config;
  visit("kind", kind);
  visit("dtype", dtype);
  visit("weight_dtype", weight_dtype);
  visit_fields(rows, visit);
}

template <Is<ActivationConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [kind, dtype, rows] = config;
  visit("kind", kind);
  visit("dtype", dtype);
  visit_fields(rows, visit);
}

template <Is<MergeConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [dtype, out_dtype, rows] = config;
  visit("dtype", dtype);
  visit("out_dtype", out_dtype);
  visit_fields(rows, visit);
}

template <Is<RopeConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [rows] = config;
  visit_fields(rows, visit);
}

template <Is<AppendConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [rows] = config;
  visit_fields(rows, visit);
}

template <Is<IndexConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [kind, rows] = config;
  visit("kind", kind);
  visit_fields(rows, visit);
}

template <Is<SamplingConfig> C, class Visit>
void visit_fields(C& config, Visit&& visit) {
  auto& [kind, lanes, blocks, kept] = config;
  visit("kind", kind);
  visit("lanes", lanes);
  visit("blocks", blocks);
  visit("kept", kept);
}

}  // namespace wavefire::generate
