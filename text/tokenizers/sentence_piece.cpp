#include "text/tokenizers/sentence_piece.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "text/tokenizers/folder/config.h"
#include "text/tokenizers/steps/sentence_piece_model.h"

namespace tape::text {

SentencePiece::SentencePiece(std::unique_ptr<SentencePieceModel> model, const SentencePieceOptions& options)
    : model_(std::move(model)), options_(options) {
  const auto& processor = model_->processor();
  special_ = {
      .pad = processor.pad_id(), .unk = processor.unk_id(), .bos = processor.bos_id(), .eos = processor.eos_id()};
  if (options.add_bos && special_.bos < 0)
    raise(ErrorKind::config, "SentencePiece: add_bos is set, but the model has no start token");
  if (options.add_eos && special_.eos < 0)
    raise(ErrorKind::config, "SentencePiece: add_eos is set, but the model has no end token");
  set_bos_eos_template(options.add_bos, options.add_eos);
}

SentencePiece::SentencePiece(const std::string& file, const SentencePieceOptions& options)
    : SentencePiece(std::make_unique<SentencePieceModel>(read_text(file), file), options) {}

std::unique_ptr<SentencePiece> SentencePiece::from_bytes(std::string bytes, const std::string& where,
                                                         const SentencePieceOptions& options) {
  auto model = std::make_unique<SentencePieceModel>(std::move(bytes), where);
  return std::unique_ptr<SentencePiece>(new SentencePiece(std::move(model), options));
}

SentencePiece::~SentencePiece() = default;

int64_t SentencePiece::vocab_size() const { return model_->processor().GetPieceSize(); }

const std::string& SentencePiece::token(int64_t id) const {
  if (id < 0 || id >= vocab_size()) raise(ErrorKind::index, "token: id {} is not in 0..{}", id, vocab_size() - 1);
  return model_->processor().IdToPiece(static_cast<int>(id));
}

std::optional<int64_t> SentencePiece::find(std::string_view token) const {
  const int id = model_->processor().PieceToId(token);
  // The library returns the unknown id for a missing token.
  if (id < 0 || model_->processor().IdToPiece(id) != token) return std::nullopt;
  return id;
}

bool SentencePiece::is_special(int64_t id) const {
  return id >= 0 && id < vocab_size() && model_->processor().IsControl(static_cast<int>(id));
}

double SentencePiece::score(int64_t id) const {
  token(id);
  return model_->processor().GetScore(static_cast<int>(id));
}

const std::string& SentencePiece::bytes() const { return model_->bytes(); }

void SentencePiece::split(std::string_view text, std::vector<Piece>& to) const {
  model_->split(text, to, [](uint32_t id, const std::string&) { return id; });
}

std::string SentencePiece::join(std::span<const int64_t> ids) const {
  const std::vector<int> given(ids.begin(), ids.end());
  std::string out;
  const auto status = model_->processor().Decode(given, &out);
  if (!status.ok()) raise(ErrorKind::format, "decode: {}", status.ToString());
  return out;
}

std::vector<std::string> SentencePiece::explain(std::string_view text) const {
  constexpr int kSplits = 3;
  std::vector<std::string> lines{fmt::format("text: {}", clipped(text, 1000))};
  if (!model_->is_bpe()) {
    const auto best = model_->processor().NBestEncodeAsImmutableProto(text, kSplits);
    for (size_t i = 0; i < best.nbests_size(); ++i) {
      const auto pieces = best.nbests(static_cast<int>(i));
      std::string line = fmt::format("split {}, log probability {:.4f}:", i + 1, pieces.score());
      for (const auto& piece : pieces.pieces())
        line += fmt::format(" {} ({:.4f})", clipped(piece.piece(), 100), score(piece.id()));
      lines.push_back(std::move(line));
    }
  }
  std::vector<Piece> pieces;
  split(text, pieces);
  std::string line = "tokens:";
  for (const Piece& piece : pieces) line += fmt::format(" {} ({})", clipped(token(piece.id), 100), piece.id);
  lines.push_back(std::move(line));
  return lines;
}

void SentencePiece::save(const std::string& folder) const {
  const auto name = [this](int64_t id) { return id < 0 ? std::string() : token(id); };
  TokenizerConfig config;
  config.tokenizer_class = model_->is_bpe() ? "LlamaTokenizer" : "T5Tokenizer";
  config.bos = name(special_.bos);
  config.eos = name(special_.eos);
  config.unk = name(special_.unk);
  config.pad = name(special_.pad);
  config.add_bos_token = options_.add_bos;
  config.add_eos_token = options_.add_eos;
  if (!model_->is_bpe()) config.extra_ids = 0;
  config.backend = "sentencepiece";  // split with the library, not with transformers' own code
  write_in_folder(folder, model_->is_bpe() ? "tokenizer.model" : "spiece.model", bytes());
  write_tokenizer_config(folder, config);
}

}  // namespace tape::text
