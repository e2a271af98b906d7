// State of a program that using the library must not change: its streams, locale, signal handlers, floating-point modes
// and working directory, and its number of threads before the first call.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <filesystem>
#include <locale>
#include <map>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "base/file.h"
#include "tapeformer.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

namespace tape {
namespace {

int64_t threads_now() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// Number of threads after the library was loaded and its static objects were constructed.
const int64_t threads_at_load = threads_now();

/// State of the process.
std::map<std::string, std::string> process_state() {
  std::map<std::string, std::string> state;
  state["C locale"] = std::setlocale(LC_ALL, nullptr);
  state["C++ locale"] = std::locale().name();
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    state["handler of signal " + std::to_string(signal)] =
        std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)) + " " + std::to_string(action.sa_flags);
  }
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < NSIG; ++signal) state["blocked signals"] += sigismember(&blocked, signal) ? '1' : '0';
  state["rounding"] = std::to_string(std::fegetround());
#if defined(__x86_64__)
  state["MXCSR"] = std::to_string(_mm_getcsr() & ~0x3fu);  // without the flags that operations set
#endif
#if defined(__GLIBC__)
  state["trapped exceptions"] = std::to_string(fegetexcept());
#endif
  const mode_t mask = umask(0);
  umask(mask);
  state["umask"] = std::to_string(mask);
  state["folder"] = std::filesystem::current_path();
  for (char** variable = environ; *variable; ++variable) state["environment"] += std::string(*variable) + "\n";
  return state;
}

/// Captures what is written to a descriptor while in scope.
class Captured {
 public:
  Captured(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)), kept_(dup(descriptor)) {
    std::fflush(nullptr);
    const int file = open(path_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    dup2(file, descriptor_);
    close(file);
  }
  ~Captured() {
    std::fflush(nullptr);
    dup2(kept_, descriptor_);
    close(kept_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

 private:
  const int descriptor_;
  const std::string path_;
  const int kept_;
};

/// Makes a call that must throw; its message must only be in the exception.
template <class Call>
void refused(const Call& call) {
  EXPECT_THROW(call(), Error);
}

void train_and_decode(const TemporaryFolder& folder) {
  manual_seed(1);
  models::Transformer model({.src_vocab = 11, .tgt_vocab = 11, .d_model = 64, .layers = 1, .heads = 2, .d_ff = 128});
  optim::Adam adam(model.parameters(), {.lr = 1e-2});
  const Profile profile;
  for (int step = 0; step < 3; ++step) {
    const Tensor src = randint(1, 11, {16, 20}), tgt = randint(1, 11, {16, 20});
    adam.zero_grad();
    cross_entropy(model(src, tgt), tgt).backward();
    optim::clip_grad_norm(model.parameters(), 1);
    adam.step();
  }
  model.eval();
  models::beam_search(model, randint(1, 11, {2, 5}), {.beams = 3, .max_length = 8});
  save_safetensors(folder / "weights.safetensors", model.state_dict());
  model.load_state_dict(load_safetensors(folder / "weights.safetensors").tensors);
  refused([&] { model(zeros({2, 3}), zeros({2, 3})); });
  refused([&] { load_safetensors(folder / "nothing.safetensors"); });
  write_text(folder / "broken.safetensors", "xxxxxxxxyyyyyyyy");
  refused([&] { load_safetensors(folder / "broken.safetensors"); });
}

void read_models_and_texts() {
  models::load<models::Bert>(fixture_path("hugging_face/bert"));
  models::load<models::Gpt>(fixture_path("hugging_face/gpt2"));
  const auto tokenizer = text::load_tokenizer(fixture_path("tokenizers/gpt2"));
  tokenizer->decode(tokenizer->encode("Grüße, 2.5 \xff times").ids);
  refused([] { text::load_tokenizer(fixture_path("hugging_face")); });
}

void look_at_gradients() {
  const auto f = [](const Tensors& in) { return softmax(matmul(in[0], in[1]), -1); };
  EXPECT_TRUE(gradcheck(f, {randn({2, 3}, f64), randn({3, 4}, f64)}).ok());
  const auto wrong = [](const Tensors& in) { return in[0].detach() * in[0]; };
  EXPECT_FALSE(gradcheck(wrong, {randn({3}, f64)}).ok());
  refused([] { matmul(zeros({2, 3}), zeros({2, 3})); });
  refused([] { log(zeros({2}).requires_grad_()).backward(); });
  const DetectAnomaly anomaly;
  refused([] { log(zeros({2}).requires_grad_()); });
}

TEST(Embedder, HasOneThreadUntilTheLibraryIsUsed) { EXPECT_EQ(threads_at_load, 1); }

TEST(Embedder, FindsItsProcessStateUnchanged) {
  const TemporaryFolder folder;
  const auto before = process_state();
  {
    const Captured out(STDOUT_FILENO, folder / "out"), error(STDERR_FILENO, folder / "error");
    train_and_decode(folder);
    read_models_and_texts();
    look_at_gradients();
  }
  EXPECT_EQ(read_text(folder / "out"), "");
  EXPECT_EQ(read_text(folder / "error"), "");
  const auto after = process_state();
  for (const auto& [what, value] : before) EXPECT_EQ(after.at(what), value) << what;
  EXPECT_GT(before.size(), 30u);
}

/// German number format.
struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Returns numbers in all kinds of text that the library writes, and in one that it reads.
std::string numbers(const TemporaryFolder& folder) {
  manual_seed(2);
  models::Bert model({.vocab = 1234, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 8, .dropout = 0.25});
  models::save(folder / "model", model);
  const auto loaded = models::load<models::Bert>(folder / "model");
  const Tensor x = randn({2, 3}, f64);
  return read_text(folder / "model/config.json") + std::to_string(loaded->config().dropout) + to_string(x * 12345.678) +
         to_string(gradcheck([](const Tensors& in) { return exp(in[0]); }, {x}));
}

TEST(Embedder, MayUseItsOwnLocale) {
  const TemporaryFolder first, second;
  const std::string expected = numbers(first);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  const std::string found = numbers(second);
  std::locale::global(before);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tape
