"""Runs the code cells of a notebook in their order: `python run_notebook.py FILE`.

Prints for each cell what it prints and the value of its last expression, as text; pictures and
tables must be well-formed. An error ends the run.
"""
import ast
import json
import pathlib
import sys
import xml.etree.ElementTree


def run(cell, number, names):
    tree = ast.parse(cell, f"cell {number}")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    if last is None:
        return
    value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    for form in ("_repr_svg_", "_repr_html_"):
        if hasattr(value, form):
            xml.etree.ElementTree.fromstring(getattr(value, form)())
    if value is not None:
        print(value)


if __name__ == "__main__":
    notebook = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8"))
    assert notebook["nbformat"] == 4
    names = {"__name__": "__main__"}
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        run(cell, number, names)
