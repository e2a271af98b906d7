"""Prints tensors in gdb and in IDEs that use it: `source scripts/gdb/tapeformer_gdb.py`, then `print x` or `info locals`.

    $1 = f64 [2, 3] {0.5, -1, 2, ...}, made by 'matmul' in decoder.layers.0, has a gradient

The program (not the library) must be compiled with -g. Calls no functions of the program, so it works on core files.
"""

import struct

import gdb
import gdb.printing

# struct has no code for bf16. It is read as bits, the upper half of an f32.
DTYPES = {"f32": "f", "f64": "d", "f16": "e", "bf16": "H", "i64": "q", "i32": "i", "u8": "B", "boolean": "?"}
SHOWN = 6


def target(ref):
    """Returns the target of a tape::Ref, or None."""
    pointer = ref["object_"]
    return pointer.dereference() if int(pointer) else None


def shape_text(shape):
    sizes = [str(int(shape["sizes_"][i])) for i in range(int(shape["rank_"]))]
    return "[" + ", ".join(sizes) + "]"


def values_text(impl, dtype):
    """Returns the first values, read from memory."""
    storage = target(impl["storage"])
    count = int(impl["shape"]["numel_"])
    if storage is None or count == 0:
        return "{}"
    code = DTYPES[dtype]
    first = min(count, SHOWN)
    place = int(storage["data_"]) + int(impl["offset"])
    memory = gdb.selected_inferior().read_memory(place, first * struct.calcsize("=" + code))
    values = struct.unpack("=%d%s" % (first, code), memory.tobytes())
    if dtype == "bf16":
        values, code = struct.unpack("=%df" % first, b"".join(struct.pack("=HH", 0, bits) for bits in values)), "f"
    texts = ["%.4g" % value if code in "fde" else str(value).lower() for value in values]
    return "{" + ", ".join(texts + (["..."] if count > first else [])) + "}"


def string_at(value):
    """Returns the C string whose pointer is the first word at `value`. Programs often lack debug information of the
    library's types, but Op begins with its name, and std::unique_ptr, TraceRecord and std::string with a pointer."""
    place = value.cast(gdb.lookup_type("char").pointer().pointer())
    return place.dereference().string("utf-8", "replace")


def module_path(node):
    """Returns the module path of a node recorded within a Trace, else ""."""
    record = node["trace"].address.cast(gdb.lookup_type("char").pointer().pointer()).dereference()
    return string_at(record) if int(record) else ""


def history_text(impl):
    node = target(impl["node"])
    if node is None:
        return ""
    if int(node["op"]):
        text = ", made by '%s'" % string_at(node["op"])
        path = module_path(node)
        text += " in " + path if path else ""
    else:
        text = ", leaf"
    output = (node["outputs"]["_M_impl"]["_M_start"] + int(impl["output"])).dereference()
    return text + (", has a gradient" if target(output["grad"]["impl_"]) is not None else "")


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            impl = target(self.value["impl_"])
            if impl is None:
                return "undefined"
            dtype = str(impl["dtype"]).split("::")[-1]
            text = "%s %s %s" % (dtype, shape_text(impl["shape"]), values_text(impl, dtype))
        except (gdb.error, KeyError, ValueError) as error:
            return "not a tensor yet, or no longer (%s)" % error
        try:
            return text + history_text(impl)
        except gdb.error:  # tape::Node is incomplete here
            return text


class ShapePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return shape_text(self.value) if 0 <= int(self.value["rank_"]) <= 8 else "not a shape yet"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tapeformer")
    collection.add_printer("Tensor", "^tape::(Tensor|nn::Parameter|nn::Buffer)$", TensorPrinter)
    collection.add_printer("Shape", "^tape::Shape$", ShapePrinter)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
