#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "models/gguf/names.h"

namespace tape::models::gguf {
namespace {

/// Keys and a value that changes nothing; 0 stands for what is not there in each of them.
constexpr std::array<std::pair<const char*, double>, 17> kNeutral{{{"logit_scale", 1},
                                                                   {"embedding_scale", 1},
                                                                   {"residual_scale", 1},
                                                                   {"rope.scaling.attn_factor", 1},
                                                                   {"rope.scaling.yarn_attn_factor", 1},
                                                                   {"rope.scaling.yarn_ext_factor", 1},
                                                                   {"rope.scaling.yarn_log_multiplier", 0},
                                                                   {"attn_logit_softcapping", 0},
                                                                   {"final_logit_softcapping", 0},
                                                                   {"attention.clamp_kqv", 0},
                                                                   {"attention.max_alibi_bias", 0},
                                                                   {"attention.temperature_scale", 0},
                                                                   {"expert_count", 0},
                                                                   {"nextn_predict_layers", 0},
                                                                   {"interleave_moe_layer_step", 0},
                                                                   {"pooling_type", 0},
                                                                   {"use_parallel_residual", 0}}};
constexpr std::array kOfExperts{
    "expert_used_count",        "expert_shared_count",     "expert_feed_forward_length",
    "expert_weights_scale",     "expert_weights_norm",     "expert_gating_func",
    "expert_group_count",       "expert_group_used_count", "expert_shared_feed_forward_length",
    "leading_dense_block_count"};
constexpr std::array kOfWindows{"attention.sliding_window_pattern", "rope.freq_base_swa"};
/// Notes, and norms of other kinds than the architecture's.
constexpr std::array kUnread{
    "tensor_data_layout",           "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon",
    "attention.group_norm_epsilon", "attention.group_norm_groups",  "rope.scaling.finetuned"};

}  // namespace

void pass_neutral(const GgufEntries& entries, const std::string& prefix, int64_t context, int64_t head_width) {
  const auto is = [&](const char* key, double value) {
    const std::optional<double> found = entries.peek(prefix + key);
    return found && static_cast<float>(*found) == static_cast<float>(value);
  };
  const auto pass_where = [&](const char* key, bool neutral) {
    if (neutral) entries.pass(prefix + key);
  };
  for (const auto& [key, value] : kNeutral) pass_where(key, is(key, value) || is(key, 0));
  pass_where("attention.causal", is("attention.causal", 1));
  pass_where("attention.scale",
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
