#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tape::inspect {

/// Answers the calls of a page that contains a model: loads it, computes the page's data for any text, with edits, and
/// trains it. One request at a time.
///
///     open {folder}                        -> {class, kind, parameters, trains, fixed_positions}
///     explore {text, target_text, target, edits, title, bytes} -> {data, target, unknown}
///     heads {text, target_text, target}    -> {attention: [{module, heads, queries, keys, weights}], loss}
///     train_new {seed}                     -> {parameters}
///     train {steps}                        -> {step, steps, losses, lr, grad_norm, ms}
///     train_part {part}                    -> of one update: "forward", "backward" or "update"
///     test {count}                         -> {right, count, samples: [{source, expected, output}]}
///     restore {}                           -> {}
///
/// `data` is that of a page written by write_page(), whose title is by default that of `tapeformer inspect`. `target`
/// are the ids of a translation or the label of a classifier that the loss is of; without it, those of `target_text`
/// (for an encoder the second text of a pair), or the model's own prediction. `unknown` lists what the tokenizer does
/// not know. Edits: see LiveEdit. trains: "number_words" for an encoder-decoder model whose tokenizer was made for
/// number words (LiveTraining), otherwise null. fixed_positions: why no token can be moved, null if tokens can.
class LiveEngine {
 public:
  LiveEngine();
  ~LiveEngine();
  LiveEngine(const LiveEngine&) = delete;
  LiveEngine& operator=(const LiveEngine&) = delete;

  /// Returns {"ok": ...}, or {"error": message} for any exception.
  std::string answer(std::string_view request);

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace tape::inspect
