"""Inputs by packages of Python. Run: PYTHONPATH=FOLDER python3 python.py, behind the line of pip in README.md."""

import datetime
import io
import mailbox
import os
import re
import tempfile
import zipfile
from email import policy
from email.message import EmailMessage
from pathlib import Path

import docx
import fitz
import nbformat
import odf.opendocument
import openpyxl
import pptx
import pypandoc
import xlsxwriter
from fpdf import FPDF
from nbformat import v4
from odf import table, text
from openpyxl.comments import Comment
from pptx.util import Inches
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, SimpleDocTemplate, Table
from weasyprint import HTML

FILES = Path(__file__).parent / ".." / "files"


UNSEEN = re.compile(r"thumbnail|stylesWithEffects|customXml|printerSettings|slideLayouts/")


def slim(data):
    """The file without pictures of itself and without layouts that no slide has."""
    parts = zipfile.ZipFile(io.BytesIO(data))
    used = set()
    for name in parts.namelist():
        if "slides/_rels" in name:
            used |= set(re.findall(r"slideLayout\d+\.xml", parts.read(name).decode()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as slimmed:
        for name in parts.namelist():
            if UNSEEN.search(name) and not any(layout in name for layout in used):
                continue
            content = parts.read(name)
            if name.endswith((".rels", "[Content_Types].xml")):
                for relation in re.findall(rb"<(?:Relationship|Override) [^>]*>", content):
                    said = relation.decode()
                    if UNSEEN.search(said) and not any(layout in said for layout in used):
                        content = content.replace(relation, b"")
            slimmed.writestr(name, content)
    return out.getvalue()


def save(name, data):
    if name.endswith((".docx", ".pptx")):
        data = slim(data)
    assert len(data) <= 24 * 1024, f"{name}: {len(data)}"
    (FILES / name).write_bytes(data)


def saved(name, write):
    buffer = io.BytesIO()
    write(buffer)
    save(name, buffer.getvalue())


# python-docx: a manual with the list styles of its template.
manual = docx.Document()
manual.add_heading("Manual", 0)
manual.add_heading("Setting up", 1)
for said in ("Open the box.", "Plug it in.", "Wait."):
    manual.add_paragraph(said, style="List Number")
manual.add_paragraph("Do not shake it.", style="List Bullet")
manual.add_paragraph("Not even a bit.", style="List Bullet 2")
line = manual.add_paragraph("It holds 10")
line.add_run("6").font.superscript = True
line.add_run(" liters of H")
line.add_run("2").font.subscript = True
line.add_run("O.")
grid = manual.add_table(rows=3, cols=3)
for at, said in enumerate(("Part", "Left", "Right")):
    grid.cell(0, at).text = said
grid.cell(1, 0).merge(grid.cell(1, 1)).text = "both"
grid.cell(1, 2).text = "42"
grid.cell(2, 0).text = "x"
grid.cell(2, 1).text = "y"
grid.cell(2, 2).text = "z"
manual.add_paragraph("first\tsecond\nnew line")
manual.sections[0].header.paragraphs[0].text = "Head of the manual"
manual.core_properties.title = "Manual"
saved("manual.docx", manual.save)

# pandoc: a report of its own dialect in four kinds.
MARKDOWN = r"""# Findings

Text with a note.[^a] And one more.[^b]

5. fifth
6. sixth

    a) sub one
    b) sub two

- dot

    - inner dot

- [x] done
- [ ] open

The area is $a = \frac{1}{2} b^2$ in m^2^ and CO~2~.

  Region   May   June
  -------- ----- ------
  North    1     2
  South    3     4

## Terms

Gull
:   A loud bird.

> Quoted words.

    code  kept

[^a]: The first note.
[^b]: The second note.
"""
for kind in ("docx", "odt", "epub", "html", "ipynb"):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"a.{kind}"
        more = ["--metadata", "title=Findings", "--standalone"] if kind in ("html", "epub") else []
        pypandoc.convert_text(MARKDOWN, kind, format="markdown", outputfile=str(target), extra_args=more)
        save(f"findings.{kind}", target.read_bytes())

SLIDES = """# Why gulls

- loud
- cheap

::: notes
Say it slowly.
:::

# Numbers

1. one
2. two

| Part | Sum |
|------|-----|
| a    | 42  |

$x^2$
"""
with tempfile.TemporaryDirectory() as folder:
    target = Path(folder) / "a.pptx"
    pypandoc.convert_text(SLIDES, "pptx", format="markdown", outputfile=str(target))
    save("findings.pptx", target.read_bytes())

# python-pptx: text in a group, a table, notes.
deck = pptx.Presentation()
slide = deck.slides.add_slide(deck.slide_layouts[1])
slide.shapes.title.text = "Quarter"
slide.placeholders[1].text_frame.text = "Sales rose"
slide.placeholders[1].text_frame.add_paragraph().text = "Costs fell"
group = slide.shapes.add_group_shape()
group.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "In a group"
slide.notes_slide.notes_text_frame.text = "Thank them."
second = deck.slides.add_slide(deck.slide_layouts[5])
second.shapes.title.text = "Table"
cells = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
for at, said in enumerate(("Part", "Sum", "Bolt", "42")):
    cells.cell(at // 2, at % 2).text = said
saved("quarter.pptx", deck.save)

# openpyxl: formats, a comment, a merged cell, a formula without a value.
book = openpyxl.Workbook()
hours = book.active
hours.title = "Hours"
hours.append(["Who", "Time", "Since", "At"])
hours.append(["Ann", datetime.timedelta(hours=26, minutes=30), datetime.date(2024, 2, 29), datetime.time(8, 15)])
hours.append(["Bo", datetime.timedelta(minutes=45), datetime.datetime(2024, 2, 29, 23, 59, 59), None])
hours["B2"].number_format = "[h]:mm:ss"
hours["B3"].number_format = "[mm]:ss"
hours["A2"].comment = Comment("on leave?", "Cy")
hours["B5"] = "=SUM(B2:B3)"
hours.merge_cells("A6:C6")
hours["A6"] = "over three"
hours["D6"] = "fourth"
hours["A8"] = 1234567.5
hours["A8"].number_format = '#,##0.00\\ "h"'
hours["B8"] = 45292
hours["B8"].number_format = 'd" of "mmmm\\ yyyy'
hours["C8"] = 12
hours["C8"].number_format = '0" m"'
hours["D8"] = 1.5
hours["D8"].number_format = "[Red]0.0;[Blue]-0.0"
book.create_sheet("2024 plan")["C3"] = "alone"
saved("hours.xlsx", book.save)

# XlsxWriter: dates of 1904, rich strings, a table.
buffer = io.BytesIO()
book = xlsxwriter.Workbook(buffer, {"in_memory": True, "date_1904": True, "default_date_format": "yyyy-mm-dd"})
sheet = book.add_worksheet("Trips")
sheet.write_row(0, 0, ["From", "Day", "Price"])
sheet.write_row(1, 0, ["Bern"])
sheet.write_datetime(1, 1, datetime.datetime(2025, 7, 1))
sheet.write_number(1, 2, 19.9, book.add_format({"num_format": "€ #,##0.00"}))
sheet.write_rich_string(2, 0, "to ", book.add_format({"bold": True}), "Rome", " and back")
sheet.write_boolean(2, 1, True)
sheet.write_formula(2, 2, "=C2*2", None, 39.8)
sheet.write_url(3, 0, "https://example.com/map", string="map")
sheet.write_string(3, 1, "  two spaces")
sheet.insert_textbox("E2", "In a box of the sheet")
sheet.write_comment("A2", "not by plane")
book.close()
save("trips.xlsx", buffer.getvalue())

# odfpy: a plan with numbered levels, and costs.
plan = odf.opendocument.OpenDocumentText()
levels = text.ListStyle(name="N")
levels.addElement(text.ListLevelStyleNumber(level="1", numformat="1", numsuffix="."))
levels.addElement(text.ListLevelStyleNumber(level="2", numformat="1", displaylevels="2"))
plan.automaticstyles.addElement(levels)
plan.text.addElement(text.H(outlinelevel=1, text="Plan"))
outer = text.List(stylename=levels)
for said, subs in (("Dig", ("by hand", "by machine")), ("Build", ("walls",))):
    item = text.ListItem()
    item.addElement(text.P(text=said))
    inner = text.List()
    for sub in subs:
        entry = text.ListItem()
        entry.addElement(text.P(text=sub))
        inner.addElement(entry)
    item.addElement(inner)
    outer.addElement(item)
plan.text.addElement(outer)
spaced = text.P(text="two")
spaced.addElement(text.S(c=2))
spaced.addText("spaces")
spaced.addElement(text.Tab())
spaced.addText("tab")
spaced.addElement(text.LineBreak())
spaced.addText("break")
plan.text.addElement(spaced)
saved("plan.odt", plan.save)

costs = odf.opendocument.OpenDocumentSpreadsheet()
sheet = table.Table(name="Costs")


def odf_row(*cells):
    row = table.TableRow()
    for attributes, said in cells:
        one = table.TableCell(**attributes)
        if said is not None:
            one.addElement(text.P(text=said))
        row.addElement(one)
    sheet.addElement(row)


odf_row(({"valuetype": "string"}, "Who"), ({"valuetype": "string"}, "Time"), ({"valuetype": "string"}, "Day"))
odf_row(
    ({"valuetype": "string"}, "Ann"),
    ({"valuetype": "time", "timevalue": "PT36H00M00S"}, "36:00:00"),
    ({"valuetype": "date", "datevalue": "2024-02-29"}, "29.02.24"),
)
odf_row(({"valuetype": "float", "value": "1234.5"}, "1,234.50"), ({"numbercolumnsspanned": 2}, "over two"))
costs.spreadsheet.addElement(sheet)
saved("costs.ods", costs.save)

# reportlab: a table, and two columns of a paper.
STYLES = getSampleStyleSheet()
data = [["Item", "Count", "Price"], ["Bolt", "12", "1,234.50"], ["Nut", "", "99.10"], ["Long name of a part", "7", ""]]
saved("parts.pdf", lambda out: SimpleDocTemplate(out, pagesize=A4).build([Paragraph("Parts in stock", STYLES["Heading1"]), Table(data)]))


def columns(out):
    page = BaseDocTemplate(out, pagesize=A4)
    frames = [Frame(50, 400, 230, 350), Frame(315, 400, 230, 350)]
    page.addPageTemplates([PageTemplate(frames=frames)])
    said = "In the first column we say what gulls do in the morning, when the boats come home with fish for all. "
    page.build([Paragraph(said * 9, STYLES["BodyText"]), Paragraph("The last column tells what they do at night, which is sleep. " * 14, STYLES["BodyText"])])


saved("twocolumns.pdf", columns)


def rotated(out):
    page = canvas.Canvas(out, pagesize=A4)
    page.drawString(50, 800, "Upright line")
    page.saveState()
    page.translate(300, 400)
    page.rotate(45)
    page.setFont("Helvetica", 40)
    page.drawString(0, 0, "DRAFT")
    page.restoreState()
    page.drawString(50, 780, "Second line")
    page.showPage()
    page.drawString(50, 800, "On page two")
    page.save()


saved("stamped.pdf", rotated)

# fpdf2: a table with lines.
sheet = FPDF()
sheet.add_page()
sheet.set_font("Helvetica", size=11)
sheet.cell(text="Members of the club", new_x="LMARGIN", new_y="NEXT")
with sheet.table() as grid:
    for row in (("Name", "City", "Since"), ("Ann Lee", "Bern", "2019"), ("Bo", "", "2021")):
        grid.row(row)
save("members.pdf", bytes(sheet.output()))

# PyMuPDF: notes on a page.
page = fitz.open()
first = page.new_page()
first.insert_text((72, 72), "Draft of the offer")
first.add_text_annot((300, 72), "Too cheap?")
first.add_freetext_annot(fitz.Rect(72, 200, 300, 230), "Approved by Cy")
mark = first.add_highlight_annot(first.search_for("offer"))
mark.set_info(content="Which one?")
mark.update()
save("remarks.pdf", page.tobytes(deflate=True, garbage=4))

# Python's email: charsets, a reply in a message, a multipart of two texts.


def message(subject, sender="Ann Lee <ann@example.com>"):
    built = EmailMessage(policy=policy.SMTP)
    built["From"] = sender
    built["To"] = "Bob <bob@example.com>"
    built["Subject"] = subject
    built["Date"] = "Mon, 05 Jan 2026 10:00:00 +0000"
    return built


built = message("Größe 東京", "Søren Krag <s@example.com>")
built.set_content("Preis: 12 €\n— Søren\n", charset="utf-8")
save("prices.eml", bytes(built))
built = message("latin")
built.set_content("Grüße aus Köln\n", charset="iso-8859-1")
save("latin.eml", bytes(built))
built = message("kyrillisch")
built.set_content("Привет, мир\n", charset="koi8-r")
save("koi8-python.eml", bytes(built))
built = message("Forwarded: plan")
built.set_content("See below what Cy wrote.\n")
inner = message("plan", "Cy <cy@example.com>")
inner.set_content("We dig on Monday.\n")
built.add_attachment(inner)
save("forwarded-python.eml", bytes(built))
built = message("Report")
built.set_content("The report is attached.\n")
built.add_attachment("name,sum\na,42\n", subtype="csv", filename="report.csv")
built.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="chart.png")
save("report.eml", bytes(built))
built = message("HTML alone")
built.set_content('<p>Only <b>HTML</b></p><ol start="4"><li>four</li></ol>', subtype="html")
save("html.eml", bytes(built))

with tempfile.TemporaryDirectory() as folder:
    box = mailbox.mbox(os.path.join(folder, "a.mbox"))
    for said in ("From here to there\nit is far.\n", "Second message\n", ">From a quote\n"):
        one = message("Note")
        one.set_content(said)
        box.add(mailbox.mboxMessage(one))
    box.flush()
    save("notes.mbox", Path(folder, "a.mbox").read_bytes())

# nbformat: an analysis with outputs.
analysis = v4.new_notebook(
    cells=[
        v4.new_markdown_cell("# Analysis\n\nOf gulls."),
        v4.new_code_cell("frame.head()", outputs=[v4.new_output("execute_result", {
            "text/html": "<table><thead><tr><th></th><th>a</th></tr></thead><tbody><tr><th>0</th><td>42</td></tr></tbody></table>",
            "text/plain": "    a\n0  42"}, execution_count=1)]),
        v4.new_code_cell("plt.show()", outputs=[v4.new_output("display_data", {
            "image/png": "iVBORw0KGgo=", "text/plain": "<Figure size 640x480 with 1 Axes>"})]),
        v4.new_code_cell("print('x')", outputs=[v4.new_output("stream", name="stdout", text="x\n"), v4.new_output("stream", name="stderr", text="warned\n")]),
        v4.new_code_cell("1/0", outputs=[v4.new_output("error", ename="ZeroDivisionError", evalue="division by zero", traceback=["\x1b[31mZeroDivisionError\x1b[0m"])]),
        v4.new_raw_cell("raw words"),
    ]
)
save("analysis.ipynb", nbformat.writes(analysis).encode())

# WeasyPrint: a page with a table and a list.
PAGE = """<h1>Offer</h1><p>For 10<sup>6</sup> bolts.</p><ol><li>dig</li><li>build</li></ol>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Bolt</td><td>12.00</td></tr><tr><td>Nut</td><td>7.50</td></tr></table>"""
save("offer.pdf", HTML(string=PAGE).write_pdf())
FOX = "The quick brown fox jumps over the lazy dog while the gulls cry above the harbour and the boats come in. "
PAPER = f"""<style>body {{ font: 10pt serif; column-count: 2 }} h1 {{ column-span: all }}</style><h1>On gulls</h1>
<h2>1 Introduction</h2><p>{FOX * 2}</p><ul><li>first bullet<li>second bullet<li>third bullet</ul>
<p>After the list we take 10<sup>6</sup> of 4,217<sup>1</sup> gulls on the 1<sup>st</sup>, without CO<sub>2</sub>.</p>
<h2>2 Methods</h2><ol><li>one item<li>two items<li>three items</ol><p>{FOX * 3}</p><ul><li>other bullet<li>last bullet</ul>"""
save("gulls-weasyprint.pdf", HTML(string=PAPER).write_pdf())
CONTRACT = """<html dir="rtl" lang="ar"><h1>عقد إيجار</h1><p>تم الاتفاق بين الطرف الأول (المؤجر) والطرف الثاني (المستأجر) خلال 2024،
ولا يجوز الإخلال بهذه الشروط.</p><ol><li>مدة العقد ثلاثة أعوام.<li>الأجرة 4,217.50 دولار.</ol>
<table><tr><td>ملابس<td>1,234.50<td>12</table><p>يحق للشركة ABC Ltd (Brighton) إلغاء العقد.</p><p>صادر عن الشركة (النسخة 3)</p></html>"""
save("contract-weasyprint.pdf", HTML(string=CONTRACT).write_pdf())
