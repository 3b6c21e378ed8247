"""`sqlext lsp`, asked by a client over standard input and output as an editor asks."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest

from sqlext.language_server.messages import read_message, write_message

TICKS = "CREATE TABLE ticks (symbol STRING, price DOUBLE COMMENT 'in €', ts TIMESTAMP);\n"
QUERY = """SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES LAST(down.price) AS low
  PATTERN (strt down+ up+)
  DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
WRONG = QUERY.replace("DEFINE down", "DEFINE dwn")
FINDING = 'DEFINE names "dwn", which PATTERN does not use\nHint: did you mean down?'
UGLY = "select * from t match_recognize(order by n pattern(a b +) define b as n>prev(n))"


class Client:
    """The side of an editor."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "sqlext", "lsp", "--stdio"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.numbers = itertools.count(1)

    def ask(self, method: str, **parameters: Any) -> Any:
        """The result of a request."""
        number = next(self.numbers)
        write_message(self.process.stdin, id=number, method=method, params=parameters)
        answer = read_message(self.process.stdout)
        assert answer is not None and answer["id"] == number
        return answer.get("result", answer.get("error"))

    def tell(self, method: str, **parameters: Any) -> None:
        write_message(self.process.stdin, method=method, params=parameters)

    def open(self, uri: str, text: str, language: str = "sql") -> list[Any]:
        """The findings in a document that is opened."""
        self.tell("textDocument/didOpen", textDocument={"uri": uri, "text": text, "languageId": language, "version": 1})
        return self.findings()

    def findings(self) -> list[Any]:
        note = read_message(self.process.stdout)
        assert note is not None and note["method"] == "textDocument/publishDiagnostics"
        return list(note["params"]["diagnostics"])

    def at(self, method: str, uri: str, line: int, character: int) -> Any:
        position = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", textDocument={"uri": uri}, position=position)


@pytest.fixture(scope="module")
def client():
    client = Client()
    capabilities = client.ask("initialize", processId=None, rootUri=None, capabilities={})["capabilities"]
    assert capabilities["hoverProvider"] and capabilities["documentFormattingProvider"]
    client.tell("initialized")
    yield client
    assert client.ask("shutdown") is None
    client.tell("exit")
    assert client.process.wait(60) == 0


def test_errors_are_shown_at_their_places_until_they_are_mended(client):
    (finding,) = client.open("file:///a.sql", f"SELECT '€𝄞'; {WRONG}")
    assert (finding["code"], finding["message"]) == ("SQLEXT_UNKNOWN_PATTERN_VARIABLE", FINDING)
    assert finding["range"] == {"start": {"line": 4, "character": 9}, "end": {"line": 4, "character": 12}}
    client.tell("textDocument/didChange", textDocument={"uri": "file:///a.sql"}, contentChanges=[{"text": QUERY}])
    assert client.findings() == []


def test_columns_are_counted_in_units_of_utf_16(client):
    text = "SELECT '𝄞' FROM t MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE B AS true)"
    (finding,) = client.open("file:///b.sql", text)
    assert finding["range"]["start"] == {"line": 0, "character": text.index("B AS") + 1}


PLACES = [  # language, text, the line of the error
    ("python", f'import x\nspark.sql("""{WRONG}""")', 5),
    ("python", f'# sql\nquery = r"""\n{WRONG}"""\nother = "MATCH_RECOGNIZE ("', 6),
    ("python", f"%%sql --limit 3\n{WRONG}", 5),
    ("sql", f"%%sql\n{WRONG}", 5),
]
SILENT = [
    f'query = """{WRONG}"""',
    f'spark.sql(f"""{WRONG}""")',
    'spark.sql("""SELECT * FROM t MATCH_RECOGNIZE (',
    "x =",
]


def test_sql_in_strings_and_cells_of_notebooks_is_checked(client):
    for number, (language, text, line) in enumerate(PLACES):
        (finding,) = client.open(f"vscode-notebook-cell:/n.ipynb#{number}", text, language)
        assert (finding["message"], finding["range"]["start"]["line"]) == (FINDING, line)
    for number, text in enumerate(SILENT):
        assert client.open(f"file:///{number}.py", text, "python") == []


def test_words_are_completed_from_the_text_and_from_open_documents(client):
    client.open("file:///tables.sql", TICKS)
    query = QUERY.replace("price > PREV(price))", "pr")
    client.open("file:///c.sql", query)
    start = len(query.splitlines()[-1]) - 2
    items = client.at("completion", "file:///c.sql", 4, start + 2)
    assert [item["label"] for item in items][:2] == ["price", "PREV"]
    place = {"start": {"line": 4, "character": start}, "end": {"line": 4, "character": start + 2}}
    assert items[0]["textEdit"] == {"range": place, "newText": "price"}
    labels = [item["label"] for item in client.at("completion", "file:///c.sql", 4, start)]
    assert labels[:6] == ["symbol", "price", "ts", "strt", "down", "up"]


HOVERS = [  # line, character, a part of the text
    (0, 16, "ticks (`symbol` STRING"),
    (2, 12, "LAST("),
    (2, 18, "a pattern variable\n```sql\nprice < PREV(price)"),
    (2, 24, "`ticks.price` DOUBLE"),
    (3, 12, "which every row satisfies"),
    (1, 2, None),
]


def test_the_pointer_shows_functions_variables_columns_and_tables(client):
    client.open("file:///tables.sql", TICKS)
    client.open("file:///d.sql", QUERY)
    for line, character, text in HOVERS:
        shown = client.at("hover", "file:///d.sql", line, character)
        assert (shown is None) == (text is None), (line, character, shown)
        assert text is None or text in shown["contents"]["value"]


def test_clauses_are_laid_out(client):
    client.open("file:///e.sql", UGLY)
    (edit,) = client.ask("textDocument/formatting", textDocument={"uri": "file:///e.sql"}, options={})
    assert "MATCH_RECOGNIZE (\n  ORDER BY n\n  PATTERN (a b+)\n" in edit["newText"]
    client.open("file:///e.sql", edit["newText"])
    assert client.ask("textDocument/formatting", textDocument={"uri": "file:///e.sql"}, options={}) == []


def test_what_the_server_cannot_do_is_refused_and_does_not_end_it(client):
    assert client.ask("textDocument/rename")["code"] == -32601
    assert client.at("hover", "file:///never-opened.sql", 0, 0)["code"] == -32603
    client.tell("textDocument/didClose", textDocument={"uri": "file:///never-opened.sql"})
    assert client.open("file:///f.sql", "SELECT 1") == []
    client.tell("textDocument/didClose", textDocument={"uri": "file:///f.sql"})
    assert client.findings() == []
