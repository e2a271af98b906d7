#include "train/data/token_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/version.h"
#include "text/json.h"
#include "train/checkpoints/manifest.h"
#include "train/data/tokenizer_checksum.h"
#include "train/distributed/consistency.h"
#include "train/runs/output_folder.h"

namespace tape::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFolder = "tokens";
constexpr const char* kState = "tokens.json";
/// All files written there, including those of TaskRun::share().
constexpr std::array kNames{"train.bin", "valid.bin", "train.documents", "valid.documents", kState, "examples"};

bool is_ours(const std::string& name) {
  return std::ranges::find(kNames, name) != kNames.end() || is_unfinished_file(name);
}

void write_documents(const std::string& file, const std::vector<StoredDocument>& documents) {
  std::vector<std::array<int64_t, 2>> ends;
  ends.reserve(documents.size());
  for (const StoredDocument& document : documents) ends.push_back({document.end, document.learned});
  write_file(file, {reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof ends[0]});
}

std::vector<StoredDocument> read_documents(const std::string& file, int64_t tokens) {
  if (!path_exists(file)) return {};
  const std::string bytes = read_text(file);
  std::vector<StoredDocument> documents;
  std::array<int64_t, 2> entry{};
  for (size_t at = 0; at + sizeof entry <= bytes.size(); at += sizeof entry) {
    std::memcpy(entry.data(), bytes.data() + at, sizeof entry);
    const int64_t begin = documents.empty() ? 0 : documents.back().end;
    if (entry[0] < begin || entry[0] > tokens || entry[1] < begin)
      raise(ErrorKind::format, "{}: document {} is outside of the file's {} tokens", file, documents.size(), tokens);
    documents.push_back({.begin = begin, .end = entry[0], .learned = entry[1]});
  }
  return documents;
}

/// The notes of an existing, intact store made from the same inputs; nullopt if there is none.
std::optional<std::vector<std::string>> notes_if_whole(const std::string& folder, const std::string& made_of) {
  const std::string state = join_path(folder, kState);
  try {
    if (!path_exists(state)) return std::nullopt;
    const Json json = parse_json(read_text(state), state);
    if (json.value("made_of", "") != made_of) return std::nullopt;
    for (const auto& [name, checksum] : json.at("files").items())
      if (checksum != fmt::format("{:016x}", file_checksum(join_path(folder, name)))) return std::nullopt;
    return json.at("notes").get<std::vector<std::string>>();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::out_of_memory) throw;
    return std::nullopt;  // a broken store is made again
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

bool holds_tokens_only(const std::string& folder) {
  const std::string tokens = join_path(folder, kFolder);
  return is_folder(tokens) && std::ranges::all_of(folder_entries(tokens), is_ours);
}

void remove_tokens(const std::string& folder) {
  const std::string tokens = join_path(folder, kFolder);
  if (!is_folder(tokens)) return;
  for (const std::string& name : folder_entries(tokens))
    if (is_ours(name)) remove_path(join_path(tokens, name));
  if (folder_entries(tokens).empty()) remove_path(tokens);
}

TokenStoreFolder::TokenStoreFolder(const std::string& folder, Communicator& ranks) : run_(folder), ranks_(ranks) {
  if (run_.empty()) run_ = temporary_.emplace().path();
  folder_ = join_path(run_, kFolder);
}

std::vector<std::string> TokenStoreFolder::make(const TextSources& texts, const text::Tokenizer& tokenizer,
                                                const std::string& made_of) const {
  remove_tokens(run_);
  make_folder(folder_);
  Json json{{"made_of", made_of}, {"files", Json::object()}, {"notes", Json::array()}};
  std::vector<std::string> notes;
  const auto add = [&](const char* name) {
    json["files"][name] = fmt::format("{:016x}", file_checksum(join_path(folder_, name)));
  };
  for (const auto& [text, ids, documents] :
       {std::tuple(&texts.train, "train.bin", "train.documents"), {&texts.valid, "valid.bin", "valid.documents"}}) {
    const auto ends = tokenize_to_file(*text, tokenizer, join_path(folder_, ids), notes);
    add(ids);
    if (!text->has_documents()) continue;
    write_documents(join_path(folder_, documents), ends);
    add(documents);
  }
  json["notes"] = notes;
  write_file(join_path(folder_, kState), dump_json(json));
  return notes;
}

TokenStore TokenStoreFolder::open(const TextSources& texts, const text::Tokenizer& tokenizer,
                                  const std::string& identity, double valid_fraction) const {
  if (texts.train.is_tokens()) return open_token_files(texts, tokenizer.vocab_size(), valid_fraction);
  TokenStore store;
  if (ranks_.is_root() && temporary_) {
    store.notes = make(texts, tokenizer, "");  // never compared
  } else if (ranks_.is_root()) {
    const std::string made_of = dump_json(
        {{"text", identity}, {"tokenizer", tokenizer_checksum(tokenizer)}, {"version", std::string(version())}});
    auto notes = notes_if_whole(folder_, made_of);
    store.notes = notes ? std::move(*notes) : make(texts, tokenizer, made_of);
  }
  barrier(ranks_);
  const auto open = [&](const char* name) {
    auto file = std::make_shared<const text::TokenFile>(join_path(folder_, name), tokenizer.vocab_size());
    const int64_t size = file->size();
    return StoredTokens(std::move(file), 0, size);
  };
  store.train = open("train.bin");
  store.valid = open("valid.bin");
  store.train_documents = read_documents(join_path(folder_, "train.documents"), store.train.size());
  store.valid_documents = read_documents(join_path(folder_, "valid.documents"), store.valid.size());
  return store;
}

TokenStore TokenStoreFolder::open_token_files(const TextSources& texts, int64_t vocab_size,
                                              double valid_fraction) const {
  const auto open = [&](const std::string& file) {
    auto tokens = std::make_shared<const text::TokenFile>(file, vocab_size);
    if (ranks_.is_root()) tokens->check();
    check_same_text(ranks_, fmt::format("the bytes of {}", file), fmt::format("{}", file_bytes(file)));
    return tokens;
  };
  if (ranks_.is_root() && !temporary_) remove_tokens(run_);  // from an earlier run in this folder
  const auto train = open(texts.train.file);
  if (texts.valid.file != texts.train.file) {
    const auto valid = open(texts.valid.file);
    return {.train = {train, 0, train->size()}, .valid = {valid, 0, valid->size()}};
  }
  const int64_t cut = text::training_split_size(train->size(), valid_fraction, texts.train.file, "token");
  return {.train = {train, 0, cut}, .valid = {train, cut, train->size() - cut}};
}

}  // namespace tape::train
