// Timesheets, prices and bookings by exceljs and SheetJS.
import ExcelJS from "exceljs";
import * as XLSX from "xlsx";
import { write } from "./write.js";

async function byExcelJs(name, fill) {
  const book = new ExcelJS.Workbook();
  fill(book);
  write(name, Buffer.from(await book.xlsx.writeBuffer()));
}

await byExcelJs("timesheet.xlsx", (book) => {
  const sheet = book.addWorksheet("May");
  sheet.addRow(["Day", "Began", "Worked", "Sum"]);
  const day = new Date(Date.UTC(2026, 4, 4));
  const first = sheet.addRow([day, 0.375, 0.3125, { formula: "SUM(C2:C3)", result: 1.5 }]);
  const second = sheet.addRow([new Date(Date.UTC(2026, 4, 5, 9, 30)), 0.5, 1.1875]);
  first.getCell(1).numFmt = "dd.mm.yyyy";
  second.getCell(1).numFmt = "yyyy-mm-dd hh:mm";
  for (const row of [first, second]) {
    row.getCell(2).numFmt = "hh:mm";
    row.getCell(3).numFmt = "[h]:mm";
  }
  first.getCell(4).numFmt = "[h]:mm:ss";
});
await byExcelJs("prices.xlsx", (book) => {
  const sheet = book.addWorksheet("Prices");
  sheet.addRow(["Item", "Price", "Share", "Kept", "Note"]);
  sheet.addRow(["Screw", 0.1, 0.125, true, "a\nb"]);
  sheet.getCell("B2").numFmt = '#,##0.00 "days"';
  sheet.getCell("C2").numFmt = "0.0%";
  sheet.getCell("A3").value = { richText: [{ text: "Large " }, { text: "nail", font: { bold: true } }] };
  sheet.getCell("B3").value = { text: "our shop", hyperlink: "https://example.com" };
  sheet.getCell("C3").value = { error: "#DIV/0!" };
  sheet.getCell("A5").value = "Behind a gap";
  sheet.getCell("E5").note = "asked by Bo";
  sheet.mergeCells("B5:C5");
  sheet.getCell("B5").value = "merged";
  sheet.getCell("D5").value = "fourth";
  book.addWorksheet("Empty");
  book.addWorksheet("Hidden", { state: "hidden" }).addRow(["seen by formulas"]);
});
await byExcelJs("bookings.xlsx", (book) => {
  const sheet = book.addWorksheet("Year's end!");
  sheet.addRow(["id", "sum", "code"]);
  for (let at = 1; at <= 40; at++) sheet.addRow([at, at * 1.5, `B${String(at).padStart(3, "0")}`]);
  sheet.getCell("A50").value = "total";
  sheet.getCell("B50").value = { formula: "SUM(B2:B41)", result: 1230 };
});

const stock = XLSX.utils.aoa_to_sheet([
  ["Part", "Since", "Weight", "Ready"],
  ["Bolt", new Date(Date.UTC(2025, 1, 28)), 2.5, false],
  ["Größe", null, 1e21, true],
  ["long\ttab", "00123", -7, "=1+1"],
]);
const list = XLSX.utils.book_new();
XLSX.utils.book_append_sheet(list, stock, "Stock");
XLSX.utils.book_append_sheet(list, XLSX.utils.aoa_to_sheet([["second"]]), "Other");
write("stock.xlsx", XLSX.write(list, { type: "buffer", bookType: "xlsx" }));
const binary = XLSX.write(list, { type: "buffer", bookType: "xlsb", compression: true });
write("stock.xlsb", binary);
write("stock.ods", XLSX.write(list, { type: "buffer", bookType: "ods" }));
