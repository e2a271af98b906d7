#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "models/gguf/names.h"

namespace tape::models::gguf {
namespace {

constexpr std::array kOfExperts{
    "expert_used_count",        "expert_shared_count",     "expert_feed_forward_length",
    "expert_weights_scale",     "expert_weights_norm",     "expert_gating_func",
    "expert_group_count",       "expert_group_used_count", "expert_shared_feed_forward_length",
    "leading_dense_block_count"};
constexpr std::array kOfWindows{"attention.sliding_window_pattern", "rope.freq_base_swa"};
/// Notes, and norm settings that the architecture does not use.
constexpr std::array kUnread{
    "tensor_data_layout",           "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon",
    "attention.group_norm_epsilon", "attention.group_norm_groups",  "rope.scaling.finetuned"};

}  // namespace

void ignore_neutral_keys(const GgufEntries& entries, const std::string& prefix, int64_t context, int64_t head_width) {
  const auto is = [&](const char* key, double value) {
    const std::optional<double> found = entries.peek(prefix + key);
    return found && static_cast<float>(*found) == static_cast<float>(value);
  };
  const auto ignore_if = [&](const char* key, bool neutral) {
    if (neutral) entries.pass(prefix + key);
  };
  for (const char* key :
       {"rope.scaling.yarn_log_multiplier", "attn_logit_softcapping", "final_logit_softcapping", "attention.clamp_kqv",
        "attention.max_alibi_bias", "attention.temperature_scale", "expert_count", "nextn_predict_layers",
        "interleave_moe_layer_step", "pooling_type", "use_parallel_residual"})
    ignore_if(key, is(key, 0));
  // Factors, for which 0 means off.
  for (const char* key : {"logit_scale", "embedding_scale", "residual_scale", "rope.scaling.attn_factor",
                          "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_ext_factor"})
    ignore_if(key, is(key, 1) || is(key, 0));
  ignore_if("attention.causal", is("attention.causal", 1));
  ignore_if("attention.scale",
            is("attention.scale", 0) || is("attention.scale", 1 / std::sqrt(static_cast<double>(head_width))));
  if (!entries.has(prefix + "expert_count") || is("expert_count", 0))
    for (const char* key : kOfExperts) entries.pass(prefix + key);
  const std::string window = prefix + "attention.sliding_window";
  if (!entries.has(window) || is("attention.sliding_window", 0) ||
      entries.peek(window).value_or(0) >= static_cast<double>(context)) {
    entries.pass(window);
    for (const char* key : kOfWindows) entries.pass(prefix + key);
  }
  for (const char* key : kUnread) entries.pass(prefix + key);
}

}  // namespace tape::models::gguf
