// Generates short stories to train a language model on, and requests for stories to teach it to answer:
//   stories DIR [STORIES]  writes stories.jsonl (40,000 stories unless stated otherwise, each with a title),
//                          requests.jsonl ("prompt" and "completion", a tenth as many) and unseen.txt (200 requests
//                          whose pair of animal and thing occurs in no request of requests.jsonl)
//   stories --check FILE   counts the replies of `tapeformer generate --json` that contain everything requested, and
//                          those that mention no other thing
// The same arguments produce the same files on every machine.
#include <tapeformer.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

using namespace tape;

namespace {

using Words = std::vector<std::string_view>;

const Words animals = {"fox",  "hare", "mouse", "wolf", "bear",   "cat",   "duck",     "frog",
                       "goat", "hen",  "dog",   "mole", "beaver", "horse", "hedgehog", "squirrel"};
const Words things = {"lantern", "kite", "drum", "boat",    "key",  "map",   "hat",    "bell",
                      "ball",    "cart", "book", "blanket", "cake", "flute", "ladder", "mirror"};
const Words places = {"mill",   "pond",  "forest", "hill", "barn",   "garden",
                      "bridge", "river", "market", "cave", "meadow", "harbour"};
const Words colours = {"red", "blue", "green", "golden", "silver", "yellow", "white", "striped"};
const Words natures = {"shy", "brave", "clever", "lazy", "cheerful", "curious", "gentle", "proud", "quiet", "busy"};
const Words names = {"Ada", "Ben",  "Cleo", "Dora", "Emil", "Finn", "Greta", "Hugo",  "Ida", "Jack", "Kira", "Leo",
                     "Mia", "Nils", "Olga", "Pip",  "Quin", "Rosa", "Sam",   "Tilda", "Udo", "Vera", "Wim",  "Zoe"};
const Words times = {"One sunny morning", "One windy afternoon", "On a cold winter day", "Early in spring",
                     "Late one evening",  "One rainy day",       "On market day",        "The day before the feast"};

/// Random choices that are the same on every platform. Distributions of the standard library are not.
class Draw {
 public:
  explicit Draw(uint64_t seed) : numbers_(seed) {}
  size_t below(size_t n) { return static_cast<size_t>(numbers_() % n); }
  std::string_view of(const Words& words) { return words[below(words.size())]; }
  /// A word that is not in `others`.
  std::string_view of(const Words& words, const Words& others) {
    std::string_view word = of(words);
    while (std::ranges::find(others, word) != others.end()) word = of(words);
    return word;
  }

 private:
  std::mt19937_64 numbers_;
};

struct Story {
  std::string_view animal, thing, place;
  std::string text;
};

/// Whether this pair is reserved for the unseen requests, as a tenth of all pairs are.
bool kept_back(std::string_view animal, std::string_view thing) {
  const auto at = [](const Words& words, std::string_view word) {
    return std::ranges::find(words, word) - words.begin();
  };
  return (7 * at(animals, animal) + 3 * at(things, thing)) % 10 == 0;
}

/// Chooses the words of a story, then writes it: a beginning, one of five plots, an end.
class Teller {
 public:
  explicit Teller(Draw& draw) : draw_(draw) {
    animal_ = draw.of(animals), other_ = draw.of(animals, {animal_});
    thing_ = draw.of(things), place_ = draw.of(places), away_ = draw.of(places, {place_});
    name_ = draw.of(names), friend_ = draw.of(names, {name_});
    colour_ = draw.of(colours), nature_ = draw.of(natures);
  }

  Story tell() {
    begin();
    const std::array plots = {&Teller::lost, &Teller::shared, &Teller::broken, &Teller::afraid, &Teller::gift};
    (this->*plots[draw_.below(plots.size())])();
    end();
    return {animal_, thing_, place_, text_};
  }

 private:
  /// Appends one of several wordings, with this story's words for {name}, {thing}, ...
  void say(const Words& ways) {
    const std::string_view way = draw_.of(ways);
    if (!text_.empty()) text_ += ' ';
    text_ += fmt::format(fmt::runtime(way), fmt::arg("name", name_), fmt::arg("friend", friend_),
                         fmt::arg("animal", animal_), fmt::arg("other", other_), fmt::arg("thing", thing_),
                         fmt::arg("colour", colour_), fmt::arg("nature", nature_), fmt::arg("place", place_),
                         fmt::arg("away", away_), fmt::arg("time", time_));
  }

  void begin() {
    time_ = draw_.of(times);
    say({"Once there was a {nature} {animal} called {name} who lived near the {place}.",
         "{name} was a {nature} {animal}, and the {place} was home.",
         "Near the {place} lived a {animal} whose name was {name}.",
         "Long ago a {nature} {animal} named {name} lived by the {place}."});
    say({"{name} had a {colour} {thing}, and at the {place} nobody had a better one.",
         "The best thing that {name} had at the {place} was a {colour} {thing}.",
         "Everybody at the {place} knew {name} by the {colour} {thing}.",
         "In a box at the {place} {name} kept a {colour} {thing}."});
  }

  void lost() {
    say({"{time} the {thing} was gone.", "{time} {name} looked for the {thing} and could not find it."});
    say({"{name} looked under the bed, behind the door and all over the {place}.",
         "It was not in the house, and it was not at the {place}.", "{name} sat down and cried."});
    say({"Then {friend} the {other} came along. \"Why are you sad?\" asked {friend}.",
         "A {other} called {friend} heard it. \"What is wrong?\" asked {friend}."});
    say({"\"I have lost my {colour} {thing},\" said {name}.", "\"My {thing} is gone,\" said {name}."});
    say({"\"I saw something {colour} at the {away},\" said {friend}. \"Let us go and look.\"",
         "\"Were you not at the {away} yesterday?\" asked {friend}. \"Come, I will help you.\""});
    say({"They walked to the {away}, and there, under a leaf, lay the {thing}.",
         "At the {away} they looked everywhere, and at last {friend} found the {thing} in the grass."});
  }

  void shared() {
    say({"{time} {friend} the {other} came to the {place}. \"May I have a turn with your {thing}?\" asked {friend}.",
         "{time} {name} met a {other} called {friend}, who had no {thing}."});
    say({"\"No, it is mine,\" said {name}.", "{name} held the {thing} tight and said nothing.",
         "\"You might break it,\" said {name}."});
    say({"{friend} went away to the {away} with a sad face.", "So {friend} walked slowly back to the {away}."});
    say({"But a {thing} is no fun alone, and soon {name} felt sorry.",
         "{name} looked at the {thing}, and it did not seem so {colour} any more."});
    say({"{name} ran all the way to the {away}. \"Let us share it,\" said {name}.",
         "At the {away} {name} found {friend}. \"I am sorry,\" said {name}. \"You may have it today.\""});
  }

  void broken() {
    say({"{time} the {thing} fell down and broke.", "{time} {name} dropped the {thing}, and it broke in two."});
    say({"\"Who can mend it?\" thought {name}.", "{name} tried to mend it, but it did not hold."});
    say({"At the {away} there was a {other} called {friend} who could mend everything.",
         "\"Go to {friend} the {other},\" said the neighbours. \"You will find {friend} at the {away}.\""});
    say({"\"I can mend your {thing},\" said {friend}, \"if you bring me some string and a little glue.\"",
         "{friend} looked at the {thing} and smiled. \"That is not hard,\" said {friend}."});
    say({"They worked until the stars came out, and then the {thing} was whole again.",
         "{friend} worked all day, {name} helped, and in the evening the {thing} was as good as new."});
  }

  void afraid() {
    say({"There was only one trouble: {name} was afraid of the {away}.",
         "But {name} had never dared to go to the {away}, for it was dark there."});
    say({"{time} somebody called for help from the {away}.", "{time} a small voice cried at the {away}."});
    say({"It was {friend} the {other}, who had lost the way.", "It was a {other} called {friend}, alone in the dark."});
    say({"{name} took the {colour} {thing} and went, step by step.",
         "\"With my {thing} I can do it,\" said {name}, and went."});
    say({"\"Take my paw,\" said {name}, and together they came back to the {place}.",
         "{friend} saw the {thing} from far away and came running."});
  }

  void gift() {
    say({"{time} {name} heard that it was the birthday of {friend} the {other}.",
         "{time} {friend} the {other} had a birthday, and {name} had no present."});
    say({"\"I could give away my {thing},\" thought {name}, \"but then I have none.\"",
         "{name} thought and thought, and then looked at the {colour} {thing}."});
    say({"So {name} put a ribbon on the {thing} and carried it to the {away}.",
         "{name} wrapped the {thing} in paper and took it to the {away}, where {friend} lived."});
    say({"\"A {thing}!\" cried {friend}. \"I have always wanted one.\"",
         "{friend} opened it and jumped for joy. \"Is it really for me?\" asked {friend}."});
    say({"And {friend} had a present for {name}, too: a seat at the table and the largest piece of pie.",
         "\"Then it is ours,\" said {friend}, \"and you must come every day.\""});
  }

  void end() {
    say({"From that day on {name} and {friend} were friends, and often met at the {place}.",
         "{name} thanked {friend}, and they laughed all the way to the {place}.",
         "That night {name} was the happiest {animal} at the {place}.",
         "And if you go to the {place} today, you may see {name} and {friend} with the {thing}."});
  }

  Draw& draw_;
  std::string_view animal_, other_, name_, friend_, thing_, place_, away_, colour_, nature_, time_;
  std::string text_;
};

/// One of several wordings for the subject of a story.
std::string named(Draw& draw, const Words& ways, const Story& story) {
  return fmt::format(fmt::runtime(draw.of(ways)), story.animal, story.thing, story.place);
}

std::string title(Draw& draw, const Story& of) {
  return named(draw,
               {"The {0}, the {1} and the {2}.", "The {0} and the {1} at the {2}.", "The {1} of the {0} near the {2}.",
                "At the {2}: the {0} and the {1}."},
               of);
}

std::string request(Draw& draw, const Story& of) {
  return named(draw,
               {"Tell me a story about a {0}, a {1} and the {2}.", "Please tell of the {2}, of a {0} and a {1}.",
                "I would like to hear of a {0} who has a {1} near the {2}.",
                "Do you know a story with a {1}, a {0} and the {2}?"},
               of);
}

int make(const std::filesystem::path& folder, int64_t count) {
  std::filesystem::create_directories(folder);
  std::ofstream stories(folder / "stories.jsonl"), requests(folder / "requests.jsonl"), unseen(folder / "unseen.txt");
  Draw draw(1);
  for (int64_t i = 0; i < count; ++i) {
    const Story story = Teller(draw).tell();
    fmt::print(stories, "{}\n", nlohmann::json{{"text", title(draw, story) + " " + story.text}}.dump());
  }
  for (int64_t made = 0, asked = 0; made < count / 10 || asked < 200;) {
    const Story story = Teller(draw).tell();
    if (kept_back(story.animal, story.thing)) {
      if (asked++ < 200) fmt::print(unseen, "{} Answer:\n", request(draw, story));
    } else if (made++ < count / 10) {
      fmt::print(
          requests, "{}\n",
          nlohmann::json{{"prompt", request(draw, story) + " Answer:"}, {"completion", " " + story.text}}.dump());
    }
  }
  stories.flush(), requests.flush(), unseen.flush();
  if (!stories || !requests || !unseen) throw std::runtime_error(folder.string() + ": cannot write");
  fmt::print("{} stories, {} requests with stories, 200 unseen requests\n", count, count / 10);
  return 0;
}

/// Whether `text` contains `word` as a whole word.
bool has(std::string_view text, std::string_view word) {
  const auto letter = [&](size_t i) { return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])); };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if (!letter(at - 1) && !letter(at + word.size())) return true;
  return false;
}

int check(const char* file) {
  std::ifstream lines(file);
  int64_t replies = 0, ended = 0, fitting = 0, faithful = 0;
  for (std::string line; std::getline(lines, line); ++replies) {
    const auto reply = nlohmann::json::parse(line);
    const std::string prompt = reply.at("prompt"), text = reply.at("text");
    const auto told_where_asked = [&](std::string_view word) { return !has(prompt, word) || has(text, word); };
    ended += reply.at("ended").get<bool>();
    fitting += std::ranges::all_of(std::array{&animals, &things, &places},
                                   [&](const Words* words) { return std::ranges::all_of(*words, told_where_asked); });
    faithful +=
        std::ranges::none_of(things, [&](std::string_view word) { return has(text, word) && !has(prompt, word); });
  }
  if (replies == 0) throw std::runtime_error(std::string(file) + ": no replies");
  fmt::print("{} replies: {} contain the requested animal, thing and place, ", replies, fitting);
  fmt::print("{} mention no other thing, {} reach an end\n", faithful, ended);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 3 && std::string_view(argv[1]) == "--check") return check(argv[2]);
  if (argc == 2 || argc == 3) return make(argv[1], argc == 3 ? std::stoll(argv[2]) : 40000);
  std::cerr << "usage: stories DIR [STORIES] | stories --check FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
