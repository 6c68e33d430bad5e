// Books by epub-gen-memory; pages by pdfkit and pdf-lib.
import { buffer } from "node:stream/consumers";
import epub from "epub-gen-memory";
import { PDFDocument, StandardFonts } from "pdf-lib";
import PDFKit from "pdfkit";
import { write } from "./write.js";

const CHAPTERS = [
  { title: "The start", content: '<p>Once, in a harbor.</p><ol start="3"><li>third</li><li>fourth</li></ol>' },
  {
    title: "The end",
    content: "<p>10<sup>6</sup> gulls left, on the 1<sup>st</sup>.</p><table><tr><td>a</td><td>b</td></tr></table>",
  },
];
const book = await epub.default({ title: "Gulls", author: "Bo", date: "2026-01-01T00:00:00Z" }, CHAPTERS);
write("gulls.epub", book);

/** A PDF by pdfkit. */
async function byPdfKit(name, fill) {
  const page = new PDFKit({ size: "A4", margin: 50 });
  fill(page);
  page.end();
  write(name, await buffer(page));
}

await byPdfKit("invoice.pdf", (page) => {
  page.fontSize(18).text("Invoice 2026-17");
  page.fontSize(10);
  const rows = [
    ["Item", "Count", "Price"],
    ["Bolt", "12", "1,234.50"],
    ["Screws of steel", "300", "7.00"],
    ["", "", "1,241.50"],
  ];
  rows.forEach((row, at) => {
    row.forEach((cell, column) => {
      if (cell) page.text(cell, [50, 250, 350][column], 120 + 18 * at, { lineBreak: false });
    });
  });
  page.text("Pay within 14 days.", 50, 260);
  page.addPage().text("Terms of business");
  page.text("These terms go on for some lines, since a page of terms is a page of prose. ".repeat(4));
});
await byPdfKit("paper.pdf", (page) => {
  page.fontSize(16).text("On gulls");
  const left =
    "Gulls are loud in the morning and quiet at noon, which many people of harbors know and few have measured. We measured it for three years with a microphone on a roof.";
  const right =
    "The results were clear in each of the years: of all calls two thirds fell into the first hours of the day. Rain made them fewer, and boats made them more frequent by a half.";
  page.fontSize(10).text(left, 50, 120, { width: 220 });
  page.text(right, 320, 120, { width: 220 });
});

async function byPdfLib(name, fill) {
  const document = await PDFDocument.create();
  await fill(document, await document.embedFont(StandardFonts.Helvetica));
  write(name, Buffer.from(await document.save()));
}

await byPdfLib("form-filled.pdf", async (document, font) => {
  const page = document.addPage([400, 300]);
  page.drawText("Name:", { x: 30, y: 250, size: 12, font });
  const form = document.getForm();
  const name = form.createTextField("person.name");
  name.setText("Ada Berg");
  name.addToPage(page, { x: 100, y: 240, width: 200, height: 20 });
  const agreed = form.createCheckBox("agreed");
  agreed.addToPage(page, { x: 100, y: 200, width: 15, height: 15 });
  agreed.check();
  const empty = form.createTextField("remark");
  empty.addToPage(page, { x: 100, y: 160, width: 200, height: 20 });
  const city = form.createDropdown("city");
  city.addOptions(["Bern", "Rome"]);
  city.select("Rome");
  city.addToPage(page, { x: 100, y: 120, width: 100, height: 20 });
});
await byPdfLib("figures.pdf", async (document, font) => {
  const page = document.addPage([400, 300]);
  const small = { size: 7, font };
  const large = { size: 12, font };
  page.drawText("We counted 4,217", { x: 30, y: 250, ...large });
  page.drawText("1", { x: 30 + font.widthOfTextAtSize("We counted 4,217", 12), y: 255, ...small });
  page.drawText("birds there.", { x: 145, y: 250, ...large });
  page.drawText("10", { x: 30, y: 220, ...large });
  page.drawText("6", { x: 30 + font.widthOfTextAtSize("10", 12), y: 225, ...small });
  page.drawText("Twice drawn", { x: 30, y: 190, ...large });
  page.drawText("Twice drawn", { x: 30.3, y: 190, ...large });
});
