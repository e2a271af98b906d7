#include "autograd/kernels/loss/ctc.h"

#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
constexpr T kLowest = static_cast<T>(-__builtin_inf());

/// One row of values per state, a multiple of the vector length, with at least two entries of -inf before and after.
template <class T>
class States {
 public:
  explicit States(int64_t count) : room_(ceil_div(count, kLanes<T>) * kLanes<T> + 2 * kLanes<T>), values_(room_) {
    for (int64_t i = 0; i < room_; ++i) values_[i] = kLowest<T>;
  }
  T* data() const { return values_.data() + kLanes<T>; }
  T& operator[](int64_t state) const { return data()[state]; }

 private:
  int64_t room_;
  Scratch<T> values_;
};

/// One sequence: its states and their emissions at a frame.
template <class T>
class Sequence {
 public:
  Sequence(const CtcProblem& p, int64_t n)
      : frames(p.input_lengths[n]),
        count(2 * p.target_lengths[n] + 1),
        skip(count + 1),
        emitted(count),
        problem_(p),
        n_(n),
        labels_(count) {
    const int64_t* target = p.targets + n * p.S;
    for (int64_t s = 0; s < count; ++s) labels_[s] = s % 2 == 0 ? p.blank : target[s / 2];
    for (int64_t s = 3; s < count; s += 2) skip[s] = labels_[s] == labels_[s - 2] ? kLowest<T> : T(0);
    // Paths begin in the first two states, as if from a state before them, and end in the last two.
    skip[1] = 0;
    skip[count] = 0;
  }

  int64_t label(int64_t state) const { return labels_[state]; }
  void emit(const T* log_probs, int64_t frame) const {
    const T* row = log_probs + at(frame);
    for (int64_t s = 0; s < count; ++s) emitted[s] = row[labels_[s]];
  }
  /// Offset of a frame's scores.
  int64_t at(int64_t frame) const { return (frame * problem_.N + n_) * problem_.C; }

  const int64_t frames, count;
  const States<T> skip, emitted;  ///< skip: 0 where the previous state may be skipped, else -inf

 private:
  const CtcProblem& problem_;
  const int64_t n_;
  const Scratch<int64_t> labels_;
};

/// log(exp a + exp b + exp c), or -inf if all are.
template <class V>
TAPE_INLINE V log_of_sum(V a, V b, V c) {
  const V larger = a > b ? a : b, largest = larger > c ? larger : c;
  const V shift = largest == -kInfinity ? V{} : largest;
  return log(exp_of_negative(a - shift) + exp_of_negative(b - shift) + exp_of_negative(c - shift)) + shift;
}

/// Subtracts the given maximum from x; rows of only -inf are unchanged.
template <class T>
TAPE_INLINE T take_largest_off(int64_t count, T* x) {
  const T largest = finite_or_zero(row_max(count, x));
  map_row(count, x, x, [largest](Vec<T> v, int64_t) { return v - largest; });
  return largest;
}

template <class T>
T loss_of(const CtcProblem& p, int64_t n, const T* log_probs, T* alpha) {
  const Sequence<T> sequence(p, n);
  const int64_t count = sequence.count;
  States<T> before(count), here(count);
  before[-1] = 0;
  double taken_off = 0;
  for (int64_t t = 0; t < sequence.frames; ++t) {
    sequence.emit(log_probs, t);
    const T *from = before.data(), *skip = sequence.skip.data(), *emitted = sequence.emitted.data();
    for (int64_t s = 0; s < count; s += kLanes<T>)
      store(here.data() + s,
            log_of_sum(load(from + s), load(from + s - 1), load(from + s - 2) + load(skip + s)) + load(emitted + s));
    taken_off += static_cast<double>(take_largest_off(count, here.data()));
    if (t == 0) before[-1] = kLowest<T>;
    __builtin_memcpy(before.data(), here.data(), static_cast<uint64_t>(count) * sizeof(T));
    if (alpha)
      __builtin_memcpy(alpha + (n * p.T + t) * (2 * p.S + 1), here.data(), static_cast<uint64_t>(count) * sizeof(T));
  }
  // Without frames this is the state before the first, from which only an empty target can end.
  if (sequence.frames == 0) return count == 1 ? T(0) : -kLowest<T>;
  const double last = static_cast<double>(before[count - 1]), other = static_cast<double>(before[count - 2]);
  const double largest = last > other ? last : other;
  if (largest == -__builtin_inf()) return -kLowest<T>;
  return static_cast<T>(
      -(taken_off + largest + __builtin_log(__builtin_exp(last - largest) + __builtin_exp(other - largest))));
}

template <class T>
void forward(const CtcProblem& p, const T* log_probs, T* alpha, T* loss, T* shown) {
  for_tasks(p.N, p.N * p.T * (2 * p.S + 1) > kChunk / 8, [&](int64_t n) {
    loss[n] = loss_of(p, n, log_probs, alpha);
    const bool infinite = loss[n] == -kLowest<T> || loss[n] == kLowest<T>;
    shown[n] = p.zero_infinity && infinite ? T(0) : loss[n];
  });
}

/// beta, the paths from each state to the end excluding the frame's own emission, is computed backward from the last
/// frame; the share of the paths through a state is exp(alpha + beta) divided by its sum in the frame.
template <class T>
void gradient_of(const CtcProblem& p, int64_t n, const T* log_probs, const T* alpha, T dloss, T* dlog_probs) {
  const Sequence<T> sequence(p, n);
  const int64_t count = sequence.count;
  States<T> after(count + 2), beta(count + 2), shares(count);
  after[count] = 0;
  for (int64_t t = sequence.frames; t-- > 0;) {
    const T *from = after.data(), *skip = sequence.skip.data(), *reached = alpha + (n * p.T + t) * (2 * p.S + 1);
    for (int64_t s = 0; s < count; s += kLanes<T>)
      store(beta.data() + s, log_of_sum(load(from + s), load(from + s + 1), load(from + s + 2) + load(skip + s + 2)));
    map_row(count, reached, shares.data(), [&](Vec<T> v, int64_t s) { return v + load(beta.data() + s); });
    const T largest = finite_or_zero(row_max(count, shares.data()));
    map_row(count, shares.data(), shares.data(), [&](Vec<T> v, int64_t) { return exp_of_negative(v - largest); });
    const double total = row_sum(count, shares.data(), T(0), [](Vec<T> v, int64_t) { return v; });
    const T scale = static_cast<T>(-static_cast<double>(dloss) / total);
    T* row = dlog_probs + sequence.at(t);
    for (int64_t s = 0; s < count; ++s) row[sequence.label(s)] += scale * shares[s];
    sequence.emit(log_probs, t);
    for (int64_t s = 0; s < count; ++s) after[s] = beta[s] + sequence.emitted[s];
    after[count] = kLowest<T>;
    take_largest_off(count, after.data());
  }
}

template <class T>
void backward(const CtcProblem& p, const T* log_probs, const T* alpha, const T* loss, const T* dloss, T* dlog_probs) {
  const int64_t values = p.T * p.N * p.C;
  if (values == 0) return;
  __builtin_memset(dlog_probs, 0, static_cast<uint64_t>(values) * sizeof(T));
  for_tasks(p.N, p.N * p.T * (2 * p.S + 1) > kChunk / 8, [&](int64_t n) {
    if (loss[n] != -kLowest<T>) gradient_of(p, n, log_probs, alpha, dloss[n], dlog_probs);
  });
}
}  // namespace

TAPE_DEFINE_TABLES(CtcKernels, ctc, forward<T>, backward<T>)

}  // namespace tape::kernels::TAPE_LEVEL
