#pragma once

#include "study.h"

namespace tape::inspect {

/// Options of run_nudges().
struct NudgeOptions {
  int64_t weights = 400;      ///< number of attention weights, and of scores: those with the largest gradients per head
  int64_t activations = 320;  ///< number of operations, spread evenly over the tape; one element of each
  std::function<void(int64_t done, int64_t all)> progress = {};  ///< called before each run
};

/// One perturbed element of a forward pass. The forward ran once per change, with value + change instead of the value;
/// everything computed from it follows.
struct Nudge {
  /// What the element is: an attention weight (after softmax), a score (before it), or any other value.
  enum class Kind { weight, score, activation };
  Kind kind = Kind::activation;        ///< what the element is
  std::string module = {},             ///< path of the module whose operation made the element
      operation = {};                  ///< name of the operation whose (first) output has the element
  int64_t recorded = 0;                ///< number of operations recorded before that one
  std::vector<int64_t> index = {};     ///< [0, head, row, column] for weights and scores
  double value = 0;                    ///< unperturbed value
  std::vector<double> changes = {};    ///< added to the value, one per run; six in ascending order, symmetric about 0
  std::vector<double> gradients = {};  ///< per output of the study; gradient times change is the prediction
  std::vector<std::vector<double>> effects = {};  ///< per output, the actual changes
};

/// An ablation of part of a head: its weights are replaced, and everything computed from them follows.
struct Ablation {
  /// How the weights are replaced.
  enum class Kind {
    head,  ///< weights of 0 for all keys: the head contributes nothing
    key,   ///< hides the key from every query; the other weights are rescaled to a sum of 1 (0 if there are none)
    row    ///< the query attends equally to all visible keys
  };
  Kind kind = Kind::head;              ///< how the weights are replaced
  std::string module = {};             ///< path of the attention module
  int64_t head = 0,                    ///< from 0
      place = 0;                       ///< index of the key or the query; 0 for Kind::head
  std::vector<double> predicted = {};  ///< per output, the sum of gradient times change over the weights
  std::vector<double> effects = {};    ///< per output, the actual change
  double moved = 0;                    ///< |y' - y| / |y| of the attention module's output y
};

/// Result of run_nudges().
struct Nudges {
  std::vector<Nudge> nudges = {};   ///< attention weights and scores by module, then values of other operations
  std::vector<Ablation> cuts = {};  ///< each head, key and query of the modules whose weights affect the first output
};

/// Perturbs values of a study's forward pass, in a Composed scope as for a page, with its module in f64 (restored
/// afterwards): attention weights (softmax outputs of one text, [1, H, Tq, Tk]), scores (inputs of softmax that are not
/// masked), and one element of every other operation, the one with the largest gradient; views are skipped. Gradients
/// are with respect to the value itself: to a weight with the others held fixed, so that a row need not sum to 1.
///
/// Throws Error (config) if the study has no outputs, an option is below 0 or the function does not return the same
/// values each time (a model in training mode with dropout).
Nudges run_nudges(const Study& study, const NudgeOptions& options = {});

}  // namespace tape::inspect
