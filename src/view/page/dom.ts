import { duration } from "../../platform/figures.ts";
import { inLine, visible } from "../../platform/visible.ts";

// Everything that is shown may be hostile: texts become text nodes and attributes from this list, and nothing else.

type Attribute =
  | "class"
  | "id"
  | "role"
  | "title"
  | "tabindex"
  | "type"
  | "placeholder"
  | "min"
  | "max"
  | "value"
  | "hidden"
  | "download"
  | `aria-${string}`;

type Attributes = { readonly [name in Attribute]?: string | number | boolean | null };
export type Child = Node | string | null;
interface Props extends Attributes {
  readonly on?: Readonly<Record<string, (event: Event) => void>>;
  readonly css?: Readonly<Record<string, string>>;
}

/** An element. Characters that steer or hide show as their code points. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  { on = {}, css = {}, ...attributes }: Props = {},
  ...children: readonly (Child | readonly Child[])[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, inLine(String(value)));
  }
  for (const [name, handle] of Object.entries(on)) element.addEventListener(name, handle);
  for (const [name, value] of Object.entries(css)) element.style.setProperty(name, value);
  element.append(...shown(children.flat()));
  return element;
}

/** Puts these in the place of what the element has. */
export function fill(element: Element, ...children: readonly (Child | readonly Child[])[]): void {
  element.replaceChildren(...shown(children.flat()));
}

function shown(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (child === null || child === "") return [];
    return typeof child === "string" ? visible(child) : child;
  });
}

/** Names and what they have, without those that have nothing. */
export function facts(...pairs: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const told = pairs.filter(([, value]) => value !== null && value !== "");
  return h("dl", {}, ...told.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function button(text: Child, label: string | null, click: () => void, more: Attributes = {}): HTMLElement {
  return h("button", { type: "button", "aria-label": label, on: { click }, ...more }, text);
}

/** `2 h 47 min`: a longer time than most that the command tells. */
export function lasting(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 60 ? duration(ms) : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `10:04:05`, in UTC. */
export const clockTime = (at: number) => new Date(at).toISOString().slice(11, 19);

/** Gives the browser its turn. */
export const rest = () => new Promise<void>((resolve) => setTimeout(resolve));

/** The name as a shell takes it. */
export const quoted = (name: string) => (/^[\w.@/:-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
