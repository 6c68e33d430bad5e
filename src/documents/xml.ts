import { type Attributes, parse } from "./markup.ts";
import { knownNames } from "./names.ts";

/** Handlers by the known name of an element (see `knownNames`), `/name` for its end. */
export type Handlers = Readonly<Record<string, (attributes: Attributes) => void>>;

/**
 * Opens XML for a walk. No entity but those of XML is expanded, no document type is read, and nothing is opened.
 *
 * @throws Unreadable if elements are nested more than 5,000 deep
 */
export function openXml(source: string) {
  const kinds = new Map<string, ElementKind>();
  const depth = (name: string) => kinds.get(name)?.depth ?? 0;
  return {
    /** The number of elements of this name within which the walk is, with the one that it enters or leaves. */
    depth,
    within: (...names: readonly string[]) => names.some((name) => depth(name) > 0),
    walk({ take, unread = () => {}, on = {}, silent }: Walk): void {
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
  /** Called at the end of each element that has text which was not taken: see `unread` of a text that grows. */
  readonly unread?: (element: string) => void;
  readonly on?: Handlers;
  /** Elements of which only the beginning is handled: what is in them is left out. */
  readonly silent?: ReadonlySet<string>;
}

/** Walks through the elements of XML. @throws Unreadable */
export const walkXml = (source: string, on: Handlers) => openXml(source).walk({ on });

/** The texts of all elements `of`: what `words` in them hold, except within `left`. */
export function textsIn(source: string, of: string, words: string, left = ""): string[] {
  const found: string[] = [];
  const xml = openXml(source);
  let said = "";
  const take = (more: string) => {
    if (xml.within(words) && !xml.within(left)) said += more;
    return true;
  };
  xml.walk({ take, on: { [of]: () => (said = ""), [`/${of}`]: () => found.push(said) } });
  return found;
}

/** True if an element of this name says something. */
export const isSaid = (source: string, element: string) =>
  textsIn(source, element, element).some((text) => text.trim() !== "");
