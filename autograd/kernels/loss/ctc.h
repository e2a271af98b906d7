#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Sizes and targets of a batch of sequences; checked by the caller.
struct CtcProblem {
  int64_t T, N, C, S;             ///< frames, sequences, classes, labels of the longest target
  const int64_t* targets;         ///< [N, S]
  const int64_t* input_lengths;   ///< [N], at most T
  const int64_t* target_lengths;  ///< [N], at most S
  int64_t blank;
  bool zero_infinity;  ///< whether to replace infinite losses by 0
};

/// Connectionist temporal classification (Graves et al. 2006, 4.1) in log space. A sequence has 2 S + 1 states: its
/// labels, with blanks between and around them. From one frame to the next, a path stays in a state, moves to the next,
/// or skips a blank between different labels. Each frame's values are stored relative to their maximum, so that f32
/// stays accurate in long sequences; the maxima are summed in double.
template <class T>
struct CtcKernels {
  /// loss [N] = -log of the total probability of all paths that spell the target; infinite if there is none. shown [N]
  /// is the same with zero_infinity applied. alpha [N, T, 2 S + 1] (may be null): log probabilities of the paths to
  /// each state at each frame, up to a constant per frame.
  void (*forward)(const CtcProblem& problem, const T* log_probs, T* alpha, T* loss, T* shown);
  /// dlog_probs [T, N, C] = -dloss times the share of all paths that have this class at this frame; 0 after the end of
  /// a sequence, and if its loss is infinite.
  void (*backward)(const CtcProblem& problem, const T* log_probs, const T* alpha, const T* loss, const T* dloss,
                   T* dlog_probs);
};
TAPE_KERNEL_TABLE(CtcKernels, ctc)

}  // namespace tape::kernels
