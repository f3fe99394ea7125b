meta:
  id: odd_big
  endian: be
  bit-endian: be
  ks-version: '0.10'
seq:
  - id: content
    type: odd_big_records
types:
  odd_big_records:
    seq:
      - id: records
        type: odd_big_record
        repeat: eos
  odd_pairs:
    seq:
      - id: a
        type: u1
      - id: b
        type: u2be
  odd:
    seq:
      - size: 0
        if: record_start >= 0
      - id: kind
        type: b3
      - id: delta_bits
        type: b5
      - id: flag
        type: b1
      - id: mode
        type: b2
        enum: odd_mode
      - id: rest
        type: b13
      - id: mark
        type: u1
        valid: 90
      - id: port
        type: u2be
      - id: wide_bits
        type: b24
      - id: tag
        size: 2
      - id: balance
        type: seven_bit_number
      - id: zig
        type: seven_bit_number
      - id: count
        type: seven_bit_number
      - id: values
        type: s2be
        repeat: expr
        repeat-expr: '((count.bits * 2) - ((kind == 2) ? 1 : 0))'
      - id: text
        terminator: 0
      - id: extra
        type: u4be
        if: '((flag ? 1 : 0) == 1)'
      - size: '(4 - (_io.pos - record_start) % 4) % 4'
      - id: pairs
        type: odd_pairs
        repeat: expr
        repeat-expr: 'count.bits'
      - id: ratio
        type: f4be
        if: '((kind > 3) and (not flag))'
    instances:
      delta:
        value: '((delta_bits ^ 16) - 16)'
      wide:
        value: '((wide_bits ^ 8388608) - 8388608)'
      record_start:
        value: _io.pos
  odd_big_record:
    seq:
      - id: is_known
        size: 0
        if: kind < 0
        valid:
          expr: kind >= 0
      - id: body
        type:
          switch-on: kind
          cases:
            0: odd
    instances:
      kind:
        value: '(true ? 0 : -1)'
  seven_bit_number:
    seq:
      - id: groups
        type: seven_bit_group
        repeat: until
        repeat-until: not _.more
    instances:
      bits:
        value: >-
          groups[0].digits
          + (groups.size > 1 ? groups[1].digits << 7 : 0) + (groups.size > 2 ? groups[2].digits << 14 : 0)
          + (groups.size > 3 ? groups[3].digits << 21 : 0) + (groups.size > 4 ? groups[4].digits << 28 : 0)
          + (groups.size > 5 ? groups[5].digits << 35 : 0) + (groups.size > 6 ? groups[6].digits << 42 : 0)
          + (groups.size > 7 ? groups[7].digits << 49 : 0) + (groups.size > 8 ? groups[8].digits << 56 : 0)
          + (groups.size > 9 ? (groups[9].digits & 1) << 63 : 0)
      sign:
        value: 'groups.size < 10 ? 1 << (groups.size * 7 - 1) : 1 << 63'
      signed_bits:
        value: '(bits ^ sign) - sign'
      zigzag:
        value: '(bits & 1) == 0 ? bits >> 1 : -(bits >> 1) - 1'
  seven_bit_group:
    seq:
      - id: more
        type: b1be
      - id: digits
        type: b7be
enums:
  odd_mode:
    0: enter
    1: exit
    2: tail_exit
    3: enter_args
