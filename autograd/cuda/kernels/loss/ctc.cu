// Kernels of CtcKernels (autograd/kernels/loss/ctc.h): one block per sequence, whose threads share its states, frame
// after frame. States before the first and after the last are those that paths begin and end in.
#include "../../../kernels/loss/ctc.h"

#include "../lines.h"
#include "../stable_exp.h"

using tape::kernels::CtcProblem;

namespace {

/// One sequence: state 2 i + 1 is its label i, the others are blanks.
struct Sequence {
  int64_t n, frames, count;
  const int64_t* target;

  __device__ Sequence(const CtcProblem& p, int64_t index)
      : n(index),
        frames(p.input_lengths[index]),
        count(2 * p.target_lengths[index] + 1),
        target(p.targets + index * p.S) {}

  __device__ int64_t label(const CtcProblem& p, int64_t state) const {
    return state % 2 == 0 ? p.blank : target[state / 2];
  }
  /// Offset of a frame's scores.
  __device__ int64_t at(const CtcProblem& p, int64_t frame) const { return (frame * p.N + n) * p.C; }
  /// Whether a path may move from state - 2 to this one: past a blank between different labels, from before the first
  /// state, and from the last label to the end.
  __device__ bool skips_to(int64_t state) const {
    if (state == 1 || state == count) return true;
    return state % 2 == 1 && state >= 3 && state < count && target[state / 2] != target[state / 2 - 1];
  }
};

/// log(exp a + exp b + exp c), or -inf if all are.
template <class T>
__device__ T log_of_sum(T a, T b, T c) {
  const T largest = max(a, max(b, c)), shift = largest == -INFINITY ? T(0) : largest;
  return log(exp_of_negative(a - shift) + exp_of_negative(b - shift) + exp_of_negative(c - shift)) + shift;
}

/// Calls visit(s) for this thread's states.
template <class Visit>
__device__ void for_states(const Sequence& sequence, const Visit& visit) {
  for_positions(0, sequence.count, visit);
}

/// Subtracts the maximum from a row of states of which each thread reads and writes its own, and returns it; a row of
/// only -inf is unchanged. Ends with a barrier.
template <class T>
__device__ T subtract_largest(const Sequence& sequence, T own_largest, T* row) {
  T largest = over_line(own_largest, Larger());
  if (largest == -INFINITY) largest = 0;
  for_states(sequence, [&](int64_t s) { row[s] -= largest; });
  __syncthreads();
  return largest;
}

/// rows [N, 2, 2 S + 1]: scratch.
template <class T>
__device__ void ctc_forward(CtcProblem p, const T* log_probs, T* rows, T* alpha, T* loss, T* shown) {
  const Sequence sequence(p, blockIdx.x);
  const int64_t states = 2 * p.S + 1, count = sequence.count;
  T* before = rows + sequence.n * 2 * states;
  T* here = before + states;
  double subtracted = 0;
  for (int64_t t = 0; t < sequence.frames; ++t) {
    // Before the first frame, all paths are in a state before the first.
    const auto from = [&](int64_t s) -> T {
      return t == 0 ? (s == -1 ? T(0) : T(-INFINITY)) : s < 0 ? T(-INFINITY) : before[s];
    };
    T largest = -INFINITY;
    for_states(sequence, [&](int64_t s) {
      const T skipped = sequence.skips_to(s) ? from(s - 2) : T(-INFINITY);
      here[s] = log_of_sum(from(s), from(s - 1), skipped) + log_probs[sequence.at(p, t) + sequence.label(p, s)];
      largest = max(largest, here[s]);
    });
    subtracted += static_cast<double>(subtract_largest(sequence, largest, here));
    if (alpha) for_states(sequence, [&](int64_t s) { alpha[(sequence.n * p.T + t) * states + s] = here[s]; });
    T* const other = before;
    before = here;
    here = other;
  }
  if (threadIdx.x != 0) return;
  double value = INFINITY;
  if (sequence.frames == 0) {
    // Only an empty target can end before the first frame.
    if (count == 1) value = 0;
  } else {
    const double last = static_cast<double>(before[count - 1]);
    const double other = count > 1 ? static_cast<double>(before[count - 2]) : -INFINITY, largest = max(last, other);
    if (largest != -INFINITY) value = -(subtracted + largest + log(exp(last - largest) + exp(other - largest)));
  }
  loss[sequence.n] = static_cast<T>(value);
  shown[sequence.n] = p.zero_infinity && isinf(loss[sequence.n]) ? T(0) : loss[sequence.n];
}

/// For each label: the next one that is equal, or -1, and whether it is the first. The gradient of a class is then
/// summed by one thread.
__device__ inline void link_equal_labels(const Sequence& sequence, int64_t* next, bool* first) {
  const int64_t labels = sequence.count / 2;
  const int64_t* const target = sequence.target;
  for_positions(0, labels, [&](int64_t i) {
    int64_t after = i + 1, before = i - 1;
    while (after < labels && target[after] != target[i]) ++after;
    while (before >= 0 && target[before] != target[i]) --before;
    next[i] = after < labels ? after : -1;
    first[i] = before < 0;
  });
}

/// Writes the gradients of a frame's classes that have states, from the shares of those.
template <class T>
__device__ void class_gradients(const CtcProblem& p, const Sequence& sequence, const int64_t* next, const bool* first,
                                const T* shares, T scale, T* row) {
  T blanks = 0;
  for_positions(0, sequence.count / 2 + 1, [&](int64_t i) { blanks += shares[2 * i]; });
  blanks = over_line(blanks, Add());
  if (threadIdx.x == 0) row[p.blank] = scale * blanks;
  for_positions(0, sequence.count / 2, [&](int64_t i) {
    if (!first[i]) return;
    T sum = 0;
    for (int64_t other = i; other >= 0; other = next[other]) sum += shares[2 * other + 1];
    row[sequence.target[i]] = scale * sum;
  });
}

/// rows [N, 3, 2 S + 1], next and first [N, S]: scratch; dlog_probs is 0 before. beta, the paths from each state to the
/// end without the frame's own score, is computed from the last frame on; the share of the paths through a state is
/// exp(alpha + beta) divided by its sum over the frame.
template <class T>
__device__ void ctc_backward(CtcProblem p, const T* log_probs, const T* alpha, const T* loss, const T* dloss, T* rows,
                             int64_t* next, bool* first, T* dlog_probs) {
  const Sequence sequence(p, blockIdx.x);
  if (loss[sequence.n] == INFINITY) return;
  const int64_t states = 2 * p.S + 1, count = sequence.count;
  T* after = rows + sequence.n * 3 * states;
  T* here = after + states;
  T* const shares = here + states;
  next += sequence.n * p.S;
  first += sequence.n * p.S;
  link_equal_labels(sequence, next, first);
  for (int64_t t = sequence.frames - 1; t >= 0; --t) {
    // After the last frame, all paths are in a state after the last.
    const auto from = [&](int64_t s) -> T {
      return t == sequence.frames - 1 ? (s == count ? T(0) : T(-INFINITY)) : s >= count ? T(-INFINITY) : after[s];
    };
    T largest = -INFINITY, largest_share = -INFINITY;
    for_states(sequence, [&](int64_t s) {
      const T skipped = sequence.skips_to(s + 2) ? from(s + 2) : T(-INFINITY);
      const T beta = log_of_sum(from(s), from(s + 1), skipped);
      shares[s] = alpha[(sequence.n * p.T + t) * states + s] + beta;
      largest_share = max(largest_share, shares[s]);
      here[s] = beta + log_probs[sequence.at(p, t) + sequence.label(p, s)];
      largest = max(largest, here[s]);
    });
    largest_share = over_line(largest_share, Larger());
    if (largest_share == -INFINITY) largest_share = 0;
    double total = 0;
    for_states(sequence, [&](int64_t s) {
      shares[s] = exp_of_negative(shares[s] - largest_share);
      total += static_cast<double>(shares[s]);
    });
    total = over_line(total, Add());
    subtract_largest(sequence, largest, here);  // its barrier ends the writes of the shares
    const T scale = static_cast<T>(-static_cast<double>(dloss[sequence.n]) / total);
    class_gradients(p, sequence, next, first, shares, scale, dlog_probs + sequence.at(p, t));
    __syncthreads();
    T* const other = after;
    after = here;
    here = other;
  }
}

}  // namespace

TAPE_EXPORT(ctc_forward, (CtcProblem problem, const T* log_probs, T* rows, T* alpha, T* loss, T* shown),
            (problem, log_probs, rows, alpha, loss, shown))
TAPE_EXPORT(ctc_backward,
            (CtcProblem problem, const T* log_probs, const T* alpha, const T* loss, const T* dloss, T* rows,
             int64_t* next, bool* first, T* dlog_probs),
            (problem, log_probs, alpha, loss, dloss, rows, next, first, dlog_probs))
