#include "text/vocabulary.h"

#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"

namespace tape::text {
namespace {

constexpr std::array<std::string_view, 4> special_tokens = {"<pad>", "<bos>", "<eos>", "<unk>"};

}  // namespace

Vocabulary::Vocabulary(std::span<const std::string> tokens) {
  for (std::string_view token : special_tokens) add(token);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (const std::string fault = add(tokens[i]); !fault.empty()) {
      raise(ErrorKind::config, "Vocabulary: token {}: {}", i, fault);
    }
  }
}

std::string Vocabulary::add(std::string_view token) {
  if (token.empty()) return "empty token";
  if (token.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos) {
    return "token with a line break or NUL byte";
  }
  if (!valid_utf8(token)) return "token is not UTF-8";
  const auto [found, inserted] = ids_.try_emplace(std::string(token), size());
  if (!inserted) return fmt::format("token \"{}\" has id {} already", token, found->second);
  tokens_.emplace_back(token);
  return "";
}

int64_t Vocabulary::id(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? unk : found->second;
}

const std::string& Vocabulary::token(int64_t id) const {
  if (id < 0 || id >= size()) {
    raise(ErrorKind::index, "Vocabulary: id {} is not in 0..{} (the vocabulary has {} tokens)", id, size() - 1, size());
  }
  return tokens_[static_cast<std::size_t>(id)];
}

std::vector<int64_t> Vocabulary::encode(std::span<const std::string> tokens) const {
  std::vector<int64_t> ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) ids.push_back(id(token));
  return ids;
}

std::vector<std::string> Vocabulary::decode(std::span<const int64_t> ids) const {
  std::vector<std::string> tokens;
  for (int64_t id : ids) {
    if (id == eos) break;
    if (id != pad && id != bos) tokens.push_back(token(id));
  }
  return tokens;
}

void Vocabulary::save(const std::filesystem::path& file) const {
  std::string content;
  for (const std::string& token : tokens_) content.append(token).append("\n");
  const std::string_view part = content;
  write_file(file.string(), {&part, 1});
}

Vocabulary Vocabulary::load(const std::filesystem::path& file) {
  const std::string content = read_text(file.string());
  Vocabulary vocabulary;
  std::string_view rest = content;
  int64_t number = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    ++number;
    if (line.ends_with('\r')) {
      raise(ErrorKind::format, "{}:{}: the line ends with a carriage return; lines must end with a line feed alone",
            file.string(), number);
    }
    const auto index = static_cast<std::size_t>(number - 1);
    if (index < special_tokens.size()) {
      if (line == special_tokens[index]) continue;
      raise(ErrorKind::format, "{}:{}: \"{}\" where {} must stand: a vocabulary begins with <pad>, <bos>, <eos>, <unk>",
            file.string(), number, clipped(line, 40), special_tokens[index]);
    }
    if (const std::string fault = vocabulary.add(line); !fault.empty()) {
      raise(ErrorKind::format, "{}:{}: {}", file.string(), number, fault);
    }
  }
  if (number < static_cast<int64_t>(special_tokens.size())) {
    raise(ErrorKind::format, "{}: has {} lines, a vocabulary begins with <pad>, <bos>, <eos>, <unk>", file.string(),
          number);
  }
  return vocabulary;
}

}  // namespace tape::text
