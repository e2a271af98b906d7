#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../../nn/module/child.h"

namespace tape::models {

/// Which tensor of a file is which parameter of a model: names, shapes and the order of axes, both ways. A file is
/// checked against it before the model is made, so that a configuration that lies allocates nothing.
class Layout {
 public:
  /// While it is there, the names of what is added begin with `ours` and `theirs`, behind those of the scope around it;
  /// copies and what is ignored are named in full.
  class Scope {
   public:
    Scope(Layout& layout, const std::string& ours, const std::string& theirs);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Layout& layout_;
    std::string ours_, theirs_;  // of the scope around it
  };
  /// What the names in the file begin with in the present scope.
  const std::string& their_scope() const { return theirs_; }

  /// Tensor `theirs` of the file, of this shape, is parameter `ours`.
  void tensor(const std::string& ours, const std::string& theirs, const Shape& shape);
  /// A Linear's weight [out, in] and, where it has one, bias.
  void linear(const std::string& ours, const std::string& theirs, int64_t in, int64_t out, bool bias = true);
  /// weight and, where it has one, bias of a LayerNorm.
  void norm(const std::string& ours, const std::string& theirs, int64_t width, bool bias = true);
  /// Linear layers of one input side by side in one matrix [in, out of all], as GPT-2's Conv1D keeps them.
  void side_by_side(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each);
  /// Linear layers of one input below each other in one matrix [out of all, in], as ModernBERT keeps them.
  void stacked(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each,
               bool bias);
  /// Linear layers of one input below each other in one matrix [out of all, in], head by head: the rows of the first
  /// head of each layer, then those of the second, as GPT-NeoX keeps queries, keys and values.
  void head_by_head(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each,
                    int64_t heads, bool bias);
  /// A row [1, width] for parameter `ours` [width]; a file may lack it, which means zeros.
  void optional_row(const std::string& ours, const std::string& theirs, int64_t width);
  /// A tensor that a file may hold though it is tied to another; its values must be the other's.
  void copy(const std::string& theirs, const std::string& of);
  /// Pairs of a name that a file may hold and the name of the tensor that it is tied to.
  const std::vector<std::pair<std::string, std::string>>& copies() const { return copies_; }
  /// Names of tensors with this text in them mean nothing to the model.
  void ignore(std::string_view part) { ignored_.emplace_back(part); }

  /// The paths of our Linear layers whose weight is, or is part of, the tensor `theirs`.weight of the file; empty where
  /// there are none.
  std::vector<std::string> linears(const std::string& theirs) const;
  /// The Linear layers that share one tensor of the file with another.
  std::vector<std::vector<std::string>> packed_linears() const;
  /// The names of the file's tensors.
  std::vector<std::string> their_names() const;
  /// Values of the tensors that the file has names of its own for, in double: sizes may be absurd.
  double parameter_count() const;
  /// Whether the file keeps a weight [in, out].
  bool keeps_transposed(const std::string& linear) const;
  /// What the file calls the layer whose weight this Linear's is, or is part of.
  std::string their_linear(const std::string& linear) const;

  /// Where a folder of the package peft keeps adapters of the name (nn/lora.h) of these Linear layers, which have a
  /// rank each: A [r, in] is one for those that share a tensor, B [out of all, r] and the magnitudes [out of all] stand
  /// below each other as the weights do.
  struct Adapter {
    int64_t rank = 0;
    bool magnitude = false;
  };
  Layout adapters(const std::string& name, const std::map<std::string, Adapter>& linears) const;

  /// That of the file's tensors of these names alone, and of names tied to them; of others it knows nothing.
  Layout only(const std::map<std::string, Tensor>& theirs) const;

  /// The tensors of a file whose names may lack the prefix of the base model's: it is put in front where that makes a
  /// name of this layout of it.
  std::map<std::string, Tensor> with_prefix(const std::map<std::string, Tensor>& tensors,
                                            const std::string& prefix) const;

  /// The layout of a file that names and shapes its tensors as the model does.
  Layout with_own_names() const;

  /// The model's values from a file's; `where` names the file. One Error (format) lists every missing, unexpected and
  /// misshapen tensor and every tied one that differs.
  nn::StateDict from_file(const std::map<std::string, Tensor>& tensors, const std::string& where) const;
  /// The file's tensors from the model's values (or gradients); what has no values is left out.
  std::map<std::string, Tensor> to_file(const nn::StateDict& state) const;

 private:
  /// Of several parameters: below each other, as columns beside each other, head by head, or one for all.
  enum class Kind { same, transposed, row, head_by_head, shared };
  struct Entry {
    std::vector<std::string> ours;
    std::string theirs;
    Shape shape;
    Kind kind = Kind::same;
    int64_t heads = 0;  // of head_by_head
  };
  /// The parameters of an entry in its file's tensor, and back.
  static Tensors parts_of(const Entry& entry, const Tensor& given);
  static Tensor whole_of(const Entry& entry, const Tensors& parts);
  void add(const std::vector<std::string>& ours, const std::string& theirs, const Shape& shape, Kind kind = Kind::same,
           int64_t heads = 0);
  void add_packed(const std::vector<std::string>& ours, const std::string& theirs, const Shape& weight, bool bias,
                  Kind kind = Kind::same, int64_t heads = 0);
  bool ignores(const std::string& name) const;
  const Entry& entry_of(const std::string& linear) const;

  std::string ours_, theirs_;  // of the present scope
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> copies_;
  std::vector<std::string> ignored_;
};

}  // namespace tape::models
