#include "inspect/experiments/study.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape::inspect {
namespace {

Tensor row(const std::vector<int64_t>& ids) { return from_vector(ids, {1, std::ssize(ids)}); }

std::vector<int64_t> ids_of(const Tensor& ids) { return ids.to_vector<int64_t>(); }

Study::Text checked(const PageText& text, const char* name) {
  if (text.ids.empty()) raise(ErrorKind::config, "study: the {} has no tokens", name);
  const auto one_each = [&](const char* what, size_t size) {
    if (size > 0 && size != text.ids.size())
      raise(ErrorKind::shape, "study: {} {} for the {} ids of the {}", size, what, text.ids.size(), name);
  };
  one_each("tokens", text.tokens.size());
  one_each("segments", text.segments.size());
  Study::Text shown{.name = name, .tokens = text.tokens, .segments = text.segments, .ids = text.ids};
  if (shown.tokens.empty())
    for (const int64_t id : text.ids) shown.tokens.push_back(std::to_string(id));
  return shown;
}

/// Converts an image to a sequence of a class token and patches. The pixels are a batch of one, a leaf of the model's
/// dtype.
Study::Text image_text(const nn::PatchEmbeddings& embeddings, const Tensor& given) {
  if (!given.defined() || !is_floating(given.dtype()))
    raise(ErrorKind::dtype, "study: pixels must be floating point, like pixel_values in transformers, got {}",
          given.defined() ? to_string(given.dtype()) : "an undefined tensor");
  const Tensor pixels = given.rank() == 3 ? unsqueeze(given, 0) : given;
  embeddings.check_pixels(pixels);
  if (pixels.size(0) != 1)
    raise(ErrorKind::shape, "study: requires one image, got a batch of {} with shape {}", pixels.size(0),
          to_string(pixels.shape()));
  const std::vector<double> values = cast(pixels.detach(), f64).to_vector<double>();
  const auto broken = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (broken != values.end())
    raise(ErrorKind::numeric, "study: the pixels contain {} at [{}] of {}", *broken,
          fmt::to_string(fmt::join(pixels.shape().unravel(broken - values.begin()), ", ")), to_string(pixels.shape()));
  const std::vector<int64_t> grid = embeddings.grid();
  Study::Text text{.name = "image", .tokens = {"class"}};
  for (int64_t row = 0; row < grid[0]; ++row)
    for (int64_t column = 0; column < grid[1]; ++column) text.tokens.push_back(fmt::format("{},{}", row, column));
  text.image = {.pixels = cast(pixels.detach(), embeddings.position.dtype()).clone().requires_grad_(),
                .rows = grid[0],
                .columns = grid[1]};
  return text;
}

/// The text that the model reads: options.reads or the text itself.
const PageText& input_text(const PageText& text, const StudyOptions& options) {
  if (!options.reads) return text;
  if (options.reads->ids.size() != text.ids.size())
    raise(ErrorKind::config, "study: reads {} tokens instead of the text's {}: the counts must match",
          options.reads->ids.size(), text.ids.size());
  return *options.reads;
}

/// A study of a model that reads a text, without `run`.
Study study_of(nn::Module& model, const char* kind, Study::Text text, const StudyOptions& options) {
  return {.module = &model,
          .kind = kind,
          .texts = {std::move(text)},
          .token = options.token,
          .corrupted = options.reads.has_value()};
}

/// Adds the chosen logits of [1, T, V] or [1, V], each with a name.
void add_logits(std::vector<PageOutput>& outputs, const Tensor& logits, const std::vector<LogitChoice>& choices,
                const std::string& where) {
  for (const LogitChoice& choice : choices) {
    const Tensor rows = logits.rank() == 3 ? logits : unsqueeze(logits, 1);
    if (choice.position < 0 || choice.position >= rows.size(1))
      raise(ErrorKind::index, "study: logit at position {}, outside [0, {}) of the {}", choice.position, rows.size(1),
            where);
    if (choice.token < 0 || choice.token >= rows.size(2))
      raise(ErrorKind::index, "study: logit of token {}, outside [0, {})", choice.token, rows.size(2));
    const std::string token = choice.name.empty() ? std::to_string(choice.token) : fmt::format("\"{}\"", choice.name);
    outputs.push_back({logits.rank() == 3 ? fmt::format("logit of {} at {} {}", token, where, choice.position)
                                          : fmt::format("logit of {}", token),
                       select(select(select(rows, 0, 0), 0, choice.position), 0, choice.token)});
  }
}

/// Adds the losses of single positions, from logits [1, T, V] and targets [1, T].
void add_losses(std::vector<PageOutput>& outputs, const Tensor& logits, const Tensor& targets,
                const StudyOptions& options, const std::string& where) {
  for (const int64_t position : options.positions) {
    if (position < 0 || position >= logits.size(1))
      raise(ErrorKind::index, "study: loss at position {}, outside [0, {}) of the {}", position, logits.size(1), where);
    const Tensor there = slice(logits, 1, {.start = position, .end = position + 1}),
                 target = slice(targets, 1, {.start = position, .end = position + 1});
    const int64_t id = ids_of(target)[0];
    const std::string token = options.token ? fmt::format("\"{}\"", options.token(id)) : std::to_string(id);
    outputs.push_back({fmt::format("loss of {} at {} {}", token, where, position), cross_entropy(there, target),
                       Prediction{there, {id}}});
  }
}

/// The study of an encoder; `outputs` computes the outputs from the model's output and the ids of the text.
template <class M, class Outputs>
Study encoder_study(M& model, const PageText& text, const StudyOptions& options, Outputs&& outputs) {
  const PageText& read = input_text(text, options);
  Study study = study_of(model, "encoder", checked(read, "text"), options);
  const Tensor ids = row(read.ids), segments = read.segments.empty() ? Tensor() : row(read.segments);
  // No mask: nothing is padding; padding tokens in the text are intended.
  study.run = [&model, ids, segments, right = row(text.ids), outputs = std::forward<Outputs>(outputs)] {
    return outputs(model(ids, Mask(), segments), right);
  };
  return study;
}

/// The study of an image model, without `run`.
Study image_study(nn::Module& model, const nn::PatchEmbeddings& embeddings, const Tensor& pixels,
                  const StudyOptions& options) {
  if (options.reads) raise(ErrorKind::config, "study: a {} reads an image, not a text", model.type_name());
  Study study = study_of(model, "encoder", image_text(embeddings, pixels), options);
  study.leaves = {{"pixels", study.texts[0].image->pixels}};
  return study;
}

/// Sets `run`; `outputs` computes the outputs from the pixels in the model's dtype.
template <class Outputs>
void run_on_image(Study& study, nn::PatchEmbeddings& embeddings, Outputs&& outputs) {
  const Tensor leaf = study.texts[0].image->pixels;
  study.run = [&embeddings, leaf, outputs = std::forward<Outputs>(outputs)] {
    const DType dtype = embeddings.position.dtype();
    // If the model's dtype has changed, the cast pixels become a leaf as well, so that the tape stays the same.
    return outputs(leaf.dtype() == dtype ? leaf : cast(leaf.detach(), dtype).requires_grad_());
  };
}

/// The likeliest class of each row, along the axis of the classes.
std::vector<int64_t> likeliest(const Tensor& logits, int64_t axis) { return ids_of(argmax(logits.detach(), axis)); }

/// The likeliest classes of the text itself, whatever the model reads.
template <class M>
std::vector<int64_t> likeliest_of_text(M& model, const PageText& text, int64_t axis) {
  checked(text, "text");
  const NoGrad no_grad;
  return likeliest(model(row(text.ids), Mask(), text.segments.empty() ? Tensor() : row(text.segments)), axis);
}

void check_targets(const std::vector<int64_t>& targets, int64_t count, int64_t classes) {
  if (std::ssize(targets) != count) raise(ErrorKind::config, "study: {} targets instead of {}", targets.size(), count);
  for (const int64_t target : targets)
    if (target < 0 || target >= classes)
      raise(ErrorKind::index, "study: target {} is outside [0, {})", target, classes);
}

/// Checks the options for a model without a head.
void check_no_head(const nn::Module& model, const StudyOptions& options) {
  const std::string name = model.type_name();
  if (!options.logits.empty()) raise(ErrorKind::config, "study: a {} without a head has no logits", name);
  if (!options.positions.empty())
    raise(ErrorKind::config, "study: a {} without a head has no losses per position", name);
}

std::vector<PageOutput> norm_of_mean(const Tensor& hidden) {
  return {{"squared norm of the mean hidden state", sum(square(mean(hidden, 1)))}};
}

/// Checks the options for a classifier of whole inputs.
void check_label(const StudyOptions& options, int64_t labels, const char* whole) {
  if (options.label && (*options.label < 0 || *options.label >= labels))
    raise(ErrorKind::index, "study: label {} is outside [0, {})", *options.label, labels);
  if (!options.positions.empty())
    raise(ErrorKind::config, "study: a classifier has one loss for the whole {}, not one per position", whole);
}

/// Logits [1, labels] -> the label's loss or output, and the chosen logits.
std::vector<PageOutput> label_outputs(const Tensor& logits, models::ProblemType type, int64_t label,
                                      const StudyOptions& options) {
  using enum models::ProblemType;
  const Tensor score = select(select(logits, 0, 0), 0, label);
  const std::string name = options.token ? fmt::format("\"{}\"", options.token(label)) : std::to_string(label);
  std::vector<PageOutput> outputs;
  if (logits.size(1) == 1)
    outputs.push_back({"output", score});
  else if (type == regression)
    outputs.push_back({fmt::format("output {}", name), score});
  else if (type == multi_label_classification)
    outputs.push_back({fmt::format("loss of {}", name), bce_with_logits_loss(score, ones_like(score))});
  else
    outputs.push_back({"loss", cross_entropy(logits, row({label})[0]),
                       Prediction{.logits = logits, .targets = {label}, .classes = "label"}});
  add_logits(outputs, logits, options.logits, "label");
  return outputs;
}

}  // namespace

std::vector<double> values_of(const std::vector<PageOutput>& outputs) {
  std::vector<double> values;
  values.reserve(outputs.size());
  for (const PageOutput& output : outputs) values.push_back(output.value.item());
  return values;
}

Study study(models::EncoderDecoder& model, const PageText& source, const PageText& target,
            const StudyOptions& options) {
  const PageText& from = input_text(source, options);
  Study study = study_of(model, "encoder-decoder", checked(from, "source"), options);
  const models::EncoderDecoderOptions& config = model.options();
  // The decoder reads bos and the target without eos.
  PageText read = target;
  const bool named = !target.tokens.empty() || target.ids.empty();
  read.ids.insert(read.ids.begin(), options.bos.value_or(config.bos_id));
  if (named) read.tokens.insert(read.tokens.begin(), options.begin);
  study.texts.push_back(checked(read, "target"));
  std::vector<int64_t> said = target.ids;
  said.push_back(config.eos_id);
  study.run = [&model, src = row(from.ids), in = row(read.ids), out = row(said), options] {
    const Tensor logits = model(src, in);
    std::vector<PageOutput> outputs{{"loss", cross_entropy(logits, out), Prediction{logits, ids_of(out)}}};
    add_losses(outputs, logits, out, options, "target");
    add_logits(outputs, logits, options.logits, "target");
    return outputs;
  };
  return study;
}

Study study(models::CausalLM& model, const PageText& text, const StudyOptions& options) {
  const PageText& read = input_text(text, options);
  Study study = study_of(model, "decoder", checked(read, "text"), options);
  if (text.ids.size() < 2)
    raise(ErrorKind::config, "study: a {}'s loss needs at least 2 tokens, the text has 1", model.type_name());
  const std::vector<int64_t> next(text.ids.begin() + 1, text.ids.end());
  study.run = [&model, ids = row(read.ids), next = row(next), options] {
    const Tensor scores = model(ids);
    // For a model that returns probabilities, their logarithm serves as logits: it is already normalized.
    const Tensor logits = model.options().output == nn::TokenOutput::logits ? scores : log(scores);
    const Tensor from = slice(logits, 1, {.end = -1});
    std::vector<PageOutput> outputs{{"loss", cross_entropy(from, next), Prediction{from, ids_of(next)}}};
    add_losses(outputs, from, next, options, "position");
    add_logits(outputs, logits, options.logits, "position");
    return outputs;
  };
  return study;
}

Study study(models::EncoderModel& model, const PageText& text, const StudyOptions& options) {
  check_no_head(model, options);
  return encoder_study(model, text, options, [](const Tensor& hidden, const Tensor&) { return norm_of_mean(hidden); });
}

Study study(models::MaskedLanguageModel& model, const PageText& text, const StudyOptions& options) {
  return encoder_study(model, text, options, [options](const Tensor& logits, const Tensor& ids) {
    std::vector<PageOutput> outputs{{"loss", cross_entropy(logits, ids), Prediction{logits, ids_of(ids)}}};
    add_losses(outputs, logits, ids, options, "position");
    add_logits(outputs, logits, options.logits, "position");
    return outputs;
  });
}

Study study(models::SequenceClassifier& model, const PageText& text, const StudyOptions& options) {
  check_label(options, model.config().num_labels, "text");
  const int64_t label = options.label ? *options.label : likeliest_of_text(model, text, -1).at(0);
  Study study = encoder_study(model, text, options,
                              [type = model.problem_type(), label, options](const Tensor& logits, const Tensor&) {
                                return label_outputs(logits, type, label, options);
                              });
  if (model.config().num_labels > 1) study.targets = {label};
  return study;
}

Study study(models::TokenClassifier& model, const PageText& text, const StudyOptions& options) {
  const std::vector<int64_t> targets = options.targets ? *options.targets : likeliest_of_text(model, text, -1);
  check_targets(targets, std::ssize(text.ids), model.config().num_labels);
  Study study = encoder_study(model, text, options, [options, targets](const Tensor& logits, const Tensor&) {
    const Tensor labels = row(targets);
    std::vector<PageOutput> outputs{
        {"loss", cross_entropy(logits, labels), Prediction{.logits = logits, .targets = targets, .classes = "label"}}};
    add_losses(outputs, logits, labels, options, "position");
    add_logits(outputs, logits, options.logits, "position");
    return outputs;
  });
  study.targets = targets;
  return study;
}

Study study(models::QuestionAnswerer& model, const PageText& text, const StudyOptions& options) {
  if (!options.positions.empty())
    raise(ErrorKind::config, "study: question answering has one loss for the whole text, not one per position");
  const std::vector<int64_t> targets = options.targets ? *options.targets : likeliest_of_text(model, text, 1);
  check_targets(targets, 2, std::ssize(text.ids));
  Study study = encoder_study(model, text, options, [options, targets](const Tensor& logits, const Tensor&) {
    const Tensor of_places = permute(logits, {0, 2, 1});  // [1, 2, T]
    std::vector<PageOutput> outputs{
        {"loss", cross_entropy(of_places, row(targets)),
         Prediction{.logits = of_places, .targets = targets, .classes = "position", .rows = {"start", "end"}}}};
    add_logits(outputs, logits, options.logits, "position");
    return outputs;
  });
  study.targets = targets;
  return study;
}

Study study(models::Vit& model, const Tensor& pixels, const StudyOptions& options) {
  check_no_head(model, options);
  Study study = image_study(model, *model.embeddings, pixels, options);
  run_on_image(study, *model.embeddings, [&model](const Tensor& image) { return norm_of_mean(model(image)); });
  return study;
}

Study study(models::ImageClassifier& model, const Tensor& pixels, const StudyOptions& options) {
  check_label(options, model.config().num_labels, "image");
  nn::PatchEmbeddings& embeddings = *model.vit->embeddings;
  Study study = image_study(model, embeddings, pixels, options);
  const auto likeliest_of_image = [&] {
    const NoGrad no_grad;
    return likeliest(model(study.texts[0].image->pixels), -1).at(0);
  };
  const int64_t label = options.label ? *options.label : likeliest_of_image();
  run_on_image(study, embeddings, [&model, type = model.problem_type(), label, options](const Tensor& image) {
    return label_outputs(model(image), type, label, options);
  });
  if (model.config().num_labels > 1) study.targets = {label};
  return study;
}

Study study(const std::function<Tensor()>& loss, const std::vector<NamedTensor>& leaves) {
  return {.leaves = leaves, .run = [loss] { return std::vector<PageOutput>{{"loss", loss()}}; }};
}

Study study(nn::Module& module, const std::function<Tensor()>& loss) {
  return {.module = &module, .kind = "module", .run = [loss] { return std::vector<PageOutput>{{"loss", loss()}}; }};
}

}  // namespace tape::inspect
