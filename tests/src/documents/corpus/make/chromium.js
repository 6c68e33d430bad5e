// Pages that Chromium prints.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { write } from "./write.js";

const PROSE =
  "Gulls are loud in the morning and quiet at noon, which many people of harbors know and few have measured with care. ";
const PAGES = {
  order: `<h1 style="font-weight:400">Order 17</h1><ol><li>Bolts<ol type="a"><li>of steel</li><li>of brass</li></ol></li><li>Nuts</li></ol>
<p>We take 10<sup>6</sup> of them, and 4,217<sup>1</sup> more on the 1<sup>st</sup>.</p>
<table style="border-spacing:30px 2px"><tr><td>Item</td><td>Count</td><td>Price</td></tr>
<tr><td>Bolt</td><td>12</td><td>1,234.50</td></tr><tr><td>Nut of brass</td><td></td><td>99.10</td></tr>
<tr><td>Washer</td><td>7</td><td>3.00</td></tr></table><p>Thank you.</p>`,
  arabic: `<p dir="rtl" style="font-family:'DejaVu Sans'">مرحبا بالعالم</p><p>Total 42</p><p dir="rtl" style="font-family:'DejaVu Sans'">شركة الطيور</p>`,
  hebrew: `<p dir="rtl" style="font-family:'DejaVu Sans'">שלום עולם</p><p>Total 42</p>`,
  journal: `<h1 style="font-weight:400">On gulls</h1><div style="columns:2;column-gap:2em;font-size:11px;hyphens:none">
<p>In the left column they fly. ${PROSE.repeat(4)}</p><p>In the right column they sleep. ${PROSE.repeat(4)}</p></div>`,
};

const folder = mkdtempSync(join(tmpdir(), "corpus-"));
for (const [name, body] of Object.entries(PAGES)) {
  const [page, print] = [join(folder, "a.html"), join(folder, "a.pdf")];
  writeFileSync(
    page,
    `<!doctype html><meta charset="utf-8"><title>${name}</title><body style="font-family:'Liberation Sans'">${body}</body>`,
  );
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", `--print-to-pdf=${print}`];
  execFileSync("chromium", [...flags, page], { stdio: "ignore" });
  write(`${name}-chromium.pdf`, readFileSync(print));
}
rmSync(folder, { recursive: true });
