"""What pyproject.toml cannot say: in the description of the package, links of README.md lead to the source repository.

A page of PyPI has no files beside it, so relative links would lead nowhere there.
"""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def absolute_links(text: str, files: str, images: str) -> str:
    """The Markdown text with `files` before the path of each relative link, and `images` before that of each image.

    >>> absolute_links("[a](docs/a.md#b) ![c](c.png) [d](https://d.org) [e](#e)", "f", "i")
    '[a](f/docs/a.md#b) ![c](i/c.png) [d](https://d.org) [e](#e)'
    """
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{images}/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\1{files}/", text)


def description() -> str:
    """README.md with links to the files of this version."""
    source = _value(ROOT / "pyproject.toml", "Source")
    tag = f"v{_value(ROOT / 'sqlext' / 'version.py', '__version__')}"
    text = (ROOT / "README.md").read_text("utf-8")
    return absolute_links(text, f"{source}/blob/{tag}", f"{source}/raw/{tag}")


def _value(file: Path, name: str) -> str:
    """The text that a file assigns to a name. Python 3.10 has no tomllib."""
    (value,) = re.findall(rf'^{name} = "([^"]*)"', file.read_text("utf-8"), re.MULTILINE)
    return str(value)


if __name__ == "__main__":
    setup(long_description=description(), long_description_content_type="text/markdown")
