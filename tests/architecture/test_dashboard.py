"""The dashboard for Grafana and the alerts read numbers that the documented listener writes."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from sqlext.spark.progress import StreamState

DOCS = Path(__file__).parents[2] / "docs"


def test_the_dashboard_and_the_alerts_read_numbers_that_exist():
    text = (DOCS / "operations.md").read_text("utf-8")
    section = text[text.index("## Metrics") : text.index("## Late rows")]
    written = {field.name for field in dataclasses.fields(StreamState)} | set(re.findall(r'"(\w+)": progress', section))
    panels = json.loads((DOCS / "grafana.json").read_text("utf-8"))["panels"]
    shown = set(re.findall(r"\bsqlext_(\w+)\{", " ".join(p["targets"][0]["expr"] for p in panels)))
    alerts = set(re.findall(r"\bsqlext_(\w+)[\[{ `]", section[section.index("| alert on") :]))
    assert shown == written and alerts <= written
