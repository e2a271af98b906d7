#include <cmath>

#include "nn/attention/disentangled_attention.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

GradcheckReport check_terms(const Checker& check, PositionTerms terms, const std::string& zero) {
  DisentangledAttention layer(4, 2, {.max_distance = 2, .terms = terms, .dropout = 0.2});
  return check(layer, {sample_normal({2, 4, 4}, 1), sample_normal({4, 4}, 2)}, zero);
}

const ModuleCheck disentangled_both("DisentangledAttention", "both terms",
                                    [](const Checker& check) { return check_terms(check, PositionTerms::both, ""); });

// Adding the same to all keys shifts all scores of a query equally, if keys have no position term.
const ModuleCheck disentangled_to_position("DisentangledAttention", "content to position", [](const Checker& check) {
  return check_terms(check, PositionTerms::content_to_position, "key.bias");
});

const ModuleCheck disentangled_to_content("DisentangledAttention", "position to content", [](const Checker& check) {
  return check_terms(check, PositionTerms::position_to_content, "");
});

const ModuleCheck disentangled_buckets("DisentangledAttention", "buckets, shared projections",
                                       [](const Checker& check) {
                                         DisentangledAttention layer(
                                             4, 2, {.max_distance = 8, .buckets = 2, .share_projections = true});
                                         return check(layer, {sample_normal({2, 4, 4}, 1), sample_normal({4, 4}, 2)});
                                       });

}  // namespace
}  // namespace tape::nn
