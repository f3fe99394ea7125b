meta:
  id: protobuf
  endian: le
  bit-endian: le
  ks-version: '0.10'
seq:
  - id: content
    type: protobuf_records
types:
  protobuf_records:
    seq:
      - id: records
        type: protobuf_record
        repeat: eos
  varint:
    seq:
      - id: tag
        type: seven_bit_number
      - id: value
        type: seven_bit_number
  fixed64:
    seq:
      - id: tag
        type: seven_bit_number
      - id: value
        type: u8le
  bytes:
    seq:
      - id: tag
        type: seven_bit_number
      - id: length
        type: seven_bit_number
      - id: data
        size: 'length.bits'
  group:
    seq:
      - id: tag
        type: seven_bit_number
  end_of_group:
    seq:
      - id: tag
        type: seven_bit_number
  fixed32:
    seq:
      - id: tag
        type: seven_bit_number
      - id: value
        type: u4le
  protobuf_record:
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
            0: varint
            1: fixed64
            2: bytes
            3: group
            4: end_of_group
            5: fixed32
    instances:
      first_byte:
        pos: _io.pos
        type: u1
      kind:
        value: '(((first_byte & 7) == 0) ? 0 : (((first_byte & 7) == 1) ? 1 : (((first_byte & 7) == 2) ? 2 : (((first_byte & 7) == 3) ? 3 : (((first_byte & 7) == 4) ? 4 : (((first_byte & 7) == 5) ? 5 : -1))))))'
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
