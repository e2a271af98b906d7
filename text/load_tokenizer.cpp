#include "text/load_tokenizer.h"

#include <filesystem>
#include <vector>

#include "text/byte_level_bpe.h"
#include "text/marian.h"
#include "text/number_words_tokenizer.h"
#include "text/sentence_piece.h"
#include "text/tokenizer_json.h"
#include "text/word_piece.h"

namespace tape::text {
namespace {

namespace fs = std::filesystem;

/// The SentencePiece models in a folder.
std::vector<std::string> model_files(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    if (path.extension() == ".model" || path.extension() == ".spm") out.push_back(path.string());
  }
  if (failed) raise(ErrorKind::io, "{}: cannot read the folder: {}", folder, failed.message());
  return out;
}

/// What the `transformers` class of a model adds to a text, where the configuration does not say.
SentencePieceOptions added_of(const TokenizerConfig& config) {
  return {.add_bos = config.add_bos_token.value_or(config.tokenizer_class.starts_with("Llama")),
          .add_eos = config.add_eos_token.value_or(config.tokenizer_class.starts_with("T5"))};
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  const auto has = [&folder](const char* name) { return fs::exists(fmt::format("{}/{}", folder, name)); };
  if (has("source.spm") && has("target.spm") && has("vocab.json")) return Marian::load(folder);
  if (has("tokenizer.json")) return TokenizerJson::load(folder);
  if (has("vocab.txt")) return WordPiece::load(folder);
  if (has("vocab.json") && has("merges.txt")) return ByteLevelBpe::load(folder);
  if (has("src_vocab.txt") && has("tgt_vocab.txt")) return NumberWordsTokenizer::load(folder);
  const std::vector<std::string> models = model_files(folder);
  if (models.size() == 1)
    return std::make_unique<SentencePiece>(models[0], added_of(read_tokenizer_config(folder, {})));
  raise(ErrorKind::io,
        "{}: no tokenizer: neither source.spm, target.spm and vocab.json, nor tokenizer.json, nor vocab.txt, nor "
        "vocab.json and merges.txt, nor one *.model or *.spm file ({} found)",
        folder, models.size());
}

}  // namespace tape::text
