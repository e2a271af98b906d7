#include "inspect/experiments/inspected_model_study.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "autograd/io/npy.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "base/number_text.h"
#include "base/short_list.h"
#include "base/utf8.h"
#include "models/decoding/target_start.h"
#include "models/encoder_decoders/translator.h"
#include "models/folders/tokenizer_fit.h"

namespace tape::inspect {
namespace {

constexpr int64_t kMaxTokens = 128;  // a page stores matrices with this many rows and columns per head

int64_t label_index(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    raise(ErrorKind::config, "unknown label \"{}\"; the labels are {}", name, short_list(names));
  return static_cast<int64_t>(found - names.begin());
}

/// Parses the values of --loss-at.
std::vector<int64_t> positions(const InspectOptions& options) {
  std::vector<int64_t> all;
  for (const std::string& loss : options.losses) {
    const auto position = parse_int(loss);
    if (!position) raise(ErrorKind::config, "--loss-at: expected POSITION, got \"{}\"", loss);
    all.push_back(*position);
  }
  return all;
}

std::pair<int64_t, std::string> split_logit(const std::string& logit) {
  const size_t colon = logit.find(':');
  const auto position = parse_int(std::string_view(logit).substr(0, colon));
  if (colon == std::string::npos || colon + 1 == logit.size() || !position)
    raise(ErrorKind::config, "--logit: expected POSITION:TOKEN, got \"{}\"", logit);
  return {*position, logit.substr(colon + 1)};
}

/// Options of a model whose predictions are one of `names`.
StudyOptions options_for_names(const InspectOptions& given, const std::vector<std::string>& names) {
  StudyOptions options{.token = [names](int64_t id) { return names[static_cast<size_t>(id)]; }};
  options.positions = positions(given);
  for (const std::string& logit : given.logits) {
    const auto [position, name] = split_logit(logit);
    options.logits.push_back({.position = position, .token = label_index(names, name), .name = name});
  }
  return options;
}

/// Options of a classifier, with the label of --label.
StudyOptions classifier_options(const InspectOptions& given, const std::vector<std::string>& names) {
  StudyOptions options = options_for_names(given, names);
  if (given.label) options.label = label_index(names, *given.label);
  return options;
}

void check_no_label(const std::string& folder, const InspectOptions& options) {
  if (options.label) raise(ErrorKind::config, "--label: {} is not a classifier", folder);
}

/// Builds the study for each class of text model.
class StudyOfText {
 public:
  StudyOfText(const std::string& folder, const InspectOptions& options, const text::Tokenizer& tokenizer)
      : folder_(folder), options_(options), tokenizer_(tokenizer) {}

  Study operator()(models::EncoderDecoder& model) const {
    check_no_label(folder_, options_);
    const text::Tokenizer& target = tokenizer_.target();
    models::check_tokenizer_fits(folder_, tokenizer_, "src_vocab", model.options().src_vocab);
    models::check_tokenizer_fits(folder_, target, "tgt_vocab", model.options().tgt_vocab);
    const models::TargetStart start = models::target_start(model, tokenizer_);
    const PageText source = page_text(tokenizer_, tokenizer_.encode(*options_.text), "--text");
    text::Encoding said;
    if (options_.target)
      said.ids = *options_.target;
    else if (options_.text_b)
      said = with_forced_bos(start, target.encode(*options_.text_b, {.add_special_tokens = false}));
    else
      said.ids = greedy(model, source.ids);
    StudyOptions options = chosen(target);
    if (options_.corrupted) options.reads = corrupted_text(source, tokenizer_.encode(*options_.corrupted));
    options.bos = start.bos;
    options.begin = target.token(start.bos);
    return study(model, source, page_text(target, said, "--text-b"), options);
  }

  Study operator()(models::CausalLM& model) const {
    check_single_text(model.type_name());
    check_no_label(folder_, options_);
    models::check_tokenizer_fits(folder_, tokenizer_, "vocab_size", model.vocab());
    const PageText text = page_text(tokenizer_, tokenizer_.encode(*options_.text), "--text");
    StudyOptions options = chosen(tokenizer_);
    if (options_.corrupted) options.reads = corrupted_text(text, tokenizer_.encode(*options_.corrupted));
    return study(model, text, options);
  }

  Study operator()(models::EncoderModel& model) const {
    check_no_label(folder_, options_);
    return encoder_study(model, model, chosen(tokenizer_));
  }

  Study operator()(models::MaskedLanguageModel& model) const {
    check_no_label(folder_, options_);
    return encoder_study(model, *model.base, chosen(tokenizer_));
  }

  Study operator()(models::SequenceClassifier& model) const {
    return encoder_study(model, *model.base, classifier_options(options_, model.config().label_names()));
  }

  Study operator()(models::TokenClassifier& model) const {
    check_no_label(folder_, options_);
    StudyOptions options = options_for_names(options_, model.config().label_names());
    options.targets = options_.target;
    return encoder_study(model, *model.base, options);
  }

  Study operator()(models::QuestionAnswerer& model) const {
    check_no_label(folder_, options_);
    StudyOptions options = options_for_names(options_, {"start", "end"});
    options.targets = options_.target;
    options.token = {};  // the predictions are positions
    Study study = encoder_study(model, *model.base, options);
    study.token = [tokens = study.texts[0].tokens](int64_t place) {
      return fmt::format("{} {}", place, tokens[static_cast<size_t>(place)]);
    };
    return study;
  }

 private:
  static PageText page_text(const text::Tokenizer& tokenizer, const text::Encoding& encoding, const char* option) {
    if (std::ssize(encoding.ids) > kMaxTokens)
      raise(ErrorKind::config, "{}: {} tokens; a page shows at most {}", option, encoding.ids.size(), kMaxTokens);
    return {.ids = encoding.ids, .tokens = tokenizer.tokens(encoding.ids)};
  }

  void check_single_text(const std::string& kind) const {
    if (options_.text_b) raise(ErrorKind::config, "--text-b: {} contains a {}, which reads one text", folder_, kind);
  }

  /// The target as the model would generate it, with the forced first token.
  static text::Encoding with_forced_bos(const models::TargetStart& start, text::Encoding said) {
    if (start.forced_bos) said.ids.insert(said.ids.begin(), *start.forced_bos);
    return said;
  }

  std::vector<int64_t> greedy(models::EncoderDecoder& model, const std::vector<int64_t>& ids) const {
    const std::vector<std::vector<int64_t>> sources{ids};
    // One less than the number of positions, since bos comes first.
    const int64_t most =
        std::min<int64_t>({3 * std::ssize(ids) + 20, model.max_length().value_or(kMaxTokens) - 1, kMaxTokens - 1});
    const auto found = models::translate(
        model, sources,
        models::translate_options(model, tokenizer_, {.beams = 1, .max_length = std::max<int64_t>(most, 1)}));
    return found[0].empty() ? std::vector<int64_t>() : found[0][0].tokens;
  }

  /// A text to read instead of `text`; it must have as many tokens, and not all the same ones.
  PageText corrupted_text(const PageText& text, const text::Encoding& encoding) const {
    PageText other = page_text(tokenizer_, encoding, "--corrupted");
    if (other.ids.size() != text.ids.size())
      raise(ErrorKind::config, "--corrupted: \"{}\" has {} tokens, but \"{}\" has {}: the counts must match",
            fmt::to_string(fmt::join(other.tokens, " ")), other.ids.size(), fmt::to_string(fmt::join(text.tokens, " ")),
            text.ids.size());
    if (other.ids == text.ids) raise(ErrorKind::config, "--corrupted: has the same tokens as --text");
    other.segments = text.segments;
    return other;
  }

  /// Encoders read a text or a pair of texts.
  template <class M>
  Study encoder_study(M& model, const models::EncoderModel& base, StudyOptions options) const {
    models::check_tokenizer_fits(folder_, tokenizer_, "vocab_size", base.vocab());
    const auto encoded = [&](const std::string& text) {
      return options_.text_b ? tokenizer_.encode_pair(text, *options_.text_b) : tokenizer_.encode(text);
    };
    const text::Encoding encoding = encoded(*options_.text);
    PageText text = page_text(tokenizer_, encoding, options_.text_b ? "--text and --text-b" : "--text");
    if (options_.text_b && base.segments() > 1) text.segments = encoding.type_ids;
    if (options_.corrupted) options.reads = corrupted_text(text, encoded(*options_.corrupted));
    return study(model, text, options);
  }

  /// The tokenizer must outlive the result.
  StudyOptions chosen(const text::Tokenizer& tokenizer) const {
    StudyOptions options{.token = [&tokenizer](int64_t id) {
      return id < tokenizer.vocab_size() ? tokenizer.token(id) : std::to_string(id);
    }};
    options.positions = positions(options_);
    for (const std::string& logit : options_.logits) {
      const auto [position, name] = split_logit(logit);
      options.logits.push_back({.position = position, .token = token(tokenizer, name), .name = name});
    }
    return options;
  }

  /// The id of a token as spelled in the vocabulary, or of a text that is a single token.
  static int64_t token(const text::Tokenizer& tokenizer, const std::string& name) {
    if (const auto id = tokenizer.find(name)) return *id;
    const text::Encoding encoding = tokenizer.encode(name, {.add_special_tokens = false});
    if (encoding.ids.size() != 1 || encoding.ids[0] == tokenizer.special().unk)
      raise(ErrorKind::config, "--logit: \"{}\" is not a token of the vocabulary", name);
    return encoding.ids[0];
  }

  const std::string& folder_;
  const InspectOptions& options_;
  const text::Tokenizer& tokenizer_;
};

/// Builds the study for each class of image model.
class StudyOfImage {
 public:
  StudyOfImage(const std::string& folder, const InspectOptions& options) : folder_(folder), options_(options) {}

  Study operator()(models::Vit& model) const {
    check_no_label(folder_, options_);
    return image_study(model, options_for_names(options_, {}));
  }

  Study operator()(models::ImageClassifier& model) const {
    return image_study(model, classifier_options(options_, model.config().label_names()));
  }

 private:
  template <class M>
  Study image_study(M& model, const StudyOptions& options) const {
    const Tensor pixels = load_npy(*options_.image);
    if (!options_.corrupted) return checked(study(model, pixels, options));
    const Tensor others = load_npy(*options_.corrupted);
    if (others.shape() == pixels.shape() && all(eq(others, pixels)).item<bool>())
      raise(ErrorKind::config, "--corrupted: has the same pixels as --image");
    Study study = inspect::study(model, others, options);
    study.corrupted = true;
    return checked(std::move(study));
  }

  static Study checked(Study study) {
    const size_t patches = study.texts[0].tokens.size();
    if (std::ssize(study.texts[0].tokens) > kMaxTokens)
      raise(ErrorKind::config, "--image: {} patches including the class token; a page shows at most {}", patches,
            kMaxTokens);
    return study;
  }

  const std::string& folder_;
  const InspectOptions& options_;
};

void check_utf8(const char* option, const std::string& text) {
  if (!valid_utf8(text)) raise(ErrorKind::format, "{}: not UTF-8", option);
}

void check_not_empty(const char* option, const std::string& text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) raise(ErrorKind::config, "{}: the text is empty", option);
}

void check_text(const nn::Module& model, const std::string& folder, const InspectOptions& options) {
  if (options.image)
    raise(ErrorKind::config, "--image: {} contains a {}, which reads a text", folder, model.type_name());
  if (!options.text)
    raise(ErrorKind::config, "--text: required, since {} contains a {}, which reads a text", folder, model.type_name());
  check_utf8("--text", *options.text);
  check_not_empty("--text", *options.text);
  if (options.text_b) check_utf8("--text-b", *options.text_b);
  if (options.corrupted) check_utf8("--corrupted", *options.corrupted);
}

void check_image(const nn::Module& model, const std::string& folder, const InspectOptions& options) {
  if (options.text || options.text_b)
    raise(ErrorKind::config, "{}: {} contains a {}, which reads an image: give --image FILE",
          options.text ? "--text" : "--text-b", folder, model.type_name());
  if (!options.image)
    raise(ErrorKind::config,
          "--image: required, since {} contains a {}, which reads an image: give a .npy file of its pixels", folder,
          model.type_name());
}

}  // namespace

bool is_image_model(const models::AnyModel& model) {
  return std::visit([]<class M>(const std::unique_ptr<M>&) { return reads_images<M>; }, model);
}

Study study_of(const models::AnyModel& model, const std::string& folder, const InspectOptions& options,
               const text::Tokenizer* tokenizer) {
  return std::visit(
      [&]<class M>(const std::unique_ptr<M>& one) {
        if constexpr (reads_images<M>) {
          check_image(*one, folder, options);
          return StudyOfImage(folder, options)(*one);
        } else {
          check_text(*one, folder, options);
          return StudyOfText(folder, options, *tokenizer)(*one);
        }
      },
      model);
}

}  // namespace tape::inspect
