// Several cells in one session: the later ones use what the earlier ones left.
const ask = (text) => llm_query(text, { tools: [] });
let count = 0;
class Counter {
  #n = 0;
  async add(text) {
    this.#n += (await ask(`several-cells: ${text} at ${this.#n}`)).length;
    count++;
    return this.#n;
  }
}
const counter = new Counter();
function* ids() {
  for (let id = 1; ; id++) yield `id-${id}`;
}
const open = ids();
const pattern = /\d/g;
pattern.test("a1b2");
print(open.next().value);
helpers.add("twice", "const twice = (value) => [value, value];");
[await counter.add("one"), await counter.add("two"), count];
