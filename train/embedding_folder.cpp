#include "train/embedding_folder.h"

#include <nlohmann/json.hpp>

#include "text/tokenizers/config.h"

namespace tape::train {

void save_embedding_files(const std::string& folder, const models::EncoderModel& model, nn::Pooling pooling,
                          int64_t max_length) {
  using Json = nlohmann::ordered_json;
  const auto write = [&folder](const std::string& name, const Json& json) {
    const size_t slash = name.find('/');
    const bool inside = slash != std::string::npos;
    text::write_in_folder(inside ? fmt::format("{}/{}", folder, name.substr(0, slash)) : folder,
                          inside ? name.substr(slash + 1) : name, json.dump(2) + "\n");
  };
  const auto module = [](int64_t place, const char* path, const char* type) {
    return Json{{"idx", place},
                {"name", fmt::format("{}", place)},
                {"path", path},
                {"type", fmt::format("sentence_transformers.models.{}", type)}};
  };
  write("1_Pooling/config.json", {{"word_embedding_dimension", model.width()},
                                  {"pooling_mode_cls_token", pooling == nn::Pooling::first},
                                  {"pooling_mode_mean_tokens", pooling == nn::Pooling::mean},
                                  {"pooling_mode_max_tokens", false},
                                  {"pooling_mode_mean_sqrt_len_tokens", false}});
  write("sentence_bert_config.json", {{"max_seq_length", max_length}, {"do_lower_case", false}});
  write("config_sentence_transformers.json",
        {{"prompts", Json::object()}, {"default_prompt_name", nullptr}, {"similarity_fn_name", "cosine"}});
  write("modules.json", Json::array({module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling"),
                                     module(2, "2_Normalize", "Normalize")}));
}

}  // namespace tape::train
