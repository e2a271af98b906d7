#include "train/checkpoints/trainer_state.h"

#include <limits>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/json.h"

namespace tape::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kStateFormat = 1;
/// Above this, doubles, in which schedules and Adam count steps, are no longer exact.
constexpr int64_t kMost = int64_t{1} << 53;
constexpr std::array<const char*, kStreams> kStreamNames{"init", "dropout", "shuffle", "sampling"};

/// Reads the members of an object one by one and rejects those left over.
class Reader {
 public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) raise(ErrorKind::format, "{}: expected a JSON object", where_);
  }

  bool has(const char* key) const { return object_.contains(key); }
  const Json& take(const char* key) {
    taken_.insert(key);
    const auto found = object_.find(key);
    if (found == object_.end()) raise(ErrorKind::format, "{}: \"{}\" is missing", where_, key);
    return *found;
  }
  int64_t whole(const char* key, int64_t least = 0, int64_t most = kMost) {
    return whole_number(take(key), key, least, most);
  }
  int count(const char* key, int least) { return static_cast<int>(whole(key, least, std::numeric_limits<int>::max())); }
  int64_t whole_number(const Json& value, const char* key, int64_t least, int64_t most) const {
    const bool beyond = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most);
    if (!value.is_number_integer() || beyond || value < least)
      raise(ErrorKind::format, "{}: \"{}\" must be an integer from {} to {}, got {}", where_, key, least, most,
            value.dump());
    return value.get<int64_t>();
  }
  uint64_t bits(const char* key) {
    const Json& value = take(key);
    if (!value.is_number_unsigned())
      raise(ErrorKind::format, "{}: \"{}\" must be an integer >= 0, got {}", where_, key, value.dump());
    return value.get<uint64_t>();
  }
  /// null stands for NaN.
  double number(const char* key) {
    const Json& value = take(key);
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value.is_number()) raise(ErrorKind::format, "{}: \"{}\" must be a number, got {}", where_, key, value.dump());
    return value.get<double>();
  }
  std::string text(const char* key) { return text_in(take(key), key); }
  std::string text_in(const Json& value, const char* key) const {
    if (!value.is_string()) raise(ErrorKind::format, "{}: \"{}\" must be a string, got {}", where_, key, value.dump());
    return value.get<std::string>();
  }
  const Json& list(const char* key) {
    const Json& value = take(key);
    if (!value.is_array()) raise(ErrorKind::format, "{}: \"{}\" must be a list", where_, key);
    return value;
  }
  Reader object(const char* key) { return {take(key), fmt::format("{}: \"{}\"", where_, key)}; }
  std::string text_of_all() const { return object_.dump(); }
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!taken_.contains(key)) raise(ErrorKind::format, "{}: unknown key \"{}\"", where_, key);
  }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string> taken_;
};

/// Reads which checkpoints are the best, and which were scheduled.
void read_best(Reader& file, const std::string& where, TrainerState& state) {
  for (const Json& item : file.list("best")) {
    Reader entry(item, fmt::format("{}: \"best\"", where));
    state.best.push_back({.step = entry.whole("step", 0, state.step), .score = entry.number("score")});
    entry.finish();
  }
  if (!file.take("best_score").is_null()) state.best_score = file.number("best_score");
  for (const Json& step : file.list("planned"))
    state.planned.push_back(file.whole_number(step, "planned", 0, state.step));
}

void read_machine(Reader machine, TrainerState& state) {
  state.version = machine.text("version");
  state.kernels = machine.text("kernels");
  state.blas = machine.text("blas");
  state.blas_core = machine.text("blas_core");
  if (machine.has("products")) state.products = machine.text("products");
  state.threads = machine.count("threads", 0);
  if (machine.has("ranks")) state.ranks = machine.count("ranks", 1);
  machine.finish();
}

}  // namespace

std::string to_json(const TrainerState& state) {
  Json random = Json::object();
  for (size_t i = 0; i < kStreamNames.size(); ++i)
    random[kStreamNames[i]] = {{"seed", state.random[i].seed()}, {"counter", state.random[i].counter()}};
  Json best = Json::array();
  for (const ScoredStep& scored : state.best) best.push_back({{"step", scored.step}, {"score", scored.score}});
  Json json{{"format", kStateFormat},
            {"step", state.step},
            {"schedule_step", state.schedule_step},
            {"data", {{"epoch", state.data.epoch}, {"batch", state.data.batch}}},
            {"random", std::move(random)},
            {"accumulate", state.accumulate},
            {"best", std::move(best)},
            {"best_score", state.best_score ? Json(*state.best_score) : Json()},
            {"stale", state.stale},
            {"evaluated_step", state.evaluated_step},
            {"planned", state.planned},
            {"loss_average", state.loss_average},
            {"first_loss", state.first_loss ? Json(*state.first_loss) : Json()},
            {"highest_lr", state.highest_lr},
            {"seconds", state.seconds},
            {"tokens", state.tokens},
            {"parameters", state.parameters},
            {"machine",
             {{"version", state.version},
              {"kernels", state.kernels},
              {"blas", state.blas},
              {"blas_core", state.blas_core},
              {"products", state.products},
              {"threads", state.threads}}}};
  if (state.ranks != 1) json["machine"]["ranks"] = state.ranks;
  if (!state.settings.empty()) json["settings"] = Json::parse(state.settings);
  return dump_json(json, 2) + "\n";
}

TrainerState trainer_state_from(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  Reader file(json, where);
  if (const int64_t format = file.whole("format"); format != kStateFormat)
    raise(ErrorKind::format, "{}: unsupported format {}, this version reads {}", where, format, kStateFormat);
  TrainerState state;
  state.step = file.whole("step");
  state.schedule_step = file.whole("schedule_step");
  Reader data = file.object("data");
  state.data = {.epoch = data.whole("epoch"), .batch = data.whole("batch")};
  data.finish();
  Reader random = file.object("random");
  for (size_t i = 0; i < kStreamNames.size(); ++i) {
    Reader stream = random.object(kStreamNames[i]);
    const uint64_t seed = stream.bits("seed");
    state.random[i].set_state(seed, stream.bits("counter"));
    stream.finish();
  }
  random.finish();
  state.accumulate = file.whole("accumulate", 1);
  read_best(file, where, state);
  state.stale = file.whole("stale");
  state.evaluated_step = file.whole("evaluated_step", -1, state.step);
  state.loss_average = file.number("loss_average");
  if (file.has("first_loss") && !file.take("first_loss").is_null()) state.first_loss = file.number("first_loss");
  if (file.has("highest_lr")) state.highest_lr = file.number("highest_lr");
  state.seconds = file.number("seconds");
  if (!(state.seconds >= 0)) raise(ErrorKind::format, "{}: \"seconds\" must be >= 0, got {}", where, state.seconds);
  state.tokens = file.whole("tokens", 0, std::numeric_limits<int64_t>::max());
  if (file.has("parameters"))
    for (const Json& name : file.list("parameters")) state.parameters.push_back(file.text_in(name, "parameters"));
  read_machine(file.object("machine"), state);
  if (file.has("settings")) state.settings = file.object("settings").text_of_all();
  file.finish();
  return state;
}

}  // namespace tape::train
