"""A fabric of network namespaces for bench/wire: 2 leaves, 4 spines, links of 500 Mb/s with a queue of 250 kB.
Everything is made here and removed at the end, whatever happens."""

import contextlib
import os
import subprocess

PREFIX = f"wb{os.getpid()}"


def sh(command, check=True):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stderr}")
    return done.stdout


class Fabric:
    """Hosts by leaf, e.g. {"a": 0, "b": 0, "sink": 1}; every host has one link to its leaf."""

    def __init__(self, hosts, spines=4, rate="500mbit", burst="32kb", latency="4ms", host_rate=None, mtu=9000):
        self.hosts, self.spines, self.mtu = hosts, spines, mtu
        self.rate, self.burst, self.latency = rate, burst, latency
        self.host_rate = host_rate or {}
        self.leaves = max(hosts.values()) + 1
        self.names = list(hosts) + [f"leaf{i}" for i in range(self.leaves)] + [f"spine{i}" for i in range(spines)]

    def ns(self, name):
        return f"{PREFIX}{name}"

    def address(self, host):
        leaf = self.hosts[host]
        index = [h for h in self.hosts if self.hosts[h] == leaf].index(host)
        return f"10.{leaf}.{index}.1"

    def run(self, name, command, check=True):
        return sh(f"ip netns exec {self.ns(name)} {command}", check)

    def popen(self, name, arguments, **more):
        return subprocess.Popen(["ip", "netns", "exec", self.ns(name)] + arguments, **more)

    def link(self, a, b, address_a, address_b):
        """A veth pair whose ends are named after the other side."""
        sh(f"ip link add {b} netns {self.ns(a)} mtu {self.mtu} type veth peer name {a} netns {self.ns(b)} mtu {self.mtu}")
        for name, other, address in ((a, b, address_a), (b, a, address_b)):
            self.run(name, f"ip addr add {address}/30 dev {other}")
            self.run(name, f"ip link set dev {other} up")
            self.run(name, f"ethtool -K {other} tso off gso off gro off tx off rx off", check=False)

    def shape(self, name, device, rate, latency=None):
        self.run(name, f"tc qdisc replace dev {device} root tbf rate {rate} burst {self.burst} latency {latency or self.latency}")

    def up(self):
        for name in self.names:
            sh(f"ip netns add {self.ns(name)}")
            self.run(name, "ip link set lo up")
            self.run(name, "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=3 "
                           "net.ipv4.fib_multipath_hash_fields=55 net.ipv4.conf.all.rp_filter=0")
        for host, leaf in self.hosts.items():
            address = self.address(host)
            gateway = address[:-1] + "2"
            self.link(host, f"leaf{leaf}", address, gateway)
            self.run(host, f"ip route add default via {gateway}")
            if host in self.host_rate:
                self.shape(f"leaf{leaf}", host, self.host_rate[host])
        for leaf in range(self.leaves):
            for spine in range(self.spines):
                self.link(f"leaf{leaf}", f"spine{spine}", f"10.{100 + leaf}.{spine}.1", f"10.{100 + leaf}.{spine}.2")
                self.shape(f"leaf{leaf}", f"spine{spine}", self.rate)
                self.shape(f"spine{spine}", f"leaf{leaf}", self.rate)
                self.run(f"spine{spine}", f"ip route add 10.{leaf}.0.0/16 via 10.{100 + leaf}.{spine}.1")
        for leaf in range(self.leaves):
            hops = " ".join(f"nexthop via 10.{100 + leaf}.{s}.2" for s in range(self.spines))
            for other in range(self.leaves):
                if other != leaf:
                    self.run(f"leaf{leaf}", f"ip route add 10.{other}.0.0/16 {hops}")

    def down(self):
        for name in self.names:
            sh(f"ip netns del {self.ns(name)}", check=False)

    # ---- faults

    def lose(self, spine, percent):
        """Random loss of what passes through a spine, both ways; 100: silently dead."""
        self.heal(spine)
        rule = "drop" if percent >= 100 else f"numgen random mod 1000 < {int(percent * 10)} drop"
        self.run(spine, "nft add table inet f")
        self.run(spine, "nft add chain inet f forward '{ type filter hook forward priority 0 ; }'")
        self.run(spine, f"nft add rule inet f forward '{rule}'")

    def heal(self, spine):
        self.run(spine, "nft delete table inet f", check=False)

    def several_addresses(self, host, count=8):
        """More addresses of a host, and leave to use them as subflows of MPTCP: one by one they hash to spines."""
        leaf = f"leaf{self.hosts[host]}"
        subnet = f"10.{self.hosts[host]}.9"
        self.run(host, f"ip mptcp limits set subflow {count} add_addr_accepted {count}")
        for i in range(1, count):
            self.run(host, f"ip addr add {subnet}.{i}/32 dev {leaf}")
            self.run(host, f"ip mptcp endpoint add {subnet}.{i} dev {leaf} subflow")
        self.run(leaf, f"ip route add {subnet}.0/24 via {self.address(host)}")
        for name in self.hosts:
            self.run(name, f"ip mptcp limits set subflow {count} add_addr_accepted {count}")

    def spine_of(self, host, other, protocol, source_port, port):
        """By which spine the leaf of a host sends packets of a flow."""
        leaf = f"leaf{self.hosts[host]}"
        said = self.run(leaf, f"ip route get {self.address(other)} from {self.address(host)} iif {host} "
                              f"ipproto {protocol} sport {source_port} dport {port}")
        return said.split(" dev ")[1].split()[0]

    def spine_bytes(self, spine):
        """Bytes that a spine has sent, both ways."""
        total = 0
        for leaf in range(self.leaves):
            total += int(self.run(spine, f"cat /sys/class/net/leaf{leaf}/statistics/tx_bytes"))
        return total


class Pair(Fabric):
    """Two hosts with one cable between them, and nothing shaped or switched off."""

    def __init__(self):
        super().__init__({"a": 0, "sink": 1}, spines=0)
        self.names = ["a", "sink"]

    def up(self):
        for name in self.names:
            sh(f"ip netns add {self.ns(name)}")
            self.run(name, "ip link set lo up")
        sh(f"ip link add link0 netns {self.ns('a')} mtu {self.mtu} type veth peer name link0 netns {self.ns('sink')} mtu {self.mtu}")
        for name in self.names:
            self.run(name, f"ip addr add {self.address(name)}/8 dev link0")
            self.run(name, "ip link set link0 up")


@contextlib.contextmanager
def plain_pair():
    made = Pair()
    try:
        made.up()
        yield made
    finally:
        made.down()


@contextlib.contextmanager
def fabric(hosts, **options):
    made = Fabric(hosts, **options)
    try:
        made.up()
        yield made
    finally:
        made.down()
