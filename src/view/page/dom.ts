import { duration } from "../../platform/figures.ts";
import { inLine, visible } from "../../platform/visible.ts";

// Everything that is shown may be hostile: texts become text nodes and attributes from this list,
// and nothing else.

type Named = "class" | "id" | "role" | "title" | "tabindex" | "type" | "placeholder" | "hidden" | "download";
type Attribute = Named | "min" | "max" | "value" | "colspan" | `aria-${string}`;
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
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, inLine(String(value)));
  }
  for (const [name, handle] of Object.entries(on)) element.addEventListener(name, handle);
  for (const [name, value] of Object.entries(css)) element.style.setProperty(name, value);
  fill(element, ...children);
  return element;
}

/** Replaces the element's content by these. */
export function fill(element: Element, ...children: readonly Child[]): void {
  const visibleChildren = children.filter((child): child is Node | string => child !== null && child !== "");
  element.replaceChildren(...visibleChildren.map((child) => (typeof child === "string" ? visible(child) : child)));
}

export type Pair = readonly [name: string, value: Child];

/** Names and what they have, without those that have nothing. */
export function facts(...pairs: readonly Pair[]): HTMLElement {
  const filled = pairs.filter(([, value]) => value !== null && value !== "");
  return h("dl", {}, ...filled.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function button(text: Child, click: () => void, more: Attributes = {}): HTMLElement {
  return h("button", { type: "button", on: { click }, ...more }, text);
}

/** The colour and the pattern of a class of calls, or of a grade. */
export const tint = (name: string) => ({ "--kind": `var(--${name})`, "--pattern": `var(--${name}-pattern,)` });

/** `2 h 47 min`: a longer time than most that the command tells. */
export function lasting(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 60 ? duration(ms) : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const clockTime = (at: number) => new Date(at).toISOString().slice(11, 19);

/** Gives the browser its turn. */
export const rest = () => new Promise<void>((resolve) => setTimeout(resolve));
