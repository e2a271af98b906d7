"""Lists and dictionaries of modules."""

from .._tapeformer.nn import Module


class ModuleList(Module):
    """A list of modules, named by their positions: "layers.0", "layers.1", ..."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def append(self, module):
        self.add_module(str(len(self)), module)
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


class ModuleDict(Module):
    """A dictionary of modules, which are named by their keys."""

    def __init__(self, modules=()):
        super().__init__()
        for key, module in dict(modules).items():
            self[key] = module

    def __setitem__(self, key, module):
        self.add_module(key, module)

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
