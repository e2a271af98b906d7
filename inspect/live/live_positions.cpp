#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "base/short_list.h"
#include "inspect/live/live_run_map.h"
#include "nn/attention/disentangled_attention.h"
#include "nn/attention/relative_attention.h"
#include "nn/attention/relative_bias.h"
#include "nn/embedding/embeddings.h"
#include "nn/position/positional_encoding.h"
#include "nn/position/rotary.h"

// Edits of elements of any output, and of the positions of tokens.
namespace tape::inspect {
namespace {

/// An operation that gives tokens their positions: adds rows of a table, or takes them from a learned one.
struct PositionOperation {
  int64_t place = 0;
  Tensor table;          // [rows, C]
  int64_t first = 0;     // row of position 0
  bool learned = false;  // whether the operation returns the rows instead of the sum
};

/// In the order of the texts.
std::vector<PositionOperation> position_operations(const Study& study, const LiveRunMap& run) {
  std::vector<PositionOperation> found;
  if (!study.module) return found;
  const auto modules = study.module->named_modules();
  for (size_t i = 0; i < run.operations().size(); ++i) {
    const RecordedOp& operation = run.operations()[i];
    const auto place = static_cast<int64_t>(i);
    for (const auto& [path, module] : modules) {
      const auto* embeddings = dynamic_cast<const nn::Embeddings*>(module);
      if (embeddings && embeddings->position && operation.module == path + ".position")
        found.push_back(
            {place, (*embeddings->position)->weight, embeddings->skipped_padding_id().value_or(-1) + 1, true});
      if (operation.module != path) continue;
      if (const auto* sinusoids = dynamic_cast<const nn::PositionalEncoding*>(module))
        found.push_back({place, sinusoids->table, 0, false});
      const auto* learned = dynamic_cast<const nn::LearnedPositionalEncoding*>(module);
      if (learned && operation.view) found.push_back({place, learned->weight, learned->offset(), true});
    }
  }
  return found;
}

Tensor row_of(const Tensor& table, int64_t row) { return slice(table.detach(), 0, {.start = row, .end = row + 1}); }

/// Returns x [..., T, C] with one row replaced.
Tensor with_row(const Tensor& x, int64_t token, const Tensor& row) {
  return put_slice(x, -2, token, x.rank() == 3 ? unsqueeze(row, 0) : row);
}

/// The token's row is another one of the table, which gets the gradient instead.
OutputEdit learned_position(const PositionOperation& of, int64_t token, int64_t row) {
  return {.place = of.place,
          .value = [=](const Tensor& y) { return with_row(y, token, cast(row_of(of.table, row), y.dtype())); },
          .gradient =
              [=](const Tensor& dy) {
                return with_row(dy, token, zeros({1, dy.size(-1)}, dy.dtype()));
              },
          .add_gradients =
              [=](const Tensor& dy, Tensors& inputs) {
                const Tensor sent =
                    slice(reshape(dy, Shape{dy.size(-2), dy.size(-1)}), 0, {.start = token, .end = token + 1});
                if (inputs[0].defined())
                  inputs[0] = index_add(inputs[0], 0, from_vector(std::vector<int64_t>{row}), sent);
              }};
}

/// Adds the difference of two rows of a constant table.
OutputEdit fixed_position(const PositionOperation& of, int64_t token, int64_t row) {
  return {.place = of.place, .value = [=](const Tensor& y) {
            const Tensor moved = row_of(of.table, row) - row_of(of.table, of.first + token);
            const Tensor old = slice(reshape(y, Shape{y.size(-2), y.size(-1)}), 0, {.start = token, .end = token + 1});
            return with_row(y, token, old + cast(moved, y.dtype()));
          }};
}

}  // namespace

std::optional<std::string> why_positions_are_fixed(nn::Module& module) {
  const char* instead = "its attention sees only which tokens there are";
  for (const auto& [path, part] : module.named_modules()) {
    const auto* embeddings = dynamic_cast<const nn::Embeddings*>(part);
    if ((embeddings && embeddings->position) || dynamic_cast<const nn::PositionalEncoding*>(part) ||
        dynamic_cast<const nn::LearnedPositionalEncoding*>(part))
      return std::nullopt;
    if (dynamic_cast<const nn::Rotary*>(part))
      instead = "its attention rotates each query and key by its position, so that scores depend on distances";
    if (dynamic_cast<const nn::RelativeAttention*>(part))
      instead = "its attention adds a learned vector for each distance between a query and a key";
    if (dynamic_cast<const nn::RelativeBias*>(part))
      instead = "its attention adds a learned number for each distance between a query and a key to their score";
    if (dynamic_cast<const nn::DisentangledAttention*>(part))
      instead = "its attention scores the distance of a query and a key beside their contents";
  }
  return fmt::format("{} adds no positions to the embeddings of its tokens: {}", module.type_name(), instead);
}

OutputEdit value_edit(const LiveRunMap& run, const LiveEdit& edit) {
  if (edit.recorded < 0 || edit.recorded >= std::ssize(run.operations()))
    raise(ErrorKind::index, "{}recorded: {} is outside [0, {}) of the operations", edit.where, edit.recorded,
          run.operations().size());
  const RecordedOp& operation = run.operations()[static_cast<size_t>(edit.recorded)];
  const int64_t flat = flat_index(edit, operation.output.shape(), operation.operation);
  return {.place = edit.recorded,
          .value = [flat, value = edit.value](const Tensor& y) { return with_element(y, flat, value); }};
}

OutputEdit position_edit(const Study& study, const LiveRunMap& run, const LiveEdit& edit) {
  if (edit.text < 0 || edit.text >= std::ssize(study.texts))
    raise(ErrorKind::index, "{}text: {} is outside [0, {}) of the texts", edit.where, edit.text, study.texts.size());
  const auto& text = study.texts[static_cast<size_t>(edit.text)];
  if (edit.token < 0 || edit.token >= std::ssize(text.tokens))
    raise(ErrorKind::index, "{}token: {} is outside [0, {}) of the {}", edit.where, edit.token, text.tokens.size(),
          text.name);
  const std::vector<PositionOperation> operations = position_operations(study, run);
  if (edit.text >= std::ssize(operations))
    raise(ErrorKind::config, "{}position: {}", edit.where,
          study.module ? why_positions_are_fixed(*study.module).value_or("the text has no positions of its own")
                       : "a function adds no positions to embeddings");
  const PositionOperation& of = operations[static_cast<size_t>(edit.text)];
  const int64_t most = of.table.size(0) - of.first;
  if (edit.position < 0 || edit.position >= most)
    raise(ErrorKind::index, "{}position: {} is outside [0, {}) of the model's positions", edit.where, edit.position,
          most);
  return of.learned ? learned_position(of, edit.token, of.first + edit.position)
                    : fixed_position(of, edit.token, of.first + edit.position);
}

}  // namespace tape::inspect
