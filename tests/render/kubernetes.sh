#!/usr/bin/env bash
# Kubernetes' published schemas (npm: kubernetes-models, made from its OpenAPI) judge the rendered manifests. The package is
# 33 MB and comes from the network, once, into WEFT_KUBERNETES_CACHE; where it cannot be had the test is skipped by name.
# No package carries the definitions of the custom resources. They are judged by the fields that their documents list (below), by what one object says of
# another, and by their own definitions where these lie as .yaml files in WEFT_KUBERNETES, a folder with node_modules beside them (docs/render.md).
#   tests/render/kubernetes.sh WEFT CLUSTER_FILE [weft's options]
set -euo pipefail
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
if [ -z "${WEFT_KUBERNETES:-}" ]; then
  WEFT_KUBERNETES=${WEFT_KUBERNETES_CACHE:?a folder for what npm brings}
  if [ ! -e "$WEFT_KUBERNETES/complete" ]; then
    command -v npm >/dev/null || { echo "skipped: npm is not installed"; exit 77; }
    mkdir -p "$WEFT_KUBERNETES"
    timeout 200 npm install --prefix "$WEFT_KUBERNETES" --no-audit --no-fund --ignore-scripts --silent \
      kubernetes-models@4.5.1 js-yaml@4.1.0 ajv@8.17.1 >/dev/null 2>&1 ||
      { echo "skipped: npm cannot bring kubernetes-models"; exit 77; }
    touch "$WEFT_KUBERNETES/complete"
  fi
fi
weft=$1
shift
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
"$weft" render kubernetes "$@" -o "$out" 2>/dev/null
cat >"$out/check.cjs" <<'NODE'
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");
const [folder, manifests] = process.argv.slice(2);
const load = createRequire(path.join(path.resolve(folder), "x.js"));
const yaml = load("js-yaml");
const Ajv = load("ajv");

// Custom resources by "apiVersion kind"; like Kubernetes, a field that the schema does not name is refused here.
const strict = (schema) => {
  if (schema.properties && !schema["x-kubernetes-preserve-unknown-fields"] && schema.additionalProperties === undefined)
    schema.additionalProperties = false;
  Object.values(schema.properties ?? {}).forEach(strict);
  if (schema.items) strict(schema.items);
  return schema;
};
// What the documents say, for who has not the definitions: the Network Plumbing Working Group's specification of
// NetworkAttachmentDefinitions, version 1.3, and nvidia-k8s-ipam's README.
const text = { type: "string", minLength: 1 };
const object = (required, optional = {}) => ({ type: "object", properties: { ...required, ...optional }, required: Object.keys(required) });
const list = (items) => ({ type: "array", items });
const documented = {
  "k8s.cni.cncf.io/v1 NetworkAttachmentDefinition": object({}, { config: text }),
  "nv-ipam.nvidia.com/v1alpha1 CIDRPool": object(
    { cidr: text, perNodeNetworkPrefix: { type: "integer", minimum: 1, maximum: 128 } },
    { gatewayIndex: { type: "integer" }, defaultGateway: { type: "boolean" }, nodeSelector: { type: "object" },
      routes: list(object({ dst: text })), exclusions: list(object({ startIP: text, endIP: text })),
      staticAllocations: list(object({ prefix: text }, { nodeName: text, gateway: text })) }),
};
const compile = (schema) => new (Ajv.default ?? Ajv)({ strict: false, validateFormats: false }).compile(schema);
const custom = {};
for (const [name, spec] of Object.entries(documented))
  custom[name] = compile({ type: "object", properties: { spec: strict(spec) }, required: ["spec"] });
const own = new Set();
for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".yaml")))
  for (const crd of yaml.loadAll(fs.readFileSync(path.join(folder, file), "utf8")))
    for (const version of crd?.spec?.versions ?? []) {
      const schema = version.schema.openAPIV3Schema;
      delete schema.properties.metadata;
      strict(schema.properties.spec);
      custom[`${crd.spec.group}/${version.name} ${crd.spec.names.kind}`] =
        compile(schema);
      own.add(crd.spec.names.kind);
    }

// What no schema can say: a network's chain is CNI's, and names an address pool and a resource that are there; a node's block is of
// its pool and no other's, and what is kept from pods lies in it.
const number = (address) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const range = (prefix) => {
  const [address, length] = prefix.split("/");
  return [number(address), number(address) + 2 ** (32 - Number(length)) - 1];
};
const within = ([first, last], [least, most]) => least <= first && last <= most;
const rules = {
  NetworkAttachmentDefinition: ({ metadata, spec }, all) => {
    const chain = JSON.parse(spec.config);
    const types = chain.plugins.map((plugin) => plugin.type).join(" ");
    if (chain.cniVersion !== "1.0.0" || chain.name !== metadata.name) return "its chain is not CNI 1.0 of its own name";
    if (types !== "ovs ovs-provider frr-provider") return `its chain is ${types}`;
    const { poolName, poolType } = chain.plugins[0].ipam;
    if (poolType !== "cidrpool" || !all.some((o) => o.kind === "CIDRPool" && o.metadata.name === poolName)) return `there is no pool ${poolName}`;
    const resource = metadata.annotations["k8s.v1.cni.cncf.io/resourceName"];
    const known = all.filter((o) => o.data?.["config.json"]).flatMap((o) => JSON.parse(o.data["config.json"]).resourceList);
    if (!known.some((r) => `${r.resourcePrefix}/${r.resourceName}` === resource)) return `there is no resource ${resource}`;
  },
  CIDRPool: ({ spec }, all) => {
    const nodes = new Set(all.filter((o) => o.kind === "Node").map((o) => o.metadata.name));
    const pool = range(spec.cidr);
    const taken = [];
    for (const { nodeName, prefix } of spec.staticAllocations) {
      if (!nodes.delete(nodeName)) return `there is no node ${nodeName}, or it has two blocks`;
      if (Number(prefix.split("/")[1]) !== spec.perNodeNetworkPrefix || !within(range(prefix), pool)) return `${prefix} is no block of ${spec.cidr}`;
      if (taken.some((other) => within(range(prefix), other))) return `${prefix} has two owners`;
      taken.push(range(prefix));
    }
    for (const { startIP, endIP } of spec.exclusions)
      if (!taken.some((block) => within([number(startIP), number(endIP)], block))) return `${startIP} to ${endIP} is no node's`;
  },
  Pod: ({ metadata, spec }, all) => {
    const networks = metadata.annotations["k8s.v1.cni.cncf.io/networks"].split(",");
    for (const network of networks) {
      const found = all.find((o) => o.kind === "NetworkAttachmentDefinition" && o.metadata.name === network && o.metadata.namespace === metadata.namespace);
      if (!found) return `there is no network ${network}`;
      const resource = found.metadata.annotations["k8s.v1.cni.cncf.io/resourceName"];
      if (!spec.containers[0].resources.requests[resource]) return `it asks for no ${resource}`;
    }
  },
};
// Beside manifests there is a script for servers.
const files = fs.readdirSync(manifests).filter((file) => file.endsWith(".yaml"));
const all = files.flatMap((file) => yaml.loadAll(fs.readFileSync(path.join(manifests, file), "utf8"))).filter(Boolean);

let checked = 0;
for (const file of files)
  for (const object of yaml.loadAll(fs.readFileSync(path.join(manifests, file), "utf8"))) {
    if (!object) continue;
    const name = `${file}: ${object.kind} ${object.metadata.name}`;
    const validate = custom[`${object.apiVersion} ${object.kind}`];
    try {
      if (validate) {
        if (!validate(object)) throw new Error(JSON.stringify(validate.errors));
      } else {
        new (load(`kubernetes-models/${object.apiVersion}`)[object.kind])(object).validate();
      }
      const wrong = rules[object.kind]?.(object, all);
      if (wrong) throw new Error(wrong);
    } catch (error) {
      console.log(`${name}: ${error.message}`);
      process.exit(1);
    }
    ++checked;
  }
console.log(`${checked} objects are as Kubernetes wants them`);
const without = Object.keys(documented).map((name) => name.split(" ")[1]).filter((kind) => !own.has(kind));
if (without.length > 0) console.log(`by their documents' fields, for their definitions are not here: ${without.join(", ")}`);
process.exit(checked > 0 ? 0 : 1);
NODE
node "$out/check.cjs" "$WEFT_KUBERNETES" "$out/kubernetes"

# One thing wrong at a time is refused: (file, what, by what).
wrong=0
while IFS='~' read -r file from to; do
  rm -rf "$out/wrong"
  cp -r "$out/kubernetes" "$out/wrong"
  sed -i "0,/$from/s//$to/" "$out/wrong/$file"
  cmp -s "$out/kubernetes/$file" "$out/wrong/$file" && { echo "nothing in $file is '$from'"; exit 1; }
  if node "$out/check.cjs" "$WEFT_KUBERNETES" "$out/wrong" >"$out/said"; then echo "$file: '$to' instead of '$from' is taken"; exit 1; fi
  [ -s "$out/said" ] || { echo "the check itself broke"; exit 1; }
  wrong=$((wrong + 1))
done <<'WRONG'
networks.yaml~  config:~  configuration:
networks.yaml~"ovs-provider"~"ovs-provide"
networks.yaml~"poolName":"rail0"~"poolName":"rail99"
networks.yaml~resourceName: nvidia.com\/mlnx~resourceName: nvidia.com\/other
pools.yaml~perNodeNetworkPrefix~perNodeBlockSize
pools.yaml~prefix: 10.128~prefix: 10.0
pools.yaml~startIP~start
pools.yaml~nodeName: \([a-z]*\)0,~nodeName: \11,
example-pod.yaml~sriov-pf1-vf~sriov-pf9-vf
WRONG
echo "and $wrong with one thing wrong are not taken"
