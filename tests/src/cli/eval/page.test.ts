import { expect, test } from "vitest";
import { PAGE_RULES, pageBody } from "../../../../src/cli/eval/page.ts";
import { type EvalRow, type Item, rowOf } from "../../../../src/eval/index.ts";
import { staticPage } from "../../../../src/view/index.ts";

const HOSTILE = '</pre><script>alert("1")</script>\u202e&amp;';
const ESCAPED = "&#60;/pre&#62;&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;\\u202e&#38;amp;";

test("texts from anywhere are texts of the page, which runs no script", async () => {
  const item: Item = { id: HOSTILE, suite: HOSTILE, size: "8k", question: HOSTILE, expected: HOSTILE, score: "exact" };
  const rows: EvalRow[] = ["8k", "16k"].flatMap((size) =>
    ["ask", HOSTILE].map((method) =>
      rowOf(
        { ...item, size },
        method,
        { status: "done", error_code: null, session: "s", result: { answer: HOSTILE } },
        null,
      ),
    ),
  );
  const shown = {
    rows,
    items: [item],
    methods: ["ask", HOSTILE],
    facts: [[HOSTILE, HOSTILE]] as const,
    show: () => HOSTILE,
  };
  let page = "";
  for await (const piece of staticPage(HOSTILE, PAGE_RULES, pageBody(shown))) page += piece;
  const [head = "", body = ""] = page.split("<body>");
  expect(head).toContain(`<title>${ESCAPED}</title>`);
  expect(head).toMatch(
    /content="default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'"/,
  );
  expect(page).not.toMatch(/<script|alert\("|style=|\son\w+=|https?:|\u202e/);
  expect(body.split(ESCAPED).length).toBeGreaterThan(12);
  // Each element that is opened is closed.
  for (const name of ["article", "table", "tr", "td", "div", "svg", "figure", "details", "pre", "ul", "li", "dl"]) {
    const opened = body.match(new RegExp(`<${name}[ >]`, "g"))?.length;
    expect([name, opened]).toEqual([name, body.match(new RegExp(`</${name}>`, "g"))?.length]);
  }
});
