-- Wireshark's dissector for SRD as weft puts it on the wire (src/transport/srd/codec.hpp has the table, src/net/control.hpp that of
-- the packets by which a connection is agreed on). That a job has a key is seen in its handshake: seals are shown where that was captured.
--   tshark -X lua_script:share/wireshark/weft_srd.lua -r capture.pcapng
-- or copy it to the personal Lua plugins folder (Help > About Wireshark > Folders).

local srd = Proto("srd", "Scalable Reliable Datagram (weft)")

local PORT, HEADER, VERSION = 7791, 56, 2
local CONTROL, SEAL = 64, 24
local TYPES = { [0] = "data", [1] = "ack", [2] = "raw", [16] = "hello", [17] = "retry", [18] = "accept", [19] = "refused", [20] = "ping",
  [21] = "pong", [22] = "bye", [23] = "nic", [24] = "look", [25] = "seen" }
local OPS = { [0] = "send", [1] = "write", [2] = "read", [3] = "response" }
local DATA, ACK = 0, 1
local HELLO, RETRY, ACCEPT, REFUSED, PING, PONG, BYE, NIC = 16, 17, 18, 19, 20, 21, 22, 23

local f = {
  version = ProtoField.uint8("srd.version", "Version"),
  type = ProtoField.uint8("srd.type", "Type", base.DEC, TYPES),
  flags = ProtoField.uint8("srd.flags", "Flags", base.HEX),
  ack_now = ProtoField.bool("srd.flags.ack_now", "Acknowledge now", 8, nil, 4),
  resent = ProtoField.bool("srd.flags.resent", "Sent again", 8, nil, 8),
  trimmed = ProtoField.bool("srd.flags.trimmed", "Echoed packet was trimmed", 8, nil, 2),
  not_ready = ProtoField.bool("srd.flags.not_ready", "Receiver not ready", 8, nil, 4),
  stale = ProtoField.bool("srd.flags.stale", "Receiver has restarted", 8, nil, 8),
  op = ProtoField.uint8("srd.op", "Operation", base.DEC, OPS),
  checksum = ProtoField.uint32("srd.checksum", "Header checksum", base.HEX),
  checksum_good = ProtoField.bool("srd.checksum.good", "Header checksum is right"),
  connection = ProtoField.uint64("srd.connection", "Connection (simulated: source, destination)", base.HEX),
  path = ProtoField.uint16("srd.path", "Path"),
  generation = ProtoField.uint16("srd.generation", "Generation"),
  peer_generation = ProtoField.uint16("srd.peer_generation", "Peer's generation"),
  stream = ProtoField.uint16("srd.stream", "Stream"),
  sequence = ProtoField.uint32("srd.sequence", "Sequence"),
  echo = ProtoField.uint16("srd.echo", "Echo (low bits of the packet answered)"),
  way_back = ProtoField.uint16("srd.way_back", "Added to its path for that of its answer"),
  answer_path = ProtoField.uint16("srd.answer_path", "Path of its answer"),
  fan_in = ProtoField.uint16("srd.fan_in", "Senders the receiver listens to"),
  first = ProtoField.uint32("srd.first", "First sequence of the message"),
  tag = ProtoField.uint32("srd.tag", "Tag"),
  size = ProtoField.uint64("srd.size", "Size of the message"),
  arrived = ProtoField.uint64("srd.arrived", "Arrived from sequence on", base.HEX),
  marked = ProtoField.uint64("srd.marked", "Marked from echo backwards", base.HEX),
  payload_checksum = ProtoField.uint32("srd.payload_checksum", "Payload checksum", base.HEX),
  waited = ProtoField.uint32("srd.waited", "Time that the acknowledgement waited at the receiver (ns)"),
  fragment = ProtoField.uint16("srd.fragment", "Payload of a full packet (0: simulated)"),
  envelope_length = ProtoField.uint8("srd.envelope_length", "Envelope length"),
  envelope = ProtoField.bytes("srd.envelope", "Envelope"),
  payload = ProtoField.uint32("srd.payload_length", "Payload length"),
  seal = ProtoField.uint64("srd.seal.number", "Number of the packet among those that are sealed"),
  seal_tag = ProtoField.bytes("srd.seal.tag", "Poly1305 of everything before the seal"),
  own_connection = ProtoField.uint64("srd.own_connection", "The sender's number for the connection", base.HEX),
  nonce = ProtoField.uint64("srd.nonce", "Nonce", base.HEX),
  cookie = ProtoField.bytes("srd.cookie", "Cookie"),
  nic_address = ProtoField.bytes("srd.nic.address", "IP address of the NIC"),
  port = ProtoField.uint16("srd.port", "Port at which the sender takes packets"),
  datagram = ProtoField.uint16("srd.datagram", "Bytes of this datagram"),
  largest = ProtoField.uint16("srd.largest", "Longest datagram"),
  features = ProtoField.uint32("srd.features", "Features", base.HEX),
  takes_both = ProtoField.bool("srd.features.takes_both", "Takes an acknowledgement and data as one datagram", 32, nil, 1),
  more_nics = ProtoField.uint32("srd.features.more_nics", "NICs beside the first", base.DEC, nil, 0x700),
  text = ProtoField.string("srd.text", "Why"),
  tag_of_job = ProtoField.bytes("srd.tag_of_job", "BLAKE2b with the job's key"),
}
srd.fields = f

local bad_checksum = ProtoExpert.new("srd.checksum.bad", "header checksum is wrong", expert.group.CHECKSUM, expert.severity.ERROR)
local unknown = ProtoExpert.new("srd.unknown", "version or type is not known", expert.group.PROTOCOL, expert.severity.WARN)
srd.experts = { bad_checksum, unknown }

-- CRC-32C (Castagnoli), bit by bit reflected; the field itself counts as zero.
local function crc32c(bytes, skip_from, skip_to)
  local crc = bit.bnot(0)
  for i = 0, bytes:len() - 1 do
    local byte = (i >= skip_from and i < skip_to) and 0 or bytes:get_index(i)
    crc = bit.bxor(crc, byte)
    for _ = 1, 8 do
      local low = bit.band(crc, 1)
      crc = bit.rshift(crc, 1)
      if low == 1 then crc = bit.bxor(crc, 0x82F63B78) end
    end
  end
  return bit.bnot(crc)
end

-- Connections whose packets are sealed, by the number that their receiver gave them.
local sealed = {}
function srd.init() sealed = {} end

local function dissect_control(buffer, packet, root, kind)
  if buffer:len() < CONTROL then return HEADER end
  root:set_len(CONTROL)
  local text = math.min(buffer(54, 2):uint(), buffer:len() - CONTROL)
  local sum_item = root:add(f.checksum, buffer(4, 4))
  local good = bit.tobit(buffer(4, 4):uint()) == bit.tobit(crc32c(buffer(0, CONTROL + text):bytes(), 4, 8))
  sum_item:add(f.checksum_good, buffer(4, 4), good):set_generated()
  if not good then sum_item:add_proto_expert_info(bad_checksum) end
  root:add(f.connection, buffer(8, 8))
  root:add(f.own_connection, buffer(16, 8))
  root:add(f.nonce, buffer(24, 8))
  if kind == HELLO or kind == RETRY then root:add(f.cookie, buffer(32, 16)) end
  if kind == NIC then root:add(f.nic_address, buffer(32, 16)) end
  if kind == HELLO or kind == ACCEPT or kind == NIC then root:add(f.port, buffer(48, 2)) end
  root:add(f.datagram, buffer(50, 2))
  root:add(f.largest, buffer(52, 2))
  local features = root:add(f.features, buffer(56, 4))
  if kind == HELLO or kind == ACCEPT then
    features:add(f.takes_both, buffer(56, 4))
    features:add(f.more_nics, buffer(56, 4))
  end
  local info = TYPES[kind]
  if kind == REFUSED and text > 0 then
    root:add(f.text, buffer(CONTROL, text))
    info = info .. ": " .. buffer(CONTROL, text):string()
  elseif text == 16 then
    root:add(f.tag_of_job, buffer(CONTROL, text))
    sealed[tostring(buffer(16, 8):uint64())] = true
  end
  packet.cols.info = info
  return buffer:len()
end

local function is_sealed(buffer) return buffer:len() >= HEADER and sealed[tostring(buffer(8, 8):uint64())] == true end

local function add_seal(root, buffer, at)
  if buffer:len() < at + SEAL then return end
  root:add(f.seal, buffer(at, 8))
  root:add(f.seal_tag, buffer(at + 8, 16))
end

local function add_flags(tree, range, kind)
  local flags = tree:add(f.flags, range)
  if kind == ACK then
    flags:add(f.trimmed, range)
    flags:add(f.not_ready, range)
    flags:add(f.stale, range)
  else
    flags:add(f.ack_now, range)
    flags:add(f.resent, range)
  end
end

local function dissect(buffer, packet, tree)
  if buffer:len() < HEADER then return 0 end
  packet.cols.protocol = "SRD"
  local root = tree:add(srd, buffer(0, HEADER))
  local version, kind = buffer(0, 1):uint(), buffer(1, 1):uint()
  root:add(f.version, buffer(0, 1))
  local type_item = root:add(f.type, buffer(1, 1))
  if version ~= VERSION or TYPES[kind] == nil then
    type_item:add_proto_expert_info(unknown)
    return HEADER
  end
  if kind >= HELLO then return dissect_control(buffer, packet, root, kind) end
  local seal = is_sealed(buffer) and SEAL or 0
  add_flags(root, buffer(2, 1), kind)
  if kind ~= ACK then root:add(f.op, buffer(3, 1)) end
  local sum_item = root:add(f.checksum, buffer(4, 4))
  local good = bit.tobit(buffer(4, 4):uint()) == bit.tobit(crc32c(buffer(0, HEADER):bytes(), 4, 8))
  sum_item:add(f.checksum_good, buffer(4, 4), good):set_generated()
  if not good then sum_item:add_proto_expert_info(bad_checksum) end
  root:add(f.connection, buffer(8, 8))
  root:add(f.path, buffer(16, 2))
  root:add(f.generation, buffer(18, 2))
  root:add(f.peer_generation, buffer(20, 2))
  root:add(f.stream, buffer(22, 2))
  root:add(f.sequence, buffer(24, 4))

  local sequence, path = buffer(24, 4):uint(), buffer(16, 2):uint()
  if kind == ACK then
    root:add(f.echo, buffer(28, 2))
    root:add(f.fan_in, buffer(30, 2))
    root:add(f.arrived, buffer(32, 8))
    root:add(f.marked, buffer(40, 8))
    root:add(f.waited, buffer(52, 4))
    if seal > 0 then add_seal(root, buffer, HEADER) end
    packet.cols.info = string.format("ack below %u, echo %u, path %u", sequence, buffer(28, 2):uint(), path)
  else
    if kind == DATA then
      local way_back = root:add(f.way_back, buffer(28, 2))
      way_back:add(f.answer_path, buffer(28, 2), (path + buffer(28, 2):uint()) % 65536):set_generated()
    end
    root:add(f.first, buffer(32, 4))
    root:add(f.tag, buffer(36, 4))
    root:add(f.size, buffer(40, 8))
    local envelope = buffer(54, 1):uint()
    root:add(f.fragment, buffer(52, 2))
    root:add(f.envelope_length, buffer(54, 1))
    if envelope > 0 and buffer:len() >= HEADER + envelope then root:add(f.envelope, buffer(HEADER, envelope)) end
    local length = math.max(0, buffer:reported_len() - HEADER - envelope - seal)
    root:add(f.payload, length):set_generated()
    if seal > 0 then add_seal(root, buffer, HEADER + envelope + length) end
    local what = kind == DATA and (OPS[buffer(3, 1):uint()] or "data") or "raw"
    packet.cols.info = string.format("%s sequence %u, path %u, %u bytes", what, sequence, path, length)
  end
  root:add(f.payload_checksum, buffer(48, 4))
  return HEADER
end

-- An acknowledgement may stand in front of data in the same datagram.
function srd.dissector(buffer, packet, tree)
  local done = dissect(buffer, packet, tree)
  local ack = HEADER + (is_sealed(buffer) and SEAL or 0)
  if buffer:len() >= ack + HEADER and buffer(1, 1):uint() == ACK and buffer(ack, 1):uint() == VERSION and
    buffer(ack + 1, 1):uint() == DATA then
    local first = tostring(packet.cols.info)
    dissect(buffer(ack):tvb(), packet, tree)
    packet.cols.info = first .. "; " .. tostring(packet.cols.info)
  end
  return done
end

DissectorTable.get("udp.port"):add(PORT, srd)
