"""The server, and the commands that it runs, in processes of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pexpect
import pytest

from sqlext.cli.main import main
from sqlext.server import places
from sqlext.server.client import hand_over
from sqlext.server.places import Place, settings

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="a server needs Linux"),
]
MASTER = ["--master", "local[1]"]
MATCH = "SELECT * FROM range(9) MATCH_RECOGNIZE (ORDER BY id MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS id > 4)"
# of small tasks, each of which ends soon after it was canceled
ENDLESS = "SELECT count(*) FROM range(0, 1000000, 1, 5000) a JOIN range(100000) b ON a.id + b.id = -1"
OURS = ["--idle", "20"]

# arguments, standard input, status, standard output, a part of standard error
COMMANDS = [
    (["run", "-e", MATCH], "", 0, "n\n4\n", ""),
    (["run", "-", "--param", "x=3"], "SELECT :x + 1 AS y", 0, "y\n4\n", ""),
    (["run", "-o", "rows.csv", "-e", "SELECT 7 AS a"], "", 0, "", ""),
    (["run", "-e", "SELECT * FROM csv.`rows.csv` WITH (header = true)"], "", 0, "a\n7\n", ""),
    (["run", "-e", "CREATE TEMP VIEW own AS SELECT 1 AS a", "-e", "SELECT * FROM own"], "", 0, "a\n1\n", ""),
    (["run", "-e", "SELECT * FROM own"], "", 1, "", "TABLE_OR_VIEW_NOT_FOUND"),
    (["run", "-e", "SET spark.sql.shuffle.partitions = 3"], "", 0, "key\tvalue\nspark.sql.shuffle.partitions\t3\n", ""),
    (["run", "-e", "SET spark.sql.shuffle.partitions"], "", 0, "key\tvalue\nspark.sql.shuffle.partitions\t2\n", ""),
    (["run", "-e", "CREATE TABLE kept AS SELECT 1 AS a", "-e", "SELECT * FROM kept"], "", 0, "a\n1\n", ""),
    (["run", "-e", "SELECT * FROM kept"], "", 0, "a\n1\n", ""),
    (["run", "-e", MATCH.replace("DEFINE a", "DEFINE b")], "", 1, "", "UNKNOWN_PATTERN_VARIABLE"),
    (["run", "--nonsense"], "", 2, "", "one of the arguments FILE -e is required"),
    (["explain", "-e", MATCH], "", 0, "== Clause 1, line 1 ==", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working folder of a server, with its address in files of this test alone."""
    before = os.getcwd(), os.environ.get("TMPDIR")
    home = tmp_path_factory.mktemp("home")
    os.environ["TMPDIR"] = str(tmp_path_factory.mktemp("s"))
    os.chdir(home)
    places.own_folder.__globals__["tempfile"].tempdir = None
    started = _sqlext("server", "start", *MASTER, *OURS)
    assert started.returncode == 0, started.stderr
    yield home
    _sqlext("server", "stop", "--all")
    os.chdir(before[0])
    os.environ.pop("TMPDIR") if before[1] is None else os.environ.update(TMPDIR=before[1])
    places.own_folder.__globals__["tempfile"].tempdir = None


def _sqlext(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sqlext", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def _begun(*arguments: str) -> subprocess.Popen[str]:
    """A command that goes on after its first line of output."""
    command = [sys.executable, "-m", "sqlext", "run", *MASTER, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "a\n"
    return process


def test_a_server_runs_commands_as_if_each_had_its_own_spark(folder):
    for arguments, stdin, status, output, error in COMMANDS:
        run = _sqlext(arguments[0], *MASTER, *arguments[1:], stdin=stdin)
        assert (run.returncode, run.stdout[: len(output)]) == (status, output), (arguments, run.stderr)
        assert error in run.stderr
    assert "0 running" in _sqlext("server", "status").stdout


PROGRAM = f"""
import sqlext
from sqlext.server.places import settings
from sqlext.server.served_session import use_server

print(use_server(settings("other", "local[1]", {{}})))
for number in range(2):  # as %load_ext and dbt do; a stopped session is followed by another
    own = use_server(settings(None, "local[1]", {{}}))
    spark = sqlext.session()
    print(spark is own, spark.sql("SHOW TABLES LIKE 'v'").count(), spark.sql({MATCH!r}).collect())
    spark.sql("CREATE TEMP VIEW v AS SELECT 1 AS a")
    spark.stop()
"""


def test_a_program_gets_sessions_of_its_own(folder):
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == ["None", *["True 0 [Row(n=4)]"] * 2], run.stderr
    assert any("0 running" in _sqlext("server", "status").stdout for _ in range(100))


def test_tables_whose_files_others_removed_are_no_longer_there(folder):
    made = "CREATE TABLE lost AS SELECT 1 AS a"
    assert _sqlext("run", *MASTER, "-e", made).returncode == 0
    shutil.rmtree(folder / "spark-warehouse" / "lost")
    missing = _sqlext("run", *MASTER, "-e", "SELECT * FROM lost")
    assert "TABLE_OR_VIEW_NOT_FOUND" in missing.stderr
    again = _sqlext("run", *MASTER, "-e", made.replace("1 AS a", "2 AS b"), "-e", "SELECT * FROM lost")
    assert (again.stdout, again.stderr) == ("b\n2\n", "")


def test_ctrl_c_ends_a_command_and_not_the_server(folder):
    process = _begun("-e", "SELECT 1 AS a", "-e", ENDLESS)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert _sqlext("run", *MASTER, "-e", "SELECT 1 AS a").stdout == "a\n1\n"


def test_a_killed_client_leaves_nothing_behind(folder):
    process = _begun("-e", "SELECT 1 AS a", "-e", ENDLESS)
    assert "1 running" in _sqlext("server", "status").stdout
    process.kill()
    process.communicate()
    assert any("0 running" in _sqlext("server", "status").stdout for _ in range(100))
    assert _sqlext("run", *MASTER, "-e", "SELECT count(*) AS a FROM range(9)").stdout == "a\n9\n"


def test_a_server_is_left_alone_by_whoever_must_not_use_it(folder, monkeypatch):
    query = ["-e", "SELECT 1"]
    assert hand_over(["run", *query]) is None  # another master
    assert hand_over(["run", *MASTER, "--warehouse", "other", *query]) is None
    assert hand_over(["run", *MASTER, "--conf", "spark.sql.ansi.enabled=false", *query]) is None
    assert hand_over(["run", *MASTER, "--no-server", *query]) is None
    assert hand_over(["check", "nothing.sql"]) is None
    for name, value in (("TZ", "Asia/Tokyo"), ("SQLEXT_SERVER", "off"), ("PYTHONPATH", "elsewhere")):
        with monkeypatch.context() as other:
            other.setenv(name, value)
            assert hand_over(["run", *MASTER, *query]) is None, name
    with monkeypatch.context() as upgraded:
        upgraded.setattr(places, "digest", lambda: "another version")
        assert hand_over(["run", *MASTER, *query]) is None
        assert "not for this folder" in _line(places.all_places()[0])
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(folder.parent)
        assert hand_over(["run", *MASTER, *query]) is None


def test_a_shell_on_a_terminal_cancels_a_statement_and_goes_on(folder):
    shell = pexpect.spawn(sys.executable, ["-m", "sqlext", "shell", *MASTER], encoding="utf-8", timeout=60)
    shell.expect("sqlext>")
    shell.send(f"{ENDLESS};\r")
    shell.expect("Ctrl-C cancels")
    shell.sendintr()
    shell.expect("canceled")
    shell.expect("sqlext>")
    shell.send("SELECT 41 + 1 AS n;\r")
    shell.expect("│ 42 │")
    shell.expect("sqlext>")
    shell.send("exit\r")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0


def test_the_progress_of_a_command_on_a_terminal_is_erased_before_its_end(folder):
    run = pexpect.spawn(sys.executable, ["-m", "sqlext", "run", *MASTER, "-e", ENDLESS], encoding="utf-8", timeout=60)
    run.expect("Ctrl-C cancels")
    run.sendintr()
    run.expect(pexpect.EOF)
    run.close()
    assert (run.exitstatus, run.before.endswith("\r\x1b[K")) == (130, True)


def _line(place: Place) -> str:
    from sqlext.cli.server_command import _line as line

    return line(place)


def test_only_its_user_can_reach_a_server(folder):
    place = places.place_of(settings(None, "local[1]", {}))
    assert place.socket.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o077 for file in place.socket.parent.iterdir()} == {0}
    assert "secret" not in place.record.read_text("utf-8")


def test_a_server_ends_when_its_spark_has_ended(folder, capsys):  # the last test of the server
    second = _sqlext("server", "start", *MASTER, *OURS)
    assert (second.returncode, "runs already" in second.stdout) == (0, True)
    place = places.place_of(settings(None, "local[1]", {}))
    process = place.read()["process"]
    for _ in range(2):  # the process that holds Spark, then the JVM
        process = int(subprocess.run(["pgrep", "-o", "-P", str(process)], capture_output=True, check=True).stdout)
    os.kill(process, signal.SIGKILL)
    assert hand_over(["run", *MASTER, "-e", "SELECT 1"]) is None
    while place.is_running():
        pass
    assert (main(["server", "status"]), capsys.readouterr().out) == (0, "no server runs\n")
    assert main(["server", "stop", *MASTER]) == 1


def test_a_killed_server_is_forgotten(folder):
    place = places.place_of(settings("killed", None, {}))
    place.write(process=1)
    place.socket.touch()
    assert hand_over(["run", "--warehouse", "killed", "-e", "SELECT 1"]) is None
    assert (place.is_running(), place.record.exists(), place.socket.exists()) == (False, False, False)
