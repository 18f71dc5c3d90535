#!/usr/bin/env bash
# Kubernetes' published schemas (npm: kubernetes-models, made from its OpenAPI) and the custom resources' own definitions
# judge the rendered manifests. Run by hand: the package is 34 MB and comes from the network. WEFT_KUBERNETES names a folder
# with node_modules (npm install kubernetes-models js-yaml ajv) and the CRDs' files beside it (docs/render.md).
#   WEFT_KUBERNETES=DIR tests/render/kubernetes.sh WEFT CLUSTER_FILE [weft's options]
set -euo pipefail
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
[ -n "${WEFT_KUBERNETES:-}" ] || { echo "skipped: WEFT_KUBERNETES names no folder with the schemas"; exit 77; }
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
for (const file of fs.readdirSync(manifests))
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
    } catch (error) {
      console.log(`${name}: ${error.message}`);
      process.exit(1);
    }
    ++checked;
  }
console.log(`${checked} objects are as Kubernetes wants them`);
process.exit(checked > 0 ? 0 : 1);
NODE
node "$out/check.cjs" "$WEFT_KUBERNETES" "$out/kubernetes"
