import { join } from "node:path";
import { expect, test } from "vitest";
import { load } from "../../../src/context/load/load.ts";
import { convert } from "../../../src/documents/convert.ts";
import { folderWith } from "../../support/tree.ts";

async function dateOf(written: string): Promise<string | undefined> {
  const bytes = Buffer.from(`From: a@example.org\r\nDate: ${written}\r\n\r\nwords\r\n`);
  const job = { name: "a.eml", kind: "eml", plain: [], room: 1000, decoding: { bad: "none" } } as const;
  const { texts } = await convert(bytes, job, () => {});
  return /^Date: (.*)$/m.exec(Buffer.from(texts[0]?.text ?? "").toString())?.[1];
}

test.each([
  ["Mon, 1 Jan 2024 00:30:00 +0200", "2024-01-01T00:30:00.000+02:00"],
  ["Sun, 31 Dec 2023 20:15:10 -0330 (NST)", "2023-12-31T20:15:10.000-03:30"],
  ["Mon, 1 Jan 2024 10:00:00 +0000", "2024-01-01T10:00:00.000Z"],
  ["Mon, 1 Jan 2024 10:00:00 GMT", "2024-01-01T10:00:00.000Z"],
])("a mail of %s has the day and time of its sender", async (written, shown) => {
  expect(await dateOf(written)).toBe(shown);
});

test.each(["mht", "mhtml"])(
  "a page that a browser saved as .%s is read as a mail, and its pictures are told",
  async (extension) => {
    const page = [
      "From: <Saved by Blink>",
      "Subject: Price list",
      "MIME-Version: 1.0",
      'Content-Type: multipart/related; type="text/html"; boundary="b"',
      "",
      "--b",
      "Content-Type: text/html; charset=utf-8",
      "Content-Transfer-Encoding: quoted-printable",
      "Content-Location: https://example.org/",
      "",
      "<h1>Prices</h1><p>Tea =E2=82=AC 3</p>",
      "--b",
      "Content-Type: image/png",
      "Content-Transfer-Encoding: base64",
      "Content-Location: https://example.org/tea.png",
      "",
      "iVBORw0=",
      "--b--",
      "",
    ].join("\r\n");
    const cwd = folderWith({ [`page.${extension}`]: page });
    const { text, stats } = await load({ kind: "path", path: `page.${extension}` }, { cwd, roots: [join(cwd)] });
    const said = text.slice(0, text.length);
    expect(said).toContain("Subject: Price list\n");
    expect(said).toContain("# Prices\n\nTea \u20ac 3");
    expect(said).not.toContain("=E2");
    expect(stats.converted?.files[0]?.lost).toEqual([{ kind: "attachment", count: 1, where: ["image/png"] }]);
  },
);
