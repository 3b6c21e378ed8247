"""The look of what a notebook shows: the colours of the front end, or the system's where it has none."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

# JupyterLab and Visual Studio Code name their colours; elsewhere the page is light or dark as the system is.
_STYLE = """<style>
.sqlext { --sqlext-paper: #ffffff; --sqlext-ink: #1f1f1f;
  color: var(--jp-content-font-color1, var(--vscode-editor-foreground, var(--sqlext-ink)));
  background: var(--jp-layout-color0, var(--vscode-editor-background, var(--sqlext-paper))); }
@media (prefers-color-scheme: dark) { .sqlext { --sqlext-paper: #1e1e1e; --sqlext-ink: #e0e0e0; } }
.sqlext .rows { max-width: 100%; max-height: 480px; overflow: auto; }
.sqlext table { border-collapse: separate; border-spacing: 0; border: none; font-size: 12px; margin: 0; color: inherit;
  table-layout: auto; }
.sqlext th, .sqlext td { border: none; padding: 3px 10px; text-align: left !important; vertical-align: top; }
.sqlext td { white-space: pre; }
.sqlext thead th { position: sticky; top: 0; background: inherit; cursor: pointer; font-weight: bold;
  border-bottom: 1px solid currentColor; white-space: nowrap; }
.sqlext thead, .sqlext thead tr, .sqlext table, .sqlext .rows { background: inherit; }
.sqlext th[aria-sort=ascending]::after { content: " \\25b4"; }
.sqlext th[aria-sort=descending]::after { content: " \\25be"; }
.sqlext tbody tr:nth-child(even) { background: rgba(128, 128, 128, 0.08); }
.sqlext th.number, .sqlext td.number { text-align: right !important; font-variant-numeric: tabular-nums; }
.sqlext .long { max-width: min(40ch, 60vw); max-height: 4.5em; overflow: hidden; text-overflow: ellipsis; }
.sqlext .long:focus { max-width: none; max-height: none; white-space: pre-wrap; }
.sqlext .null, .sqlext .note { opacity: 0.6; font-style: italic; }
.sqlext .note { font-size: 12px; padding: 2px 0; }
.sqlext pre { color: inherit; background: inherit; font-size: 12px; overflow: auto; }
.sqlext svg { width: 100%; max-width: 900px; height: auto; }
@media (max-width: 480px) { .sqlext th, .sqlext td { padding: 3px 5px; } }
</style>"""


def in_theme(html: str) -> str:
    """The HTML in a box that has the colours of the page."""
    return f'<div class="sqlext">{_STYLE}\n{html}</div>'


@dataclass(frozen=True)
class Report:
    """A text whose lines are shown as they are."""

    text: str

    def _repr_html_(self) -> str:
        return in_theme(f"<pre>{escape(self.text)}</pre>")

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Note:
    """A warning, which a notebook shows as a sentence of its own."""

    sentence: str

    def _repr_html_(self) -> str:
        return in_theme(f'<div class="note">Warning: {escape(self.sentence)}</div>')

    def __repr__(self) -> str:
        return f"Warning: {self.sentence}"
