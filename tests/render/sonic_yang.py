#!/usr/bin/env python3
"""A config_db.json as the data tree (XML) that SONiC's YANG models describe, for yanglint.

SONiC keeps a table as {"KEY1|KEY2": {field: value}}; its models have a list with those keys in a container of the
table's name. Which module has the table, and which list a key belongs to by its number of parts, is read from the models.

  sonic_yang.py MODELS config_db.json > data.xml     (prints on stderr the modules that data needs, one a line)
"""
import json, pathlib, re, sys
from xml.sax.saxutils import escape

models = pathlib.Path(sys.argv[1])
db = json.load(open(sys.argv[2]))


def blocks(text, word):
    """(name, body) of every statement `word name { ... }` that is directly in `text`."""
    depth, at = 0, 0
    for match in re.finditer(r'"[^"]*"|\'[^\']*\'|[{}]|(?<![\w-])%s\s+([\w-]+)\s*\{' % word, text):
        token = match.group(0)
        if token[0] in "\"'" or match.start() < at:
            continue
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif depth == 0:
            end, level = match.end(), 1
            for brace in re.finditer(r'"[^"]*"|\'[^\']*\'|[{}]', text[end:]):
                level += {"{": 1, "}": -1}.get(brace.group(0), 0)
                if level == 0:
                    yield match.group(1), text[end : end + brace.start()]
                    at = end + brace.end()
                    break


tables, namespaces = {}, {}
for path in sorted(models.glob("*.yang")):
    text = re.sub(r"//[^\n\"]*\n|/\*.*?\*/", "\n", path.read_text(), flags=re.S)
    module = re.search(r"module\s+([\w-]+)\s*\{", text)
    if not module:
        continue
    body = text[module.end() : text.rindex("}")]
    for _, top in blocks(body, "container"):
        for table, inside in blocks(top, "container"):
            tables.setdefault(table, (module.group(1), inside))
    namespaces[module.group(1)] = re.search(r'namespace\s+"([^"]+)"', body).group(1)


def keys_of(body):
    return re.search(r'key\s+"?([^";]+)"?\s*;', body).group(1).split()


def xml(name, value):
    """A leaf, a leaf-list or list (an element for each), a container or row."""
    if isinstance(value, list):
        return "".join(xml(name, each) for each in value)
    inside = "".join(xml(k, v) for k, v in value.items()) if isinstance(value, dict) else escape(str(value))
    return f"<{name}>{inside}</{name}>\n"


data, used = {}, []
for table, rows in db.items():
    if table not in tables:
        sys.exit(f"no model has a table {table}")
    module, inside = tables[table]
    used.append(module)
    out = {}
    lists = [(name, keys_of(body), body) for name, body in blocks(inside, "list")]
    for key, fields in rows.items():
        for name, body in blocks(inside, "container"):
            if name == key:
                out[name] = fields
                break
        else:
            parts = key.split("|")
            fits = [each for each in lists if len(each[1]) == len(parts) and "VOQ" not in each[0] and "TEMPLATE" not in each[0]]
            if not fits:
                sys.exit(f"{table}: no list for the key {key}")
            name, keys, body = fits[0]
            row = dict(zip(keys, parts))
            nested = list(blocks(body, "list"))
            if nested:  # a map: {"26": "3"} is a list of pairs
                inner, inner_body = nested[0]
                first = keys_of(inner_body)[0]
                second = next(leaf for leaf, _ in blocks(inner_body, "leaf") if leaf != first)
                row[inner] = [{first: k, second: v} for k, v in fields.items()]
            else:
                row.update(fields)
            out.setdefault(name, []).append(row)
    data.setdefault(module, {})[table] = out

for module, content in data.items():
    print(xml(module, content).replace(f"<{module}>", f'<{module} xmlns="{namespaces[module]}">', 1))
print("\n".join(dict.fromkeys(used)), file=sys.stderr)
