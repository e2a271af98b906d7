"""Lists and dictionaries of modules."""

from .._tapeformer import Error
from .._tapeformer.nn import Module


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
        if hasattr(type(self), key):
            raise Error(f'{type(self).__name__}: a module cannot be named "{key}", as one of its methods')
        self.add_module(key, module)
        if self.name:
            self._name_module(self.name, key, module)


class ModuleList(_Container):
    """A list of modules, named by their positions: "layers.0", "layers.1", ..."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def append(self, module):
        self._add(str(max((int(key) for key, _ in self.named_children()), default=-1) + 1), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def __len__(self):
        return len(self.named_children())

    def __iter__(self):
        return iter([module for _, module in self.named_children()])

    def __getitem__(self, position):
        return [module for _, module in self.named_children()][position]


class ModuleDict(_Container):
    """A dictionary of modules, which are named by their keys."""

    def __init__(self, modules=()):
        super().__init__()
        for key, module in dict(modules).items():
            self[key] = module

    def __setitem__(self, key, module):
        self._add(key, module)

    def __getitem__(self, key):
        return dict(self.named_children())[key]

    def __len__(self):
        return len(self.named_children())

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, key):
        return key in self.keys()

    def keys(self):
        return [key for key, _ in self.named_children()]

    def values(self):
        return [module for _, module in self.named_children()]

    def items(self):
        return self.named_children()
