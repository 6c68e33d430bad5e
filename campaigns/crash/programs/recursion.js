// Deep async recursion: many frames wait at once.
const ask = (text) => llm_query(text, { tools: [] });
async function deep(depth) {
  if (depth === 0) return [await ask("recursion: the bottom")];
  const local = { depth, text: "x".repeat(depth % 7) };
  const below = await deep(depth - 1);
  if (depth % 100 === 0) {
    below.push(await ask(`recursion: back at ${depth} of ${below.length}`));
    print("back at", depth, local.text);
  }
  return local.depth % 50 === 0 ? [...below, local.depth] : below;
}
const result_of_deep = await deep(400);
async function tree(path) {
  if (path.length === 2) return ask(`recursion: leaf ${path}`);
  const [left, right] = await Promise.all([tree(`${path}l`), tree(`${path}r`)]);
  return { [path || "root"]: [left, right] };
}
const leaves = await tree("");
print("leaves");
const thenable = { [["th", "en"].join("")]: (resolve) => ask("recursion: thenable").then(resolve) };
result = { deep: result_of_deep, leaves, thenable: await thenable };
