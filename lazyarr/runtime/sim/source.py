"""What must be known of, and changed in, CUDA C before a C++ compiler can take it.

Owns ``Prepared`` and ``prepare``: text in, text out, line numbers kept. Imports ``headers``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..headers import HEADERS, MATH_FUNCTIONS

_NOISE = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_ATTRIBUTES = frozenset(
    {
        "__launch_bounds__",
        "__cluster_dims__",
        "__block_size__",
        "__maxnreg__",
        "__attribute__",
        "__align__",
    }
)
_WORD = re.compile(r"[A-Za-z_]\w*|[{}();<>]")
_PREPROCESSOR = re.compile(r"^[ \t]*#[^\n]*(?:(?<=\\)\n[^\n]*)*", re.MULTILINE)
_CONDITIONAL = re.compile(
    r"^[ \t]*#[ \t]*(?:if|define[^\n]*(?:\\\n[^\n]*)*__global__)", re.MULTILINE
)
_ALIGNMENT = r"(?:(?:__align__|alignas)\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\))"
_DYNAMIC = re.compile(
    r"\b(?:extern\s+__shared__|__shared__\s+extern|extern\s+" + _ALIGNMENT + r"\s*__shared__)\s*"
    r"(?:" + _ALIGNMENT + r"\s*)*([^;()=\[\]]+?)\b(\w+)\s*\[\s*\]\s*(?:" + _ALIGNMENT + r"\s*)*;"
)
_STATIC = re.compile(r"\b__shared__\b([^;{}]*);")
_DECLARED = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?=,|$|=)")
_INCLUDE = re.compile(r"^([ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"])[^\n]*", re.MULTILINE)

_INTEGERS = {
    "int8_t": "signed char", "uint8_t": "unsigned char",
    "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int",
    "int64_t": "long", "uint64_t": "unsigned long",
    "intptr_t": "long", "uintptr_t": "unsigned long",
    "intmax_t": "long", "uintmax_t": "unsigned long",
}  # fmt: skip


def _std(names: Iterable[str]) -> str:
    return "namespace std { " + " ".join(f"using ::{name};" for name in names) + " }"


_INTEGER_TYPES = " ".join(f"typedef {meaning} {name};" for name, meaning in _INTEGERS.items())
# What these headers declare comes with the simulator's own: the line is left out, or replaced by
# one with the rest.
_KNOWN_HEADERS = {
    **dict.fromkeys(HEADERS, ""),
    "stdint.h": _INTEGER_TYPES,
    "cstdint": f"{_INTEGER_TYPES} {_std(_INTEGERS)}",
    "cmath": _std(MATH_FUNCTIONS),
    "cstddef": _std(["size_t", "ptrdiff_t"]),
    "cstdio": _std(["printf"]),
    "cstdlib": _std(["abs", "size_t"]),
    "cstring": _std(["__sim_memcpy", "__sim_memset", "size_t"]),
}
# These the compiler has itself.
for _name in ("float.h", "cfloat", "limits.h", "climits"):
    del _KNOWN_HEADERS[_name]


class Prepared(NamedTuple):
    """Source ready for the C++ compiler, and what a scan of it found."""

    text: str
    shared: frozenset[str]  # names of static shared variables
    needs_preprocessing: bool  # conditionals or macros decide which kernels there are


def blank(source: str) -> str:
    """Return ``source`` with comments, strings and characters as blanks of the same length."""
    return _NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def prepare(source: str) -> Prepared:
    """Return what the C++ compiler is to be given for ``source``."""
    text = _replace_includes(source)
    plain = blank(text)
    pieces = []
    position = 0
    for found in _DYNAMIC.finditer(plain):
        kind, name = found.group(1).strip(), found.group(2)
        lines = "\n" * found.group().count("\n")
        pieces.append(text[position : found.start()])
        pieces.append(f"{kind}* const {name} = ({kind}*)__sim_dynamic;{lines}")
        position = found.end()
    pieces.append(text[position:])
    shared = set()
    for found in _STATIC.finditer(_DYNAMIC.sub(";", plain)):
        shared.update(_DECLARED.findall(found.group(1).strip()))
    return Prepared("".join(pieces), frozenset(shared), bool(_CONDITIONAL.search(plain)))


def _replace_includes(source: str) -> str:
    def replace(found: re.Match[str]) -> str:
        text = _KNOWN_HEADERS.get(found.group(2))
        return found.group() if text is None else text

    return _INCLUDE.sub(replace, source) if "include" in source else source


def kernels(source: str) -> dict[str, str]:
    """Return the ``__global__`` functions: name to qualified name. Templates are left out.

    A template has no name that a launch could use; macros must have been expanded.
    """
    plain = _PREPROCESSOR.sub("", blank(source))
    found: dict[str, str] = {}
    scopes: list[str] = []  # one entry an open brace: the namespace's name, or ""
    tokens = [match.group() for match in _WORD.finditer(plain)]
    template = False
    for index, token in enumerate(tokens):
        if token == "{":
            scopes.append(_namespace(tokens, index))
            template = False
        elif token == "}":
            template = False
            if scopes:
                scopes.pop()
        elif token == ";":
            template = False
        elif token == "template":
            template = True
        elif token == "__global__" and not template:
            name = _declared_name(tokens, index + 1)
            if name:
                found[name] = "::".join([*filter(None, scopes), name])
    return found


def _namespace(tokens: list[str], brace: int) -> str:
    """Return the name of the namespace that this brace opens, or an empty string."""
    start = brace
    while start > 0 and tokens[start - 1] not in "{};" and tokens[start - 1] != "namespace":
        start -= 1
    opened = start > 0 and tokens[start - 1] == "namespace"
    return "::".join(tokens[start:brace]) if opened else ""


def _declared_name(tokens: list[str], position: int) -> str:
    """Return the identifier before the first parenthesis that is not an attribute's."""
    while position + 1 < len(tokens) and tokens[position] not in "{};":
        if tokens[position + 1] == "(":
            if tokens[position] not in _ATTRIBUTES:
                return tokens[position]
            depth = 0
            position += 1
            while position < len(tokens):
                depth += {"(": 1, ")": -1}.get(tokens[position], 0)
                position += 1
                if depth == 0:
                    break
        else:
            position += 1
    return ""
