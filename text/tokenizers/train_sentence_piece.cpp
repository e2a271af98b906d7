#include "text/tokenizers/train_sentence_piece.h"

#include <algorithm>
#include <system_error>
#include <unordered_map>

#include <fmt/format.h>

#include <sentencepiece_trainer.h>

#include "base/error.h"

namespace tape::text {
namespace {

class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(std::span<const std::string> lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::span<const std::string> lines_;
  size_t at_ = 0;
};

/// Formats symbols as a comma-separated list for the library's options, quoted where necessary.
std::string comma_list(const std::vector<std::string>& symbols) {
  std::string out;
  for (const std::string& symbol : symbols) {
    if (symbol.empty() || symbol.find_first_of(std::string_view("\0\n\r", 3)) != std::string::npos)
      raise(ErrorKind::config, "train_sentencepiece: symbols must not be empty or contain a line break");
    std::string quoted;
    for (const char c : symbol) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    if (!out.empty()) out += ',';
    out += fmt::format("\"{}\"", quoted);
  }
  return out;
}

void check(std::span<const std::string> lines, const TrainSentencePieceOptions& options) {
  const auto blank = [](const std::string& line) { return line.find_first_not_of(" \t\r\n") == std::string::npos; };
  if (std::all_of(lines.begin(), lines.end(), blank))
    raise(ErrorKind::config, "train_sentencepiece: the corpus is empty ({} lines)", lines.size());
  if (options.vocab_size < 1 || options.vocab_size > 1 << 24)
    raise(ErrorKind::config, "train_sentencepiece: vocab_size must be from 1 to {}, got {}", 1 << 24,
          options.vocab_size);
  if (!(options.character_coverage >= 0.98 && options.character_coverage <= 1))
    raise(ErrorKind::config, "train_sentencepiece: character_coverage must be from 0.98 to 1, got {}",
          options.character_coverage);
  if (options.unk_id < 0) raise(ErrorKind::config, "train_sentencepiece: unk_id is required, got {}", options.unk_id);
  const auto names = {"nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity"};
  if (std::find(names.begin(), names.end(), options.normalization) == names.end())
    raise(ErrorKind::config,
          "train_sentencepiece: normalization must be nmt_nfkc, nmt_nfkc_cf, nfkc, nfkc_cf or identity, got \"{}\"",
          options.normalization);
}

}  // namespace

std::unique_ptr<SentencePiece> train_sentencepiece(std::span<const std::string> lines,
                                                   const TrainSentencePieceOptions& options) {
  check(lines, options);
  const auto number = [](int64_t value) { return fmt::format("{}", value); };
  std::unordered_map<std::string, std::string> settings{
      {"model_type", options.kind == SentencePieceKind::bpe ? "bpe" : "unigram"},
      {"vocab_size", number(options.vocab_size)},
      {"hard_vocab_limit", options.exact_size ? "true" : "false"},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"normalization_rule_name", options.normalization},
      {"pad_id", number(options.pad_id)},
      {"eos_id", number(options.eos_id)},
      {"unk_id", number(options.unk_id)},
      {"bos_id", number(options.bos_id)},
      {"num_threads", "1"},
      {"minloglevel", "3"}};
  if (!options.symbols.empty()) settings["user_defined_symbols"] = comma_list(options.symbols);
  LineIterator corpus(lines);
  std::string bytes;
  try {
    const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &corpus, &bytes);
    if (!status.ok()) raise(ErrorKind::config, "train_sentencepiece: {}", status.ToString());
  } catch (const std::system_error& error) {  // the library failed to start a thread
    raise(ErrorKind::out_of_memory, "train_sentencepiece: {}", error.what());
  }
  return SentencePiece::from_bytes(std::move(bytes), "train_sentencepiece", options.encode);
}

}  // namespace tape::text
