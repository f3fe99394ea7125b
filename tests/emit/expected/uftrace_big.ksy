meta:
  id: uftrace_big
  endian: be
  bit-endian: be
  ks-version: '0.10'
seq:
  - id: content
    type: uftrace_big_records
types:
  uftrace_big_records:
    seq:
      - id: records
        type: uftrace_big_record
        repeat: eos
  entry:
    seq:
      - id: time
        type: u8be
      - id: address
        type: b48
      - id: depth
        type: b10
      - id: magic
        type: b3
      - id: more
        type: b1
      - id: type
        type: b2
        enum: entry_type
  function:
    seq:
      - id: time
        type: u8be
      - id: address
        type: b48
      - id: depth
        type: b10
      - id: magic
        type: b3
      - id: more
        type: b1
      - id: type
        type: b2
        enum: function_type
  uftrace_big_record:
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
            0: entry
            1: function
    instances:
      record_start:
        value: _io.pos
      ahead_15_u1:
        pos: _io.pos + 15
        type: u1
      kind:
        value: '((_io.size - record_start >= 16 and (((ahead_15_u1 >> 0) & 3) == 0)) ? 0 : (true ? 1 : -1))'
enums:
  entry_type:
    0: entry
    1: exit
    2: lost
    3: event
  function_type:
    0: entry
    1: exit
    2: lost
    3: event
