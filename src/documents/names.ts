import type { Attributes } from "./markup.ts";

/** Namespaces and the prefix under which the readers know their names. Those of sheets, packages and formulas have none. */
const PREFIXES: Readonly<Record<string, string>> = {
  "ooxml/wordprocessingml/main": "w:",
  "ooxml/presentationml/main": "p:",
  "ooxml/spreadsheetml/main": "",
  "ooxml/drawingml/main": "a:",
  "ooxml/drawingml/spreadsheetDrawing": "xdr:",
  "ooxml/drawingml/wordprocessingDrawing": "wp:",
  "ooxml/officeDocument/math": "m:",
  "ooxml/officeDocument/relationships": "r:",
  "ooxml/markup-compatibility": "mc:",
  "ooxml/package/relationships": "",
  "ooxml/package/content-types": "",
  "http://schemas.microsoft.com/office/word/2010/wordprocessingDrawing": "wp14:",
  "http://schemas.microsoft.com/office/word/2015/wordml/symex": "w16se:",
  "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main": "x14:",
  "http://schemas.microsoft.com/office/spreadsheetml/2011/1/ac": "x12ac:",
  "http://schemas.microsoft.com/office/excel/2006/main": "xm:",
  "urn:schemas-microsoft-com:vml": "v:",
  "urn:schemas-microsoft-com:office:excel": "x:",
  "urn:schemas-microsoft-com:office:office": "o:",
  "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext:",
  "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0": "calcext:",
  "odf/office": "office:",
  "odf/text": "text:",
  "odf/table": "table:",
  "odf/style": "style:",
  "odf/presentation": "presentation:",
  "odf/drawing": "draw:",
  "odf/form": "form:",
  "odf/meta": "meta:",
  "odf/manifest": "manifest:",
  "odf/xsl-fo-compatible": "fo:",
  "odf/svg-compatible": "svg:",
  "odf/container": "",
  "http://purl.org/dc/elements/1.1/": "dc:",
  "http://www.idpf.org/2007/opf": "",
  "http://www.w3.org/1998/Math/MathML": "",
  "http://www.w3.org/2001/04/xmlenc#": "",
  "http://www.w3.org/1999/xhtml": "",
  "http://www.w3.org/1999/xlink": "xlink:",
};

const TAKEN = new Set(Object.values(PREFIXES));

/** Stands before names of another namespace whose prefix is one of those above. */
const OTHER = "other:";

/** The prefix for the names of a namespace, of which transitional and strict documents have one each. */
function knownPrefix(namespace: string): string | undefined {
  const short = namespace
    .replace(/^http:\/\/(?:schemas\.openxmlformats\.org|purl\.oclc\.org\/ooxml)\//, "ooxml/")
    .replace(/^(ooxml\/.*)\/2006(?=\/|$)/, "$1")
    .replace(/^urn:oasis:names:tc:opendocument:xmlns:([\w-]+?)(?::1\.\d)?$/, "odf/$1");
  return Object.hasOwn(PREFIXES, short) ? PREFIXES[short] : undefined;
}

/** Names whose known ones are kept. */
const MOST_MET = 1000;

interface Binding {
  /** The depth of the element that binds the prefix. */
  readonly depth: number;
  readonly prefix: string;
  /** The names that the prefix stood for before. */
  readonly before: string | undefined;
}

/** Gives elements and attributes the names that the readers know, whatever prefixes a document binds, and where. */
export function knownNames(source: string) {
  // Most documents bind all prefixes in their first element, and the usual ones.
  let unbound = bindingsIn(source);
  let depth = 0;
  /** Prefixes that are not the usual ones, with what stands for them. */
  const odd = new Map<string, string>();
  const bindings: Binding[] = [];
  /** The known names of those that were met since a prefix was bound. */
  const met = new Map<string, string>();
  const set = (prefix: string, known: string | undefined) => {
    met.clear();
    if (known === undefined || known === prefix) odd.delete(prefix);
    else odd.set(prefix, known);
  };
  const bind = (key: string, namespace: string) => {
    const prefix = key === "xmlns" ? "" : `${key.slice("xmlns:".length)}:`;
    bindings.push({ depth, prefix, before: odd.get(prefix) });
    const isTaken = namespace !== "" && TAKEN.has(prefix);
    set(prefix, knownPrefix(namespace) ?? (isTaken ? OTHER : undefined));
    unbound -= 1;
  };
  const element = (given: string) => {
    const before = met.get(given);
    if (before !== undefined) return before;
    const local = given.slice(given.indexOf(":") + 1);
    const known = odd.get(given.slice(0, given.length - local.length));
    const name = known === undefined ? given : `${known}${local}`;
    if (met.size < MOST_MET) met.set(given, name);
    return name;
  };
  /** Attributes without a prefix belong to no namespace. */
  const attribute = (given: string) => (given.includes(":") ? element(given) : given);
  return {
    /** Enters an element with these attributes. */
    enter(attributes: Attributes): void {
      depth += 1;
      if (unbound <= 0) return;
      for (const [key, value] of Object.entries(attributes)) {
        if (key === "xmlns" || key.startsWith("xmlns:")) bind(key, value);
      }
    },
    /** Leaves the element that was entered last. */
    leave(): void {
      for (let last = bindings.at(-1); last?.depth === depth; last = bindings.at(-1)) {
        set(last.prefix, last.before);
        bindings.pop();
      }
      depth -= 1;
    },
    element: (given: string) => (odd.size === 0 ? given : element(given)),
    attributes(given: Attributes): Attributes {
      if (odd.size === 0) return given;
      const keys = Object.keys(given);
      if (keys.every((key) => attribute(key) === key)) return given;
      return Object.fromEntries(keys.map((key) => [attribute(key), given[key] ?? ""]));
    },
  };
}

/** The number of attributes that bind prefixes. Namespaces of OpenDocument have `xmlns` in their names as well. */
function bindingsIn(source: string): number {
  let count = 0;
  for (let at = source.indexOf("xmlns"); at >= 0; at = source.indexOf("xmlns", at + 1)) {
    if (/\s/.test(source.charAt(at - 1))) count += 1;
  }
  return count;
}
