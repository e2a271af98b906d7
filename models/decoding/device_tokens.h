#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "../../autograd/device_checks.h"
#include "../../autograd/device_memory.h"
#include "decoder_rows.h"
#include "generation_batch.h"

namespace tape::models {

/// Rows of a GenerationBatch whose tokens a GPU chooses (kernels::TokenKernels), while the host asks for later steps:
/// the tokens and whether a row has ended stay on the GPU, and the host receives copies some steps late. The tokens are
/// those of GenerationBatch::append_next() for the same scores.
class DeviceTokens {
 public:
  /// Rows on the default device. Those that have ended continue with the token `filler`; the ids `never` are not
  /// generated.
  DeviceTokens(GenerationBatch& batch, std::vector<size_t> rows, int64_t filler,
               const std::vector<int64_t>& never = {});

  /// The rows, in the order of the batch on the GPU.
  const std::vector<size_t>& rows() const { return rows_; }
  /// The last token of each row, [rows, 1].
  const Tensor& last() const { return last_; }
  /// Chooses the next tokens from scores [rows, V].
  void choose(const Tensor& scores);
  /// Appends what was chosen to the texts of the GenerationBatch, except for the last `late` steps, which the GPU may
  /// still compute. Throws Error (numeric) for scores that cannot be sampled.
  void deliver(int64_t late);
  /// Once a quarter of the rows are known to have ended, drops these and returns the indices of the others.
  std::optional<std::vector<int64_t>> drop_ended();

 private:
  struct Step {
    std::vector<size_t> rows;
    std::unique_ptr<device_memory::CopyToHost> tokens;
  };

  /// Whether choices depend on the texts.
  bool keeps_texts() const;
  /// Makes room for a token.
  void reserve_column();
  ValueCheck check_of_scores(int64_t vocab) const;
  void append(const Step& step);

  GenerationBatch& batch_;
  std::vector<size_t> rows_;
  int64_t filler_, never_;              // a token, and the number of ids
  int64_t length_ = 0, generated_ = 0;  // of the texts in text_, including padding, and of all generated texts
  uint64_t draws_ = 0;                  // number of values that each row has drawn
  Tensor numbers_, begin_;              // [rows]: numbers of the rows, and where their texts begin in text_
  Tensor hidden_;                       // `never`, then the ids that end a text
  Tensor text_;                  // [rows, columns], padded on the left; only the last choice if texts do not matter
  Tensor last_, ended_;          // [rows, 1], [rows]
  std::deque<Step> steps_ = {};  // not delivered yet
};

/// Generates at most `steps` tokens for the rows of a decoder on a GPU.
void choose_on_device(GenerationBatch& batch, RunningRows& rows, const EncoderDecoder& model, int64_t steps,
                      int64_t late);

/// How many steps the host receives the tokens of a call late: with on_token one, so that the GPU has work meanwhile.
int64_t steps_in_flight(const GenerateOptions& options);

}  // namespace tape::models
