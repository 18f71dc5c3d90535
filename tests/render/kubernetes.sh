#!/usr/bin/env bash
# Kubernetes' published schemas (npm: kubernetes-models, made from its OpenAPI) judge the rendered manifests. The package is
# 33 MB and comes from the network, once, into WEFT_KUBERNETES_CACHE; where it cannot be had the test is skipped by name.
# Custom resources are judged by their own definitions where these lie as .yaml files in WEFT_KUBERNETES, a folder with
# node_modules beside them (docs/render.md); no package carries them.
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
const custom = {};
for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".yaml")))
  for (const crd of yaml.loadAll(fs.readFileSync(path.join(folder, file), "utf8")))
    for (const version of crd?.spec?.versions ?? []) {
      const schema = version.schema.openAPIV3Schema;
      delete schema.properties.metadata;
      strict(schema.properties.spec);
      custom[`${crd.spec.group}/${version.name} ${crd.spec.names.kind}`] =
        new (Ajv.default ?? Ajv)({ strict: false, validateFormats: false }).compile(schema);
    }

let checked = 0;
const unknown = new Set();
for (const file of fs.readdirSync(manifests))
  for (const object of yaml.loadAll(fs.readFileSync(path.join(manifests, file), "utf8"))) {
    if (!object) continue;
    const name = `${file}: ${object.kind} ${object.metadata.name}`;
    const validate = custom[`${object.apiVersion} ${object.kind}`];
    // A group of somebody else's, with no definition here.
    if (!validate && /\.(cncf\.io|nvidia\.com)\//.test(object.apiVersion)) {
      unknown.add(object.kind);
      continue;
    }
    try {
      if (validate) {
        if (!validate(object)) throw new Error(JSON.stringify(validate.errors));
      } else {
        new (load(`kubernetes-models/${object.apiVersion}`)[object.kind])(object).validate();
      }
    } catch (error) {
      console.log(`${name}: ${error.message}`);
      process.exit(1);
    }
    ++checked;
  }
console.log(`${checked} objects are as Kubernetes wants them`);
if (unknown.size > 0) console.log(`not judged, for their definitions are not here: ${[...unknown].join(", ")}`);
process.exit(checked > 0 ? 0 : 1);
NODE
node "$out/check.cjs" "$WEFT_KUBERNETES" "$out/kubernetes"
