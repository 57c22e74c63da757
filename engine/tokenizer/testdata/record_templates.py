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

# What the template library can do; see doc.go for what it cannot.
EXPRESSIONS = r'''{{ 'x\u2581\x41\101\r\n\t\q' }}
{{ " x ".strip() }}{{ "a,b".split(",") | last }}
{{ "abc"[::-1] }}{{ "abc"[1:] }}{{ n[-1] }}{{ n[:2] }}
{{ "abc".startswith("a") }}{{ "abc".endswith("x") }}
{{ "Hello".upper() }}{{ "hello world".title() }}{{ "x".lower() }}{{ "aXa".replace("a","b") }}
{{ n is iterable }}{{ a is string }}{{ d is mapping }}{{ n is sequence }}{{ q is defined }}{{ none is none }}
{% for i in n if i > 1 %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{% else %}none{% endfor %}
{% for k, v in d.items() %}{{ k }};{% endfor %}
{% for k, v in d | items %}{{ k }};{% endfor %}
{% for k in d %}{{ k }}{% endfor %}
{% set ns = namespace(x=1) %}{% for i in n %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}
{% macro m(x, y=2) %}[{{ x }}{{ y }}]{% endmacro %}{{ m(1) }}{{ m(1, y=3) }}
{% set t %}a{{ a }}b{% endset %}{{ t }}
{{ n | map('string') | join('-') }}
{{ [{'r':1},{'r':2}] | selectattr('r','equalto',2) | list }}
{{ [{'r':1},{'r':2}] | map(attribute='r') | list }}
{{ n | length }}{{ n | first }}{{ n | last }}
{{ 'y' if no }}
{{ 'y' if no else 'z' }}
{{ (a == 'A') and not no or yes }}
{{ 1 in n }}{{ 9 not in n }}
{{ q }}
{{ q | default('dd') }}{{ empty | default('e', true) }}
{% for i in n %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}{% for i in n %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}
{{ "{}-{}".format(1, 2) }}
{{ n | string }}
{{ a | trim | upper }}
{{ " a b " | trim }}
{{ n | sum }}{{ n | max }}{{ n | min }}{{ n | sort(reverse=true) }}
{{ n | reverse | list }}
{{ d.get('zebra') }}{{ d.get('nope', 4) }}{{ d['zebra'] }}{{ d.keys() | list }}
{{ loop is defined }}
{% for x in n %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a','b') }}{{ loop.revindex }}{% endfor %}
{{ n | batch(2) | list }}
{{ '<' | e }}
{{ 'abc' | replace('a','x') }}
{{ 'a\nb' | indent(2) }}
{{ 3 | int + "4" | int }}
{{ "x" * 3 }}
{{ [1] + [2] }}
{{ 1 < 2 < 3 }}
{{ n | unique | list }}
{{ true and 'v' }}
{{ none or 'w' }}
{{ '' or 0 }}
{{ "é" | tojson }}
{{ 'abc' | list }}
{{ d | length }}
{{ n | tojson | length }}
{{ "A" in "cAt" }}
{{ "abc".find("c") }}
{{ "a\n\n".rstrip("\n") }}
{{ "xxaxx".lstrip('x') }}
{{ "abab".count("b") }}
{{ 3 is odd }}
{{ a is not none }}
{{ not a is none }}
{{ d.zebra is number }}{{ 1.5 is float }}{{ 1 is integer }}{{ yes is boolean }}
{{ yes is true }}{{ no is false }}
{{ dict(a=1) }}
{{ n | select('odd') | list }}
{{ n | rejectattr('x') | list if no }}
{{ 5 | abs }}{{ 2.567 | round(1) }}{{ 7.0 | int }}
{{ 'a' < 'b' }}
{{ n[5] is defined }}
{{ {'a': 1} }}
{{ {'a': [none, true]} | tojson }}'''.split("\n")


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
    for source in FIXED + EXPRESSIONS + [balanced(r) for _ in range(600)]:
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
