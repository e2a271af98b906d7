#pragma once

#include <memory>
#include <optional>

#include "../../models/encoder_decoders/transformer.h"
#include "../../optim/adam.h"
#include "../../optim/schedule.h"
#include "../../text/corpus/batch.h"
#include "../../text/tokenizers/tokenizer.h"

namespace tape::inspect {

/// Options of LiveTraining; the defaults are tuned for the demo's model on one thread.
struct LiveTrainingOptions {
  int64_t batch_tokens = 128;  ///< at most, per batch on either side, with padding
  double lr = 2e-3;            ///< at the end of the warm-up; then a cosine to 1/100 of it
  int64_t warmup = 30;         ///< updates
  int64_t steps = 300;         ///< updates of the schedule; later ones keep its last lr
  double label_smoothing = 0.05;
  double max_norm = 1;  ///< gradients are clipped to this norm
  uint64_t seed = 1;    ///< of the order of the pairs
};

/// A number below 1,000 in German and English.
struct LivePair {
  std::string source, target;
};

/// Trains a translator of number words on the numbers below 1,000, of which about a tenth are held out: those of
/// text::held_out(), and as many again.
class LiveTraining {
 public:
  /// The model and the tokenizer must outlive this. The model is in training mode only during an update.
  LiveTraining(models::EncoderDecoder& model, const text::Tokenizer& tokenizer,
               const LiveTrainingOptions& options = {});

  /// Whether a tokenizer was made for number words: it has at most 1,000 tokens and knows all words below 1,000.
  static bool supports(const text::Tokenizer& tokenizer);
  /// Whether, besides, a model is a Transformer.
  static bool supports(const nn::Module& model, const text::Tokenizer& tokenizer);

  /// One whole update; if one was begun in parts, it is finished first. Returns the loss.
  double train();
  /// One update in parts, to be called in this order. Throw Error (config) otherwise.
  /// @{
  double forward();   ///< returns the loss of the next batch
  double backward();  ///< returns the norm of all gradients
  void update();      ///< clips and takes a step of Adam
  /// @}

  int64_t step() const { return schedule_.last_step(); }         ///< updates done
  int64_t steps() const { return options_.steps; }               ///< updates of the schedule
  double lr() const { return lr_; }                              ///< of the last update
  double grad_norm() const { return grad_norm_; }                ///< of the last backward, before clipping
  const std::vector<LivePair>& batch() const { return batch_; }  ///< of the last forward

  struct Sample {
    LivePair pair;
    std::string output;  ///< greedy translation
    bool right() const { return output == pair.target; }
  };
  /// Translates held-out numbers, `count` of them if there are as many.
  std::vector<Sample> test(int64_t count) const;

  /// Numbers below 1,000 that are not trained on.
  static bool held_out(int64_t number);

 private:
  enum class Part { forward, backward, update };
  /// A pair as the model reads it: the source, and the target without its last token.
  struct Ids {
    std::vector<int64_t> source, target;
  };
  void begin(Part part);
  text::PaddedBatch next_batch();

  models::EncoderDecoder& model_;
  const text::Tokenizer& tokenizer_;
  const LiveTrainingOptions options_;
  optim::Adam adam_;
  optim::CosineSchedule schedule_;
  text::SpecialIds special_;                   // of batches
  std::vector<LivePair> pairs_;                // trained on
  std::vector<Ids> ids_;                       // of each pair
  std::vector<std::vector<int64_t>> batches_;  // indices of pairs, of the batches left of this epoch
  int64_t epoch_ = 0;
  std::vector<LivePair> batch_;
  Tensor loss_;
  double lr_ = 0, grad_norm_ = 0;
  Part next_ = Part::forward;
};

}  // namespace tape::inspect
