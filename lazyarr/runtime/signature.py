"""The parameters of the kernels in CUDA C source, as far as text shows them.

Owns ``Parameter`` and ``parameters_of``: what a launch checks its arguments against. Macros are not
expanded and headers not read; where the text leaves a doubt there is no signature, and no check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .names import _after_parentheses

_NOISE = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_NAME_AND_PARENTHESIS = re.compile(r"([A-Za-z_]\w*)\s*\(|[;{]")
_ATTRIBUTE = re.compile(
    r"\b__(?:launch_bounds|cluster_dims|block_size|maxnreg|attribute|align)__\s*\("
)
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|register|struct|class|enum|typename|__restrict__|__restrict|restrict|"
    r"__grid_constant__|__device__)\b"
)
_TYPEDEF = re.compile(r"\btypedef\s+([^;{}]+?)\b(\w+)\s*;")
_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([^;{}]+);")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([A-Za-z_][\w \t]*[*]?)[ \t]*$", re.M)

# Kind and bytes by the type's words, sorted, without "int" beside another word.
_BUILTIN: dict[str, str] = {
    "bool": "b1",
    "char": "?1",  # signed or not: the machine decides
    "char signed": "i1",
    "char unsigned": "u1",
    "short": "i2",
    "short unsigned": "u2",
    "int": "i4",
    "signed": "i4",
    "unsigned": "u4",
    "long": "i8",
    "long unsigned": "u8",
    "long long": "i8",
    "long long unsigned": "u8",
    "float": "f4",
    "double": "f8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    "intptr_t": "i8",
    "uintptr_t": "u8",
    "__half": "f2",
    "half": "f2",
    "cudaTextureObject_t": "u8",
    "cudaSurfaceObject_t": "u8",
    **{f"{'u' * (k == 'u')}int{8 * n}_t": f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)},
}
# Alignment of CUDA's vector types, which may be larger than that of their parts.
_VECTOR = re.compile(r"u?(char|short|int|long|longlong|float|double)([1-4])")
_SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "longlong": 8, "float": 4, "double": 8}


class Parameter(NamedTuple):
    """One parameter. ``code`` is kind and bytes (``"f4"``) of it or of what it points to.

    ``code`` is "" where that is no builtin type (a struct, ``void``, an unknown name).
    """

    text: str
    name: str
    pointer: bool
    code: str
    alignment: int  # 0: unknown


def parameters_of(source: str, kernel: str) -> tuple[Parameter, ...] | None:
    """Return a kernel's parameters, or None where the source does not show them for certain."""
    if re.search(r"\b__global__\b", source) is None:
        return None
    text = _NOISE.sub(" ", source)
    aliases = _aliases(text)
    found = {
        tuple(_parameter(part, number, aliases) for number, part in enumerate(_split(inside)))
        for inside in _parameter_lists(text, kernel)
    }
    if len({tuple(p[2:] for p in one) for one in found}) != 1:
        return None  # none, or variants that the preprocessor chooses from
    # A declaration may leave out names that the definition has.
    result = max(found, key=lambda one: sum(not p.name.isdigit() for p in one))
    return None if any("..." in p.text for p in result) else result


def _parameter_lists(text: str, kernel: str) -> Iterator[str]:
    for start in re.finditer(r"\b__global__\b", text):
        position = start.end()
        while found := _NAME_AND_PARENTHESIS.search(text, position):
            if not found.group(1):
                break
            end = _after_parentheses(text, found.end())
            if found.group(1) == kernel:
                yield text[found.end() : end - 1]
                break
            if _ATTRIBUTE.match(text, found.start()) is None:
                break
            position = end


def _split(inside: str) -> list[str]:
    """Split at the commas that no bracket encloses."""
    parts = [""]
    depth = 0
    for letter in inside:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [" ".join(part.split()) for part in parts]
    return [] if parts in ([""], ["void"]) else parts


def _aliases(text: str) -> dict[str, str]:
    found = {name: target for target, name in _TYPEDEF.findall(text)}
    found.update(_USING.findall(text))
    found.update(_DEFINE.findall(text))
    return found


def _parameter(text: str, number: int, aliases: dict[str, str]) -> Parameter:
    declared = _ATTRIBUTE.sub("(", text.split("=")[0])
    declared = re.sub(r"\([^()]*\)", " ", declared)
    plain = _QUALIFIERS.sub(" ", declared)
    pointer = plain.count("*") + plain.count("[")
    words = re.sub(r"\[[^\]]*\]|[*&]", " ", plain).split()
    name = str(number)
    if len(words) > 1 and words[-1] not in _WORDS:
        name = words.pop()
    for _ in range(8):
        target = aliases.get(words[0]) if len(words) == 1 else None
        if target is None:
            break
        target = _QUALIFIERS.sub(" ", target)
        pointer += target.count("*")
        words = target.replace("*", " ").split()
    key = _spelling(words)
    code = _BUILTIN.get(key, "") if pointer < 2 else ""
    alignment = int(code[1:]) if code else _vector_alignment(key)
    return Parameter(text, name, pointer > 0, code, 8 if pointer else alignment)


_WORDS = frozenset(word for key in _BUILTIN for word in key.split()) | {"void"}


def _spelling(words: list[str]) -> str:
    bare = [word.removeprefix("::").removeprefix("std::") for word in words]
    if "int" in bare and len(bare) > 1:
        bare.remove("int")
    if "signed" in bare and len(bare) > 1 and "char" not in bare:
        bare.remove("signed")
    return " ".join(sorted(bare))


def _vector_alignment(key: str) -> int:
    found = _VECTOR.fullmatch(key)
    if found is None:
        return 0
    size = _SIZES[found.group(1)]
    lanes = int(found.group(2))
    return size * {1: 1, 2: 2, 3: 1, 4: 4}[lanes] if size * lanes <= 16 or lanes == 3 else 16
