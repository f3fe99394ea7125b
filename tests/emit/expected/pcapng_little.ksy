meta:
  id: pcapng_little
  endian: le
  bit-endian: le
  ks-version: '0.10'
seq:
  - id: content
    type: pcapng_little_records
types:
  pcapng_little_records:
    seq:
      - id: records
        type: pcapng_little_record
        repeat: eos
  options_records:
    seq:
      - id: records
        type: options_record
        if: not _io.eof
        repeat: until
        repeat-until: '_io.eof or _.kind == 0'
  end_of_options:
    seq:
      - size: 0
        if: record_start >= 0
      - id: code
        type: u2le
      - id: length
        type: u2le
      - id: value
        size: 'length'
      - size: '(4 - (_io.pos - record_start) % 4) % 4'
    instances:
      record_start:
        value: _io.pos
  option:
    seq:
      - size: 0
        if: record_start >= 0
      - id: code
        type: u2le
      - id: length
        type: u2le
      - id: value
        size: 'length'
      - size: '(4 - (_io.pos - record_start) % 4) % 4'
    instances:
      record_start:
        value: _io.pos
  options_record:
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
            0: end_of_options
            1: option
    instances:
      record_start:
        value: _io.pos
      ahead_0_u2le:
        pos: _io.pos + 0
        type: u2le
      kind:
        value: '((_io.size - record_start >= 2 and (ahead_0_u2le == 0)) ? 0 : (true ? 1 : -1))'
  section_header:
    seq:
      - id: body
        size: 'ahead_4_u4le'
        type: section_header_body
    instances:
      ahead_4_u4le:
        pos: _io.pos + 4
        type: u4le
  section_header_body:
    seq:
      - id: type
        type: u4le
      - id: total_length
        type: u4le
      - id: byte_order_magic
        type: u4le
        valid: 439041101
      - id: major_version
        type: u2le
        valid: 1
      - id: minor_version
        type: u2le
      - id: section_length
        type: s8le
      - id: options
        size: _io.size - _io.pos - 4
        type: options_records
      - id: total_length_again
        type: u4le
        valid:
          expr: '_ == total_length'
  interface_description:
    seq:
      - id: body
        size: 'ahead_4_u4le'
        type: interface_description_body
    instances:
      ahead_4_u4le:
        pos: _io.pos + 4
        type: u4le
  interface_description_body:
    seq:
      - id: type
        type: u4le
      - id: total_length
        type: u4le
      - id: link_type
        type: u2le
      - type: u2le
      - id: snap_length
        type: u4le
      - id: options
        size: _io.size - _io.pos - 4
        type: options_records
      - id: total_length_again
        type: u4le
        valid:
          expr: '_ == total_length'
  enhanced_packet:
    seq:
      - id: body
        size: 'ahead_4_u4le'
        type: enhanced_packet_body
    instances:
      ahead_4_u4le:
        pos: _io.pos + 4
        type: u4le
  enhanced_packet_body:
    seq:
      - id: type
        type: u4le
      - id: total_length
        type: u4le
      - id: interface
        type: u4le
      - id: time_high
        type: u4le
      - id: time_low
        type: u4le
      - id: captured_length
        type: u4le
      - id: original_length
        type: u4le
      - id: data
        size: 'captured_length'
      - size: '(4 - _io.pos % 4) % 4'
      - id: options
        size: _io.size - _io.pos - 4
        type: options_records
      - id: total_length_again
        type: u4le
        valid:
          expr: '_ == total_length'
  simple_packet:
    seq:
      - id: body
        size: 'ahead_4_u4le'
        type: simple_packet_body
    instances:
      ahead_4_u4le:
        pos: _io.pos + 4
        type: u4le
  simple_packet_body:
    seq:
      - id: type
        type: u4le
      - id: total_length
        type: u4le
      - id: original_length
        type: u4le
      - id: data
        size: _io.size - _io.pos - 4
      - id: total_length_again
        type: u4le
        valid:
          expr: '_ == total_length'
  block:
    seq:
      - id: body
        size: 'ahead_4_u4le'
        type: block_body
    instances:
      ahead_4_u4le:
        pos: _io.pos + 4
        type: u4le
  block_body:
    seq:
      - id: type
        type: u4le
      - id: total_length
        type: u4le
      - id: body
        size: _io.size - _io.pos - 4
      - id: total_length_again
        type: u4le
        valid:
          expr: '_ == total_length'
  pcapng_little_record:
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
            0: section_header
            1: interface_description
            2: enhanced_packet
            3: simple_packet
            4: block
    instances:
      record_start:
        value: _io.pos
      ahead_0_u4le:
        pos: _io.pos + 0
        type: u4le
      kind:
        value: '((_io.size - record_start >= 4 and (ahead_0_u4le == 168627466)) ? 0 : ((_io.size - record_start >= 4 and (ahead_0_u4le == 1)) ? 1 : ((_io.size - record_start >= 4 and (ahead_0_u4le == 6)) ? 2 : ((_io.size - record_start >= 4 and (ahead_0_u4le == 3)) ? 3 : (true ? 4 : -1)))))'
