// A heap that grows by some MB with every step and gives some of them back.
const ask = (text) => llm_query(text, { tools: [] });
const blocks = [];
const sums = [];
for (let i = 0; i < 6; i++) {
  const answer = await ask(`heap: block ${i} of ${blocks.length}`);
  blocks.push(
    Array.from({ length: 60_000 }, (_, index) => ({ i, index, text: answer[index % answer.length] + index })),
  );
  if (i % 2 === 1) blocks[i - 1] = blocks[i - 1].filter(({ index }) => index % 7 === 0);
  sums.push(blocks.reduce((sum, block) => sum + block.length + block.at(-1).text.length, 0));
  print("objects:", sums.at(-1));
}
let text = "";
for (let i = 0; i < 3; i++) text += (await ask(`heap: text ${text.length}`)).repeat(20_000);
let digest = 0;
for (const block of blocks)
  for (const { index, text } of block) digest = (digest * 31 + index + text.charCodeAt(0)) % 1_000_003;
result = { sums, digest, text: [text.length, text.slice(-20)] };
