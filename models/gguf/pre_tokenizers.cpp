#include <algorithm>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/gguf/tokenizer.h"

namespace tape::models {
namespace {

using SortedJson = nlohmann::json;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

SortedJson byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

SortedJson split(const std::string& expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

SortedJson in_sequence(std::vector<SortedJson> steps) {
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

/// Splits by one expression after the other, then into bytes.
SortedJson by_expressions(const std::vector<std::string>& expressions) {
  std::vector<SortedJson> steps;
  for (const std::string& expression : expressions) steps.push_back(split(expression));
  steps.push_back(byte_level(false));
  return in_sequence(std::move(steps));
}

}  // namespace

std::string split_expression(const std::string& name) {
  const std::string rest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string begin = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  if (name == "llama-bpe") return begin + "{1,3}" + rest;
  return name == "qwen2" ? begin + rest : "";
}

GgufPreTokenizer gguf_pre_tokenizer(const std::string& name) {
  const std::string words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
  if (name == "default") return {by_expressions({R"([\p{P}\$\+<=>\^~\|]+)", words, R"(\p{N}+)", "[0-9][0-9][0-9]"})};
  if (name == "falcon") return {by_expressions({R"([\p{P}\$\+<=>\^~\|`]+)", words, "[0-9][0-9][0-9]"})};
  if (is_one_of(name, {"gpt-2", "phi-2", "mpt", "olmo", "jais", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de",
                       "gigachat", "a.x-4.0", "mellum", "modern-bert", "exaone4", "trillion", "granite-docling"}))
    return {byte_level(true)};
  if (is_one_of(name, {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}))
    return {in_sequence({SortedJson{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)})};
  if (is_one_of(name, {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
                       "jina-v5-nano"}))
    return {.pre_tokenizer = by_expressions({split_expression("llama-bpe")}), .ignore_merges = true, .add_bos = true};
  if (is_one_of(name, {"dbrx", "smaug-bpe"})) return {by_expressions({split_expression("llama-bpe")})};
  if (is_one_of(name, {"qwen2", "deepseek-r1-qwen", "megrez"}))
    return {.pre_tokenizer = by_expressions({split_expression("qwen2")}), .nfc = true};
  if (is_one_of(name, {"stablelm2", "hunyuan", "solar-open"})) return {by_expressions({split_expression("qwen2")})};
  return {};
}

}  // namespace tape::models
