// Reads a model folder written by transformers or sentence-transformers, prints the model, and writes a folder that
// they can read:
//   hugging_face_folder IN OUT [MAX_SHARD_BYTES]
#include <tapeformer.h>

#include <filesystem>
#include <iostream>
#include <string>

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: hugging_face_folder IN OUT [MAX_SHARD_BYTES]\n";
    return 2;
  }
  using namespace tape;
  if (std::filesystem::exists(std::filesystem::path(argv[1]) / "modules.json")) {  // a sentence-transformers folder
    const auto sentences = models::load_sentence_encoder(argv[1]);
    std::cout << *sentences << "\n";
    models::save(argv[2], *sentences);
    return 0;
  }
  const models::AnyModel model = models::load_model(argv[1]);
  std::cout << models::module_of(model) << "\n";
  models::SaveOptions options;
  if (argc > 3) options.max_shard_bytes = std::stoll(argv[3]);
  models::save(argv[2], model, options);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
