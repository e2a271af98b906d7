#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tape::train {

/// Whether labels mark entities as BIO (IOB2) has it: B-type at the first word of one, I-type at each further, O
/// elsewhere (Tjong Kim Sang and Veenstra 1999). Each must be one of these, with a B-type for every I-type, and there
/// must be one.
bool are_bio(std::span<const std::string> labels);

/// Entities found among those that there are.
struct EntityCount {
  int64_t there = 0;  ///< in the truth
  int64_t said = 0;
  int64_t right = 0;  ///< said with the very words and the very type

  /// 2 right / (there + said): the harmonic mean of precision and recall over all types; 0 without entities.
  double f1() const;
};

/// Counts entities of BIO labels, sentence by sentence; numbers are those of names in the list it is made with. One
/// begins at a B-type and goes on over the I-types of its type right behind it; an I-type anywhere else is of no
/// entity, as seqeval's strict IOB2 has it.
class EntityCounter {
 public:
  /// Error (config) for labels that are not those of BIO.
  explicit EntityCounter(std::span<const std::string> labels);

  /// The labels of one sentence's words, and those said of them. Error (shape) where there are not as many of both;
  /// Error (index) for a number without a name.
  void add(std::span<const int64_t> truth, std::span<const int64_t> said);
  const EntityCount& count() const { return count_; }
  /// Words so far whose true label is an I-type that goes on nothing.
  int64_t stray() const { return stray_; }

 private:
  struct Label {
    enum class Place { outside, begin, inside } place;
    std::string type;
  };
  struct Entity {
    size_t begin = 0, end = 0;
    std::string type = {};
    bool operator==(const Entity&) const = default;
  };
  std::vector<Entity> entities(std::span<const int64_t> labels, int64_t& stray) const;

  std::vector<Label> labels_;
  EntityCount count_;
  int64_t stray_ = 0;
};

}  // namespace tape::train
