#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../../nn/module/child.h"

namespace tape::models {

/// Maps a file's tensors to a model's parameters and back: names, shapes and the order of axes. A file is checked
/// against its layout before the model is made, so that a false configuration allocates nothing.
class Layout {
 public:
  /// While in scope, names added begin with `ours` and `theirs`, after those of the enclosing scope; copies and ignored
  /// names are given in full.
  class Scope {
   public:
    Scope(Layout& layout, const std::string& ours, const std::string& theirs);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Layout& layout_;
    std::string ours_, theirs_;  // of the enclosing scope
  };
  /// Prefix of the file's names in the current scope.
  const std::string& file_scope() const { return theirs_; }

  /// Tensor `theirs` of the file, of this shape, is parameter `ours`.
  void tensor(const std::string& ours, const std::string& theirs, const Shape& shape);
  /// A Linear's weight [out, in] and optional bias.
  void linear(const std::string& ours, const std::string& theirs, int64_t in, int64_t out, bool bias = true);
  /// A LayerNorm's weight and optional bias.
  void norm(const std::string& ours, const std::string& theirs, int64_t width, bool bias = true);
  /// Linear layers with the same input, packed as columns of one matrix [in, total out], as in GPT-2's Conv1D.
  void packed_columns(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each);
  /// Linear layers with the same input, packed as rows of one matrix [total out, in], as in ModernBERT.
  void packed_rows(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each,
                   bool bias);
  /// Linear layers with the same input, packed as rows of one matrix [total out, in] head by head: the rows of each
  /// layer's first head, then those of the second, as in GPT-NeoX's query, key and value.
  void packed_by_head(const std::vector<std::string>& ours, const std::string& theirs, int64_t in, int64_t out_each,
                      int64_t heads, bool bias);
  /// A row [1, width] for parameter `ours` [width]; a file without it means zeros.
  void optional_row(const std::string& ours, const std::string& theirs, int64_t width);
  /// An optional tensor that is tied to another and must have the same values.
  void copy(const std::string& theirs, const std::string& of);
  /// Pairs of an optional name and the name of the tensor that it is tied to.
  const std::vector<std::pair<std::string, std::string>>& copies() const { return copies_; }
  /// Notes that transformers calls a module of the file differently in memory, which is the name that peft stores.
  void name_in_memory(const std::string& theirs, const std::string& in_memory) {
    memory_names_.emplace_back(theirs, in_memory);
  }
  /// The layout with these names.
  Layout in_memory() const;
  /// Ignores tensors whose names contain this text.
  void ignore(std::string_view part) { ignored_.emplace_back(part); }

  /// Paths of our Linear layers whose weight is, or is part of, the file's tensor `theirs`.weight; empty if there are
  /// none.
  std::vector<std::string> linears(const std::string& theirs) const;
  /// Groups of Linear layers that share one tensor of the file.
  std::vector<std::vector<std::string>> packed_linears() const;
  /// Names of the file's tensors.
  std::vector<std::string> file_tensor_names() const;
  /// Total number of values of the file's tensors, without copies; a double, because sizes may be absurd.
  double parameter_count() const;
  /// Whether the file stores a weight as [in, out].
  bool stores_transposed(const std::string& linear) const;
  /// The file's name of the layer whose weight is, or includes, this Linear's.
  std::string file_linear_name(const std::string& linear) const;

  /// Layout of a peft folder with the adapters called `name` (nn/lora.h) of these Linear layers, each with its rank.
  /// Layers that share a tensor share A [r, in]; their B [total out, r] and magnitudes [total out] are packed like the
  /// weights.
  struct Adapter {
    int64_t rank = 0;
    bool magnitude = false;
  };
  Layout adapters(const std::string& name, const std::map<std::string, Adapter>& linears) const;

  /// The layout of only these tensors of the file and of names tied to them.
  Layout only(const std::map<std::string, Tensor>& theirs) const;

  /// Adds the base model's prefix to tensor names that lack it, where that gives a name of this layout.
  std::map<std::string, Tensor> with_prefix(const std::map<std::string, Tensor>& tensors,
                                            const std::string& prefix) const;

  /// The layout of a file with the model's own names and shapes.
  Layout with_own_names() const;

  /// Converts a file's values to the model's; `where` names the file. Throws one Error (format) that lists every
  /// missing, unexpected and misshapen tensor and every tied one that differs.
  nn::StateDict from_file(const std::map<std::string, Tensor>& tensors, const std::string& where) const;
  /// Converts the model's values (or gradients) to the file's tensors; leaves out tensors without values.
  std::map<std::string, Tensor> to_file(const nn::StateDict& state) const;

 private:
  /// How several parameters form one tensor: as rows, as columns, head by head, or one shared by all.
  enum class Kind { same, transposed, row, packed_by_head, shared };
  struct Entry {
    std::vector<std::string> ours;
    std::string theirs;
    Shape shape;
    Kind kind = Kind::same;
    int64_t heads = 0;  // for packed_by_head
  };
  /// Packs the parameters of an entry into its file's tensor, and unpacks them.
  static Tensors parts_of(const Entry& entry, const Tensor& given);
  static Tensor whole_of(const Entry& entry, const Tensors& parts);
  void add(const std::vector<std::string>& ours, const std::string& theirs, const Shape& shape, Kind kind = Kind::same,
           int64_t heads = 0);
  void add_packed(const std::vector<std::string>& ours, const std::string& theirs, const Shape& weight, bool bias,
                  Kind kind = Kind::same, int64_t heads = 0);
  bool ignores(const std::string& name) const;
  const Entry& entry_of(const std::string& linear) const;

  std::string ours_, theirs_;  // of the current scope
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> copies_, memory_names_;
  std::vector<std::string> ignored_;
};

}  // namespace tape::models
