#include "train/distributed/sharded_parameters.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <utility>

#include "autograd/tape/tape.h"
#include "base/error.h"
#include "train/runs/progress.h"

namespace tape::train {
namespace {

/// Whether a module name belongs to a list element, as in "layers.3".
bool is_in_list(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  return !last.empty() && std::ranges::all_of(last, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::unordered_map<const TensorImpl*, size_t> numbered(const Tensors& parameters) {
  std::unordered_map<const TensorImpl*, size_t> numbers;
  for (size_t i = 0; i < parameters.size(); ++i) numbers[parameters[i].ref().get()] = i;
  return numbers;
}

}  // namespace

std::vector<Layer> layers_of(nn::Module& model, const Tensors& parameters) {
  const auto numbers = numbered(parameters);
  std::vector<Layer> layers;
  std::vector<int64_t> places(parameters.size(), 0);  // number of modules that own each parameter directly
  std::string outer = "\n";                           // prefix of no module name
  for (const auto& [name, module] : model.named_modules()) {
    for (const NamedTensor& held : module->named_parameters())
      if (const auto found = numbers.find(held.tensor.ref().get());
          found != numbers.end() && held.name.find('.') == std::string::npos)
        ++places[found->second];
    if (!is_in_list(name) || name.starts_with(outer)) continue;
    outer = name + ".";
    layers.push_back({module, {}});
  }
  for (Layer& layer : layers)
    for (const Tensor& parameter : layer.module->parameters()) {
      const auto found = numbers.find(parameter.ref().get());
      if (found == numbers.end() || places[found->second] != 1) continue;
      if (layer.parameters.empty() || parameters[layer.parameters.front()].dtype() == parameter.dtype())
        layer.parameters.push_back(found->second);
    }
  std::erase_if(layers, [](const Layer& layer) { return layer.parameters.empty(); });
  return layers;
}

ShardedParameters::ShardedParameters(Communicator& ranks, Tensors parameters, std::vector<Layer> layers,
                                     const std::vector<const Bucket*>& buckets)
    : ranks_(ranks), parameters_(std::move(parameters)), shards_(layers.size()) {
  for (size_t l = 0; l < layers.size(); ++l) {
    Shard& shard = shards_[l];
    shard.parts = buckets[l]->parts();
    shard.dtype = parameters_[layers[l].parameters.front()].dtype();
    shard.chunk = buckets[l]->share_values();
    shard.none = Storage::allocate(0);
    shard.own = Storage::allocate(share_bytes(shard));
    std::memset(shard.own->data(), 0, static_cast<size_t>(share_bytes(shard)));
    for (const BucketPart& part : shard.parts) {
      shard.shapes.push_back(parameters_[part.parameter].shape());
      layer_of_[parameters_[part.parameter].impl().node.get()] = l;
    }
    for (const ParameterSlice& slice : buckets[l]->own_slices()) {
      const Tensor& parameter = parameters_[slice.parameter];
      const int64_t bytes = size_of(shard.dtype);
      shard.version = std::max(shard.version, parameter.version());
      if (slice.count > 0)
        std::memcpy(share_of(slice).raw(), static_cast<const char*>(parameter.raw()) + slice.begin * bytes,
                    static_cast<size_t>(slice.count * bytes));
    }
    drop(shard);
    hooks_.forward_pre(*layers[l].module, [this, l](nn::Module&, const Tensors&) {
      if (gather_count_ > 0) return Tensors();
      need(l);
      ++shards_[l].running;
      return Tensors();
    });
    hooks_.forward(*layers[l].module, [this, l](nn::Module&, const Tensors&, const Tensor&) {
      ran(l);
      return Tensor();
    });
  }
  empty_cache();  // frees the whole parameters: gathered buffers have other sizes
}

ShardedParameters::~ShardedParameters() = default;

Tensor ShardedParameters::share_of(const ParameterSlice& slice) {
  for (Shard& shard : shards_)
    for (const BucketPart& part : shard.parts) {
      if (part.parameter != slice.parameter) continue;
      const int64_t at = slice.count > 0 ? part.offset + slice.begin - ranks_.rank() * shard.chunk : 0;
      return Tensor(
          Ref<TensorImpl>(new TensorImpl(shard.own, at * size_of(shard.dtype), Shape{slice.count}, shard.dtype)));
    }
  return {};
}

void ShardedParameters::changed() {
  for (Shard& shard : shards_) {
    ++shard.version;
    shard.none->set_version(shard.version);
  }
}

/// Gathers a layer's parameters and starts the transfer of the next layer's.
void ShardedParameters::need(size_t layer) {
  if (layer == current_) return;
  current_ = layer;
  seen_.push_back(layer);
  const size_t incoming = next();
  for (size_t l = 0; l < shards_.size(); ++l)
    if (l != layer && l != incoming && shards_[l].running == 0) drop(shards_[l]);
  Shard& shard = shards_[layer];
  if (!shard.whole) {
    if (!shard.incoming) gather_requested(layer);
    take(shard);
  }
  if (incoming != kNone && !shards_[incoming].whole && !shards_[incoming].incoming) gather_requested(incoming);
}

/// Called after a layer's module has run. Drops its parameters, unless they are needed next as well.
void ShardedParameters::ran(size_t layer) {
  if (gather_count_ > 0) return;
  Shard& shard = shards_[layer];
  shard.running = std::max<int64_t>(shard.running - 1, 0);
  if (shard.running > 0) return;
  current_ = kNone;
  if (next() != layer) drop(shard);
}

/// The layer that the last batch needed at this point.
size_t ShardedParameters::next() const {
  const size_t at = seen_.size();
  const bool as_before = at > 0 && at < known_.size() && known_[at - 1] == seen_[at - 1];
  return as_before ? known_[at] : kNone;
}

/// All ranks announce the layer they request and take part in gathering each of them. Returns whether there was any.
bool ShardedParameters::gather_requested(size_t wanted) {
  poll();
  const double began = steady_seconds();
  std::vector<size_t> all = all_gather(ranks_, wanted);
  waited_ += steady_seconds() - began;
  std::ranges::sort(all);
  const auto [rest, end] = std::ranges::unique(all);
  all.erase(rest, end);
  for (const size_t layer : all)
    if (layer != kNone) start(layer, layer == wanted);
  return all.front() != kNone;
}

void ShardedParameters::start(size_t layer, bool for_me) {
  Shard& shard = shards_[layer];
  const int64_t bytes = share_bytes(shard);
  const Ref<Storage> to = Storage::allocate(bytes * ranks_.size());
  const int64_t first = ranks_.rank() * bytes;
  const Ref<Storage>& held = shard.own ? shard.own : shard.whole;
  std::memcpy(static_cast<char*>(to->data()) + first, static_cast<const char*>(held->data()) + (shard.own ? 0 : first),
              static_cast<size_t>(bytes));
  std::unique_ptr<Transfer> transfer = ranks_.start_all_gather(to, to, bytes);
  sent_ += bytes * (ranks_.size() - 1);
  if (for_me) {
    shard.incoming = to;
    shard.transfer = std::move(transfer);
    in_flight_ = layer;
  } else {
    foreign_gathers_.push_back({to, std::move(transfer)});
  }
}

/// Waits for the transfer in progress and points the parameters to its memory.
void ShardedParameters::take(Shard& shard) {
  const double began = steady_seconds();
  shard.transfer->wait();
  waited_ += steady_seconds() - began;
  shard.transfer.reset();
  in_flight_ = kNone;
  shard.whole = std::move(shard.incoming);
  shard.incoming = nullptr;
  shard.whole->set_version(shard.version);
  for (size_t i = 0; i < shard.parts.size(); ++i) {
    TensorImpl& parameter = parameters_[shard.parts[i].parameter].impl();
    parameter.storage = shard.whole;
    parameter.offset = shard.parts[i].offset * size_of(shard.dtype);
    parameter.shape = shard.shapes[i];
  }
}

void ShardedParameters::drop(Shard& shard) {
  if (shard.incoming) take(shard);  // other ranks write into it until it is complete
  if (!shard.whole && shard.own && parameters_[shard.parts.front().parameter].impl().storage == shard.none) return;
  shard.none->set_version(shard.version);
  for (const BucketPart& part : shard.parts) {
    TensorImpl& parameter = parameters_[part.parameter].impl();
    parameter.storage = shard.none;
    parameter.offset = 0;
    parameter.shape = Shape{0};
  }
  shard.whole = nullptr;
}

/// Frees the whole parameters, keeping only this rank's share.
void ShardedParameters::keep_own(Shard& shard) {
  const int64_t bytes = share_bytes(shard);
  shard.own = std::move(shard.kept);
  std::memcpy(shard.own->data(), static_cast<const char*>(shard.whole->data()) + ranks_.rank() * bytes,
              static_cast<size_t>(bytes));
  shard.version = std::max(shard.version, shard.whole->version());
  drop(shard);
}

void ShardedParameters::begin_backward() {
  for (Shard& shard : shards_) shard.running = 0;
}

void ShardedParameters::serve() {
  begin_backward();
  while (gather_requested(kNone)) {
  }
  for (ForeignGather& guest : foreign_gathers_) guest.transfer->wait();
  foreign_gathers_.clear();
  for (Shard& shard : shards_)
    if (gather_count_ == 0) drop(shard);
  current_ = kNone;
  known_ = std::exchange(seen_, {});
}

void ShardedParameters::gather_all() {
  if (gather_count_++ > 0) return;
  for (size_t l = 0; l < shards_.size(); ++l) {
    gather_requested(l);
    take(shards_[l]);
    shards_[l].kept = std::move(shards_[l].own);  // the values are in `whole`
  }
}

void ShardedParameters::release_all() {
  TAPE_ASSERT(gather_count_ > 0);

  if (--gather_count_ > 0) return;
  for (Shard& shard : shards_) keep_own(shard);
  empty_cache();
}

/// Advances the transfers in progress.
void ShardedParameters::poll() {
  if (in_flight_ != kNone) shards_[in_flight_].transfer->done();
  std::erase_if(foreign_gathers_, [](const ForeignGather& guest) { return guest.transfer->done(); });
}

void ShardedParameters::on_use(TensorList) { poll(); }

void ShardedParameters::on_backward(const Node& node) {
  poll();
  if (gather_count_ > 0) return;
  for (const Node::Edge& input : node.inputs)
    if (const auto found = layer_of_.find(input.node.get()); found != layer_of_.end()) need(found->second);
}

}  // namespace tape::train
