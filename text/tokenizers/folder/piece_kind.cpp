#include "text/tokenizers/folder/piece_kind.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/format.h>

#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/language_kind.h"

namespace tape::text {
namespace {

constexpr int64_t kExtraIds = 100, kMaxExtraIds = 100'000;  // T5's sentinels
constexpr const char* kBlankPiece = "\xE2\x96\x81";

int64_t extra_ids_of(const TokenizerConfig& config) { return config.extra_ids.value_or(kExtraIds); }
std::string sentinel(int64_t i) { return fmt::format("<extra_id_{}>", i); }

/// The vocabulary as a list of tokens with scores.
struct Scored {
  void add(const std::string& token, double score = 0) {
    vocabulary.emplace_back(token, static_cast<int64_t>(vocabulary.size()));
    scores.push_back(score);
  }
  void add_pieces(const SentencePieceTable& model, size_t from) {
    for (size_t i = from; i < model.pieces.size(); ++i) add(model.pieces[i].name, model.pieces[i].score);
  }
  TokenTable::Entries vocabulary;
  std::vector<double> scores;
};

PieceParts unigram(Scored scored, int64_t unk) {
  return {.vocabulary = std::move(scored.vocabulary), .unigram = {.unk_id = unk}, .scores = std::move(scored.scores)};
}

Normalizer character_map(const SentencePieceTable& model, const std::string& where) {
  return model.character_map.empty() ? nullptr : precompiled_normalizer(model.character_map, where);
}

/// Applies the character map, then collapses repeated spaces.
Normalizer map_and_single_blanks(const SentencePieceTable& model, const std::string& where) {
  const Normalizer map = character_map(model, where),
                   blanks = replace_normalizer(regular_expression(" {2,}", where), " ");
  return normalizer_sequence(map ? std::vector{map, blanks} : std::vector{blanks});
}

/// `words`: splits at white space, which is dropped, and begins each word with U+2581.
void add_metaspace(PieceParts& parts, bool words, PrependScheme prepend = PrependScheme::always) {
  const PreTokenizer metaspace = metaspace_pre_tokenizer({.prepend = prepend});
  parts.pre_tokenizer = words ? pre_tokenizer_sequence({whitespace_pre_tokenizer(), metaspace}) : metaspace;
  parts.decoder = metaspace_decoder(kBlankPiece, prepend != PrependScheme::never);
}

PrependScheme prepend_of(const TokenizerConfig& config) {
  return config.add_prefix_space.value_or(true) ? PrependScheme::always : PrependScheme::never;
}

PieceParts llama_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string&) {
  PieceParts out;
  Scored pieces;
  pieces.add_pieces(model, 0);
  out.vocabulary = std::move(pieces.vocabulary);
  out.is_bpe = true;
  out.bpe = {.bytes = false, .fuse_unk = true, .byte_fallback = true};
  const bool prefix = config.add_prefix_space.value_or(true);
  const PrependScheme first = config.legacy.value_or(false) ? PrependScheme::always : PrependScheme::first;
  out.pre_tokenizer = metaspace_pre_tokenizer({.prepend = prefix ? first : PrependScheme::never, .split = false});
  std::vector<Decoder> steps{replace_decoder(literal_pattern(kBlankPiece), " "), byte_fallback_decoder(),
                             fuse_decoder()};
  if (prefix) steps.push_back(strip_decoder(" ", 1, 0));
  out.decoder = decoder_sequence(std::move(steps));
  return out;
}

PieceParts t5_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  Scored scored;
  scored.add_pieces(model, 0);
  for (int64_t i = extra_ids_of(config); i-- > 0;) scored.add(sentinel(i));
  PieceParts out = unigram(std::move(scored), 2);
  out.normalizer = character_map(model, where);
  add_metaspace(out, true);
  return out;
}

/// fairseq's ids: its own four tokens replace the first three pieces of the model.
Scored aligned(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  constexpr std::array<std::string_view, 3> kFirst{"<unk>", "<s>", "</s>"};
  for (size_t i = 0; i < kFirst.size(); ++i)
    if (i >= model.pieces.size() || model.pieces[i].name != kFirst[i])
      raise(ErrorKind::format, "{}: piece {} must be {}, as in fairseq's models", where, i, kFirst[i]);
  Scored out;
  const auto named = [](const std::string& name, const char* otherwise) { return name.empty() ? otherwise : name; };
  out.add(named(config.bos.empty() ? config.cls : config.bos, "<s>"));
  out.add(named(config.pad, "<pad>"));
  out.add(named(config.eos, "</s>"));
  out.add(named(config.unk, "<unk>"));
  out.add_pieces(model, 3);
  if (const LanguageKind* kind = language_kind_of(config.tokenizer_class))
    for (const std::string& language : kind->language_tokens(config)) out.add(language);
  out.add(named(config.mask, "<mask>"));
  return out;
}

PieceParts xlm_roberta_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  PieceParts out = unigram(aligned(model, config, where), 3);
  out.normalizer = character_map(model, where);
  add_metaspace(out, true, prepend_of(config));
  return out;
}

PieceParts camembert_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  Scored scored;
  scored.add("<s>NOTUSED");
  scored.add(config.pad);
  scored.add("</s>NOTUSED");
  scored.add(config.unk);
  scored.add("<unk>NOTUSED", -100);
  scored.add_pieces(model, 1);
  scored.add(config.mask);
  const auto unk = std::ranges::find(scored.vocabulary, config.unk, &TokenTable::Entries::value_type::first);
  const int64_t unk_id = unk == scored.vocabulary.end() ? 0 : unk->second;
  PieceParts out = unigram(std::move(scored), unk_id);
  out.normalizer = character_map(model, where);
  add_metaspace(out, true, prepend_of(config));
  return out;
}

/// Without the model's character map, as in `transformers` 5.
PieceParts mbart_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  PieceParts out = unigram(aligned(model, config, where), 3);
  add_metaspace(out, true);
  return out;
}

PieceParts mbart50_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  PieceParts out = unigram(aligned(model, config, where), 3);
  out.normalizer = map_and_single_blanks(model, where);
  add_metaspace(out, false);
  return out;
}

PieceParts nllb_parts(const SentencePieceTable& model, const TokenizerConfig& config, const std::string& where) {
  PieceParts out;
  Scored scored;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& token) {
    if (seen.insert(token).second) scored.add(token);
  };
  for (const std::string& name : {config.bos, config.pad, config.eos, config.unk}) add(name);
  for (const SentencePieceEntry& piece : model.pieces) add(piece.name);
  out.vocabulary = std::move(scored.vocabulary);
  out.is_bpe = true;
  out.bpe = {.bytes = false, .unk_token = config.unk, .fuse_unk = true};
  if (!model.character_map.empty()) out.normalizer = map_and_single_blanks(model, where);
  add_metaspace(out, false);
  return out;
}

constexpr std::array<PieceKind, 7> kKinds{
    {{"LlamaTokenizer", PieceTemplate::flags, "tokenizer.model", llama_parts},
     {"T5Tokenizer", PieceTemplate::end, "spiece.model", t5_parts},
     {"XLMRobertaTokenizer", PieceTemplate::both, "sentencepiece.bpe.model", xlm_roberta_parts},
     {"CamembertTokenizer", PieceTemplate::both, "sentencepiece.bpe.model", camembert_parts},
     {"MBartTokenizer", PieceTemplate::languages, "sentencepiece.bpe.model", mbart_parts},
     {"MBart50Tokenizer", PieceTemplate::languages, "sentencepiece.bpe.model", mbart50_parts},
     {"NllbTokenizer", PieceTemplate::languages, "sentencepiece.bpe.model", nllb_parts}}};

/// The symbols of the model file that are matched in a text, special or not.
void add_symbols(TokenizerConfig& config, const SentencePieceTable& model) {
  for (const SentencePieceEntry& piece : model.pieces) {
    if (piece.type != SentencePieceEntry::control && piece.type != SentencePieceEntry::user_defined) continue;
    config.more.push_back(piece.name);
    config.described_more.push_back({.content = piece.name, .special = piece.type == SentencePieceEntry::control});
  }
}

void add_sentinels(TokenizerConfig& config, const std::string& where) {
  const auto given = std::ranges::count_if(
      config.more, [](const std::string& token) { return token.find("<extra_id_") != std::string::npos; });
  const int64_t extra = extra_ids_of(config);
  if (given > 0 && extra > 0 && extra != given)
    raise(ErrorKind::format, "{}: extra_ids is {}, but the model has {} sentinels", where, extra, given);
  for (int64_t i = 0; given == 0 && i < extra; ++i) config.more.push_back(sentinel(i));
}

/// The class's flags for a mask token that a file only names.
void describe_mask(TokenizerConfig& config) {
  const std::string& name = config.tokenizer_class;
  AddedToken mask{.content = config.mask, .special = true, .lstrip = true};
  if (name.starts_with("MBart") || name.starts_with("Nllb"))
    mask.normalized = true;
  else if (!name.starts_with("Camembert"))
    return;
  if (!config.mask.empty() &&
      std::ranges::find(config.described, mask.content, &AddedToken::content) == config.described.end())
    config.described.push_back(std::move(mask));
}

}  // namespace

const PieceKind* piece_kind_of(std::string_view tokenizer_class) {
  const auto found = std::ranges::find(kKinds, strip_fast_suffix(tokenizer_class), &PieceKind::tokenizer_class);
  return found == kKinds.end() ? nullptr : &*found;
}

void complete_special_tokens(TokenizerConfig& config, const PieceKind& kind, const SentencePieceTable& model,
                             const std::string& where) {
  if (const int64_t extra = extra_ids_of(config); extra < 0 || extra > kMaxExtraIds)
    raise(ErrorKind::format, "{}: extra_ids: must be from 0 to {}, got {}", where, kMaxExtraIds, extra);
  describe_mask(config);
  if (config.more_given) return;
  config.more.clear();  // tokens of special_tokens_map.json, which the model file's symbols replace
  const std::string_view name = kind.tokenizer_class;
  if (name == "MBartTokenizer") config.more = language_kind_of(name)->language_tokens(config);
  add_symbols(config, model);
  if (name == "MBart50Tokenizer")
    for (const std::string& language : language_kind_of(name)->language_tokens(config)) config.more.push_back(language);
  if (name == "T5Tokenizer") add_sentinels(config, where);
}

}  // namespace tape::text
