"""Renders templates with jinja2 as chat templates are rendered and writes templates.jsonl beside this file.

Needs jinja2 (3.1.6 made the file that is here). Not needed to build or test.
"""
import json, os, random

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
env.filters["tojson"] = tojson
VARS = {"a": "A", "b": "b b", "empty": "", "yes": True, "no": False, "n": [1, 2, 3],
        "d": {"zebra": 1, "apple": [1.0, 2.5, 1e20, 1e-7, None, True, "<é\u2028&\"\\>"], "e": {}, "l": []}}
PIECES = ["{{ a }}", "{{- a }}", "{{ a -}}", "{{- b -}}", "{% if yes %}", "{%- if yes %}", "{% if yes -%}", "{%- if no -%}", "{%+ if yes %}", "{% if yes +%}",
          "{% endif %}", "{%- endif %}", "{% endif -%}", "{%- endif -%}", "{% for i in n %}", "{%- for i in n -%}", "{% endfor %}", "{%- endfor %}",
          "{# note #}", "{#- note -#}", "{# it's \"}}\" #}", "{% set x = 'q' %}", "{%- set x = \"%}\" -%}", "{% else %}", "{%- else %}",
          " ", "  ", "\n", "\n\n", "\t", "\r\n", "x", "text ", " it's", "\"q\"", "\\n", "}", "{ ", "%", "  indented\n", "é\n",
          "{% raw %}{{ a }} {% x %}{% endraw %}", "{%- raw -%} {{ b }} {%- endraw -%}", "{{ {'k': {'m': 'v'}}['k']['m'] }}", "{{ '}}' + \"%}\" }}"]
FIXED = ["{{ d | tojson }}", "{{ d|tojson(indent=2) }}", "{{ d | tojson(indent=4) }}", "{{ n | tojson(separators=(',', ':')) }}", "{{ [] | tojson(indent=2) }}",
         "{{ d.apple[0] | tojson }} {{ d['apple'][6] | tojson }}", "{{ range(2, 8, 3) | list | tojson }}", "{% for i in range(3) %}{{ i }}{% endfor %} {% for i in n %}{{ i }} {% endfor %}",
         "user\n{{ a }}{%- if yes %}!{% endif %}", "x\n  {{ a }}{% if yes %}!{% endif %}\n", "{%- if yes %}\n    {{- a }}\n{%- endif %}\n\n"]


def balanced(r):
    out, stack = [], []
    for _ in range(r.randrange(1, 14)):
        p = r.choice(PIECES)
        word = p.strip("{%-+} \n").split(" ")[0] if p.startswith("{%") and "raw" not in p else ""
        if word in ("if", "for"):
            stack.append(word)
        elif word in ("endif", "endfor"):
            if not stack or stack[-1] != word[3:]:
                continue
            stack.pop()
        elif word == "else":
            if not stack or stack[-1] != "if":
                continue
            stack[-1] = "if else"
        if stack and stack[-1] == "if else" and word == "endif":
            stack.pop()
        out.append(p)
    for s in reversed(stack):
        out.append("{% endif %}" if s.startswith("if") else "{%- endfor %}")
    return "".join(out)


def main():
    r = random.Random(20)
    rows, seen = [], set()
    for source in FIXED + [balanced(r) for _ in range(600)]:
        if source in seen:
            continue
        seen.add(source)
        try:
            rows.append({"source": source, "text": env.from_string(source).render(**VARS)})
        except Exception:
            pass
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates.jsonl"), "w", encoding="utf-8") as f:
        f.write(json.dumps({"variables": VARS}, ensure_ascii=False) + "\n")
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(len(rows))


main()
