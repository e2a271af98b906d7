#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tape::train {

/// Whether labels follow the BIO scheme (IOB2): B-type at the first word of an entity, I-type at each further word, O
/// elsewhere (Tjong Kim Sang and Veenstra 1999). Every label must be one of these, every I-type needs a B-type, and
/// at least one type must occur.
bool are_bio(std::span<const std::string> labels);

/// Counts of true, predicted and correct entities.
struct EntityCount {
  int64_t expected = 0;  ///< true entities
  int64_t predicted = 0;
  int64_t correct = 0;  ///< predicted with the exact words and type

  /// Micro F1, 2 right / (there + said): harmonic mean of precision and recall over all types; 0 without entities.
  double f1() const;
};

/// Counts entities of BIO labels, sentence by sentence; labels are indices in the list given to the constructor. An
/// entity begins at a B-type and continues over directly following I-types of its type. Any other I-type belongs to no
/// entity, as in seqeval's strict IOB2 mode.
class EntityCounter {
 public:
  /// Throws Error (config) unless are_bio(labels).
  explicit EntityCounter(std::span<const std::string> labels);

  /// Adds the true and the predicted labels of one sentence's words. Throws Error (shape) if their counts differ; Error
  /// (index) for an index out of range.
  void add(std::span<const int64_t> truth, std::span<const int64_t> predicted);
  const EntityCount& count() const { return count_; }
  /// Number of words so far whose true label is an I-type that continues no entity.
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
