#include "inspect/number_words.h"

#include <sstream>

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.h"
#include "text/number_words.h"

namespace tape::inspect {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A model that has hardly learnt anything: what is shown of it is right all the same.
class ShowNumberWords : public testing::Test {
 protected:
  ShowNumberWords() {
    std::ostringstream ignored;
    train::train_number_words({.run = {.out = folder_.path(), .steps = 2}, .batch = 4, .budget = 0, .held_out = 1},
                              ignored, {});
    model_ = train::NumberWordsModel::load(folder_.path());
  }

  const TemporaryFolder folder_;
  train::NumberWordsModel model_;
  std::ostringstream out_;
};

TEST_F(ShowNumberWords, TranslationsWithWhatWouldBeRight) {
  show_translations(model_, {43017}, out_);
  const std::string english = model_.translate({text::german_number(43017)}).front();
  EXPECT_EQ(out_.str(), "   43017  dreiundvierzigtausendsiebzehn\n          " + english +
                            "\n          should be: forty-three thousand seventeen\n");
  out_.str("");
  show_translations(model_, {}, out_);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ShowNumberWords, APictureWithARowForEachEnglishToken) {
  show_attention(model_, 43017, out_, {});
  const std::string text = out_.str();
  EXPECT_THAT(text, StartsWith("Where the decoder looks (last layer's cross-attention, mean of heads):\n"));
  for (const char* row :
       {"\n    forty ", "\n        - ", "\n    three ", "\n thousand ", "\nseventeen ", "\n    <end> "})
    EXPECT_THAT(text, HasSubstr(row));
  for (const char* token : {"drei", "und", "vierzig", "tausend", "sieb", "zehn"}) EXPECT_THAT(text, HasSubstr(token));
}

TEST_F(ShowNumberWords, RefusesANumberThatIsNotOfTheTask) {
  EXPECT_THROW(show_translations(model_, {-1}, out_), Error);
  EXPECT_THROW(show_attention(model_, 1'000'000, out_, {}), Error);
}

}  // namespace
}  // namespace tape::inspect
