"""Writes what markitdown makes of each file in FROM into TO, as HTML: python readers.py FROM TO."""

import sys
from pathlib import Path

import markdown
from markitdown import MarkItDown

KINDS = {".docx", ".epub", ".html", ".ipynb", ".msg", ".pdf", ".pptx", ".xls", ".xlsx"}

source, target = map(Path, sys.argv[1:])
reader = MarkItDown()
for path in sorted(source.iterdir()):
    if path.suffix not in KINDS:
        continue
    try:
        text = reader.convert(path).text_content
        body = markdown.markdown(text, extensions=["tables"])
        (target / f"{path.name}.html").write_text(f'<!doctype html><meta charset="utf-8"><body>{body}</body>')
    except Exception as error:
        print(f"{path.name}: {error}", file=sys.stderr)
