"""A page for each error: what its messages say, their hints, and statements that cause it.

The names are those of docs/language.md#errors, messages and hints come from the places in the sources that raise them,
and examples from the statements with mistakes in the data of the tests. Only the commonest errors of Spark, whose
messages are not ours, are described by hand, in errors_of_spark.txt.
`python -m website.error_pages` writes the pages that `sqlext explain-error` prints.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "sqlext" / "error_pages.md"
SOURCES = ("sqlext", "rewriter", "catalog")
_CLASS = re.compile(r"^\*\*(\w+)\*\*:(.*?)\n\n", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (.*) \|$", re.MULTILINE)
_EXAMPLE = re.compile(
    r"^== .*\n(?P<statement>(?:(?!==|>>$|error$).*\n)+)(?:>>|error)\n"
    r"(?P<error>SQLEXT_(?P<name>\w+): .*\n(?:(?!For more: ).+\n?)*)",  # without the line that names the page
    re.MULTILINE,
)
_OF_SPARK = re.compile(
    r"^== (?P<name>\w+)\n(?P<cause>.+)\ncure\n(?P<cure>.+)\nexample\n(?P<statement>(?:(?!>>$).*\n)+)>>\n"
    r"(?P<error>(?:(?!== \w+$).*\n)*)",
    re.MULTILINE,
)
_MOST_EXAMPLES = 3
_OTHER = "…"  # in the place of what depends on the statement


@dataclass
class ErrorPage:
    """The facts about one error.

    `kinds` are its classes, `advice` pairs of a message and its hint, "" without one, `examples` pairs of a statement
    and the error that it is answered with; `cause` and `cure` are what website/causes_and_cures.txt adds to them,
    `of_spark` is the cause and the cure of an error that Spark raises.
    """

    name: str
    kinds: list[str]
    advice: list[tuple[str, str]] = field(default_factory=list)
    examples: list[tuple[str, str]] = field(default_factory=list)
    cause: str = ""
    cure: str = ""
    of_spark: tuple[str, str] = ("", "")

    @property
    def messages(self) -> list[str]:
        """What the messages of the sources say, each once."""
        return list(dict.fromkeys(message for message, _ in self.advice if message))

    @property
    def hints(self) -> list[str]:
        """The hints of the sources, each once, or else those of the examples."""
        hints = list(dict.fromkeys(hint for _, hint in self.advice if hint))
        return hints or [hint for _, error in self.examples if (hint := error.partition("\nHint: ")[2])]

    def markdown(self) -> str:
        """The page."""
        meanings = kinds_of_errors()
        lines = [f"# SQLEXT_{self.name}", ""]
        for kind in self.kinds:
            when, meaning = meanings[kind]
            lines.append(f"`{kind}`, raised {when}: {meaning}.")
        cause, cure = self.of_spark
        lines += ["", "## Cause", *_paragraphs(cause or self.cause, self.messages)]
        lines += ["", "## Cure", *_paragraphs(cure or self.cure, self.hints)]
        if self.examples:
            lines += ["", "## Examples"]
        for statement, error in self.examples:
            lines += ["", "```sql", statement, "```", "", "```text", error, "```"]
        return "\n".join(lines) + "\n"


def _paragraphs(sentence: str, texts: list[str]) -> list[str]:
    """A sentence, and a list of texts of the program as they are, `…` for what depends on the statement."""
    lines = ["", sentence] if sentence else []
    return [*lines, *([""] if texts else []), *(f"- {_quoted(text)}" for text in texts)]


def _quoted(text: str) -> str:
    """A text of the program in Markdown, which reads no character of it as its own."""
    text = " ".join(text.split())
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def index_page(pages: Sequence[ErrorPage]) -> str:
    """The list of all errors, by class."""
    lines = ["# Errors", "", "Each error has a stable name, its `error_class`, and a page with its cause and cure."]
    for kind, (when, meaning) in kinds_of_errors().items():
        names = [page.name for page in pages if kind in page.kinds]
        if names:
            lines += ["", f"## {kind}", "", f"Raised {when}: {meaning}.", ""]
            lines.append(" · ".join(f"[`{name}`]({name}.md)" for name in names))
    return "\n".join(lines) + "\n"


def kinds_of_errors() -> dict[str, tuple[str, str]]:
    """The classes of errors → when they are raised, what they mean, as docs/language.md says."""
    return {kind: (when, meaning) for kind, when, meaning in _ROW.findall(_section_of_errors())}


@cache
def error_pages() -> tuple[ErrorPage, ...]:
    """The pages of all errors, by name."""
    added = written()
    pages = {
        name: ErrorPage(name, kinds, cause=added.get(name, ("", ""))[0], cure=added.get(name, ("", ""))[1])
        for name, kinds in listed_errors().items()
    }
    for spark in errors_of_spark():
        pages[spark.name].of_spark = (spark.cause, spark.cure)
        pages[spark.name].examples.append((spark.statement, spark.error))
    for name, message, hint in _raised(set(pages)):
        if (message, hint) not in pages[name].advice and (message or hint):
            pages[name].advice.append((message, hint))
    for path in sorted((ROOT / "tests").rglob("*.txt")):
        for match in _EXAMPLE.finditer(path.read_text("utf-8")):
            page = pages.get(match["name"])
            if page and len(page.examples) < _MOST_EXAMPLES:
                page.examples.append((match["statement"].strip(), match["error"].strip()))
    for page in pages.values():
        page.cause = page.cause or ("" if page.messages else page.of_spark[0])
        page.cure = page.cure or ("" if page.hints else page.of_spark[1])
    return tuple(pages[name] for name in sorted(pages))


@dataclass(frozen=True)
class ErrorOfSpark:
    """What website/errors_of_spark.txt says of an error of Spark, and a statement with the message of Spark 4.2."""

    name: str
    cause: str
    cure: str
    statement: str
    error: str


def errors_of_spark() -> list[ErrorOfSpark]:
    """The commonest errors of Spark."""
    text = (Path(__file__).parent / "errors_of_spark.txt").read_text("utf-8")
    return [ErrorOfSpark(**{k: v.strip("\n") for k, v in m.groupdict().items()}) for m in _OF_SPARK.finditer(text)]


def written() -> dict[str, tuple[str, str]]:
    """The causes and cures that website/causes_and_cures.txt adds, "" where it adds none."""
    lines = (Path(__file__).parent / "causes_and_cures.txt").read_text("utf-8").splitlines()
    rows = [[cell.strip().removeprefix("-") for cell in line.split("|")] for line in lines if line and line[0] != "#"]
    return {name: (cause, cure) for name, cause, cure in rows}


def listed_errors() -> dict[str, list[str]]:
    """The names that docs/language.md lists → the classes under which it lists them."""
    names: dict[str, list[str]] = defaultdict(list)
    for kind, listed in _CLASS.findall(_section_of_errors() + "\n\n"):
        for name in re.findall(r"`(\w+)`", listed):
            names[name].append(kind)
    return dict(names)


def _section_of_errors() -> str:
    return (ROOT / "docs" / "language.md").read_text("utf-8").partition("\n## Errors\n")[2].partition("\n## ")[0]


def _raised(names: set[str]) -> Iterator[tuple[str, str, str]]:
    """(name, message, hint) for each place in the sources that makes an error."""
    modules = []
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if folder != "sqlext" or path.relative_to(ROOT / folder).parts[0] not in SOURCES:  # links to the others
                modules.append(ast.parse(path.read_text("utf-8")))
    constants: dict[str, list[ast.expr]] = {}
    for module in modules:
        constants |= {name: values for name, values in _assigned(module.body).items() if name.isupper()}
    for module in modules:
        yield from _raised_in(module, constants, names)


def _raised_in(
    module: ast.Module, constants: dict[str, list[ast.expr]], names: set[str]
) -> Iterator[tuple[str, str, str]]:
    readers = {name: call for call in _calls(module) if _is_reader(call) and (name := _named(call, names))}
    only_reader = next(iter(readers.values())) if len(readers) == 1 else None
    constants = constants | _assigned(module.body)
    for function in ast.walk(module):
        if not isinstance(function, (ast.FunctionDef, ast.Module)):
            continue
        texts = constants | _assigned([function])
        own = function.body if isinstance(function, ast.Module) else [function]
        for node in _own_nodes(own, is_module=isinstance(function, ast.Module)):
            if isinstance(node, ast.Call):
                reader = only_reader if _is_error_of_reader(node) else None
                name = _named(node, names) or (_named(reader, names) if reader else "")
                defaults = [hint for _, hint in _advice(reader, texts, names)] if reader else []
                default = next(iter([*_set_hints(function, texts, names), *defaults]), "") if reader else ""
                if name:
                    yield from ((name, message, hint or default) for message, hint in _advice(node, texts, names))
            elif isinstance(node, ast.Tuple) and isinstance(function, ast.Module):
                yield from _from_table(node, names)


def _set_hints(function: ast.AST, texts: dict[str, list[ast.expr]], names: set[str]) -> Iterator[str]:
    """The hints that a function gives to its reader: `cursor.hint = …`."""
    for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(target := node.targets[0], ast.Attribute)
            and target.attr == "hint"
        ):
            yield from _sentences(node.value, texts, names)


def _own_nodes(body: list[ast.stmt], *, is_module: bool) -> Iterator[ast.AST]:
    """The nodes of a function, or of a module outside of its functions."""
    for statement in body:
        if is_module and isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        yield from ast.walk(statement)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (child for child in ast.walk(node) if isinstance(child, ast.Call))


def _named(call: ast.Call, names: set[str]) -> str:
    """The name of an error that is an argument of the call."""
    arguments = [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg == "error_class")]
    values = (argument.value for argument in arguments if isinstance(argument, ast.Constant))
    return next((value for value in values if isinstance(value, str) and value in names), "")


def _is_reader(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("Cursor", "Cursor.of")


def _is_error_of_reader(call: ast.Call) -> bool:
    """True for `cursor.error(…)`, whose class and hint are those of the reader unless it names others."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "error"


def _assigned(body: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """The values that are assigned to each name in the statements of a module, or anywhere in a function."""
    values: dict[str, list[ast.expr]] = defaultdict(list)
    inner = body if len(body) != 1 or not isinstance(body[0], ast.FunctionDef) else ast.walk(body[0])
    for node in inner:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = zip(target.elts, node.value.elts) if _are_tuples(target, node.value) else [(target, node.value)]
                for left, right in pairs:
                    if isinstance(left, ast.Name):
                        values[left.id].append(right)
    return dict(values)


def _are_tuples(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)


def _advice(call: ast.Call, texts: dict[str, list[ast.expr]], names: set[str]) -> Iterator[tuple[str, str]]:
    """The pairs of message and hint that a call can have."""
    positional = [found for argument in call.args if (found := _sentences(argument, texts, names))]
    values = [keyword.value for keyword in call.keywords if keyword.arg == "hint"]
    hints = [text for value in values for text in _sentences(value, texts, names)]
    if not hints and len(positional) > 1:
        hints = positional[1]
    for message in positional[0] if positional else [""]:
        for hint in hints or [""]:
            yield message, hint


def _sentences(node: ast.expr, texts: dict[str, list[ast.expr]], names: set[str]) -> list[str]:
    """The texts with several words that an expression can be, `…` in the place of values."""
    if isinstance(node, ast.IfExp):
        return _sentences(node.body, texts, names) + _sentences(node.orelse, texts, names)
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in _sentences(value, texts, names)]
    if isinstance(node, ast.Name):
        values, rest = texts.get(node.id, []), {name: v for name, v in texts.items() if name != node.id}
        return [text for value in values for text in _sentences(value, rest, names)]
    text = _template(node)
    return [text] if len(re.findall(r"[^\W\d_]{2,}", text)) > 1 and text not in names else []


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (_template(value) if isinstance(value, ast.Constant) else _OTHER for value in node.values)
        return re.sub(r"…(?:\s*…)+", _OTHER, "".join(parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + (_template(node.right) or _OTHER)
    return ""


def _from_table(node: ast.Tuple, names: set[str]) -> Iterator[tuple[str, str, str]]:
    """What a table of a module tells: tuples of the name of an error and a hint."""
    values = [element.value for element in node.elts if isinstance(element, ast.Constant)]
    texts = [value for value in values if isinstance(value, str)]
    for name in set(texts) & names:
        hints = [text for text in texts[texts.index(name) + 1 :] if " " in text]
        yield from ((name, "", hint) for hint in hints[:1])


def shipped_pages() -> str:
    """The text of the file with all pages that is in the package."""
    return "\n".join(page.markdown() for page in error_pages())


if __name__ == "__main__":
    FILE.write_text(shipped_pages(), "utf-8")
