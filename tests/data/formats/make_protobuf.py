#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes message.pb: fields of every kind, nested messages, text that is none, a group, numbers of every length."""
import struct
import sys


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, kind, data):
    return varint(number << 3 | kind) + data


def text(number, data):
    return field(number, 2, varint(len(data)) + data)


out = b""
for shift in range(0, 64, 7):
    out += field(1, 0, varint(1 << shift)) + field(2, 0, varint((1 << shift) - 1))
out += field(3, 0, varint(-1)) + field(4, 0, varint((25 << 1) ^ -1))
out += field(5, 1, struct.pack("<d", 1.5)) + field(6, 5, struct.pack("<f", -2.25))
out += text(7, b"plain text, \"quoted\" \\ and\nlines") + text(8, bytes(range(0, 256, 5))) + text(9, b"")
inner = field(1, 0, varint(150)) + text(2, b"\x08\x96\x01") + text(3, "größer".encode())
for depth in range(14):
    inner = text(4, inner) + field(5, 0, varint(depth))
out += text(10, inner)
out += field(11, 3, b"") + field(1, 0, varint(7)) + field(12, 3, b"") + text(1, b"deep\xff") + field(12, 4, b"") + field(11, 4, b"")
out += field(536870911, 0, varint(1)) + text(13, b"\x80\x80\x00 padded") + field(14, 0, b"\x81\x80\x00")
open(sys.argv[1] + "/message.pb", "wb").write(out)
