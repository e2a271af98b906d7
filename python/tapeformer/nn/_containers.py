"""Sequences, lists and dictionaries of modules and parameters."""

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._tapeformer import Error, Tensor
from .._tapeformer.nn import Module, Parameter


def _check_name(container, key):
    if hasattr(type(container), key):
        raise Error(f'{type(container).__name__}: a part cannot be named "{key}", as one of its methods')


class _List:
    """Parts with positions as names, and the methods of a list. Parts after an inserted or removed one are renamed. A
    class has _names(), _add(key, part) and _of(parts)."""

    def _remove(self, key):
        delattr(self, key)

    def _parts(self):
        return [getattr(self, name) for name in self._names()]

    def _slice(self, positions):
        return self._of(self._parts()[positions])

    def _position(self, position):
        number, size = operator.index(position), len(self)
        if not -size <= number < size:
            raise IndexError(f"{type(self).__name__}: position {number} is outside the {size} positions")
        return number % size

    def _fill(self, parts):
        for key, part in zip(list(self._names()), self._parts()):
            self._remove(key)
            if isinstance(part, Module) and part.name == key:
                part.name = ""
        for position, part in enumerate(parts):
            self._add(str(position), part)

    def _replace(self, parts):
        before = self._parts()
        try:
            self._fill(parts)
        except BaseException:
            self._fill(before)
            raise

    def append(self, part: Any) -> Any:
        position = len(self)
        while str(position) in self._names():  # in a slice, which keeps its names
            position += 1
        self._add(str(position), part)
        return self

    def extend(self, parts: Iterable[Any]) -> Any:
        for part in list(parts):
            self.append(part)
        return self

    def insert(self, position: int, part: Any) -> None:
        parts = self._parts()
        parts.insert(position, part)
        self._replace(parts)

    def pop(self, position: int = -1) -> Any:
        part = self[position]
        del self[position]
        return part

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts())

    def __getitem__(self, position: int | slice) -> Any:
        """The part at a position; for a slice, another container of the same parts."""
        if isinstance(position, slice):
            return self._slice(position)
        return getattr(self, self._names()[self._position(position)])

    def __setitem__(self, position: int | slice, part: Any) -> None:
        if isinstance(position, slice):
            parts = self._parts()
            parts[position] = part
            self._replace(parts)
        else:
            self._add(self._names()[self._position(position)], part)

    def __delitem__(self, position: int | slice) -> None:
        parts = self._parts()
        del parts[position if isinstance(position, slice) else self._position(position)]
        self._replace(parts)

    def __add__(self, parts: Iterable[Any]) -> Any:
        return self._of([*self, *parts])

    def __iadd__(self, parts: Iterable[Any]) -> Any:
        return self.extend(parts)


class Sequential(_List, Module):
    """Runs modules and functions of one tensor one after another. Names are positions, and functions count; a
    dictionary of steps gives them other names."""

    def __init__(self, *steps: Any) -> None:
        super().__init__()
        self._step_names = []
        named = steps[0] if len(steps) == 1 and isinstance(steps[0], dict) else dict(enumerate(steps))
        for key, step in named.items():
            self._add(str(key), step)

    def forward(self, x: Tensor) -> Tensor:
        """The last step's output."""
        if not self._step_names:
            raise Error("Sequential: has no layers")
        for name in self._step_names:
            step = getattr(self, name, None)
            if step is None:
                raise Error(f"Sequential: step {name} was removed")
            x = step(x)
            if not isinstance(x, Tensor):
                raise TypeError(f"Sequential: step {name}: must return a tensor, got {type(x).__name__}")
        return x

    def append(self, step: Any) -> Any:
        """Appends a module or a function of one tensor."""
        return super().append(step)

    def _names(self):
        return self._step_names

    def _of(self, parts):
        return Sequential(*parts)

    def _slice(self, positions):
        return Sequential(dict(zip(self._names()[positions], self._parts()[positions])))

    def _add(self, key, step):
        if not callable(step):
            raise TypeError(f"Sequential: takes modules and functions of one tensor, got {type(step).__name__}")
        _check_name(self, key)
        setattr(self, key, step)
        if key not in self._step_names:
            self._step_names.append(key)

    def _remove(self, key):
        delattr(self, key)
        self._step_names.remove(key)


class _Container(Module):
    """Is never called itself, so its modules run under both names: "layers.0"."""

    def _name_modules(self, name):
        for key, module in self.named_children():
            self._name_module(name, key, module)

    def _name_module(self, name, key, module):
        path = f"{name}.{key}"
        if isinstance(module, _Container):
            module._name_modules(path)
        else:
            module.name = path

    def _add(self, key, module):
        _check_name(self, key)
        self.add_module(key, module)
        if self.name:
            self._name_module(self.name, key, module)


class ModuleList(_List, _Container):
    """A list of modules, named by their positions: "layers.0", "layers.1", ..."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> Any:
        self._add(str(max((int(key) for key in self._names()), default=-1) + 1), module)
        return self

    def _names(self):
        return [key for key, _ in self.named_children()]

    def _of(self, parts):
        return ModuleList(parts)


class _Dict:
    """Parts by name, with the methods of a dictionary, in the order in which they were added."""

    def __setitem__(self, key: str, part: Any) -> None:
        self._add(key, part)

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(key)
        return getattr(self, key)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def values(self) -> list[Any]:
        return [self[key] for key in self.keys()]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self.keys()]

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def pop(self, key: str) -> Any:
        part = self[key]
        del self[key]
        return part

    def update(self, parts: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        for key, part in dict(parts).items():
            self[key] = part

    def clear(self) -> None:
        for key in self.keys():
            del self[key]


class ModuleDict(_Dict, _Container):
    """A dictionary of modules, which are named by their keys."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        super().__init__()
        self.update(modules)

    def keys(self) -> list[str]:
        return [key for key, _ in self.named_children()]


class _Parameters(Module):
    """The names of the parameters are kept here: named_parameters() lists a tied one once."""

    def __init__(self, parameters):
        super().__init__()
        self._parameter_names = []
        (self.update if isinstance(self, _Dict) else self.extend)(parameters)

    def _add(self, key, parameter):
        if not isinstance(parameter, Tensor):
            raise TypeError(f"{type(self).__name__}: takes parameters and tensors, got {type(parameter).__name__}")
        _check_name(self, key)
        setattr(self, key, parameter if isinstance(parameter, Parameter) else Parameter(parameter))
        if key not in self._parameter_names:
            self._parameter_names.append(key)

    def __delattr__(self, key):
        super().__delattr__(key)
        if key in self._parameter_names:
            self._parameter_names.remove(key)


class ParameterList(_List, _Parameters):
    """A list of parameters, named by their positions: "scales.0", "scales.1", ... Other tensors become parameters."""

    def __init__(self, parameters: Iterable[Tensor] = ()) -> None:
        super().__init__(parameters)

    def _names(self):
        return self._parameter_names

    def _of(self, parts):
        return ParameterList(parts)


class ParameterDict(_Dict, _Parameters):
    """A dictionary of parameters, which are named by their keys. Other tensors become parameters."""

    def __init__(self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] = ()) -> None:
        super().__init__(parameters)

    def keys(self) -> list[str]:
        return list(self._parameter_names)
