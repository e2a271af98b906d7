#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../autograd/random.h"
#include "packed_values.h"

/// Assignment of examples to batches. A plan depends only on its arguments, so a run resumes from (seed, epoch, index
/// of the batch in the epoch's plan) without any other saved state.
namespace tape::text {

/// Number of tokens in an example, including special tokens. target is 0 for texts without a target side.
struct ExampleLength {
  int64_t source = 0;  ///< tokens of the source, or of the only text
  int64_t target = 0;  ///< tokens of the target
};

/// Appends both lengths to a byte string, and removes them from its start (packed_values.h).
/// @{
inline void append_packed(std::string& to, const ExampleLength& value) {
  tape::append_packed(to, value.source);
  tape::append_packed(to, value.target);
}
inline void take_packed(std::string_view& from, ExampleLength& value) {
  tape::take_packed(from, value.source);
  tape::take_packed(from, value.target);
}
/// @}

/// Options of plan_batches() and plan_sorted_batches().
struct BatchOptions {
  /// Maximum number of tokens per batch on either side, padding included: the length of the longest example times the
  /// number of examples, as in fairseq's --max-tokens.
  int64_t max_tokens = 4096;
  int64_t max_sentences = 0;      ///< maximum number of examples per batch; 0: no limit
  int64_t max_source_length = 0;  ///< examples with a longer source are skipped; 0: no limit
  int64_t max_target_length = 0;  ///< same for the target
  /// Number of examples sorted by length together. A larger pool needs less padding, a smaller one mixes lengths more.
  int64_t pool = 32'768;
};

/// The batches of one epoch.
struct BatchPlan {
  std::vector<std::vector<int64_t>> batches;  ///< example indices; every example that is not skipped appears once
  std::vector<int64_t> skipped;               ///< ascending indices of examples longer than a limit or than max_tokens
};

/// Plans the batches of one epoch. Shuffles the examples, splits them into pools of nearly equal size, sorts each pool
/// by length (equal lengths stay shuffled), packs batches from the shortest on, and shuffles the batches of all pools.
/// Random order depends on (seed, epoch).
///
/// Throws Error (config) for options out of range, a negative epoch, or if every example is skipped, and Error (index)
/// for a negative length.
BatchPlan plan_batches(std::span<const ExampleLength> lengths, const BatchOptions& options, uint64_t seed,
                       int64_t epoch);

/// Same without randomness: one pool, batches from shortest to longest. For validation and translation.
BatchPlan plan_sorted_batches(std::span<const ExampleLength> lengths, const BatchOptions& options);

/// "train.de: 2 of 29,000 examples skipped: too long, the longest has 312 tokens"; empty if none was skipped.
std::string skipped_note(const BatchPlan& plan, std::span<const ExampleLength> lengths, const std::string& name);

/// Batches of example indices in random order for (seed, epoch), computed on demand. Above about a million examples the
/// order is shuffled in pools of a million, each spread over the whole data, so that it takes little memory even for a
/// text larger than memory.
class ShuffledBatches {
 public:
  /// Number of batches; the last one may be smaller.
  int64_t size() const;
  /// Examples of a batch. Not thread-safe.
  std::vector<int64_t> operator[](int64_t batch) const;

  /// Maps example n to the value first + n * step.
  struct Places {
    int64_t first = 0,  ///< value of example 0
        step = 1;       ///< difference between the values of successive examples
  };
  /// `draws` may have been used only to choose `places`. Throws Error (config) unless batch is at least 1.
  ShuffledBatches(int64_t examples, int64_t batch, const Generator& draws, Places places);

 private:
  int64_t pool_start(int64_t pool) const;
  void shuffle_pool(int64_t pool) const;

  int64_t examples_, batch_, pool_size_, stride_ = 1;
  Generator draws_;
  Places places_;
  mutable int64_t shuffled_ = -1;            // index of the pool in order_
  mutable std::vector<int64_t> order_ = {};  // shuffled examples of that pool
};

/// Shuffled batches of all examples for one epoch. Errors as for plan_windows.
ShuffledBatches plan_shuffled(int64_t examples, int64_t batch, uint64_t seed, int64_t epoch);

/// A span of a long text. Inputs are tokens [start, start + length), labels are [start + 1, start + length + 1).
struct Window {
  int64_t start = 0;   ///< index of the first input token
  int64_t length = 0;  ///< number of inputs, which is also the number of labels
  /// Memberwise.
  friend bool operator==(const Window&, const Window&) = default;
};

/// Batches of window starts for one epoch over a text of `tokens` tokens. Windows of `context` tokens are adjacent, the
/// first starts at a random offset in [0, context), and their order is random; both depend on (seed, epoch).
///
/// This function and random_windows throw Error (config) if context or batch is below 1, for a negative epoch or step,
/// and for a text of fewer than context + 1 tokens.
ShuffledBatches plan_windows(int64_t tokens, int64_t context, int64_t batch, uint64_t seed, int64_t epoch);

/// Starts of `batch` windows for one training step, each uniform over the text, as nanoGPT samples. Depends only on
/// (seed, step).
std::vector<int64_t> random_windows(int64_t tokens, int64_t context, int64_t batch, uint64_t seed, int64_t step);

/// Number of adjacent windows in which every token except the first is a label once, for validation. The last window
/// may be shorter. 0 for a text of fewer than 2 tokens.
int64_t count_sequential_windows(int64_t tokens, int64_t context);
/// The window with this index.
Window sequential_window(int64_t tokens, int64_t context, int64_t number);

}  // namespace tape::text
