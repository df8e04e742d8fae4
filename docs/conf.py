"""How the site is built from the Markdown of this folder, with Sphinx.

The source folder is the project's root, so that links between pages are the same on the site and
where the pages lie::

    python -m sphinx -nW --keep-going -c docs . build/site
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

EXTENSIONS = Path(__file__).parent / "_ext"
sys.path.insert(0, str(EXTENSIONS))

project = "pytest-chatfake"
author = "the pytest-chatfake contributors"
project_copyright = author
release = metadata.version("pytest-chatfake")
version = ".".join(release.split(".")[:2])

# What an owner fills in; without it, no page says an address or has a link to edit it.
html_baseurl = os.environ.get("SITE_URL", "")
repository = os.environ.get("SITE_REPOSITORY", "")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "docstrings",
    "member_links",
    "navigation",
    "nothing_remote",
    "repository_links",
    "search",
    "sphinx_copybutton",
    "sphinx_llm.txt",
    "sphinxext.opengraph",
]

root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "RELEASING.md",
    "docs/**.md",
    "docs/**.rst",
    "examples/README.md",
    "examples/*/README.md",
]
exclude_patterns = [".*", "build", "src", "tests", "benchmarks"]
nitpicky = True

# Headings have the anchors that GitHub gives them.
myst_heading_anchors = 6

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 88
autoclass_content = "class"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"pytest-chatfake {version}"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(EXTENSIONS / "search.js")
templates_path = ["_templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "source_repository": repository,
    "source_branch": "main",
    "source_directory": "",
    "light_css_variables": {
        "color-brand-primary": "#0b6e4f",
        "color-brand-content": "#0b6e4f",
        "color-api-name": "#0b6e4f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#5cc8a1",
        "color-brand-content": "#5cc8a1",
        "color-api-name": "#5cc8a1",
    },
}

# A command is copied without its prompt and what it prints; what is printed alone is not copied.
copybutton_prompt_text = "$ "
copybutton_copy_empty_lines = False
copybutton_selector = "div.highlight:not(.highlight-text *) > pre"

ogp_site_url = html_baseurl
ogp_social_cards = {"enable": False}

# For language models: llms.txt, and each page as Markdown beside it.
llms_txt_description = metadata.metadata("pytest-chatfake")["Summary"]
llms_txt_build_parallel = False
llms_txt_nested_enabled = False
llms_txt_suffix_mode = "append"
llms_txt_suppress_unknown_node_warnings = ["abbreviation", "desc_optional"]


def setup(app: Sphinx) -> None:
    """Make the README the first page, too: the address of the site's folder opens it."""
    app.connect("build-finished", _copy_first_page)


def _copy_first_page(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        shutil.copy(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))
