#include "text/tokenizers/load_tokenizer.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/path.h"
#include "base/utf8.h"
#include "text/tokenizers/byte_level_bpe.h"
#include "text/tokenizers/fairseq.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/class_options.h"
#include "text/tokenizers/marian.h"
#include "text/tokenizers/piece_tokenizer.h"
#include "text/tokenizers/sentence_piece.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/word_piece.h"

namespace tape::text {
namespace {

namespace fs = std::filesystem;

/// SentencePiece model files in a folder.
std::vector<std::string> model_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const std::string& name : folder_entries(folder))
    if (const fs::path end = fs::path(name).extension(); end == ".model" || end == ".spm")
      out.push_back(file_in_folder(folder, name));
  return out;
}

/// Throws Error (format) for a class that would give other ids. Such files usually come without any class.
void check_class(const std::string& folder, const std::string& name, VocabularyFiles needed, const char* files) {
  if (name.empty() || (needed != VocabularyFiles::none && vocabulary_files_of(name) == needed)) return;
  raise(ErrorKind::format,
        "{}/tokenizer_config.json: tokenizer_class {} is not supported with {}: save it with its fast tokenizer, which "
        "writes tokenizer.json",
        folder, clipped(name, 60), files);
}

/// Follows `transformers`, except that the sentencepiece library is used if no class is given or if the configuration
/// has that backend, as written by SentencePiece::save.
std::unique_ptr<Tokenizer> load_sentence_piece(const std::string& folder, const std::string& file,
                                               const std::string& name, const Languages& languages) {
  const TokenizerConfig config = read_tokenizer_config(folder, {});
  const bool library = config.backend == "sentencepiece" || name.empty();
  if (!library && PieceTokenizer::knows(name)) return PieceTokenizer::load(folder, file, name, languages);
  if (!library) check_class(folder, name, VocabularyFiles::none, "a SentencePiece model");
  const std::string where = fmt::format("{}/tokenizer_config.json", folder);
  if (name.empty() && fs::path(file).filename() == "sentencepiece.bpe.model")
    raise(ErrorKind::format,
          "{}: token ids differ from piece ids, so {} needs a tokenizer_class (such as "
          "XLMRobertaTokenizer)",
          file, where);
  auto tokenizer =
      std::make_unique<SentencePiece>(file, SentencePieceOptions{.add_bos = config.add_bos_token.value_or(false),
                                                                 .add_eos = config.add_eos_token.value_or(false)});
  for (const std::string& special : special_names(config))
    if (!tokenizer->find(special))
      raise(ErrorKind::format, "{}: the token \"{}\" is not a piece of {}", where, clipped(special, 40), file);
  for (const AddedToken& token : config.added)
    if (tokenizer->find(token.content) != token.id)
      raise(ErrorKind::format, "{}: the added token \"{}\" is not piece {} of {}", where, clipped(token.content, 40),
            token.id, file);
  return tokenizer;
}

/// Loads the first tokenizer found.
std::unique_ptr<Tokenizer> load_any(const std::string& folder, const Languages& languages) {
  const auto has = [&folder](const char* name) { return folder_has(folder, name); };
  if (has("source.spm") && has("vocab.json")) return Marian::load(folder);
  if (has("tokenizer.json")) return TokenizerJson::load(folder, languages);
  const std::string name(strip_fast_suffix(tokenizer_class_of(folder)));
  if (Fairseq::knows(name)) return Fairseq::load(folder, languages);
  if (has("vocab.txt")) {
    check_class(folder, name, VocabularyFiles::word_piece, "vocab.txt");
    return WordPiece::load(folder);
  }
  if (has("vocab.json") && has("merges.txt")) {
    check_class(folder, name, VocabularyFiles::byte_level_bpe, "vocab.json and merges.txt");
    return ByteLevelBpe::load(folder);
  }
  const std::vector<std::string> models = model_files(folder);
  if (models.size() == 1) return load_sentence_piece(folder, models[0], name, languages);
  raise(ErrorKind::io,
        "{}: no tokenizer found: neither source.spm and vocab.json, nor tokenizer.json, nor vocab.txt, nor "
        "vocab.json and merges.txt, nor one *.model or *.spm file ({} found)",
        folder, models.size());
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder, const Languages& languages) {
  auto tokenizer = load_any(folder, languages);
  if (!tokenizer->language() && !(languages.source.empty() && languages.target.empty()))
    raise(ErrorKind::config, "{}: the tokenizer has no languages to choose from (requested \"{}\")", folder,
          clipped(languages.source.empty() ? languages.target : languages.source, 40));
  return tokenizer;
}

void remove_tokenizer(const std::string& folder) {
  for (const char* name :
       {"source.spm", "target.spm", "vocab.json", "target_vocab.json", "tokenizer.json", "sentencepiece.bpe.model",
        "tokenizer.model", "spiece.model", "vocab.txt", "merges.txt", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
    remove_path(join_path(folder, name));
  }
}

}  // namespace tape::text
