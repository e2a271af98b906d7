#include "inspect/subject.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/utf8.h"
#include "models/target_start.h"
#include "models/tokenizer_fit.h"
#include "models/translate.h"
#include "text/load_tokenizer.h"
#include "train/checkpoint.h"

namespace tape::inspect {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

[[noreturn]] void refuse_images(const std::string& folder, const nn::Module& model) {
  raise(ErrorKind::config, "{}/config.json: a {} reads images, and a page shows a text", folder, model.type_name());
}

/// Error (config) for a model that needs none.
std::unique_ptr<text::Tokenizer> tokenizer_of(const models::AnyModel& model, const std::string& folder) {
  if (std::holds_alternative<std::unique_ptr<models::Vit>>(model) ||
      std::holds_alternative<std::unique_ptr<models::ImageClassifier>>(model))
    refuse_images(folder, models::module_of(model));
  return text::load_tokenizer(folder);
}

constexpr int64_t kMostTokens = 128;  // a page holds matrices of this many rows and columns for each head

/// The study of each class of model.
class StudyOf {
 public:
  StudyOf(const std::string& folder, const SubjectOptions& options, const text::Tokenizer& tokenizer)
      : folder_(folder), options_(options), tokenizer_(tokenizer) {}

  Study operator()(models::EncoderDecoder& model) const {
    check_no_label();
    const text::Tokenizer& target = tokenizer_.target();
    models::check_tokenizer_fits(folder_, tokenizer_, "src_vocab", model.options().src_vocab);
    models::check_tokenizer_fits(folder_, target, "tgt_vocab", model.options().tgt_vocab);
    const models::TargetStart start = models::target_start(model, tokenizer_);
    const PageText source = page_text(tokenizer_, tokenizer_.encode(options_.text), "--text");
    text::Encoding said;
    if (options_.target)
      said.ids = *options_.target;
    else if (options_.text_b)
      said = said_as(start, target.encode(*options_.text_b, {.add_special_tokens = false}));
    else
      said.ids = greedy(model, source.ids, start, target);
    StudyOptions options = chosen(target);
    if (options_.corrupted) options.reads = in_place(source, tokenizer_.encode(*options_.corrupted));
    options.bos = start.bos;
    options.begin = target.token(start.bos);
    return study(model, source, page_text(target, said, "--text-b"), options);
  }

  Study operator()(models::CausalLM& model) const {
    check_alone(model.type_name());
    check_no_label();
    models::check_tokenizer_fits(folder_, tokenizer_, "vocab_size", model.vocab());
    const PageText text = page_text(tokenizer_, tokenizer_.encode(options_.text), "--text");
    StudyOptions options = chosen(tokenizer_);
    if (options_.corrupted) options.reads = in_place(text, tokenizer_.encode(*options_.corrupted));
    return study(model, text, options);
  }

  Study operator()(models::EncoderModel& model) const {
    check_no_label();
    return of_encoder(model, model, chosen(tokenizer_));
  }

  Study operator()(models::MaskedLanguageModel& model) const {
    check_no_label();
    return of_encoder(model, *model.base, chosen(tokenizer_));
  }

  Study operator()(models::Vit& model) const { refuse_images(folder_, model); }
  Study operator()(models::ImageClassifier& model) const { refuse_images(folder_, model); }

  Study operator()(models::SequenceClassifier& model) const {
    const std::vector<std::string> names = model.config().label_names();
    StudyOptions options = among(names);
    if (options_.label) options.label = place_of(names, *options_.label);
    return of_encoder(model, *model.base, options);
  }

  Study operator()(models::TokenClassifier& model) const {
    check_no_label();
    return of_encoder(model, *model.base, among(model.config().label_names()));
  }

  Study operator()(models::QuestionAnswerer& model) const {
    check_no_label();
    StudyOptions options = among({"start", "end"});
    options.token = {};  // what is predicted is a position
    return of_encoder(model, *model.base, options);
  }

 private:
  static PageText page_text(const text::Tokenizer& tokenizer, const text::Encoding& encoding, const char* option) {
    if (std::ssize(encoding.ids) > kMostTokens)
      raise(ErrorKind::config, "{}: {} tokens; a page shows {} at most", option, encoding.ids.size(), kMostTokens);
    return {.ids = encoding.ids, .tokens = tokenizer.tokens(encoding.ids)};
  }

  void check_alone(const std::string& kind) const {
    if (options_.text_b) raise(ErrorKind::config, "--text-b: {} holds a {}, which reads one text", folder_, kind);
  }

  void check_no_label() const {
    if (options_.label) raise(ErrorKind::config, "--label: {} holds no classifier", folder_);
  }

  /// A text as the model says it.
  static text::Encoding said_as(const models::TargetStart& start, text::Encoding said) {
    if (start.forced_bos) said.ids.insert(said.ids.begin(), *start.forced_bos);
    return said;
  }

  static std::vector<int64_t> greedy(models::EncoderDecoder& model, const std::vector<int64_t>& ids,
                                     const models::TargetStart& start, const text::Tokenizer& target) {
    const std::vector<std::vector<int64_t>> sources{ids};
    // One less than there are positions: bos stands in front.
    const int64_t most =
        std::min({3 * std::ssize(ids) + 20, model.max_length().value_or(kMostTokens) - 1, kMostTokens - 1});
    const auto found = models::translate(model, sources,
                                         {.beams = 1,
                                          .bos = start.bos,
                                          .forced_bos = start.forced_bos,
                                          .max_length = std::max<int64_t>(most, 1),
                                          .vocabulary = target.vocab_size()});
    return found[0].empty() ? std::vector<int64_t>() : found[0][0].tokens;
  }

  /// Another text in the place of one, which has to have as many tokens, and not all the same.
  PageText in_place(const PageText& text, const text::Encoding& encoding) const {
    PageText other = page_text(tokenizer_, encoding, "--corrupted");
    if (other.ids.size() != text.ids.size())
      raise(ErrorKind::config, "--corrupted: \"{}\" has {} tokens, \"{}\" {}: it needs as many",
            fmt::join(other.tokens, " "), other.ids.size(), fmt::join(text.tokens, " "), text.ids.size());
    if (other.ids == text.ids) raise(ErrorKind::config, "--corrupted: the tokens of --text: nothing is corrupted");
    other.segments = text.segments;
    return other;
  }

  static int64_t place_of(const std::vector<std::string>& names, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      raise(ErrorKind::config, "label \"{}\" is unknown; known are {}", name, fmt::join(names, ", "));
    return static_cast<int64_t>(found - names.begin());
  }

  /// Encoders read a text, or a pair.
  template <class M>
  Study of_encoder(M& model, const models::EncoderModel& base, StudyOptions options) const {
    models::check_tokenizer_fits(folder_, tokenizer_, "vocab_size", base.vocab());
    const auto encoded = [&](const std::string& text) {
      return options_.text_b ? tokenizer_.encode_pair(text, *options_.text_b) : tokenizer_.encode(text);
    };
    const text::Encoding encoding = encoded(options_.text);
    PageText text = page_text(tokenizer_, encoding, options_.text_b ? "--text and --text-b" : "--text");
    if (options_.text_b && base.segments() > 1) text.segments = encoding.type_ids;
    if (options_.corrupted) options.reads = in_place(text, encoded(*options_.corrupted));
    return study(model, text, options);
  }

  /// What --loss-at says.
  std::vector<int64_t> positions() const {
    std::vector<int64_t> all;
    for (const std::string& loss : options_.losses) {
      const auto position = whole_number(loss);
      if (!position) raise(ErrorKind::config, "--loss-at: needs POSITION, got \"{}\"", loss);
      all.push_back(*position);
    }
    return all;
  }

  static std::pair<int64_t, std::string> split_logit(const std::string& logit) {
    const size_t colon = logit.find(':');
    const auto position = whole_number(std::string_view(logit).substr(0, colon));
    if (colon == std::string::npos || colon + 1 == logit.size() || !position)
      raise(ErrorKind::config, "--logit: needs POSITION:TOKEN, got \"{}\"", logit);
    return {*position, logit.substr(colon + 1)};
  }

  /// What is said of a text or a token is one of these.
  StudyOptions among(const std::vector<std::string>& names) const {
    StudyOptions options{.token = [names](int64_t id) { return names[static_cast<size_t>(id)]; }};
    options.positions = positions();
    for (const std::string& logit : options_.logits) {
      const auto [position, name] = split_logit(logit);
      options.logits.push_back({.position = position, .token = place_of(names, name), .name = name});
    }
    return options;
  }

  /// The tokenizer must live on.
  StudyOptions chosen(const text::Tokenizer& tokenizer) const {
    StudyOptions options{.token = [&tokenizer](int64_t id) {
      return id < tokenizer.vocab_size() ? tokenizer.token(id) : std::to_string(id);
    }};
    options.positions = positions();
    for (const std::string& logit : options_.logits) {
      const auto [position, name] = split_logit(logit);
      options.logits.push_back({.position = position, .token = token(tokenizer, name), .name = name});
    }
    return options;
  }

  /// The id of a token as the vocabulary writes it, or of a text that is one token.
  static int64_t token(const text::Tokenizer& tokenizer, const std::string& name) {
    if (const auto id = tokenizer.find(name)) return *id;
    const text::Encoding encoding = tokenizer.encode(name, {.add_special_tokens = false});
    if (encoding.ids.size() != 1 || encoding.ids[0] == tokenizer.special().unk)
      raise(ErrorKind::config, "--logit: \"{}\" is no token of the vocabulary", name);
    return encoding.ids[0];
  }

  const std::string& folder_;
  const SubjectOptions& options_;
  const text::Tokenizer& tokenizer_;
};

void check_utf8(const char* option, const std::string& text) {
  if (!valid_utf8(text)) raise(ErrorKind::format, "{}: not UTF-8", option);
}

void check_not_empty(const char* option, const std::string& text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) raise(ErrorKind::config, "{}: the text is empty", option);
}

std::string shown(const Study::Text& text) { return clipped(fmt::format("{}", fmt::join(text.tokens, " ")), 60); }

}  // namespace

Subject::Subject(const std::string& folder, const SubjectOptions& options)
    : folder_(folder), options_(options), model_(models::load_model(folder)), tokenizer_(tokenizer_of(model_, folder)) {
  check_utf8("--text", options.text);
  check_not_empty("--text", options.text);
  if (options.text_b) check_utf8("--text-b", *options.text_b);
  const StudyOf study_of(folder, options_, *tokenizer_);
  study_ = std::visit([&](auto& model) { return study_of(*model); }, model_);
}

SubjectOptions Subject::with_targets() const {
  SubjectOptions options = options_;
  if (dynamic_cast<const models::EncoderDecoder*>(&models::module_of(model_)) != nullptr) {
    const std::vector<int64_t>& read = study_.texts.at(1).ids;
    options.target.emplace(read.begin() + 1, read.end());
  } else if (std::holds_alternative<std::unique_ptr<models::SequenceClassifier>>(model_) && !options.label) {
    const NoGrad no_grad;
    const auto prediction = study_.run().at(0).prediction;
    if (prediction) options.label = study_.token(prediction->targets.at(0));
  }
  return options;
}

Subject Subject::beside(const std::string& folder) const { return {folder, with_targets()}; }

Study Subject::corrupted(const std::string& text) const {
  check_utf8("--corrupted", text);
  SubjectOptions options = with_targets();
  options.corrupted = text;
  const StudyOf study_of(folder_, options, *tokenizer_);
  return std::visit([&](auto& model) { return study_of(*model); }, model_);
}

std::string Subject::title() const {
  std::string title;
  for (const Study::Text& text : study_.texts) title += fmt::format("{}{}", title.empty() ? "" : " → ", shown(text));
  return fmt::format("{}: {}", models::module_of(model_).type_name(), title);
}

HeadCut head_cut(const std::string& text) {
  const size_t colon = text.rfind(':');
  const auto head = colon == std::string::npos ? std::nullopt : whole_number(std::string_view(text).substr(colon + 1));
  if (!head || colon == 0) raise(ErrorKind::config, "--cut: needs MODULE:HEAD, got \"{}\"", text);
  return {.module = text.substr(0, colon), .head = *head};
}

ActivationPatch activation_patch(const std::string& text) {
  ActivationPatch patch{.module = text};
  bool good = true;
  const auto number_behind = [&](char sign, std::optional<int64_t>& number) {
    const size_t place = patch.module.rfind(sign);
    if (place == std::string::npos) return;
    number = whole_number(std::string_view(patch.module).substr(place + 1));
    good = good && number.has_value();
    patch.module.resize(place);
  };
  number_behind('@', patch.position);
  number_behind(':', patch.head);
  if (!good || patch.module.empty())
    raise(ErrorKind::config, "--patch: needs MODULE[:HEAD][@POSITION], got \"{}\"", text);
  return patch;
}

std::vector<Frame> runs_of(const Subject& subject, const std::string& folder, const RunOptions& options) {
  std::vector<Frame> runs;
  if (!options.patches.empty() && !options.corrupted)
    raise(ErrorKind::config, "--patch: what the clean run gave is put into a corrupted one: give --corrupted TEXT");
  if (!options.film && options.beside.empty() && options.cuts.empty() && !options.corrupted) return runs;
  std::vector<HeadCut> cuts;
  cuts.reserve(options.cuts.size());
  for (const std::string& cut : options.cuts) cuts.push_back(head_cut(cut));
  std::vector<ActivationPatch> patches;
  patches.reserve(options.patches.size());
  for (const std::string& patch : options.patches) patches.push_back(activation_patch(patch));
  const auto add = [&](const Study& study, const std::string& name, const std::optional<HeadCut>& cut = {}) {
    if (options.progress) options.progress(name);
    runs.push_back(frame_of(study, name, cut));
  };
  if (options.film) {
    const std::vector<int64_t> steps = train::checkpoint_steps(folder);
    if (steps.empty()) raise(ErrorKind::config, "--film: {} has no checkpoints", folder);
    for (const int64_t step : steps) {
      const std::string name = train::checkpoint_name(step);
      add(subject.beside(fmt::format("{}/{}", folder, name)).study(), name);
    }
  }
  add(subject.study(), folder);
  for (const std::string& other : options.beside) add(subject.beside(other).study(), other);
  for (const HeadCut& cut : cuts) add(subject.study(), fmt::format("without head {} of {}", cut.head, cut.module), cut);
  if (!options.corrupted) return runs;
  const Study corrupted = subject.corrupted(*options.corrupted);
  add(corrupted, "corrupted");
  const Activations clean(subject.study());
  for (const ActivationPatch& patch : patches) {
    const std::string name = fmt::format("corrupted, clean {}", patch_name(patch));
    if (options.progress) options.progress(name);
    runs.push_back(frame_of(corrupted, name, clean, patch));
  }
  return runs;
}

}  // namespace tape::inspect
