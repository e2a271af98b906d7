"""Which parameter of a PyTorch module is which of a module of this library."""

import difflib
import re

# Words of the same meaning in names of parts.
_WORDS = {
    "attn": "attention",
    "selfattn": "self attention",
    "crossattn": "cross attention",
    "multihead": "cross",
    "mha": "attention",
    "q": "query",
    "k": "key",
    "v": "value",
    "o": "output",
    "out": "output",
    "proj": "",
    "dense": "",
    "c": "",
    "ln": "norm",
    "layernorm": "norm",
    "layer": "",
    "layers": "",
    "h": "",
    "blocks": "",
    "block": "",
    "model": "",
    "transformer": "",
    "wte": "token embedding",
    "tok": "token",
    "wpe": "position embedding",
    "pos": "position",
    "emb": "embedding",
    "embed": "embedding",
    "embeddings": "embedding",
    "tokens": "token",
    "positions": "position",
    "positional": "position",
    "ff": "feed forward",
    "ffn": "feed forward",
    "mlp": "feed forward",
    "fc": "linear",
    "up": "linear",
    "head": "lm head",
    "f": "final",
}
_PACKED = ("query", "key", "value")
_LEAST_SIMILAR = 0.45


class Names:
    """The result of match()."""

    def __init__(self):
        self.pairs = {}  # PyTorch's name: names on the other side, one after another along axis 0
        self.guessed, self.only_torch, self.only_tape = [], [], []
        self.modules = {}  # PyTorch's path: path on the other side
        self._transposed = set()

    def transposed(self, name):
        return name in self._transposed

    @staticmethod
    def value(module, name):
        return module.get_parameter(name) if name in dict(module.named_parameters()) else module.get_buffer(name)


def split(value, parts, tensors, transposed):
    """A value of PyTorch in pieces of the sizes of the others."""
    if transposed:
        value = value.t()
    if len(parts) == 1:
        return [
            value.reshape(list(tensors[parts[0]].shape))
            if _same_but_ones(value.shape, tensors[parts[0]].shape)
            else value
        ]
    return list(value.split([tensors[part].shape[0] for part in parts], 0))


def _same_but_ones(a, b):
    return [n for n in a if n != 1] == [n for n in b if n != 1]


def match(torch_module, tape_module, rename):
    """Matches parameters, and the modules that own them. ValueError for names in `rename` that do not exist."""
    names = Names()
    left = {name: tuple(value.shape) for name, value in torch_module.named_parameters()}
    left_buffers = {
        name: tuple(value.shape) for name, value in torch_module.named_buffers() if value.is_floating_point()
    }
    right = {name: tuple(tensor.shape) for name, tensor in tape_module.named_parameters()}
    right_buffers = {
        name: tuple(tensor.shape) for name, tensor in tape_module.named_buffers() if tensor.dtype.is_floating
    }
    names._transposed = _transposed_weights(torch_module)
    ignored = _renamed(names, {**left, **left_buffers}, {**right, **right_buffers}, rename)
    for name, shape in left_buffers.items():
        if name in right_buffers and right_buffers[name] == shape:
            names.pairs.setdefault(name, [name])
    open_left = [name for name in left if name not in names.pairs and name not in ignored]
    taken = {part for parts in names.pairs.values() for part in parts}
    _guess(
        names,
        {name: _shape(names, name, left[name]) for name in open_left},
        {n: s for n, s in right.items() if n not in taken},
    )
    taken = {part for parts in names.pairs.values() for part in parts}
    names.only_torch = [name for name in left if name not in names.pairs and name not in ignored]
    names.only_tape = [name for name in right if name not in taken]
    _match_modules(names, torch_module, tape_module, rename)
    return names


def _transposed_weights(module):
    """Conv1D of transformers, as in GPT-2, stores [in, out]."""
    return {
        f"{path}.weight" if path else "weight"
        for path, part in module.named_modules()
        if type(part).__name__ == "Conv1D"
    }


def _shape(names, name, shape):
    return tuple(reversed(shape)) if names.transposed(name) else shape


def _renamed(names, left, right, rename):
    """Pairs by equal names, after `rename`. Returns the names that `rename` maps to nothing."""
    ignored = set()
    for name, shape in left.items():
        new = _new_name(name, rename)
        if new is None:
            ignored.add(name)
            continue
        parts = [new] if isinstance(new, str) else list(new)
        missing = [part for part in parts if part not in right]
        if missing and (parts != [name] and _is_exact(name, rename)):
            raise ValueError(
                f"compare: rename maps {name!r} to {missing[0]!r}, which the module of this library does not have"
            )
        if missing:
            continue
        shape = _shape(names, name, shape)
        if _fits(shape, [right[part] for part in parts]):
            names.pairs[name] = parts
        elif _is_exact(name, rename):
            sizes = ", ".join(str(list(right[part])) for part in parts)
            raise ValueError(f"compare: rename maps {name!r} of shape {list(shape)} to {new!r} of shape {sizes}")
    return ignored


def _fits(shape, shapes):
    if len(shapes) == 1:
        return _same_but_ones(shape, shapes[0])
    return all(part[1:] == shape[1:] for part in shapes) and sum(part[0] for part in shapes) == shape[0]


def _is_exact(name, rename):
    return callable(rename) or (rename is not None and name in rename)


def _new_name(name, rename):
    if rename is None:
        return name
    if callable(rename):
        return rename(name)
    if name in rename:
        return rename[name]
    # The longest path that is a beginning or in the middle of the name.
    for old in sorted(rename, key=len, reverse=True):
        dotted = f".{name}."
        if f".{old}." in dotted:
            if rename[old] is None:
                return None
            return dotted.replace(f".{old}.", f".{rename[old]}." if rename[old] else ".", 1).strip(".")
    return name


# --- similar names ---


def _guess(names, left, right):
    """Matches names by their words, among equal shapes and equal numbers; only where one is clearly the best."""
    for name in [
        name for name in left if name.rpartition(".")[2].startswith("in_proj_") or _is_packed(name, left, right)
    ]:
        kind = "bias" if name.endswith("bias") else "weight"
        third = (left[name][0] // 3, *left[name][1:])
        parts = []
        for word in _PACKED:
            found = sorted(
                (_similarity(f"{name.rpartition('.')[0]}.{word}.{kind}", other), other)
                for other in right
                if right[other] == third and _numbers(other) == _numbers(name) and other.endswith(f"{word}.{kind}")
            )
            if found and (len(found) == 1 or found[-1][0] > found[-2][0]):
                parts.append(found[-1][1])
        if len(parts) == 3:
            names.pairs[name] = parts
            names.guessed.append((name, " + ".join(parts)))
            for part in parts:
                del right[part]
            del left[name]
    scores = sorted(
        ((_similarity(a, b), a, b) for a in left for b in right if left[a] == right[b] and _numbers(a) == _numbers(b)),
        key=lambda item: -item[0],
    )
    for score, a, b in scores:
        if score < _LEAST_SIMILAR or a in names.pairs or b not in right:
            continue
        # Two names that are equally similar say nothing.
        rivals = [
            other
            for other, x, y in scores
            if other == score and (x == a) != (y == b) and x not in names.pairs and y in right
        ]
        if not rivals:
            names.pairs[a] = [b]
            names.guessed.append((a, b))
            del right[b]
    _match_the_only_ones(names, left, right)


def _match_the_only_ones(names, left, right):
    """What is alone on both sides with its shape, kind and numbers of layers."""

    def grouped(shapes):
        groups = {}
        for name, shape in shapes.items():
            if name not in names.pairs:
                groups.setdefault((shape, *_numbers(name), _words(name)[-1:] == ["bias"]), []).append(name)
        return groups

    others = grouped(right)
    for key, found in grouped(left).items():
        if len(found) == 1 and len(others.get(key, [])) == 1:
            names.pairs[found[0]] = others[key]
            names.guessed.append((found[0], others[key][0]))


def _is_packed(name, left, right):
    """Query, key and value in one weight, as c_attn of GPT-2."""
    return bool(re.search(r"(c_attn|qkv|in_proj)\.(weight|bias)$", name)) and left[name][0] % 3 == 0


def _numbers(name):
    return [int(part) for part in name.split(".") if part.isdigit()]


def _words(name):
    """Words and numbers of a name, without the numbers of layers."""
    words = []
    for part in name.lower().split("."):
        if not part.isdigit():
            for word in re.findall(r"[a-z]+|[0-9]+", part):
                words += _WORDS.get(word, word).split()
    return words


def _similarity(a, b):
    first, second = _words(a), _words(b)
    if first[-1:] != second[-1:]:  # weight and bias
        return 0.0
    common = len(set(first) & set(second)) / max(1, len(set(first) | set(second)))
    return 0.6 * common + 0.4 * difflib.SequenceMatcher(None, " ".join(first), " ".join(second)).ratio()


# --- modules ---


def _match_modules(names, torch_module, tape_module, rename):
    """A module's counterpart owns the counterparts of its parameters. One without parameters has none unless `rename`
    names it, since the same name may stand for another place of the computation."""
    pairs = [(name, part) for name, parts in names.pairs.items() for part in parts]
    right = [path for path, _ in tape_module.named_modules()]
    all_parts = [name for name, _ in tape_module.named_parameters()] + [part for _, part in pairs]
    names.modules[""] = ""
    for path, _ in torch_module.named_modules():
        if not path:
            continue
        inside = {part for name, part in pairs if name.startswith(path + ".")}
        owners = [
            other
            for other in right
            if other and inside and inside == {part for part in all_parts if part.startswith(other + ".")}
        ]
        new = _new_name(path, rename)
        if isinstance(new, str) and new in right and (new in owners or (new != path and not inside)):
            names.modules[path] = new
        elif owners:
            # Of several nested ones with the same parameters, the one at the same distance from them.
            depth = path.count(".")
            names.modules[path] = min(owners, key=lambda other: (abs(other.count(".") - depth), _distance(path, other)))
    used = set()
    for path, other in list(names.modules.items()):
        if path and other in used:
            del names.modules[path]
        used.add(other)


def _distance(a, b):
    return -difflib.SequenceMatcher(None, a, b).ratio()
