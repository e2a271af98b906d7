#include "train/tasks/entities.h"

#include <algorithm>

#include "base/error.h"

namespace tape::train {

bool are_bio(std::span<const std::string> labels) {
  bool any = false;
  for (const std::string& label : labels) {
    if (label == "O") continue;
    if (label.size() < 3 || !(label.starts_with("B-") || label.starts_with("I-"))) return false;
    if (label.front() == 'I' && std::ranges::find(labels, "B" + label.substr(1)) == labels.end()) return false;
    any = true;
  }
  return any;
}

double EntityCount::f1() const {
  return expected + predicted == 0 ? 0 : 2 * static_cast<double>(correct) / static_cast<double>(expected + predicted);
}

EntityCounter::EntityCounter(std::span<const std::string> labels) {
  using enum Label::Place;
  if (!are_bio(labels)) raise(ErrorKind::config, "EntityCounter: the labels do not follow the BIO scheme");
  for (const std::string& label : labels)
    labels_.push_back(label == "O" ? Label{outside, {}}
                                   : Label{label.starts_with("B-") ? begin : inside, label.substr(2)});
}

std::vector<EntityCounter::Entity> EntityCounter::entities(std::span<const int64_t> labels, int64_t& stray) const {
  std::vector<Entity> found;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= std::ssize(labels_))
      raise(ErrorKind::index, "EntityCounter: word {} has label {}, but only {} labels exist", i, labels[i],
            labels_.size());
    const Label& label = labels_[static_cast<size_t>(labels[i])];
    if (label.place == Label::Place::begin)
      found.push_back({i, i + 1, label.type});
    else if (label.place == Label::Place::inside) {
      if (!found.empty() && found.back().end == i && found.back().type == label.type)
        ++found.back().end;
      else
        ++stray;
    }
  }
  return found;
}

void EntityCounter::add(std::span<const int64_t> truth, std::span<const int64_t> predicted) {
  if (truth.size() != predicted.size())
    raise(ErrorKind::shape, "EntityCounter: {} labels, {} predictions", truth.size(), predicted.size());
  int64_t predicted_stray = 0;
  const std::vector<Entity> expected = entities(truth, stray_), found = entities(predicted, predicted_stray);
  count_.expected += std::ssize(expected);
  count_.predicted += std::ssize(found);
  for (const Entity& entity : found) count_.correct += std::ranges::count(expected, entity);
}

}  // namespace tape::train
