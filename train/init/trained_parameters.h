#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "../../optim/optimizer.h"

// Which parameters of a model are trained, and how fast.
namespace tape::train {

/// Where the parameters of a model stand from bottom to top: its layers one behind the other, those of a decoder behind
/// its encoder's.
class LayerOrder {
 public:
  explicit LayerOrder(const nn::Module& model);

  int64_t layers() const { return layers_; }
  /// "bert.encoder.layers.3.norm1.weight" is of layer 3; -1 for the embeddings, the last layer of a stack for its last
  /// norm, layers() for what stands behind all of them.
  int64_t place(const std::string& name) const;

 private:
  std::map<std::string, int64_t> counts_;  // layers of each stack, by its path
  std::vector<std::string> stacks_;        // their paths, from bottom to top
  int64_t layers_ = 0;
};

/// The highest learning rate of what fits a pattern: the path of a module or parameter, in which `*` stands for any
/// letters.
struct PatternRate {
  std::string pattern;
  double lr = 0;
};

/// Learning rates by place and by name.
struct RateOptions {
  double lr = 0;  ///< the optimizer's highest
  /// The rate falls from layer to layer: what stands behind the layers, and the last of them, have the optimizer's;
  /// layer i of L, counted from 0, has d^(L - 1 - i) of it, the embeddings d^L (Howard and Ruder 2018, 3.2; Sun et al.
  /// 2019, 5.4.3).
  double layer_decay = 1;
  std::vector<PatternRate> lr_of = {};  ///< in place of that, the first that fits; 0 holds still what it fits
};

/// All parameters that are trained, those of rank 1 (biases, norms) without weight decay. Error (config) unless
/// 0 < layer_decay <= 1 and rates are numbers >= 0, and for a pattern that fits nothing.
optim::ParameterGroups parameter_groups(const nn::Module& model, const RateOptions& options = {});

/// Holds still what fits any of the patterns. Error (config) for a pattern that fits nothing, and where nothing is left
/// to train.
void freeze_parameters(nn::Module& model, const std::vector<std::string>& patterns);

}  // namespace tape::train
