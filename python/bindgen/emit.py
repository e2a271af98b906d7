"""Writes the C++ source of bindings for nanobind."""

import re

import clang.cindex as ci
from units import FIELD_NAMES, FLATTENED, UNSET

# Arguments of these types get another name in Python.
RENAMED = {"tape::Dims": "keepdim"}
KEYWORDS = {
    "in": "in_features",
    "out": "out_features",
    "from": "source",
    "except": "except_",
    "global": "global_",
    "is": "is_",
    "lambda": "lambda_",
    "pass": "pass_",
}


def python_name(name):
    return KEYWORDS.get(name, name.removesuffix("_"))  # "out_" for an argument that is not a layer's `out`


def doc_literal(text):
    return 'R"doc(' + text.replace(")doc", ") doc") + ')doc"'


def plain(type_):
    """The type without reference and const, spelled in full."""
    canonical = type_.get_canonical()
    if canonical.kind in (ci.TypeKind.LVALUEREFERENCE, ci.TypeKind.RVALUEREFERENCE):
        canonical = canonical.get_pointee()
    return re.sub(r"^const ", "", canonical.spelling)


class Unsupported(Exception):
    """A type that has no form in Python."""


class Emitter:
    def __init__(self, headers, bound):
        self.headers = headers
        self.bound = set(bound)  # classes that hand-written or generated code binds
        self.structures = {}  # classes bound as structures because a function returns or takes them
        self.option_classes = {}

    # --- types ---

    SIMPLE = {
        "bool", "int", "long", "unsigned long", "double", "float", "std::basic_string<char>", "std::basic_string_view<char>",
        "tape::Tensor", "tape::TensorList", "tape::Shape", "tape::Axes", "tape::Dims", "tape::Number", "tape::DType",
        "tape::Device", "std::monostate", "unsigned int", "unsigned char", "tape::SpatialSizes", "tape::ConvPadding", "tape::Mask", "tape::Generator", "tape::NamedTensor", "tape::Padding",
    }  # fmt: skip
    WRAPPERS = ("std::vector<", "std::optional<", "std::array<", "std::pair<", "std::map<", "std::variant<", "std::span<",
                "std::function<", "std::unique_ptr<", "std::shared_ptr<")  # fmt: skip

    def check(self, type_, spelled=None):
        """Throws Unsupported unless nanobind can convert the type with our casters and bound classes."""
        name = spelled or plain(type_)
        name = re.sub(r"^const ", "", name.strip()).removesuffix(" &").strip()
        if name in self.SIMPLE or name in self.bound or name in self.headers.enumerations:
            return
        if match := re.fullmatch(r"(.*) \((.*)\)", name):  # the signature of a std::function
            if "string_view" in match[1]:
                raise Unsupported(f"{name}: its result would be destroyed before C++ reads it")
            for inner in [match[1], *split_arguments(match[2])]:
                if inner and inner != "void":
                    self.check(None, inner)
            return
        for wrapper in self.WRAPPERS:
            if name.startswith(wrapper):
                for inner in split_arguments(name[len(wrapper) : name.rindex(">")]):
                    if (
                        not re.fullmatch(r"\d+", inner)
                        and "std::allocator" not in inner
                        and "std::less" not in inner
                        and "std::default_delete" not in inner
                    ):
                        self.check(None, inner)
                return
        if self.is_options(name) or self.is_structure(name):
            table = self.option_classes if self.is_options(name) else self.structures
            if name not in table:
                for field in self.headers.classes[name].fields:
                    if plain(field.type).startswith("std::unique_ptr<"):
                        raise Unsupported(f"{name}: its {field.name} cannot be copied")
                    self.check(field.type)
                table[name] = self.headers.classes[name]
            return
        raise Unsupported(name)

    def is_options(self, name):
        found = self.headers.classes.get(name)
        return (
            bool(found)
            and name not in self.bound
            and name.endswith(
                (
                    "Options",
                    "Config",
                    "Sizes",
                    "Settings",
                    "Window",
                    "Scaling",
                    "Frequencies",
                    "Group",
                    "Training",
                    "Languages",
                )
            )
            and bool(found.fields)
        )

    def is_structure(self, name):
        """A plain structure of results."""
        found = self.headers.classes.get(name)
        return (
            bool(found) and name not in self.bound and bool(found.fields) and not found.constructors and not found.bases
        )

    # --- functions ---

    def arguments(self, function):
        """For each Python argument (declaration, nb::arg text), the expressions that C++ receives, statements before the
        call, and lines of documentation."""
        declared, described, passed, before, documented = [], [], [], [], []
        keyword_only = False

        def add(type_text, name, default, documentation=""):
            declared.append(f"{type_text} {name}")
            text = f'nb::arg("{python_name(name)}")'
            if default is not None:
                text += f" = {default}"
            if accepts_none(type_text):
                text = text.replace('")', '").none()', 1)
            described.append(text)
            if documentation:
                documented.append(f"    {python_name(name)}: {documentation}")

        for parameter in function.parameters:
            name, type_ = parameter.name or "value", parameter.type
            spelled = plain(type_)
            if spelled == "tape::TensorOptions":
                before.append(f"const tape::TensorOptions {name} = tensor_options(dtype, device);")
                if not keyword_only:
                    described.append("nb::kw_only()")
                    keyword_only = True
                # Where no dtype is given, the operation's own default counts.
                default = parameter.default or "{}"
                if re.search(r"[a-z]\d\d", default):
                    before[-1] = (
                        f"const tape::TensorOptions {name} = tensor_options(dtype ? *dtype : tape::DType::{re.search(r'[a-z]+[0-9]+', default)[0]}, device);"
                    )
                add("std::optional<tape::DType>", "dtype", "nb::none()")
                add("const std::optional<std::string>&", "device", "nb::none()")
                add("bool", "requires_grad", "false", "whether gradients flow to the new tensor")
                passed.append(name)
            elif spelled in ("std::basic_ostream<char>", "tape::TerminalInfo"):
                continue  # run_task() of bindings/training.h passes them
            elif self.is_options(spelled) and not self.headers.classes[spelled].is_abstract:
                if not keyword_only and self.headers.classes[spelled].fields:
                    described.append("nb::kw_only()")
                    keyword_only = True
                before.append(f"{spelled} {name};")
                self.option_arguments(spelled, name, f"{spelled}{{}}", declared, before, add)
                passed.append(name)
            elif spelled == "tape::Generator":
                if parameter.default:
                    add("tape::Generator*", name, "nb::none()")
                    passed.append(f"{name} ? *{name} : {in_namespace(parameter.default)}")
                else:
                    add("tape::Generator&", name, None)
                    passed.append(name)
            elif spelled == "tape::Tensor" and (
                parameter.default or re.search(rf"\b{name} \[[^\]]*\] or undefined", function.comment)
            ):
                add("const std::optional<tape::Tensor>&", name, "nb::none()" if parameter.default else None)
                passed.append(f"{name} ? *{name} : tape::Tensor()")
            elif spelled == "tape::nn::Positions" and parameter.default:
                # Made for each call, since an object keeps the rotations that it was used for.
                add("const std::optional<tape::nn::Positions>&", name, "nb::none()")
                passed.append(f"{name} ? *{name} : tape::nn::Positions()")
            elif spelled == "tape::Dims":
                add("tape::Dims", "keepdim", None if parameter.default is None else in_namespace(parameter.default))
                passed.append("keepdim")
            else:
                if type_.get_canonical().kind == ci.TypeKind.POINTER:
                    raise Unsupported(type_.spelling)
                self.check(type_)
                if (
                    spelled not in self.bound
                    and type_.get_canonical().kind == ci.TypeKind.LVALUEREFERENCE
                    and not is_const(type_)
                ):
                    raise Unsupported(f"{type_.spelling}: what C++ writes to it would be lost")
                by_reference = spelled in self.bound or spelled in self.structures or spelled in self.option_classes
                text = (
                    f"{spelled}&"
                    if by_reference and not is_const(type_)
                    else spelled
                    if not by_reference
                    else f"const {spelled}&"
                )
                if spelled == "tape::TensorList":
                    text = "const tape::Tensors&"
                if spelled.startswith("std::span<"):
                    inner = re.sub(r"^const ", "", split_arguments(spelled[len("std::span<") : -1])[0])
                    text, spelled = f"const std::vector<{inner}>&", f"std::vector<{inner}>"
                default = parameter.default
                if spelled == "tape::Axes":
                    name = "axis"  # one name for one or several, as in NumPy
                if default is not None:
                    if default.replace(" ", "") in ("{}", "nullptr"):
                        default = f"{spelled}{{}}"
                    default = f"{spelled}({in_namespace(default)})" if not default.startswith(spelled) else default
                add(text, name, default)
                passed.append(name)
        return declared, described, passed, before, documented

    def option_arguments(self, type_name, value, defaults, declared, before, add, prefix="", chain=None):
        """Adds an argument per field of options, and the statements that set them in `value`, which `defaults` initializes."""
        for field in self.headers.classes[type_name].fields:
            spelled, qualified = plain(field.type), f"{type_name}::{field.name}"
            place = f"{chain or type_name}::{field.name}"
            if place in UNSET or qualified in UNSET:
                continue
            if qualified in FLATTENED:
                inner = prefix + FLATTENED[qualified]
                if match := re.fullmatch(r"std::optional<(.*)>", spelled):
                    before.append(f"{match[1]} {field.name}_options;")
                    self.option_arguments(
                        match[1], f"{field.name}_options", f"{match[1]}{{}}", declared, before, add, inner, place
                    )
                    before.append(f"set_if_given({value}.{field.name}, std::move({field.name}_options));")
                else:
                    self.option_arguments(
                        spelled,
                        f"{value}.{field.name}",
                        f"{defaults}.{field.name}",
                        declared,
                        before,
                        add,
                        inner,
                        place,
                    )
                continue
            name = prefix + FIELD_NAMES.get(qualified, field.name)
            if any(other.endswith(f" {name}") for other in declared):  # linear_cross_entropy(x, weight, ..., {.weight})
                before.append(f"{value}.{field.name} = class_{name}.value_or(tape::Tensor());")
                add("const std::optional<tape::Tensor>&", f"class_{name}", "nb::none()", field.comment)
                continue
            default = f"{defaults}.{field.name}"
            if spelled == "tape::Tensor":
                add("std::optional<tape::Tensor>", name, "nb::none()", field.comment)
                before.append(f"{value}.{field.name} = {name}.value_or(tape::Tensor());")
                continue
            self.check(field.type)
            if spelled == "tape::Dims":
                add("tape::Dims", "keepdim", "tape::Dims::drop", "whether reduced axes stay, with size 1")
                before.append(f"{value}.{field.name} = keepdim;")
                continue
            if spelled.startswith("std::function<"):
                add(f"std::optional<{spelled}>", name, "nb::none()", field.comment)
                before.append(f"if ({name}) {value}.{field.name} = *{name};")
                continue
            add(spelled, name, default, field.comment)
            before.append(f"{value}.{field.name} = std::move({name});")

    def task(self, function):
        """The text for def() of a function train_*() or examine_*()."""
        declared, described, passed, before, documented = self.arguments(function)
        declared.append("const std::optional<std::string>& device")
        described.append('nb::arg("device").none() = nb::none()')
        documented.append("    device: where to train: 'cpu', 'cuda' or 'cuda:1'; default: default_device()")
        body = " ".join([*before, f"return run_task({function.qualified}, {passed[0]}, device);"])
        doc = function.comment + "\n\nOptions:\n" + "\n".join(documented)
        return ", ".join([f"[]({', '.join(declared)}) {{ {body} }}", *described, "release", doc_literal(doc)])

    def callable(self, function, call, self_type=None):
        """The text of `lambda, arguments..., doc` for def()."""
        declared, described, passed, before, documented = self.arguments(function)
        result = function.result
        returns = ""
        policy = []
        if call != "construct":
            spelled = plain(result)
            if spelled != "void":
                canonical = result.get_canonical()
                target = (
                    canonical.get_pointee()
                    if canonical.kind in (ci.TypeKind.POINTER, ci.TypeKind.LVALUEREFERENCE)
                    else canonical
                )
                name = re.sub(r"^const ", "", target.spelling)
                self.check(None, name)
                if canonical.kind == ci.TypeKind.POINTER or (
                    canonical.kind == ci.TypeKind.LVALUEREFERENCE and name in self.bound and name != "tape::Tensor"
                ):
                    returns = " -> decltype(auto)"
                    policy = ["nb::rv_policy::reference_internal"] if self_type else ["nb::rv_policy::reference"]
        if self_type:
            declared = [f"{self_type} self", *declared]
        if call == "construct":
            target = self_type.removesuffix("*")
            statement = f"new (self) {target}({', '.join(passed)});"
        else:
            made = f"{call}({', '.join(passed)})"
            if "bool requires_grad" in declared:
                made = f"leaf({made}, requires_grad)"
            statement = f"return {made};"
        body = " ".join([*before, statement])
        doc = function.comment
        if documented:
            doc += "\n\nOptions:\n" + "\n".join(documented)
        release = [] if call == "construct" else ["release"]
        lambda_ = f"[]({', '.join(declared)}){returns} {{ {body} }}"
        return ", ".join([lambda_, *described, *policy, *release, doc_literal(doc)])

    # --- classes ---

    def structure(self, found, module):
        """A structure of results: its fields, by name or unpacked."""
        lines = [f'  structure<{found.qualified}>({module}, "{found.name}", {doc_literal(found.comment)}']
        for field in found.fields:
            self.check(field.type)
            lines.append(
                f'      , "{python_name(field.name)}", &{found.qualified}::{field.name}, {doc_literal(field.comment)}'
            )
        return "\n".join(lines) + ");\n"

    def options_class(self, found, module):
        """Options that are a value of their own because other options contain them: keyword arguments and fields."""
        lines = [f'  nb::class_<{found.qualified}>({module}, "{found.name}", {doc_literal(found.comment)})']
        declared, described, before = [], [], []

        def add(type_text, name, default, documentation=""):
            declared.append(f"{type_text} {name}")
            none = ".none()" if accepts_none(type_text) else ""
            described.append(f'nb::arg("{python_name(name)}"){none} = {default}')

        self.option_arguments(found.qualified, "(*self)", f"{found.qualified}{{}}", declared, before, add)
        lines.append(
            f'      .def("__init__", []({found.qualified}* self, {", ".join(declared)}) {{ new (self) {found.qualified}(); {" ".join(before)} }}, '
            f"nb::kw_only(), {', '.join(described)})"
        )
        for field in found.fields:
            lines.append(
                f'      .def_rw("{python_name(field.name)}", &{found.qualified}::{field.name}, {doc_literal(field.comment)})'
            )
        return "\n".join(lines) + ";\n"

    def class_(self, found, module, base, on_skip, skip=()):
        lines = [f'  nb::class_<{found.qualified}, {base}>({module}, "{found.name}", {doc_literal(found.comment)})']
        if not found.constructors and not found.is_abstract:
            lines.append(f"      .def(DefaultConstructor<{found.qualified}>())")
        for constructor in [] if found.is_abstract else found.constructors:
            try:
                text = self.callable(constructor, "construct", f"{found.qualified}*")
                if base == "tape::optim::Schedule":
                    text += ", nb::keep_alive<1, 2>()"
                lines.append(f'      .def("__init__", {text})')
            except Unsupported as missing:
                on_skip(f"{found.qualified}::{found.name}", str(missing))
        for method in found.methods:
            if method.name in ("settings", *skip):
                continue
            try:
                if method.is_static:
                    text = self.callable(method, f"{found.qualified}::{method.name}")
                    lines.append(f'      .def_static("{python_name(method.name)}", {text})')
                    continue
                text = self.callable(method, f"self.{method.name}", f"{found.qualified}&")
                lines.append(f'      .def("{python_name(method.name)}", {text})')
            except Unsupported as missing:
                on_skip(f"{found.qualified}::{method.name}", str(missing))
        for field in found.fields:
            name = plain(field.type)
            if name in ("bool", "double", "long"):
                lines.append(
                    f'      .def_rw("{python_name(field.name)}", &{found.qualified}::{field.name}, {doc_literal(field.comment)})'
                )
        return "\n".join(lines) + ";\n"


def accepts_none(type_text):
    return (
        "std::optional" in type_text
        or "std::monostate" in type_text
        or type_text.endswith(("*", "tape::Axes", "tape::SpatialSizes"))
    )


def is_const(type_):
    canonical = type_.get_canonical()
    pointee = canonical.get_pointee() if canonical.kind == ci.TypeKind.LVALUEREFERENCE else canonical
    return pointee.is_const_qualified()


def in_namespace(expression):
    """A default value, whose names are looked up in namespace tape."""
    return re.sub(r"\s+", " ", expression)


def split_arguments(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "<(["
        depth -= c in ">)]"
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]
