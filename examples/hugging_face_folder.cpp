// Reads a model folder as transformers writes it, shows the model, and writes it again for transformers to read:
//   hugging_face_folder IN OUT [bytes a file]
#include <tapeformer.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: hugging_face_folder IN OUT [bytes a file]\n";
    return 2;
  }
  using namespace tape;
  const models::AnyModel model = models::load_model(argv[1]);
  std::cout << models::module_of(model) << "\n";
  models::SaveOptions options;
  if (argc > 3) options.max_shard_bytes = std::stoll(argv[3]);
  models::save(argv[2], model, options);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
