#include "inspect/subject.h"

#include <gmock/gmock.h>

#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "text/characters.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;

/// A folder with a small language model of characters.
class SubjectTest : public testing::Test {
 protected:
  SubjectTest() {
    const auto tokenizer = text::character_tokenizer("abc");
    manual_seed(3);
    const models::Gpt model(
        {.vocab = tokenizer->vocab_size(), .d_model = 8, .layers = 1, .heads = 2, .max_length = 200});
    models::save(folder_, model);
    tokenizer->save(folder_);
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(SubjectTest, IsTheStudyOfATextAsPeopleWriteIt) {
  const Subject subject(folder_, {.text = "abca", .logits = {"1:c"}});
  EXPECT_EQ(subject.title(), "Gpt: a b c a");
  EXPECT_EQ(subject.study().kind, "decoder");
  EXPECT_THAT(subject.study().texts.at(0).tokens, ElementsAre("a", "b", "c", "a"));
  const std::vector<PageOutput> outputs = subject.study().run();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].name.substr(0, 12), "logit of \"c\"");
}

TEST_F(SubjectTest, RefusesOptionsThatDoNotFitTheModel) {
  EXPECT_TAPE_ERROR(Subject(folder_, {.text = "ab\xFF"}), ErrorKind::format, "--text: not UTF-8");
  EXPECT_TAPE_ERROR(Subject(folder_, {.text = "ab", .text_b = "c"}), ErrorKind::config,
                    fmt::format("--text-b: {} holds a Gpt, which reads one text", folder_));
  EXPECT_TAPE_ERROR(Subject(folder_, {.text = "ab", .label = "good"}), ErrorKind::config,
                    fmt::format("--label: {} holds no classifier", folder_));
  EXPECT_TAPE_ERROR(Subject(folder_, {.text = "ab", .logits = {"c"}}), ErrorKind::config,
                    "--logit: needs POSITION:TOKEN, got \"c\"");
  EXPECT_TAPE_ERROR(Subject(folder_, {.text = "ab", .logits = {"0:x"}}), ErrorKind::config,
                    "--logit: \"x\" is no token of the vocabulary");
  EXPECT_TAPE_ERROR(Subject(folder_, {.text = std::string(129, 'a')}), ErrorKind::config,
                    "--text: 129 tokens; a page shows 128 at most");
}

}  // namespace
}  // namespace tape::inspect
