"""The server refuses what does not come from its page, and goes on after it."""

import http.client
import json
import socket
import threading

import pytest

from sqlext.playground.questions import Playground
from sqlext.playground.read_csv import csv_table
from sqlext.playground.server import PlaygroundServer

SCRIPT = "<script>alert(1)</script>"
SCRIPT_ROWS = f'ts,v\n1,"{SCRIPT}"\n'.encode()


@pytest.fixture(scope="module")
def server():
    rows = csv_table(SCRIPT_ROWS, "t")
    served = PlaygroundServer(Playground(own=rows, first=0))
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()


def request(server, method="GET", path=None, headers=None, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    path = f"/{server.token}/" if path is None else path
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    found = response.status, response.read(), response.headers
    connection.close()
    return found


def ask(server, question, asked, **headers):
    sent = {"Content-Type": "application/json", **headers}
    return request(server, "POST", f"/{server.token}/ask/{question}", sent, json.dumps(asked))


def test_the_page_is_served_with_a_policy_that_lets_nothing_in_from_elsewhere(server):
    status, content, headers = request(server)
    assert status == 200 and b"<title>sqlext playground</title>" in content
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/"},
        {"path": "/wrong/"},
        {"path": "/wrong/ask/begin"},
        {"headers": {"Host": "evil.example"}},
        {"headers": {"Host": "127.0.0.1"}},
        {"headers": {"Origin": "https://evil.example"}},
        {"headers": {"Origin": "null"}},
    ],
    ids=str,
)
def test_another_token_host_or_origin_is_refused(server, change):
    assert request(server, **change)[0] == 403
    assert request(server, "POST", **change)[0] == 403


@pytest.mark.parametrize(
    "name", ["../server.py", "page/../answer.py", "page/%2e%2e/answer.py", "page/", "page/nothing.js"]
)
def test_only_the_files_of_the_page_are_served(server, name):
    status, content, _ = request(server, path=f"/{server.token}/{name}")
    assert status == 404 or content.startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    "headers, body, status",
    [
        ({"Content-Type": "text/plain"}, "{}", 415),
        ({"Content-Type": "application/json"}, "{", 400),
        ({"Content-Type": "application/json"}, "[1]", 400),
        ({"Content-Type": "application/json"}, "[" * 100_000, 400),
        ({"Content-Type": "application/json"}, '{"text": 1}', 400),
        ({"Content-Type": "application/json", "Content-Length": "104857600"}, "", 413),
        ({"Content-Type": "application/json", "Content-Length": "-1"}, "", 411),
    ],
    ids=str,
)
def test_a_question_that_is_none_is_refused(server, headers, body, status):
    assert request(server, "POST", f"/{server.token}/ask/answer", headers, body)[0] == status
    assert request(server)[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"A" * 100_000,
        b"",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 300,
    ],
    ids=lambda sent: repr(sent[:20]),
)
def test_what_is_no_http_ends_its_own_connection_only(server, sent):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass  # the server did not read all of it
    assert request(server)[0] == 200


def test_a_slow_request_loses_its_connection(server, monkeypatch):
    monkeypatch.setattr(server, "seconds", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        head = f"POST /{server.token}/ask/answer HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        client.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
        assert client.recv(1 << 16) == b""
    monkeypatch.undo()
    assert request(server)[0] == 200


def test_a_value_is_sent_as_json_and_never_as_a_page(server):
    status, content, headers = ask(server, "rows", {"table": "own"})
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert json.loads(content)["columns"][1]["cells"] == [SCRIPT]


def test_rows_are_taken_as_bytes_of_limited_length(server):
    path, kind = f"/{server.token}/rows/a%20b.csv", {"Content-Type": "application/octet-stream"}
    assert request(server, "POST", path, {"Content-Type": "text/plain"}, "v\n1\n")[0] == 415
    assert request(server, "POST", path, {**kind, "Content-Length": "104857600"}, "")[0] == 413
    before = server.playground.own
    status, content, _ = request(server, "POST", path, kind, b"v\n1\n")
    assert status == 200 and json.loads(content)["own"]["name"] == "a_b"
    assert json.loads(ask(server, "rows", {"table": "own"})[1])["rows"] == 1
    status, content, _ = request(server, "POST", path, kind, b"\xff")
    assert status == 200 and json.loads(content)["errors"][0]["class"] == "SQLEXT_CSV_FILE"
    server.playground.take(SCRIPT_ROWS, f"{before.name}.csv")  # for the other tests


def test_an_unknown_question_is_refused(server):
    assert ask(server, "import_os", {})[0] == 400
    assert ask(server, "rows", {"table": "../../etc/passwd"})[0] == 400
