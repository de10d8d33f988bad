// Which keys a query row sees. Rows see an interval of keys (causal and sliding window), thinned
// out by the bits of a custom mask.
#pragma once

#include "attention/params.h"
#include "tile/element.h"

WF_NAMESPACE_BEGIN(attention)

/// Keys [low, high), low <= high.
struct Visible {
  i32 low;
  i32 high;
};

/// Those of the first `end` keys that a query at `position` among the keys sees. `Masks` is
/// anything with `causal` and `window_left`: Params or PlanTraits.
template <class Masks>
WF_BOTH Visible visible_at(const Masks& p, i64 position, i32 end) {
  i64 low = 0;
  i64 high = end;
  if (p.causal != 0 && position + 1 < high) high = position + 1;
  if (p.window_left >= 0 && position - p.window_left > low) low = position - p.window_left;
  if (high < 0) high = 0;
  if (low > high) low = high;
  return {static_cast<i32>(low), static_cast<i32>(high)};
}

/// Those that query token `token` of a request sees.
template <class Masks>
WF_BOTH Visible visible_keys(const Masks& p, const Request& request, i32 token) {
  // Aligned to the bottom right.
  return visible_at(p, i64{token} + request.kv_len - request.q_len, request.kv_len);
}

/// `count` (at most 32) bits of a packed mask from bit `first` on, in the low bits of the result.
/// Reads no byte that holds none of them.
WF_DEVICE u32 mask_bits(const u8* mask, i64 first, i32 count) {
  const u8* byte = mask + (first >> 3);
  const i32 shift = static_cast<i32>(first & 7);
  u64 bits = 0;
  for (i32 i = 0; i * 8 < shift + count; ++i) bits |= static_cast<u64>(byte[i]) << (8 * i);
  return static_cast<u32>(bits >> shift) & (count >= 32 ? ~u32{0} : (u32{1} << count) - 1);
}

WF_NAMESPACE_END
