#include "inspect/pictures/dot.h"

#include <map>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "autograd/tape/graph.h"
#include "base/module_path.h"

namespace tape {
namespace {

/// Quotes text for Graphviz; "\n" ends a centered line.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ') {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result + "\"";
}

/// A module's nodes and the modules in it.
struct Frame {
  std::vector<size_t> nodes;
  std::map<std::string, std::unique_ptr<Frame>> inner;

  Frame& at(std::string_view path) {
    Frame* frame = this;
    for (const std::string_view name : split_module_path(path)) {
      std::unique_ptr<Frame>& next = frame->inner[std::string(name)];
      if (!next) next = std::make_unique<Frame>();
      frame = next.get();
    }
    return *frame;
  }
};

class DotWriter {
 public:
  DotWriter(const Tensor& loss, const DotOptions& options) : options_(options), nodes_(nodes_behind({loss})) {
    for (size_t i = 0; i < nodes_.size(); ++i) numbers_[nodes_[i]] = i;
    for (const NamedTensor& named : options.names) {
      if (!named.tensor.requires_grad()) continue;
      names_[named.tensor.impl().node.get()] = named.name;
      note(named.tensor.impl().node.get(), named.tensor.impl().output, named.tensor);
    }
    note(loss.impl().node.get(), loss.impl().output, loss);
    if (options.kept) note_kept(*options.kept);
    for (const Node* node : nodes_) {
      for (const Node::Saved& saved : node->saved) {
        if (!saved.value.defined()) continue;
        if (saved.output >= 0) note(node, static_cast<uint32_t>(saved.output), saved.value);
        if (saved.value.requires_grad()) note(saved.value.impl().node.get(), saved.value.impl().output, saved.value);
      }
    }
  }

  std::string text() {
    Frame all;
    for (size_t i = 0; i < nodes_.size(); ++i) all.at(place_of(nodes_[i])).nodes.push_back(i);
    text_ =
        "digraph tape {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\"];\n  edge "
        "[fontname=\"monospace\"];\n";
    write(all, "", 1);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const Node::Edge& edge : nodes_[i]->inputs) {
        if (!edge.node) continue;
        const std::string label =
            edge.node->outputs.size() > 1 ? fmt::format(" [label=\"output {}\"]", edge.output) : "";
        text_ += fmt::format("  n{} -> n{}{};\n", numbers_.at(edge.node.get()), i, label);
      }
    }
    return text_ + "}\n";
  }

 private:
  void note(const Node* node, uint32_t output, const Tensor& value) { values_.try_emplace({node, output}, value); }

  void note_kept(const TapeValues& kept) {
    for (const Node* node : nodes_) {
      const TapeValues::Step* step = kept.find(*node);
      if (!step) continue;
      for (uint32_t i = 0; i < step->outputs.size(); ++i) note(node, i, step->outputs[i]);
      for (uint32_t i = 0; i < step->gradients.size(); ++i)
        if (step->gradients[i].defined()) gradients_.try_emplace({node, i}, step->gradients[i]);
      for (size_t i = 0; i < step->inputs.size(); ++i)
        if (const Node::Edge& edge = node->inputs[i]; edge.node) note(edge.node.get(), edge.output, step->inputs[i]);
    }
  }

  /// A leaf belongs to the module named by its path.
  std::string place_of(const Node* node) const {
    const auto name = names_.find(node);
    if (name == names_.end()) return module_of(*node);
    const size_t dot = name->second.rfind('.');
    return dot == std::string::npos ? "" : name->second.substr(0, dot);
  }

  std::string label(const Node* node) const {
    const auto name = names_.find(node);
    std::string text = name != names_.end() ? name->second : node->name();
    if (const std::string given = to_string(node->attributes); !node->is_leaf() && !given.empty()) text += "\n" + given;
    for (uint32_t i = 0; i < node->outputs.size(); ++i) {
      const Node::Output& output = node->outputs[i];
      text += fmt::format("\n{} {}", to_string(output.dtype), to_string(output.shape));
      if (const auto value = values_.find({node, i}); options_.values && value != values_.end())
        text += fmt::format("\nvalue {}", to_string(summarize(value->second)));
      const auto kept = gradients_.find({node, i});
      const Tensor& gradient = output.grad.defined() || kept == gradients_.end() ? output.grad : kept->second;
      if (options_.gradients && gradient.defined())
        text += fmt::format("\ngradient {}", to_string(summarize(gradient)));
    }
    return text;
  }

  void write(const Frame& frame, const std::string& path, size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (const size_t i : frame.nodes)
      text_ += fmt::format("{}n{} [label={}{}];\n", indent, i, quoted(label(nodes_[i])),
                           nodes_[i]->is_leaf() ? ", shape=ellipse" : "");
    for (const auto& [name, inner] : frame.inner) {
      const std::string whole = path.empty() ? name : fmt::format("{}.{}", path, name);
      text_ += fmt::format("{}subgraph {} {{\n{}  label={};\n", indent, quoted(fmt::format("cluster_{}", whole)),
                           indent, quoted(name));
      write(*inner, whole, depth + 1);
      text_ += fmt::format("{}}}\n", indent);
    }
  }

  const DotOptions& options_;
  const std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> numbers_;
  std::unordered_map<const Node*, std::string> names_;
  std::map<std::pair<const Node*, uint32_t>, Tensor> values_, gradients_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Tensor& loss, const DotOptions& options) {
  check_recorded("to_dot", loss);
  return DotWriter(loss, options).text();
}

}  // namespace tape
