#include <cstdint>
#include <iostream>
#include <optional>
#include <sstream>

#include "tests/fuzz/target.h"
#include "tools/arguments.h"

namespace tape::fuzz {
namespace {

/// Captures the output written to a stream of the process.
class Caught {
 public:
  explicit Caught(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Caught() { stream_.rdbuf(before_); }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* before_;
};

enum class Norm { pre, post };

/// One option of each kind, with every rule.
struct Values {
  std::string text, shell = "bash";
  int layers = 6;
  int64_t steps = 1;
  uint64_t seed = 0;
  double lr = 0.1, dropout = 0, top_p = 1;
  std::optional<std::string> out;
  std::optional<int64_t> limit;
  std::optional<double> decay;
  std::optional<uint64_t> other_seed;
  std::optional<Norm> norm;
  std::vector<std::string> files;
  bool quiet = false, resume = false;
  bool ran = false;
};

void add_commands(tools::Command& root, Values& v) {
  tools::Command train = root.subcommand("train", "Trains");
  tools::Command lm = train.subcommand("lm", "A language model");
  lm.option("--text", v.text, "A file").required().value_name("FILE");
  lm.option("--shell", v.shell, "A word").one_of({"bash", "zsh", "fish"});
  lm.option("--layers", v.layers, "A number").at_least(1);
  lm.option("--steps", v.steps, "A number").within(1, 1e9).default_text("of the preset");
  lm.option("--seed", v.seed, "A number");
  const tools::Option lr = lm.option("--lr", v.lr, "A number").above(0);
  lm.option("--dropout", v.dropout, "A number").probability();
  lm.choice("--norm", v.norm, {{"pre", Norm::pre}, {"post", Norm::post}}, "A word");
  lm.option("--decay", v.decay, "A number").needs(lr);
  const tools::Option resume = lm.flag("--resume", v.resume, "A flag");
  lm.option("--out", v.out, "A folder").excludes(resume);
  lm.runs([&v] {
    v.ran = true;
    return 0;
  });
  tools::Command info = root.subcommand("info", "Tells");
  info.option("--files", v.files, "Files");
  info.option("--limit", v.limit, "A number").at_least(-5);
  info.option("--other-seed", v.other_seed, "A number");
  info.option("--top-p", v.top_p, "A number").within(0, 1);
  info.flag("--quiet", v.quiet, "A flag");
  info.runs([&v] {
    v.ran = true;
    return 0;
  });
}

}  // namespace

/// Arguments separated by line feeds: the program runs with them, within the rules of its options, or rejects them with
/// one message.
void fuzz_command_line(Bytes bytes) {
  std::vector<std::string> words{"tapeformer"};
  std::istringstream lines{std::string(text_of(bytes))};
  for (std::string word; std::getline(lines, word) && words.size() < 40;) words.emplace_back(word.c_str());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  Values values;
  tools::Program program("tapeformer", "For tests", "1.0");
  add_commands(program.root(), values);
  program.add_completion();
  const Caught output(std::cout), errors(std::cerr);
  const int code = program.run(static_cast<int>(words.size()), arguments.data());
  const std::string message = errors.text();
  expect(code == 0 || code == 2, "exit code {}", code);
  expect((code == 0) == message.empty(), "exit code {} with the message {}", code, message);
  if (code == 2) {
    expect(message.starts_with("tapeformer: ") && message.ends_with("\n"), "the message {}", message);
    expect(!values.ran, "a rejected command ran");
  }
  if (!values.ran) return;
  expect(values.layers >= 1 && values.steps >= 1 && values.steps <= 1'000'000'000 && values.lr > 0,
         "a bound is violated");
  expect(values.dropout >= 0 && values.dropout < 1 && values.top_p >= 0 && values.top_p <= 1, "not a probability");
  expect(values.shell == "bash" || values.shell == "zsh" || values.shell == "fish", "the shell {}", values.shell);
  expect(!values.limit || *values.limit >= -5, "the limit {}", values.limit.value_or(0));
  expect(!(values.out && values.resume), "both of two exclusive options");
}

}  // namespace tape::fuzz
