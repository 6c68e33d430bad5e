import { expect, test } from "vitest";
import type { SmallContext } from "../../../src/context/index.ts";
import { load } from "../../../src/context/load/load.ts";
import { type Member, openParts } from "../../../src/documents/archives.ts";
import { openXml } from "../../../src/documents/markup.ts";
import { folderWith } from "../../support/tree.ts";
import { ORIGINALS } from "./originals.ts";
import { zip } from "./packed.ts";

// Other prefixes, places of bindings, names of parts and encodings say the same: each rewritten original has the text of the original.

const [OOXML, STRICT] = ["http://schemas.openxmlformats.org", "http://purl.oclc.org/ooxml"];
const odf = (name: string) => [name, `urn:oasis:names:tc:opendocument:xmlns:${name}:1.0`] as const;
const NAMESPACES: Readonly<Record<string, string>> = {
  w: `${OOXML}/wordprocessingml/2006/main`,
  p: `${OOXML}/presentationml/2006/main`,
  a: `${OOXML}/drawingml/2006/main`,
  r: `${OOXML}/officeDocument/2006/relationships`,
  draw: "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
  dc: "http://purl.org/dc/elements/1.1/",
  ...Object.fromEntries(["office", "text", "table", "style"].map(odf)),
};
/** Namespaces of parts whose names have no prefix, by their first elements. */
const BARE: Readonly<Record<string, string>> = {
  Relationships: `${OOXML}/package/2006/relationships`,
  Types: `${OOXML}/package/2006/content-types`,
  container: "urn:oasis:names:tc:opendocument:xmlns:container",
  package: "http://www.idpf.org/2007/opf",
  ...Object.fromEntries(
    ["workbook", "sst", "styleSheet", "worksheet"].map((root) => [root, `${OOXML}/spreadsheetml/2006/main`]),
  ),
};

const rootOf = (source: string) => /^<([\w:-]+)/.exec(source)?.[1] ?? "";
const isMarkup = ({ name }: Member) => /\.(xml|rels|opf)$/.test(name);

/** Gives each name another prefix by `rename`, and binds what that needs where `bind` says. */
function renamed(source: string, rename: (prefix: string) => string, isInner = false): string {
  const root = rootOf(source);
  const known: Readonly<Record<string, string>> = { ...NAMESPACES, ...(BARE[root] ? { "": BARE[root] } : {}) };
  const named = (prefix: string) => (Object.hasOwn(known, prefix) ? rename(prefix) : prefix);
  const joined = (prefix: string, local: string) => (prefix === "" ? local : `${prefix}:${local}`);
  const bound = (prefixes: Iterable<string>) =>
    [...prefixes]
      .map((prefix) => [named(prefix), known[prefix]])
      .map(([to, namespace]) => ` xmlns${to === "" ? "" : `:${to}`}="${namespace}"`)
      .join("");
  let isFirst = true;
  return source.replace(/<(\/?)(?:(\w+):)?([\w-]+)([^>]*?)(\/?)>/g, (_, end, prefix = "", local, rest, empty) => {
    const used = new Set<string>(Object.hasOwn(known, prefix) ? [prefix] : []);
    const attributes = String(rest).replace(/ (\w+):([\w-]+)=/g, (all, of, name) => {
      if (!Object.hasOwn(known, of)) return all;
      used.add(of);
      return ` ${joined(named(of) || "own", name)}=`;
    });
    const own = [...used].filter((of) => named(of) === "" && attributes.includes(" own:"));
    const owns = own.map((of) => ` xmlns:own="${known[of]}"`).join("");
    const all = isFirst ? Object.keys(known) : [];
    const bindings = end ? "" : bound(isInner ? used : all) + (isInner || isFirst ? owns : "");
    isFirst = false;
    return `<${end}${joined(named(prefix), local)}${bindings}${attributes}${empty}>`;
  });
}

type Rewritten = (name: string, source: string) => string | Buffer;

const WAYS: Readonly<Record<string, Rewritten>> = {
  "other prefixes": (_, source) => renamed(source, (prefix) => `q${prefix}`),
  "bindings where they are used": (_, source) => renamed(source, (prefix) => `ns-${prefix}0`, true),
  "prefixes that others use": (_, source) =>
    renamed(source, (prefix) => ({ w: "a", a: "w", text: "table", table: "text" })[prefix] ?? `x${prefix}`),
  "namespaces of strict files": (_, source) =>
    renamed(source, (prefix) => prefix || "x")
      .replaceAll(/(?<==")http:\/\/schemas\.openxmlformats\.org\/(\w+)\/2006\/(main|relationships)/g, `${STRICT}/$1/$2`)
      .replaceAll(`${STRICT}/package/`, `${OOXML}/package/2006/`),
  "UTF-16 with a mark": (_, source) => Buffer.from(`\ufeff${source}`, "utf16le"),
  "UTF-16 without a mark": (_, source) => Buffer.from(`<?xml version="1.0"?>${source}`, "utf16le").swap16(),
  "a mark of UTF-8": (_, source) => `\ufeff<?xml version="1.0" encoding="utf-16"?>${source}`,
};
const KINDS = ["plan.docx", "talk.pptx", "sales.xlsx", "text.odt", "talk.odp", "cost.ods", "book.epub"];

const original = async (name: string) => (await openParts(ORIGINALS[name]?.() ?? Buffer.alloc(0))).members;

async function loaded(tree: Readonly<Record<string, Buffer>>): Promise<SmallContext> {
  const cwd = folderWith(tree);
  return load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
}

/** The text of a document, and what is lost of it. */
function readAs({ text, documents }: SmallContext, id: string) {
  const found = documents.find((document) => document.id === id);
  const { start = 0, end = 0, lost, original: from } = found ?? {};
  return { kind: from?.kind, text: text.slice(start, end), lost };
}

test("a document has the same text and losses whatever its prefixes, bindings and encodings", async () => {
  const tree: Record<string, Buffer> = {};
  for (const kind of KINDS) {
    const members = await original(kind);
    tree[kind] = zip(members.map(({ name, read }) => ({ name, data: read() })));
    for (const [way, rewrite] of Object.entries(WAYS)) {
      const rewritten = members.map((member) => {
        const data = member.read();
        return { name: member.name, data: isMarkup(member) ? rewrite(member.name, data.toString()) : data };
      });
      tree[`${way} ${kind}`] = zip(rewritten);
    }
  }
  const context = await loaded(tree);
  for (const kind of KINDS) {
    const plain = readAs(context, kind);
    expect(plain.text).not.toBe("");
    for (const way of Object.keys(WAYS))
      expect({ way, ...readAs(context, `${way} ${kind}`) }).toEqual({ way, ...plain });
  }
});

const MAIN: Readonly<Record<string, readonly [folder: string, main: string, type: string]>> = {
  "plan.docx": ["word", "document.xml", "vnd.ms-word.document.macroEnabled.main+xml"],
  "talk.pptx": ["ppt", "presentation.xml", "vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml"],
  "sales.xlsx": ["xl", "workbook.xml", "vnd.openxmlformats-officedocument.spreadsheetml.template.main+xml"],
};

test.for([
  ["/In%20Folder/the%20Main.xml", "In Folder/the Main.xml"],
  ["./other/../Folder/MAIN.XML", "folder/main.xml"],
  ["folder\\main.xml", "folder\\main.xml"],
] as const)("the main part is the one that the file names: %s", async ([target, place]) => {
  const tree: Record<string, Buffer> = {};
  for (const [kind, [folder, main, type]] of Object.entries(MAIN)) {
    const [to, file = ""] = place.split(/[\\/]/);
    const slash = place.includes("\\") ? "\\" : "/";
    const moved = (name: string) =>
      name.startsWith(`${folder}/`)
        ? name.replace(`${folder}/`, `${to}/`).replace(main, file).replaceAll("/", slash)
        : name;
    const parts = (await original(kind)).map(({ name, read }) => ({
      name: moved(name),
      data: name.endsWith(".rels") ? read().toString().replaceAll(`"/${folder}/`, `"/${to}/`) : read(),
    }));
    const relation = `<Relationship Id="m" Type="${STRICT}/officeDocument/relationships/officeDocument" Target="${target}"/>`;
    const types = `<Types><Override PartName="/${to}/${file.toUpperCase()}" ContentType="application/${type}"/></Types>`;
    const own = [
      { name: "_rels/.rels", data: `<Relationships>${relation}</Relationships>` },
      { name: "[Content_Types].xml", data: types },
    ];
    tree[`moved ${kind}`] = zip([...own, ...parts.filter(({ name }) => name !== "[Content_Types].xml")]);
    tree[kind] = ORIGINALS[kind]?.() ?? Buffer.alloc(0);
  }
  const context = await loaded(tree);
  for (const kind of Object.keys(MAIN)) {
    expect(readAs(context, `moved ${kind}`)).toEqual(readAs(context, kind));
  }
});

test("a prefix that is bound to another namespace gives none of the known names", async () => {
  const paragraph = (inner: string) => `<w:p><w:r>${inner}</w:r></w:p>`;
  const body = `${paragraph("<w:t>known</w:t>")}<w:t xmlns:w="urn:odd">unknown</w:t>${paragraph("<w:t>again</w:t>")}`;
  const document = `<w:document xmlns:w="${NAMESPACES.w}"><w:body>${body}</w:body></w:document>`;
  const types = { name: "[Content_Types].xml", data: "<Types/>" };
  const context = await loaded({ "a.docx": zip([types, { name: "word/document.xml", data: document }]) });
  expect(readAs(context, "a.docx")).toMatchObject({
    text: expect.stringMatching(/known\s+again/),
    lost: [{ kind: "unread element", count: 1, where: ["other:t"] }],
  });
});

test("names of later versions of Office are known under any prefix", async () => {
  const drawing = "http://schemas.microsoft.com/office/word/2010/wordprocessingDrawing";
  const silent = `<q:pctPosHOffset xmlns:q="${drawing}">500</q:pctPosHOffset>`;
  const document = `<w:document><w:p><w:r>${silent}<w:t>words</w:t></w:r></w:p></w:document>`;
  const types = { name: "[Content_Types].xml", data: "<Types/>" };
  const context = await loaded({ "a.docx": zip([types, { name: "word/document.xml", data: document }]) });
  expect(readAs(context, "a.docx")).toMatchObject({ text: "words\n", lost: [] });
});

test("a part is decoded by its declaration, and as UTF-8 if that names nothing known", async () => {
  const types = { name: "[Content_Types].xml", data: "<Types/>" };
  const document = (encoding: string) =>
    `<?xml version='1.0' encoding = '${encoding}'?><w:document><w:p><w:r><w:t>Grüße</w:t></w:r></w:p></w:document>`;
  const file = (data: string | Buffer) => zip([types, { name: "word/document.xml", data }]);
  const context = await loaded({
    "latin.docx": file(Buffer.from(document("ISO-8859-1"), "latin1")),
    "odd.docx": file(document("x-unknown")),
  });
  for (const id of ["latin.docx", "odd.docx"]) expect(readAs(context, id).text.trim()).toBe("Grüße");
});

test.each(["constructor", "__proto__", "toString", "__defineGetter__"])("an element may be named %s", (name) => {
  const left: string[] = [];
  openXml(`<w><${name}>a</${name}></w>`).walk({ unread: (element) => left.push(element), on: {} });
  expect(left).toEqual([name]);
});
