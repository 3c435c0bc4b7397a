"""Reads which objects a shared library holds, and which of its bytes may be written.

Owns ``Layout`` and ``read_layout``. Imports nothing of lazyarr. Only what the simulator needs of
the 64-bit little-endian ELF format.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_LOAD, _RELRO = 1, 0x6474E552
_WRITABLE = 2
_SYMBOL_TABLE = 2
_OBJECT = 1
_LOCAL_NAME = re.compile(r"E(?=(\d+))")


class Object(NamedTuple):
    """One variable of the library; the address is relative to where it is loaded."""

    name: str
    address: int
    nbytes: int
    writable: bool


class Layout(NamedTuple):
    """The variables, the read-only spans (address, bytes), and one symbol's address."""

    objects: list[Object]
    constant: list[tuple[int, int]]
    anchor: int


def read_layout(binary: bytes, anchor: str) -> Layout:
    """Return the layout of a shared library; ``anchor`` names a symbol to find the address of."""
    header = _HEADER.unpack_from(binary)
    segments = [_SEGMENT.unpack_from(binary, header[5] + i * header[9]) for i in range(header[10])]
    sections = [_SECTION.unpack_from(binary, header[6] + i * header[11]) for i in range(header[12])]
    constant = [(s[3], s[6]) for s in segments if s[0] == _LOAD and not s[1] & _WRITABLE]
    constant += [(s[3], s[6]) for s in segments if s[0] == _RELRO]
    objects = []
    found = 0
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        names = sections[section[6]][4]
        table = binary[section[4] : section[4] + section[5]]
        for name_at, info, _, home, address, nbytes in _SYMBOL.iter_unpack(table):
            start = names + name_at
            name = binary[start : binary.index(0, start)].decode()
            if name == anchor:
                found = address
            elif info & 15 == _OBJECT and nbytes and 0 < home < 0xFF00:
                writable = not any(at <= address < at + size for at, size in constant)
                objects.append(Object(name, address, nbytes, writable))
    return Layout(objects, constant, found)


def plain_name(symbol: str) -> str:
    """Return the variable's name as the source spells it, for the common manglings."""
    if symbol.startswith("_ZL"):
        digits = re.match(r"\d+", symbol[3:])
        if digits:
            start = 3 + digits.end()
            return symbol[start : start + int(digits.group())]
    if symbol.startswith("_ZZ"):
        for found in _LOCAL_NAME.finditer(symbol):
            length = found.group(1)
            start = found.end() + len(length)
            name = symbol[start : start + int(length)]
            if re.fullmatch(r"(?:_\d+_?)?", symbol[start + int(length) :]):
                return name
    # g++ calls a constant it moved out of a function "name.0", clang++ a static "function.name".
    first, _, last = symbol.rpartition(".")
    return first if last.isdigit() else last
