import PostalMime, { type Address } from "postal-mime";
import type { Growing } from "./growing.ts";
import { readHtml } from "./html.ts";

/** Reads one mail: its headers, then its plain part, or else its HTML. */
export async function readMail(bytes: Buffer, text: Growing, label = (part: string) => part): Promise<void> {
  const mail = await PostalMime.parse(bytes, { maxNestingDepth: 50, maxHeadersSize: 2 ** 20 });
  text.part(label("header"));
  const people = { From: names([mail.from]), To: names(mail.to), Cc: names(mail.cc) };
  const headers = { ...people, Date: mail.date, Subject: mail.subject };
  for (const [name, value] of Object.entries(headers)) {
    if (value) text.add(`${name}: ${value.replace(/[\r\n]+/g, " ")}\n`);
  }
  text.part(label("body"));
  if (mail.text?.trim()) text.add(`${mail.text.trim()}\n`);
  else if (mail.html) readHtml(mail.html, text);
  else text.lose("part without text", label("body"));
  for (const { filename, mimeType } of mail.attachments) text.lose("attachment", filename ?? mimeType);
}

function names(addresses: readonly (Address | undefined)[] = []): string {
  const one = ({ name, address = "" }: Address) => (name && address ? `${name} <${address}>` : name || address);
  return addresses.flatMap((address) => (address ? [one(address)] : [])).join(", ");
}

/** Reads the mails of a mailbox. Each begins behind a line `From … YEAR`. */
export async function readMailbox(bytes: Buffer, text: Growing): Promise<void> {
  const starts = [...bytes.toString("latin1").matchAll(/^From [^\n]*\d{4}\r?$/gm)].map(({ index }) => index);
  for (const [at, start] of starts.entries()) {
    const from = bytes.indexOf("\n", start) + 1;
    await readMail(bytes.subarray(from, starts[at + 1]), text, (part) => `message ${at + 1} ${part}`);
  }
}
