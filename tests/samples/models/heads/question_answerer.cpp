#include "models/heads/question_answerer.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck span_check("QuestionAnswerer", "small", [](const nn::Checker& check) {
  QuestionAnswerer model({.encoder = detail::small_bert()});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)}, "key.bias");
});

}  // namespace
}  // namespace tape::models
