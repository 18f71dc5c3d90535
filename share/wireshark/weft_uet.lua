-- Wireshark's dissector for the packet delivery sublayer (PDS) of Ultra Ethernet, as far as weft's captures have it
-- (src/report/frames.hpp). The semantic sublayer above it is not simulated.
--   tshark -X lua_script:share/wireshark/weft_uet.lua -r capture.pcapng

local uet = Proto("uet", "Ultra Ethernet Transport (packet delivery sublayer)")

local PORT = 4793
local RUD_REQ, ACK_CC, NACK, CONTROL = 2, 8, 10, 11
local TYPES = { [RUD_REQ] = "RUD request", [ACK_CC] = "ACK with congestion control", [NACK] = "NACK", [CONTROL] = "control" }
local CODES = { [1] = "trimmed" }
local LENGTHS = { [RUD_REQ] = 12, [ACK_CC] = 32, [NACK] = 16, [CONTROL] = 12 }

local f = {
  type = ProtoField.uint8("uet.pds.type", "Type", base.DEC, TYPES),
  retransmitted = ProtoField.bool("uet.pds.retransmitted", "Sent again"),
  ack_request = ProtoField.bool("uet.pds.ack_request", "Acknowledgement requested"),
  control = ProtoField.uint8("uet.pds.control_type", "Control type", base.DEC, { [6] = "probe" }),
  marked = ProtoField.bool("uet.pds.marked", "The packet answered was marked (ECN)"),
  psn = ProtoField.uint32("uet.pds.psn", "Packet sequence number"),
  cack = ProtoField.uint32("uet.pds.cack_psn", "Cumulatively acknowledged"),
  offset = ProtoField.uint16("uet.pds.ack_psn_offset", "From there to the packet answered"),
  sack_offset = ProtoField.uint16("uet.pds.sack_psn_offset", "From there to the bitmap's first packet"),
  sack = ProtoField.uint64("uet.pds.sack_bitmap", "Arrived", base.HEX),
  code = ProtoField.uint8("uet.pds.nack_code", "Reason", base.DEC, CODES),
  nack_psn = ProtoField.uint32("uet.pds.nack_psn", "Packet that is refused"),
  spdcid = ProtoField.uint16("uet.pds.spdcid", "Source context (PDCID)"),
  dpdcid = ProtoField.uint16("uet.pds.dpdcid", "Destination context (PDCID)"),
  payload = ProtoField.uint32("uet.payload_length", "Payload length"),
}
uet.fields = f

local unknown = ProtoExpert.new("uet.unknown", "type is not known", expert.group.PROTOCOL, expert.severity.WARN)
uet.experts = { unknown }

function uet.dissector(buffer, info, tree)
  if buffer:len() < 12 then return 0 end
  local prologue = buffer(0, 2):uint()
  local type = bit.rshift(prologue, 11)
  local length = LENGTHS[type]
  info.cols.protocol = "UET"
  local root = tree:add(uet, buffer(0, math.min(buffer:len(), length or 2)))
  root:add(f.type, buffer(0, 1), type)
  if not length or buffer:len() < length then
    root:add_proto_expert_info(unknown)
    return buffer:len()
  end
  root:add(f.spdcid, buffer(8, 2))
  root:add(f.dpdcid, buffer(10, 2))
  if type == RUD_REQ or type == CONTROL then
    root:add(f.retransmitted, buffer(1, 1), bit.band(prologue, 16) ~= 0)
    root:add(f.ack_request, buffer(1, 1), bit.band(prologue, 8) ~= 0)
    if type == CONTROL then root:add(f.control, buffer(0, 2), bit.band(bit.rshift(prologue, 7), 15)) end
    root:add(f.psn, buffer(4, 4))
    root:add(f.payload, buffer:reported_len() - length):set_generated()
    info.cols.info = string.format("%s psn %u, %u bytes", type == CONTROL and "probe" or "request", buffer(4, 4):uint(), buffer:reported_len() - length)
  elseif type == NACK then
    root:add(f.code, buffer(2, 1))
    root:add(f.nack_psn, buffer(4, 4))
    info.cols.info = string.format("nack psn %u, %s", buffer(4, 4):uint(), CODES[buffer(2, 1):uint()] or "?")
  else
    root:add(f.marked, buffer(1, 1), bit.band(prologue, 32) ~= 0)
    root:add(f.offset, buffer(2, 2))
    root:add(f.cack, buffer(4, 4))
    root:add(f.sack_offset, buffer(14, 2))
    root:add(f.sack, buffer(16, 8))
    info.cols.info = string.format("ack up to psn %u", buffer(4, 4):uint())
  end
  return buffer:len()
end

DissectorTable.get("udp.port"):add(PORT, uet)
