#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pcapng files of this folder: sections of both byte orders, interfaces with their own clocks, options, comments,
name resolution, statistics and a simple packet."""
import struct
import sys


class Section:
    def __init__(self, order):
        self.order = order
        self.out = b""

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def option(self, code, value):
        return self.pack("HH", code, len(value)) + value + bytes(-len(value) % 4)

    def options(self, pairs):
        return b"".join(self.option(c, v) for c, v in pairs) + (self.pack("HH", 0, 0) if pairs else b"")

    def block(self, kind, body):
        body += bytes(-len(body) % 4)
        size = len(body) + 12
        self.out += self.pack("II", kind, size) + body + self.pack("I", size)

    def header(self, length=-1):
        self.block(0x0A0D0D0A, self.pack("IHHq", 0x1A2B3C4D, 1, 0, length) + self.options([(4, b"made by hand"), (1, b"a section")]))

    def interface(self, link, snap, name, resolution=None):
        pairs = [(2, name)] + ([(9, bytes([resolution]))] if resolution is not None else [])
        self.block(1, self.pack("HHI", link, 0, snap) + self.options(pairs))

    def packet(self, interface, time, data, original=None, pairs=()):
        head = self.pack("IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), original or len(data))
        self.block(6, head + data + bytes(-len(data) % 4) + self.options(list(pairs)))

    def simple(self, data):
        self.block(3, self.pack("I", len(data)) + data)


def section(order):
    s = Section(order)
    s.header()
    s.interface(1, 96, b"eth0")
    s.interface(101, 0, b"tun7", 9)
    ethernet = bytes.fromhex("0200000000010200000000020800") + bytes.fromhex("45000021000100004011669a0a0000010a000002") + struct.pack(">HHHH", 1000, 53, 13, 0) + b"hello"
    s.packet(0, 1700000000123456, ethernet)
    s.packet(1, 1700000001234567891, ethernet[14:], pairs=[(1, b"seen on the way out"), (2, s.pack("I", 2))])
    s.block(4, s.pack("HH", 1, 10) + bytes([10, 0, 0, 1]) + b"first\0" + bytes(2) + s.pack("HH", 0, 0))
    s.packet(0, 1700000002000000, ethernet[:20], original=len(ethernet), pairs=[(1, b"cut off"), (1, b"and a second comment")])
    s.simple(ethernet)
    s.block(5, s.pack("III", 0, 1700000003 * 1000000 >> 32, 1700000003 * 1000000 & 0xFFFFFFFF) + s.options([(4, s.pack("Q", 4)), (5, s.pack("Q", 1))]))
    return s.out


for name, orders in (("little", "<"), ("big", ">"), ("mixed", "<><")):
    with open(f"{sys.argv[1]}/{name}.pcapng", "wb") as file:
        file.write(b"".join(section(order) for order in orders))
