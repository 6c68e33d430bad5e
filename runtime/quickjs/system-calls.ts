/** Functions that the engine calls as its system. The guest can provoke each of these. */
export function systemCalls(memory: WebAssembly.Memory, host: { now(): number }) {
  return {
    clock_time_get(_clock: number, _precision: bigint, out: number) {
      new DataView(memory.buffer).setBigUint64(out, BigInt(Math.round(host.now() * 1e6)), true);
      return 0;
    },
    // The C library's guard against overwritten stacks takes four bytes: if they were random, no
    // two guests would be equal.
    random_get(out: number, length: number) {
      new Uint8Array(memory.buffer, out, length).fill(0x5a);
      return 0;
    },
    // The engine's own logging is dropped: it does not belong on the process's stdout.
    fd_write(_fd: number, vectors: number, count: number, written: number) {
      const view = new DataView(memory.buffer);
      let total = 0;
      for (let i = 0; i < count; i++) total += view.getUint32(vectors + i * 8 + 4, true);
      view.setUint32(written, total, true);
      return 0;
    },
  };
}
