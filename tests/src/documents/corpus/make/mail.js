// Messages by nodemailer.
import MailComposer from "nodemailer/lib/mail-composer/index.js";
import { write } from "./write.js";

const HEADERS = { from: "Ann Lee <ann@example.com>", to: "bob@example.com", date: "Mon, 05 Jan 2026 10:00:00 +0000" };

const build = (message) => new MailComposer({ ...HEADERS, ...message }).compile().build();

const INVOICE =
  "<html><body><p>Dear Bob,</p><table><tr><td>Bolts</td><td>12.00</td></tr><tr><td>Total</td><td>4,217.00 EUR</td></tr></table></body></html>";
const ALIKE = "The meeting is on Monday at ten, in the small room.\n\nBring the plan.\n";

write(
  "invoice.eml",
  await build({
    subject: "Your invoice – Größe",
    text: "Please view this message as HTML.",
    html: INVOICE,
    attachments: [{ filename: "invoice.pdf", content: "%PDF-1.4", contentType: "application/pdf" }],
  }),
);
write(
  "meeting.eml",
  await build({
    subject: "Meeting",
    cc: "Søren Krag <s@example.com>",
    text: ALIKE,
    html: `<p>${ALIKE.replaceAll("\n\n", "</p><p>")}</p><p><a href="https://example.com/u">Unsubscribe</a></p>`,
  }),
);
const first = await build({
  subject: "One",
  text: "From what we know since\n\nFrom what we know it broke in 2019\nand was mended.\n",
});
const second = await build({ subject: "Two", html: "<ol><li>buy</li><li>sell</li></ol>" });
const postmark = (at) => `From ann@example.com Mon Jan  5 ${at}:00:00 2026\n`;
const quoted = (message) =>
  message
    .toString()
    .replaceAll("\r\n", "\n")
    .replace(/^(>*From )/gmu, ">$1")
    .replace(/^>From: /mu, "From: ");
write("archive.mbox", Buffer.from(`${postmark(10)}${quoted(first)}\n${postmark(11)}${quoted(second)}\n`));
const loose = first.toString().replaceAll("\r\n", "\n");
write(
  "loose.mbox",
  Buffer.from(`${postmark(10)}${loose}\n${postmark(12)}${second.toString().replaceAll("\r\n", "\n")}`),
);
