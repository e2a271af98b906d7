#pragma once

#include "study.h"

namespace tape::inspect {

struct NudgeOptions {
  int64_t weights = 400;      ///< so many attention weights, and as many scores: of each head those of largest gradient
  int64_t activations = 320;  ///< so many operations, spread over the tape, one element of each
  std::function<void(int64_t done, int64_t all)> progress = {};  ///< called before each run
};

/// One number of a forward that was pulled, all others being what they were made from it: the forward ran once more for
/// each change, with value + change in the place of the value.
struct Nudge {
  enum class Kind { weight, score, activation };
  Kind kind = Kind::activation;
  std::string module = {}, operation = {};  ///< of the operation whose (first) output it is in
  int64_t recorded = 0;                     ///< how many operations were recorded before that one
  std::vector<int64_t> index = {};          ///< [0, head, row, column] of weights and scores
  double value = 0;
  std::vector<double> changes = {};
  std::vector<double> gradients = {};             ///< of each output of the study: times a change, what is predicted
  std::vector<std::vector<double>> effects = {};  ///< of each output, by how much it truly changed
};

/// What becomes of the outputs without a part of a head: its weights are others, all else follows from them.
struct Cut {
  enum class Kind {
    head,  ///< weights of 0 for all keys: the head says nothing
    key,   ///< the key is hidden from every query, whose other weights grow to a sum of 1 (to 0 where it saw no other)
    row    ///< the query looks at all keys that it may see alike
  };
  Kind kind = Kind::head;
  std::string module = {};
  int64_t head = 0, place = 0;         ///< place: the key or the query
  std::vector<double> predicted = {};  ///< of each output, the sum of gradient times change over the weights
  std::vector<double> effects = {};    ///< of each output, by how much it truly changed
  double moved = 0;                    ///< |y' - y| / |y| of the attention module's output y
};

struct Nudges {
  std::vector<Nudge> nudges = {};
  std::vector<Cut> cuts = {};
};

/// Pulls at values of a study's forward, in a Composed scope as a page's is, its module in f64 (which is left as it
/// was): attention weights (the outputs of softmax of one text, [1, H, Tq, Tk]), scores (what softmax was given, where
/// no mask hides it) and one element of every other operation, the one whose gradient is largest; views are passed
/// over. Gradients are of the value where it stands: of a weight with the others held, so that a row need not sum to 1.
///
/// Errors: (config) for a study without outputs, for options below 0 and for a function that does not give the same
/// numbers each time (a model in training mode with dropout).
Nudges pull(const Study& study, const NudgeOptions& options = {});

}  // namespace tape::inspect
