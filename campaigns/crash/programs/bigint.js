// BigInts that grow from wait to wait.
const ask = (text) => llm_query(text, { tools: [] });
let product = 1n;
const parts = [];
for (let i = 1; i <= 5; i++) {
  const answer = await ask(`bigint: ${i} of ${product % 1000n}`);
  product *= BigInt(answer.length) ** BigInt(i * 7) + 1n;
  parts.push(product.toString(16).length);
  print("bits", product.toString(2).length);
}
const wide = BigUint64Array.of(2n ** 64n - 1n, product & 0xffffffffffffffffn);
await ask("bigint: wide");
result = {
  product: product.toString(),
  parts,
  wide: [...wide].map(String),
  negative: BigInt.asIntN(64, -product).toString(),
  compare: [product > 10, 2n <= 2, typeof product],
};
