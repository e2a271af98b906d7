#include "text/tokenizers/byte_level_bpe.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/vocabulary_json.h"

namespace tape::text {
namespace {

TokenizerConfig config_of(const ByteLevelBpeOptions& options, const std::vector<std::string>& vocabulary = {}) {
  TokenizerConfig config;
  config.tokenizer_class = "GPT2Tokenizer";
  config.add_prefix_space = options.add_prefix_space;
  config.bos = options.bos;
  config.eos = options.eos;
  config.unk = options.unk;
  config.pad = options.pad;
  config.mask = options.mask;
  auto size = static_cast<int64_t>(vocabulary.size());
  for (const std::string& name : options.more) {
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), name);
    const int64_t id = found != vocabulary.end() ? found - vocabulary.begin() : size++;
    config.added.push_back({.content = name, .id = id, .special = true});
  }
  return config;
}

/// BartTokenizer has the same format.
bool is_roberta(const TokenizerConfig& config) {
  const std::string_view name = strip_fast_suffix(config.tokenizer_class);
  return name == "RobertaTokenizer" || name == "BartTokenizer";
}

TrimOffsets trim_of(const TokenizerConfig& config) {
  if (!is_roberta(config) || !config.trim_offsets.value_or(true)) return TrimOffsets::no;
  return config.add_prefix_space.value_or(false) ? TrimOffsets::all_but_prefix : TrimOffsets::all;
}

Merges read_merges(const std::string& path) {
  const std::string content = read_text(path);
  Merges out;
  int64_t number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() ||
        line.find(' ', blank + 1) != std::string_view::npos)
      raise(ErrorKind::format, "{}:{}: \"{}\" is not two tokens separated by a space", path, number, clipped(line, 60));
    out.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  return out;
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(TokenTable::Entries vocabulary, Merges merges, TokenizerConfig config, const Files& files)
    : Pipeline([&] {
        Parts parts;
        parts.table = make_token_table(std::move(vocabulary), config, files.vocabulary);
        parts.pre_tokenizer = byte_level_pre_tokenizer({.add_prefix_space = config.add_prefix_space.value_or(false)});
        parts.model = bpe_model(*parts.table, merges, {}, files.merges);
        parts.decoder = byte_level_decoder();
        parts.trim = trim_of(config);
        parts.config = std::move(config);
        return parts;
      }()),
      merges_(std::move(merges)) {
  make_template(files);
}

void ByteLevelBpe::make_template(const Files& files) {
  if (is_roberta(config_)) {
    for (const auto& [name, id] : {std::pair{"cls_token", special_.cls}, {"sep_token", special_.sep}})
      if (id < 0) raise(ErrorKind::format, "{}: {} has no {}", files.vocabulary, config_.tokenizer_class, name);
    const Part cls{Part::Kind::special, special_.cls}, sep{Part::Kind::special, special_.sep};
    template_.single = {cls, {Part::Kind::first}, sep};
    template_.pair = {cls, {Part::Kind::first}, sep, sep, {Part::Kind::second}, sep};
  } else if (config_.add_bos_token.value_or(false) && special_.bos >= 0) {
    set_bos_eos_template(true, false);
  }
}

ByteLevelBpe::ByteLevelBpe(const std::vector<std::string>& vocabulary, Merges merges,
                           const ByteLevelBpeOptions& options)
    : ByteLevelBpe(TokenTable::numbered(vocabulary), std::move(merges), config_of(options, vocabulary),
                   {"ByteLevelBpe", "ByteLevelBpe"}) {}

std::unique_ptr<ByteLevelBpe> ByteLevelBpe::load(const std::string& folder) {
  const Files files{file_in_folder(folder, "vocab.json"), file_in_folder(folder, "merges.txt")};
  const std::string name = tokenizer_class_of(folder);  // config.json may be the only file that gives it
  TokenizerConfig defaults = config_of({});
  if (!name.empty()) defaults.tokenizer_class = name;
  if (is_roberta(defaults)) {
    defaults = class_names(name);
    defaults.tokenizer_class = name;
  }
  return std::unique_ptr<ByteLevelBpe>(new ByteLevelBpe(read_vocabulary_json(files.vocabulary),
                                                        read_merges(files.merges),
                                                        read_tokenizer_config(folder, defaults), files));
}

void ByteLevelBpe::save(const std::string& folder) const {
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : merges_) merges += fmt::format("{} {}\n", left, right);
  write_in_folder(folder, "vocab.json", vocabulary_json(table()));
  write_in_folder(folder, "merges.txt", merges);
  save_config(folder);
}

}  // namespace tape::text
