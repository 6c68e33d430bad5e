import type { FieldsData } from "@kenjiuno/msgreader";
import { damaged, type Growing, Unreadable } from "../growing.ts";
import { asShown, decodedBy, fullest, headerLines, names, writeMail } from "./mail.ts";

/** The stream that each message of Outlook has, and those of documents that may hold one. */
const PROPERTIES = Buffer.from("__properties_version1.0", "utf16le");
const OTHERS = ["WordDocument", "Workbook", "PowerPoint Document"].map((name) => Buffer.from(name, "utf16le"));

/** True if an OLE file is a message of Outlook. */
export function isMessage(bytes: Buffer): boolean {
  const at = bytes.indexOf(PROPERTIES);
  return at >= 0 && OTHERS.every((name) => !bytes.subarray(0, at).includes(name));
}

/** Reads a message of Outlook, with a package that a user installs. @throws Unreadable */
export async function readMessage(bytes: Buffer, text: Growing): Promise<void> {
  const { found, isAnsi } = await fieldsIn(bytes);
  // Such words have a byte for each of their units.
  const read = (words = "") => (isAnsi ? decodedBy(codePage(found), Buffer.from(words, "latin1"), text) : words);
  // Addresses without @ are names within an organization, which nobody sees.
  const person = (name = "", address = "") => ({ name: read(name), address: address.includes("@") ? address : "" });
  const { recipients = [], attachments = [], messageClass = "" } = found;
  const people = (kind: string) => {
    const some = recipients.filter(({ recipType }) => recipType === kind);
    return names(some.map(({ name, smtpAddress, email }) => person(name, smtpAddress ?? email)));
  };
  const headers = {
    From: names([person(found.senderName, found.senderSmtpAddress ?? found.senderEmail)]),
    To: people("to"),
    Cc: people("cc"),
    Date: isoDate(found.clientSubmitTime ?? found.messageDeliveryTime),
    Subject: read(found.subject),
  };
  const html = found.bodyHtml ?? (found.html && decodedBy("", Buffer.from(found.html), text));
  const shown = fullest([asShown(read(found.body)), asShown(html ?? "", true)]);
  writeMail(headerLines(headers), shown, text);
  if (shown.length === 0 && found.compressedRtf) text.lose("embedded document", "RTF");
  for (const file of attachments) text.lose("attachment", read(file.fileName ?? file.name) || "file");
  // Contacts and appointments have fields of their own.
  if (!/^(IPM\.Note|REPORT|$)/i.test(messageClass)) text.unread(messageClass);
}

/** The fields of a message, and whether its words are not in Unicode. */
async function fieldsIn(bytes: Buffer): Promise<{ readonly found: FieldsData; readonly isAnsi: boolean }> {
  const MsgReader = await messagePackage();
  let isAnsi = false;
  try {
    const reader = new MsgReader(new Uint8Array(bytes).buffer);
    reader.parserConfig = {
      propertyObserver(fields, tag, raw) {
        isAnsi ||= (tag & 0xffff) === ANSI;
        if (tag === ANSI_HTML && raw) fields.html = raw;
      },
    };
    const fields = reader.getFileData();
    // Without any property it has its type and two lists.
    if (Object.keys(fields).length > 3) return { found: fields, isAnsi };
  } catch {
    // It says nothing of use.
  }
  throw damaged("it is not a whole message of Outlook");
}

/**
 * The type of words that are not in Unicode, and such HTML, of which the package gives no field.
 */
const ANSI = 0x1e;
const ANSI_HTML = 0x1013001e;

async function messagePackage() {
  try {
    return (await import("@kenjiuno/msgreader")).default.default;
  } catch {
    throw new Unreadable(
      "needs_package",
      "is a message of Outlook, which needs a package that is not installed (npm i @kenjiuno/msgreader)",
    );
  }
}

const codePage = ({ messageCodepage, internetCodepage }: FieldsData) =>
  `cp${messageCodepage ?? internetCodepage ?? 1252}`;

function isoDate(given: string | undefined): string | undefined {
  const date = new Date(given ?? "");
  return Number.isNaN(date.getTime()) ? given : date.toISOString();
}
