import { type Handler, Parser } from "htmlparser2";
import { damaged } from "./growing.ts";

export type Attributes = Readonly<Record<string, string>>;

const MOST_DEPTH = 5000;
const SLICE_UNITS = 65_536;

type Events = Partial<Pick<Handler, "onopentag" | "onclosetag" | "ontext">>;

/** Walks through markup. @throws Unreadable if elements are nested more than 5,000 deep */
export function parse(source: string, xmlMode: boolean, events: Events): void {
  let depth = 0;
  const parser = new Parser(
    {
      ...events,
      onopentagname() {
        depth += 1;
        if (depth > MOST_DEPTH) throw damaged("its elements are nested more than 5,000 deep");
      },
      onclosetag(name, isImplied) {
        depth -= 1;
        events.onclosetag?.(name, isImplied);
      },
    },
    { xmlMode, decodeEntities: true, recognizeSelfClosing: true, recognizeCDATA: true },
  );
  for (let at = 0; at < source.length; at += SLICE_UNITS) parser.write(source.slice(at, at + SLICE_UNITS));
  parser.end();
}

/** Handlers by the known name of an element (see `knownNames`), `/name` for its end. */
export type Handlers = Readonly<Record<string, (attributes: Attributes) => void>>;

/** XML that is open for a walk. */
export interface Xml {
  /**
   * The number of elements of this name within which the walk is, with the one that it enters or
   * leaves.
   */
  depth(name: string): number;
  /** True if the walk is within an element of one of these names. */
  within(...names: readonly string[]): boolean;
  walk(walk: Walk): void;
}

/**
 * Opens XML for a walk. No entity but those of XML is expanded, no document type is read, and
 * nothing is opened.
 *
 * @throws Unreadable if elements are nested more than 5,000 deep
 */
export function openXml(source: string): Xml {
  const kinds = new Map<string, ElementKind>();
  const depth = (name: string) => kinds.get(name)?.depth ?? 0;
  return {
    depth,
    within: (...names) => names.some((name) => depth(name) > 0),
    walk({ take, unread = () => {}, on = {}, silent }) {
      // The elements that are open, and whether each has text that nobody took.
      const path: { readonly kind: ElementKind; isUnread: boolean; hasChoice: boolean }[] = [];
      const names = knownNames(source);
      // An element may be named `__proto__`.
      const handler = (name: string) => (Object.hasOwn(on, name) ? on[name] : undefined);
      const added = (name: string) => {
        const isSilent = silent?.has(name) ?? false;
        const kind = { name, depth: 0, enter: handler(name), leave: handler(`/${name}`), isSilent };
        kinds.set(name, kind);
        return kind;
      };
      // The number of open elements from the outermost silent one on.
      let silenced = 0;
      parse(source, true, {
        onopentag(given, attributes) {
          names.enter(attributes);
          const around = path.at(-1);
          let name = names.element(given);
          if (around && name === "mc:Choice") {
            // People see one choice. A further one counts as what stands there for older programs.
            if (around.hasChoice) name = "mc:Fallback";
            around.hasChoice = true;
          }
          const kind = kinds.get(name) ?? added(name);
          path.push({ kind, isUnread: false, hasChoice: false });
          kind.depth += 1;
          if (silenced === 0) kind.enter?.(names.attributes(attributes));
          if (silenced > 0 || kind.isSilent) silenced += 1;
        },
        ontext(text) {
          if (silenced > 0) return;
          const last = path.at(-1);
          if (!take?.(text) && last && /\S/.test(text)) last.isUnread = true;
        },
        onclosetag() {
          const last = path.at(-1);
          if (!last) return;
          const { kind } = last;
          if (silenced > 0) silenced -= 1;
          else kind.leave?.({});
          kind.depth -= 1;
          names.leave();
          path.pop();
          if (last.isUnread) unread(kind.name);
        },
      });
    },
  };
}

/** The elements of a name, and what is done with them. */
interface ElementKind {
  readonly name: string;
  /** The number of them that are open. */
  depth: number;
  readonly enter: ((attributes: Attributes) => void) | undefined;
  readonly leave: ((attributes: Attributes) => void) | undefined;
  /** True if what is in it is left out. */
  readonly isSilent: boolean;
}

/** The work of a walk through XML. */
interface Walk {
  /** True if a reader takes this text, or leaves it out for a reason that it knows. */
  readonly take?: (text: string) => boolean;
  /**
   * Called at the end of each element that has text which was not taken: see `unread` of a text
   * that grows.
   */
  readonly unread?: (element: string) => void;
  readonly on?: Handlers;
  /** Elements of which only the beginning is handled: what is in them is left out. */
  readonly silent?: ReadonlySet<string>;
}

/** Walks through the elements of XML. @throws Unreadable */
export const walkXml = (source: string, on: Handlers) => openXml(source).walk({ on });

/** The texts of all elements `of`: what `words` in them hold, except within `left`. */
export function textsIn(source: string, of: string, words: string, left = ""): string[] {
  const texts: string[] = [];
  const xml = openXml(source);
  let said = "";
  const take = (more: string) => {
    if (xml.within(words) && !xml.within(left)) said += more;
    return true;
  };
  xml.walk({ take, on: { [of]: () => (said = ""), [`/${of}`]: () => texts.push(said) } });
  return texts;
}

/** True if an element of this name says something. */
export const isSaid = (source: string, element: string) =>
  textsIn(source, element, element).some((text) => text.trim() !== "");

/**
 * Namespaces and the prefix under which the readers know their names. Those of sheets, packages and
 * formulas have none.
 */
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

/**
 * The prefix for the names of a namespace, of which transitional and strict documents have one
 * each.
 */
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

/**
 * Gives elements and attributes the names that the readers know, whatever prefixes a document
 * binds, and where.
 */
function knownNames(source: string) {
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

/**
 * The number of attributes that bind prefixes. Namespaces of OpenDocument have `xmlns` in their
 * names as well.
 */
function bindingsIn(source: string): number {
  let count = 0;
  for (let at = source.indexOf("xmlns"); at >= 0; at = source.indexOf("xmlns", at + 1)) {
    if (/\s/.test(source.charAt(at - 1))) count += 1;
  }
  return count;
}
