#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Sequences whose labels are to be found in scores of frames; checked by the caller.
struct CtcProblem {
  int64_t T, N, C, S;             ///< frames, sequences, classes, labels of the longest target
  const int64_t* targets;         ///< [N, S]
  const int64_t* input_lengths;   ///< [N], at most T
  const int64_t* target_lengths;  ///< [N], at most S
  int64_t blank;
  bool zero_infinity;  ///< whether infinite losses are shown as 0
};

/// Connectionist temporal classification (Graves et al. 2006, 4.1) in log space. The states of a sequence are its
/// labels with blanks between and around them, 2 S + 1; a frame stays in a state, goes on to the next one, or leaves a
/// blank out between labels that differ. Every frame's values are kept relative to their largest, so that f32 does not
/// grow coarse in long sequences; what was taken off is added up in double.
template <class T>
struct CtcKernels {
  /// loss [N] = -log of the probability of all paths that spell the target; infinite where there is none. shown [N] is
  /// the same with zero_infinity applied. alpha [N, T, 2 S + 1] may be null: log probabilities of the paths to each
  /// state at each frame, up to a constant for each frame.
  void (*forward)(const CtcProblem& problem, const T* log_probs, T* alpha, T* loss, T* shown);
  /// dlog_probs [T, N, C] = -dloss times the share of all paths that have this class at this frame; 0 behind a
  /// sequence's frames, and where its loss is infinite.
  void (*backward)(const CtcProblem& problem, const T* log_probs, const T* alpha, const T* loss, const T* dloss,
                   T* dlog_probs);
};
TAPE_KERNEL_TABLE(CtcKernels, ctc)

}  // namespace tape::kernels
