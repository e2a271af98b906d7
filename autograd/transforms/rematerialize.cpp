#include "autograd/transforms/rematerialize.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/tape/modes.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope_state.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

/// Maximum number of consecutive operations recomputed for one value; a gated block after a norm has three.
constexpr int kMaxChainLength = 4;

/// Guards Node::recipe: several threads may save one value.
constinit std::mutex recipes;

}  // namespace

class OutputRecipe {
 public:
  /// Null if a saved value of the node is not available, or is itself the end of the longest allowed chain.
  static std::shared_ptr<OutputRecipe> of(const Node& node);

  /// Cached until every node that saved the value has freed it: queries, keys and values all use one normalization.
  Tensor value(const char* operation) {
    const std::lock_guard lock(mutex_);
    if (made_.defined()) return made_;
    Tensors saved;
    for (const Part& part : parts_) saved.push_back(part.value(operation));
    const ScopeState plain;
    const RestoreScopes scopes(plain);
    const HideObservers unobserved;
    return made_ = node_->op->recompute()(saved, node_->attributes);
  }

 private:
  struct Part {
    Tensor kept;
    uint64_t version = 0;
    std::shared_ptr<OutputRecipe> made = nullptr;  // set instead of `kept` if that is recomputed too
    uint32_t replaced = 0;

    Tensor value(const char* operation) const {
      if (made) return made->value(operation);
      if (kept.defined() && kept.impl().replaced != replaced)
        raise(ErrorKind::graph,
              "backward of '{}': a tensor {} needed to recompute a saved value was given other values by set_data()",
              operation, to_string(kept.shape()));
      if (kept.defined() && kept.version() != version)
        raise(ErrorKind::graph,
              "backward of '{}': a value {} needed to recompute a saved value was modified in place (version {}, "
              "saved at version {})",
              operation, to_string(kept.shape()), kept.version(), version);
      return kept;
    }
  };

  explicit OutputRecipe(Ref<Node> node) : node_(std::move(node)) {}

  const Ref<Node> node_;
  std::vector<Part> parts_;
  int chain_length_ = 1;
  std::mutex mutex_;
  Tensor made_;
};

namespace {

class RematerializedTensor final : public PackedTensor {
 public:
  RematerializedTensor(const Tensor& value, std::shared_ptr<OutputRecipe> made)
      : PackedTensor(value), recipe(std::move(made)) {}

  const std::shared_ptr<OutputRecipe> recipe;

 private:
  Tensor value(const char* operation) const override { return recipe->value(operation); }
};

}  // namespace

std::shared_ptr<OutputRecipe> OutputRecipe::of(const Node& node) {
  std::shared_ptr<OutputRecipe> recipe(new OutputRecipe(Ref<Node>(const_cast<Node*>(&node))));
  for (const Node::Saved& saved : node.saved) {
    if (!saved.packed) {
      recipe->parts_.push_back({saved.value, saved.version, nullptr, saved.replaced});
      continue;
    }
    const auto* inner = dynamic_cast<const RematerializedTensor*>(saved.packed.get());
    if (!inner || inner->recipe->chain_length_ == kMaxChainLength) return nullptr;
    recipe->chain_length_ = std::max(recipe->chain_length_, inner->recipe->chain_length_ + 1);
    recipe->parts_.push_back({{}, 0, inner->recipe, 0});
  }
  return recipe;
}

namespace {

/// Null for values that must be saved.
std::unique_ptr<const PackedTensor> rematerialized(const Tensor& value) {
  if (value.numel() * size_of(value.dtype()) < detail::modes.rematerialized_bytes) return nullptr;
  Node* const node = value.impl().node.get();
  if (!node || node->is_leaf() || node->released || !node->op->recompute()) return nullptr;
  if (value.version() != node->outputs[value.impl().output].version) return nullptr;
  const std::lock_guard lock(recipes);
  std::shared_ptr<OutputRecipe> recipe = node->recipe.lock();
  if (!recipe) node->recipe = recipe = OutputRecipe::of(*node);
  return recipe ? std::make_unique<const RematerializedTensor>(value, std::move(recipe)) : nullptr;
}

}  // namespace

Rematerialize::Rematerialize(int64_t min_bytes)
    : bytes_(detail::modes.rematerialized_bytes, min_bytes), made_(detail::modes.rematerialize, rematerialized) {}

}  // namespace tape
