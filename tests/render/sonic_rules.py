#!/usr/bin/env python3
"""config_db.json held against the rules that SONiC documents for each table: which keys and fields there are, what each may be, what must be
there, and that every name names something. Facts of SONiC 202505 (src/sonic-yang-models: doc/Configuration.md and the models); the
models themselves are judged by yanglint where they can be had (sonic.sh). Beyond what the models say, references between tables that
SONiC resolves at run time, and sums: lanes belong to one port, headroom to the buffer, weights to 100.

  sonic_rules.py config_db.json...     says what is wrong; exit 1
"""
import ipaddress
import json
import re
import sys


def number(least, most):
    return lambda text, db: isinstance(text, str) and re.fullmatch(r"-?[0-9]+", text) and least <= int(text) <= most


def text(pattern):
    return lambda value, db: isinstance(value, str) and re.fullmatch(pattern, value)


def one_of(*words):
    return lambda value, db: value in words


def row_of(table, prefix="", or_word=None):
    return lambda value, db: isinstance(value, str) and (prefix + value in db.get(table, {}) or value == or_word)


def rows_of(table):
    return lambda value, db: isinstance(value, list) and len(value) == 1 and all(each in db.get(table, {}) for each in value)


def parsed(kind):
    def fits(value, db):
        try:
            kind(value)
            return True
        except ValueError:
            return False
    return fits


ADDRESS, NETWORK, INTERFACE = (parsed(kind) for kind in (ipaddress.IPv4Address, ipaddress.IPv4Network, ipaddress.IPv4Interface))
PORT = row_of("PORT")
BYTES = number(0, 2**64 - 1)
BOOLEAN, UP = one_of("true", "false"), one_of("up", "down")
MAP_NAME = text("[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}")
CLASS = number(0, 7)
CLASSES = text("[0-7](,[0-7])*")
VRF = one_of("default")
AS = number(1, 2**32 - 1)

# table: (parts of the key), {field: rule}, {fields that must be there}
TABLES = {
    "DEVICE_METADATA": ((one_of("localhost"),), {
        "hostname": text("[a-z0-9][-a-z0-9]{0,62}"), "type": one_of("ToRRouter", "LeafRouter", "SpineRouter"), "bgp_asn": AS,
        "docker_routing_config_mode": one_of("separated", "unified", "split", "split-unified"), "frr_mgmt_framework_config": BOOLEAN,
        "default_pfcwd_status": one_of("enable", "disable")}, {"hostname", "type", "bgp_asn"}),
    "LOOPBACK_INTERFACE": ((text("Loopback[0-9]+"), INTERFACE), {}, set()),
    "PORT": ((text("Ethernet[0-9]+"),), {
        "alias": text(".{1,128}"), "index": number(0, 65535), "lanes": text("[0-9]+(,[0-9]+)*"), "speed": number(1, 800000),
        "mtu": number(68, 9216), "fec": one_of("rs", "fc", "none", "auto"), "admin_status": UP, "description": text(".{0,255}"),
        "subport": number(0, 12)}, {"speed", "lanes"}),
    "INTERFACE": ((PORT,), {"ipv6_use_link_local_only": one_of("enable", "disable")}, set()),
    "CABLE_LENGTH": ((MAP_NAME,), {PORT: text("[0-9]+m")}, set()),
    "BREAKOUT_CFG": ((PORT,), {"brkout_mode": text("[1-8]x[0-9]+G")}, {"brkout_mode"}),
    "BGP_GLOBALS": ((VRF,), {"local_asn": AS, "router_id": ADDRESS, "load_balance_mp_relax": BOOLEAN, "log_nbr_state_changes": BOOLEAN},
                    {"local_asn"}),
    "BGP_GLOBALS_AF": ((VRF, one_of("ipv4_unicast")), {"max_ebgp_paths": number(1, 256)}, set()),
    "BGP_GLOBALS_AF_NETWORK": ((VRF, one_of("ipv4_unicast"), NETWORK), {}, set()),
    "ROUTE_MAP_SET": ((text(".+"),), {}, set()),
    "ROUTE_MAP": ((row_of("ROUTE_MAP_SET"), number(1, 65535)), {"route_operation": one_of("permit", "deny")}, {"route_operation"}),
    "BGP_PEER_GROUP": ((VRF, text(".+")), {"peer_type": one_of("internal", "external"), "bfd": BOOLEAN}, set()),
    "BGP_PEER_GROUP_AF": ((VRF, row_of("BGP_PEER_GROUP", "default|"), one_of("ipv4_unicast")), {
        "admin_status": UP, "route_map_in": rows_of("ROUTE_MAP_SET"), "route_map_out": rows_of("ROUTE_MAP_SET")}, {"admin_status"}),
    "BGP_NEIGHBOR": ((VRF, PORT), {"peer_group_name": row_of("BGP_PEER_GROUP", "default|"), "peer_type": one_of("internal", "external")},
                     {"peer_group_name"}),
    "BGP_NEIGHBOR_AF": ((VRF, row_of("BGP_NEIGHBOR", "default|"), one_of("ipv4_unicast")), {
        "admin_status": UP, "prefix_list_in": row_of("PREFIX_SET")}, {"admin_status"}),
    "PREFIX_SET": ((text(".+"),), {"mode": one_of("IPv4", "IPv6")}, {"mode"}),
    "PREFIX": ((row_of("PREFIX_SET"), number(1, 2**32 - 1), NETWORK, text(r"exact|[0-9]+\.\.[0-9]+")), {"action": one_of("permit", "deny")},
               {"action"}),
    "DSCP_TO_TC_MAP": ((MAP_NAME,), {number(0, 63): CLASS}, set()),
    "TC_TO_QUEUE_MAP": ((MAP_NAME,), {CLASS: CLASS}, set()),
    "TC_TO_PRIORITY_GROUP_MAP": ((MAP_NAME,), {CLASS: CLASS}, set()),
    "MAP_PFC_PRIORITY_TO_QUEUE": ((MAP_NAME,), {CLASS: CLASS}, set()),
    "SCHEDULER": ((text(".+"),), {"type": one_of("DWRR", "WRR", "STRICT"), "weight": number(1, 100)}, {"type"}),
    "BUFFER_POOL": ((text(".+"),), {"type": one_of("ingress", "egress", "both"), "mode": one_of("static", "dynamic"), "size": BYTES,
                                    "xoff": BYTES}, {"type", "mode", "size"}),
    "BUFFER_PROFILE": ((text(".+"),), {
        "pool": row_of("BUFFER_POOL"), "size": BYTES, "static_th": BYTES, "dynamic_th": number(-8, 7), "xon": BYTES, "xoff": BYTES,
        "xon_offset": BYTES}, {"pool", "size"}),
    "BUFFER_PG": ((PORT, text("[0-7](-[0-7])?")), {"profile": row_of("BUFFER_PROFILE", or_word="NULL")}, {"profile"}),
    "BUFFER_QUEUE": ((PORT, text("[0-9]+(-[0-9]+)?")), {"profile": row_of("BUFFER_PROFILE")}, {"profile"}),
    "QUEUE": ((PORT, CLASS), {"scheduler": row_of("SCHEDULER"), "wred_profile": row_of("WRED_PROFILE")}, {"scheduler"}),
    "PORT_QOS_MAP": ((PORT,), {
        "dscp_to_tc_map": row_of("DSCP_TO_TC_MAP"), "tc_to_queue_map": row_of("TC_TO_QUEUE_MAP"),
        "tc_to_pg_map": row_of("TC_TO_PRIORITY_GROUP_MAP"), "pfc_to_queue_map": row_of("MAP_PFC_PRIORITY_TO_QUEUE"), "pfc_enable": CLASSES,
        "pfcwd_sw_enable": CLASSES}, {"dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map"}),
    "WRED_PROFILE": ((MAP_NAME,), {
        "ecn": one_of("ecn_none", "ecn_all"), **{f"wred_{c}_enable": BOOLEAN for c in ("green", "yellow", "red")},
        **{f"{c}_{what}_threshold": BYTES for c in ("green", "yellow", "red") for what in ("min", "max")},
        **{f"{c}_drop_probability": number(0, 100) for c in ("green", "yellow", "red")}}, {"ecn"}),
    "PFC_WD": ((row_of("PORT", or_word="GLOBAL"),), {
        "action": one_of("drop", "forward", "alert"), "detection_time": number(100, 5000), "restoration_time": number(100, 60000),
        "POLL_INTERVAL": number(100, 3000)}, set()),
}
# Where a table has rows of two kinds: of an interface, and of its address.
SHORTER_KEYS = {"LOOPBACK_INTERFACE"}


def of_each_row(db):
    for table, rows in db.items():
        if table not in TABLES:
            yield f"SONiC has no table {table}, or no rule is known for it"
            continue
        parts, fields, needed = TABLES[table]
        for key, row in rows.items():
            where = f"{table}|{key}"
            given = key.split("|")
            if len(given) != len(parts) and not (table in SHORTER_KEYS and len(given) < len(parts)):
                yield f"{where}: a key has {len(parts)} parts"
            for rule, part in zip(parts, given):
                if not rule(part, db):
                    yield f"{where}: '{part}' cannot be a part of its key"
            for field, value in row.items():
                rule = fields.get(field) or next((r for name, r in fields.items() if callable(name) and name(field, db)), None)
                if rule is None:
                    yield f"{where}: there is no field '{field}'"
                elif not rule(value, db):
                    yield f"{where}: {field} cannot be {value!r}"
            for field in needed - row.keys():
                yield f"{where}: {field} is missing"


def of_ports(db):
    lanes, aliases = {}, {}
    for name, port in db["PORT"].items():
        for lane in port["lanes"].split(","):
            if lanes.setdefault(lane, name) != name:
                yield f"PORT|{name}: lane {lane} is {lanes[lane]}'s"
        if aliases.setdefault(port["alias"], name) != name:
            yield f"PORT|{name}: alias {port['alias']} is {aliases[port['alias']]}'s"
        if (port["admin_status"] == "up") != (f"default|{name}" in db["BGP_NEIGHBOR"]) or (port["admin_status"] == "up") != (name in db["INTERFACE"]):
            yield f"PORT|{name}: a port that is up has an interface and a neighbour, and no other has"
    for name, row in db["BREAKOUT_CFG"].items():
        ways, rate = re.fullmatch("([0-9]+)x([0-9]+)G", row["brkout_mode"]).groups()
        here = [p for p in db["PORT"].values() if p["index"] == db["PORT"][name]["index"]]
        if len(here) > int(ways) or any(int(p["speed"]) != int(rate) * 1000 for p in here):
            yield f"BREAKOUT_CFG|{name}: {row['brkout_mode']} is not what its ports are"


def of_traffic(db):
    """What a lossless class needs, on every port alike; the frontend has no classes."""
    if "PORT_QOS_MAP" not in db:
        return
    for name, row in db["PORT_QOS_MAP"].items():
        for queue in range(8):
            key = f"{name}|{queue}"
            if (key in db["QUEUE"]) != (key in db["BUFFER_QUEUE"]):
                yield f"QUEUE|{key}: a queue has a scheduler and a buffer"
        for tc in row.get("pfc_enable", "").split(",") if "pfc_enable" in row else []:
            group = db["BUFFER_PG"].get(f"{name}|{tc}")
            profile = db["BUFFER_PROFILE"].get(group["profile"], {}) if group else {}
            if int(profile.get("xoff", 0)) <= 0:
                yield f"PORT_QOS_MAP|{name}: class {tc} is paused and has no headroom"
            if db["TC_TO_PRIORITY_GROUP_MAP"][row["tc_to_pg_map"]][tc] != tc:
                yield f"PORT_QOS_MAP|{name}: class {tc} is paused and shares its priority group"
            if "wred_profile" not in db["QUEUE"].get(f"{name}|{tc}", {}):
                yield f"QUEUE|{name}|{tc}: a lossless class is marked before it is paused"
            if name not in db["PFC_WD"]:
                yield f"PFC_WD: no watchdog on {name}"
        weights = [int(db["SCHEDULER"][q["scheduler"]].get("weight", 0)) for key, q in db["QUEUE"].items() if key.startswith(name + "|")]
        if sum(weights) > 100:
            yield f"QUEUE|{name}: weights are {sum(weights)} of 100"
    for name, row in db["WRED_PROFILE"].items():
        for colour in ("green", "yellow", "red"):
            if int(row[f"{colour}_min_threshold"]) > int(row[f"{colour}_max_threshold"]):
                yield f"WRED_PROFILE|{name}: {colour} ends before it begins"
    held = sum(int(db["BUFFER_PROFILE"][row["profile"]].get("xoff", 0)) for row in db["BUFFER_PG"].values())
    if held != int(db["BUFFER_POOL"]["ingress_pool"].get("xoff", 0)):
        yield f"BUFFER_POOL: headroom of all ports is {held}"
    poll = int(db.get("PFC_WD", {}).get("GLOBAL", {}).get("POLL_INTERVAL", 0))
    for name, row in db.get("PFC_WD", {}).items():
        if ("POLL_INTERVAL" in row) != (name == "GLOBAL") or any(int(row.get(f, poll)) < poll for f in ("detection_time", "restoration_time")):
            yield f"PFC_WD|{name}: GLOBAL has the interval, and ports have times that are no shorter"
    for name, row in db["BUFFER_PROFILE"].items():
        mode = db["BUFFER_POOL"][row["pool"]]["mode"]
        if (f"{mode}_th" not in row) or ("static_th" in row) == ("dynamic_th" in row):
            yield f"BUFFER_PROFILE|{name}: its pool is {mode}"


wrong = 0
for path in sys.argv[1:]:
    with open(path) as file:
        db = json.load(file)
    said = list(of_each_row(db)) or [*of_ports(db), *of_traffic(db)]
    for line in said[:20]:
        print(f"{path}: {line}")
    wrong += len(said)
if wrong or len(sys.argv) < 2:
    sys.exit(1)
print(f"{len(sys.argv) - 1} switches keep to SONiC's documented rules")
