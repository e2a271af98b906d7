#include "nn/embedding/patch_embeddings.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck patch_embeddings_check("PatchEmbeddings", "two channels, six patches", [](const Checker& check) {
  PatchEmbeddings layer({.image_size = {4, 6}, .patch_size = 2, .channels = 2, .d_model = 3, .dropout = 0.2});
  return check(layer, {sample_normal({2, 2, 4, 6})});
});

}  // namespace
}  // namespace tape::nn
