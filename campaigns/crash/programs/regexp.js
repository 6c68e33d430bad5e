// Regular expressions with a state of their own: lastIndex, sticky, an open matchAll.
const ask = (text) => llm_query(text, { tools: [] });
const text = "a1 b22 c333 d4444 e55555";
const global = /([a-z])(\d+)/g;
const sticky = /\s*(?<letter>[a-z])\d+/y;
const open = text.matchAll(/(\d)\1*/g);
const seen = [];
for (let i = 0; i < 4; i++) {
  const found = global.exec(text);
  const stuck = sticky.exec(text);
  const { value } = open.next();
  const answer = await ask(`regexp: ${found[0]} ${stuck.groups.letter} ${value[0]}`);
  seen.push({ found: found.slice(1), at: global.lastIndex, sticky: sticky.lastIndex, open: value.index, answer });
  print("at", global.lastIndex, sticky.lastIndex);
}
const unicode = /\p{Lu}(?=\p{Ll})/gu;
unicode.test("Äpfel Übel");
const place = unicode.lastIndex;
await ask("regexp: unicode");
result = {
  seen,
  place,
  next: unicode.exec("Äpfel Übel")?.index,
  rest: [...open].map(([whole]) => whole),
  replaced: text.replace(/\d+/g, (digits) => digits.length),
  behind: text.match(/(?<=c)\d+/)?.[0],
};
