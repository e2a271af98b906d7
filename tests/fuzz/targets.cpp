#include <algorithm>

#include <fmt/format.h>

#include "tests/fuzz/target.h"

namespace tape::fuzz {

void fuzz_attention(Bytes bytes);
void fuzz_axes(Bytes bytes);
void fuzz_byte_level_bpe(Bytes bytes);
void fuzz_checkpoint(Bytes bytes);
void fuzz_command_line(Bytes bytes);
void fuzz_corpora(Bytes bytes);
void fuzz_einsum(Bytes bytes);
void fuzz_file_names(Bytes bytes);
void fuzz_gguf(Bytes bytes);
void fuzz_gguf_model(Bytes bytes);
void fuzz_json(Bytes bytes);
void fuzz_losses(Bytes bytes);
void fuzz_manifest(Bytes bytes);
void fuzz_matrices(Bytes bytes);
void fuzz_model_config(Bytes bytes);
void fuzz_model_folder(Bytes bytes);
void fuzz_npy(Bytes bytes);
void fuzz_npz(Bytes bytes);
void fuzz_records(Bytes bytes);
void fuzz_run_log(Bytes bytes);
void fuzz_safetensors(Bytes bytes);
void fuzz_safetensors_header(Bytes bytes);
void fuzz_scores(Bytes bytes);
void fuzz_sentence_piece(Bytes bytes);
void fuzz_settings(Bytes bytes);
void fuzz_shapes(Bytes bytes);
void fuzz_text_encoding(Bytes bytes);
void fuzz_token_file(Bytes bytes);
void fuzz_tokenizer_folder(Bytes bytes);
void fuzz_tokenizer_json(Bytes bytes);
void fuzz_trainer_state(Bytes bytes);
void fuzz_utf8(Bytes bytes);
void fuzz_windows(Bytes bytes);
void fuzz_word_piece(Bytes bytes);

std::span<const Target> targets() {
  static constexpr Target all[] = {
      {"attention", fuzz_attention},
      {"axes", fuzz_axes},
      {"byte_level_bpe", fuzz_byte_level_bpe},
      {"checkpoint", fuzz_checkpoint},
      {"command_line", fuzz_command_line},
      {"corpora", fuzz_corpora},
      {"einsum", fuzz_einsum},
      {"file_names", fuzz_file_names},
      {"gguf", fuzz_gguf},
      {"gguf_model", fuzz_gguf_model},
      {"json", fuzz_json},
      {"losses", fuzz_losses},
      {"manifest", fuzz_manifest},
      {"matrices", fuzz_matrices},
      {"model_config", fuzz_model_config},
      {"model_folder", fuzz_model_folder},
      {"npy", fuzz_npy},
      {"npz", fuzz_npz},
      {"records", fuzz_records},
      {"run_log", fuzz_run_log},
      {"safetensors", fuzz_safetensors},
      {"safetensors_header", fuzz_safetensors_header},
      {"scores", fuzz_scores},
      {"sentence_piece", fuzz_sentence_piece},
      {"settings", fuzz_settings},
      {"shapes", fuzz_shapes},
      {"text_encoding", fuzz_text_encoding},
      {"token_file", fuzz_token_file},
      {"tokenizer_folder", fuzz_tokenizer_folder},
      {"tokenizer_json", fuzz_tokenizer_json},
      {"trainer_state", fuzz_trainer_state},
      {"utf8", fuzz_utf8},
      {"windows", fuzz_windows},
      {"word_piece", fuzz_word_piece},
  };
  return all;
}

const Target& target(std::string_view name) {
  const std::span<const Target> all = targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& one) { return one.name == name; });
  if (found != all.end()) return *found;
  std::string names;
  for (const Target& one : all) names += fmt::format(" {}", one.name);
  throw std::invalid_argument(fmt::format("no target \"{}\"; available:{}", name, names));
}

}  // namespace tape::fuzz
