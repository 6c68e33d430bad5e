// Typed arrays, views of one buffer, DataView, a buffer that is resized.
const ask = (text) => llm_query(text, { tools: [] });
const buffer = new ArrayBuffer(64);
const bytes = new Uint8Array(buffer);
const words = new Uint32Array(buffer, 16, 4);
const view = new DataView(buffer, 32);
const floats = new Float64Array(3);
for (let i = 0; i < 4; i++) {
  const answer = await ask(`typed-arrays: ${i} sum ${bytes.reduce((sum, byte) => sum + byte, 0)}`);
  bytes.set(
    Array.from(answer.slice(-8), (char) => char.charCodeAt(0)),
    i * 2,
  );
  words[i] = answer.length * 2 ** 24 + i;
  view.setFloat32(i * 4, answer.length / 3, i % 2 === 0);
  view.setBigInt64(16, BigInt(-answer.length), true);
  floats[i % 3] = answer.length / 7;
  print(bytes.subarray(i * 2, i * 2 + 8).join(" "));
}
const half = bytes.subarray(8, 24);
half.fill(7, 0, 2);
const moved = new Uint8Array(new ArrayBuffer(8, { maxByteLength: 64 }));
moved.buffer.resize(16);
moved[15] = (await ask("typed-arrays: resized")).length;
const big = new Uint8Array(300_000).map((_, index) => index * 31);
await ask("typed-arrays: big");
big.reverse();
result = {
  bytes: [...bytes],
  words: [...words],
  floats: [...floats],
  moved: [...moved],
  same: half.buffer === buffer,
  read: [view.getFloat32(0, true), view.getBigInt64(16, true).toString(), view.getUint16(2)],
  big: big.reduce((sum, byte, index) => (sum + byte * index) % 1_000_003, 0),
};
