#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "../../optim/optimizer.h"

// Which parameters of a model are trained, and at which learning rate.
namespace tape::train {

/// The order of a model's parameters from bottom to top: by layer, a decoder's layers after its encoder's.
class LayerOrder {
 public:
  explicit LayerOrder(const nn::Module& model);

  int64_t layers() const { return layers_; }
  /// The layer of a parameter: 3 for "bert.encoder.layers.3.norm1.weight"; -1 for the embeddings, a stack's last layer
  /// for its final norm, layers() for everything above all stacks.
  int64_t place(const std::string& name) const;

 private:
  std::map<std::string, int64_t> counts_;  // number of layers of each stack, by its path
  std::vector<std::string> stacks_;        // paths of the stacks, from bottom to top
  int64_t layers_ = 0;
};

/// Peak learning rate of the parameters that match a pattern: the path of a module or parameter, in which `*` matches
/// any characters.
struct PatternRate {
  std::string pattern;
  double lr = 0;
};

/// Learning rates by layer and by name.
struct RateOptions {
  double lr = 0;  ///< the optimizer's peak learning rate
  /// Layer-wise decay d of the learning rate: the last layer and everything above have the optimizer's rate; layer i of
  /// L, counted from 0, has d^(L - 1 - i) times it, the embeddings d^L (Howard and Ruder 2018, 3.2; Sun et al.
  /// 2019, 5.4.3).
  double layer_decay = 1;
  std::vector<PatternRate> lr_of = {};  ///< overrides the above, first match wins; a rate of 0 freezes
};

/// Parameter groups of all trainable parameters; those of rank 1 (biases, norms) have no weight decay. Throws Error
/// (config) unless 0 < layer_decay <= 1 and all rates are numbers >= 0, and for a pattern without a match.
optim::ParameterGroups parameter_groups(const nn::Module& model, const RateOptions& options = {});

/// Freezes what matches any of the patterns. Throws Error (config) for a pattern without a match, or if nothing is left
/// to train.
void freeze_parameters(nn::Module& model, const std::vector<std::string>& patterns);

}  // namespace tape::train
