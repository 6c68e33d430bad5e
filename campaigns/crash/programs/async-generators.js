// Async generators and for await: queues of requests, return and throw while they wait.
const ask = (text) => llm_query(text, { tools: [] });
const log = [];
async function* pages(name, count) {
  try {
    for (let page = 1; page <= count; page++) yield { page, text: await ask(`async-generators: ${name} page ${page}`) };
  } finally {
    log.push(`${name} closed: ${await ask(`async-generators: close ${name}`)}`);
  }
}
const whole = [];
for await (const { page, text } of pages("whole", 3)) {
  whole.push(text);
  print("page", page);
}
const part = [];
for await (const page of pages("part", 9)) {
  part.push(page);
  if (part.length === 2) break;
}
print("part:", part.length);
async function* doubled(source) {
  for await (const item of source) yield item.text + item.text.length;
}
const piped = [];
for await (const text of doubled(pages("piped", 2))) piped.push(text);
const queue = pages("queue", 2);
const queued = await Promise.all([queue.next(), queue.next(), queue.next(), queue.next()]);
const thrown = pages("thrown", 2);
await thrown.next();
let error;
try {
  await thrown.throw(new RangeError("no more"));
} catch (caught) {
  error = `${caught.name}: ${caught.message}`;
}
const mixed = [];
for await (const value of [1, ask("async-generators: in a list"), Promise.resolve(3)]) mixed.push(value);
result = { whole, part, piped, queued, error, mixed, log };
