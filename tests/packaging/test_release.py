"""What PyPI, conda and GitHub are told about the package agrees with the package."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from email.message import Message
from email.parser import Parser
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import sqlext
from tests.built_wheel import ROOT, tracked_files

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CONNECT = {"grpcio", "grpcio-status", "googleapis-common-protos", "zstandard"}  # of pyspark[connect]


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    files = zipfile.ZipFile(wheel)
    assert "sqlext/py.typed" in files.namelist()
    (name,) = [name for name in files.namelist() if name.endswith("dist-info/METADATA")]
    return Parser().parsestr(files.read(name).decode())


def project_urls(metadata: Message) -> dict[str, str]:
    return dict(entry.split(", ") for entry in metadata.get_all("Project-URL", []))


def test_the_description_has_no_relative_links(metadata):
    links = re.findall(r"\]\(([^)]*)\)", metadata.get_payload())
    files = f"{project_urls(metadata)['Source']}/blob/v{sqlext.__version__}/"
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert [link for link in links if link.startswith(files)] != []
    assert [link for link in links if link.startswith(files) and not local(link.removeprefix(files)).exists()] == []


def local(link: str):
    return ROOT / link.partition("#")[0]


def test_links_of_files_and_images_become_absolute():
    spec = importlib.util.spec_from_file_location("setup_of_sqlext", ROOT / "setup.py")
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    text = "[a](docs/a.md#b) ![c](c.png) [d](https://d.org) [e](#e)"
    assert setup.absolute_links(text, "f", "i") == "[a](f/docs/a.md#b) ![c](i/c.png) [d](https://d.org) [e](#e)"


def test_only_the_extras_for_users_are_published(metadata):
    assert metadata.get_all("Provides-Extra") == ["delta", "shell", "notebook"]


def test_the_metadata_says_who_where_and_for_what(metadata):
    assert (metadata["Version"], metadata["Author"]) == (sqlext.__version__, "The sqlext authors")
    assert set(project_urls(metadata)) == {"Source", "Documentation", "Changelog", "Issues", "Security"}
    kinds = {entry.partition(" :: ")[0] for entry in metadata.get_all("Classifier", [])}
    assert {"Development Status", "Topic", "Typing"} <= kinds


def test_an_upper_bound_has_a_reason(metadata):
    """The lines of pyproject.toml with an upper bound have a comment, or follow one."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    lines = ["", *block[1].splitlines()]
    bounded = [(before, line) for before, line in pairwise(lines) if "<" in line.partition("#")[0]]
    assert [line for before, line in bounded if "#" not in line and "#" not in before] == []
    required = [Requirement(entry) for entry in metadata.get_all("Requires-Dist") if "extra" not in entry]
    assert [str(one) for one in required if not any(spec.operator in (">=", "==") for spec in one.specifier)] == []


def test_every_file_names_the_repository_that_pyproject_names(metadata):
    """`make address TO=…` writes another one into all of them."""
    address = re.compile(r"(?:https://(?!pypi\.org/)[\w.-]+/|--repo )([\w.-]+/spark-sqlext)\b")
    texts = {name: (ROOT / name).read_text("utf-8", "replace") for name in tracked_files() if (ROOT / name).is_file()}
    named = {name: set(address.findall(text)) for name, text in texts.items() if address.search(text)}
    assert set.union(*named.values()) == {"/".join(project_urls(metadata)["Source"].split("/")[-2:])}, named
    assert {"CITATION.cff", "SECURITY.md", "conda/recipe.yaml"} <= set(named)


def test_conda_requires_what_the_wheel_requires(metadata):
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8"))
    of_conda = {line.split()[0]: line.split()[1] for line in recipe["requirements"]["run"]}
    required = [Requirement(entry) for entry in metadata.get_all("Requires-Dist") if "extra" not in entry]
    of_wheel = {one.name: one.specifier for one in required}
    assert set(of_conda) - CONNECT - {"python", "openjdk"} == set(of_wheel)
    assert {name: Requirement(f"x{of_conda[name]}").specifier for name in of_wheel} == of_wheel
    assert recipe["context"]["version"] == sqlext.__version__


def test_the_adapter_of_dbt_brings_delta():
    """Its models are Delta tables. Without the extra, pip installs a newer PySpark for which Delta has no jar."""
    text = (ROOT / "dbt" / "pyproject.toml").read_text("utf-8")
    required = map(Requirement, re.findall(r'"([^"]+)"', re.search(r"^dependencies = (.*)", text, re.MULTILINE)[1]))
    assert {one.name: one.extras for one in required}["spark-sqlext"] == {"delta"}


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == sqlext.__version__


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_hash(path):
    uses = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert uses
    assert [line for line in uses if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_workflows_have_no_rights_that_a_job_does_not_name():
    assert [path.name for path in WORKFLOWS if yaml.safe_load(path.read_text("utf-8"))["permissions"] != {}] == []
    jobs = [job for path in WORKFLOWS for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()]
    assert [job["name"] for job in jobs if "permissions" not in job or "timeout-minutes" not in job] == []


@pytest.mark.parametrize("path", sorted((ROOT / ".github").glob("ISSUE_TEMPLATE/*.yml")), ids=lambda path: path.stem)
def test_a_form_for_issues_can_be_read(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    fields = [field for field in form.get("body", []) if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
