// What a program finds outside itself: random numbers and elapsed time. Both begin alike in every guest, so that fresh
// guests are equal byte for byte, and are given their start by the first cell.
(function ambient({ dataProperty, defineProperty }) {
  /** State of sfc32 (PractRand, Chris Doty-Humphrey): it lies in the heap, so a restored guest goes on in its sequence. */
  let a;
  let b;
  let c;
  let d;
  function next() {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum;
  }
  const { random } = {
    /** 53 bits. */
    random: () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992,
  };
  function seedRandom(seed) {
    a = seed[0] | 0;
    b = seed[1] | 0;
    c = seed[2] | 0;
    d = seed[3] | 0;
    // Seeds that differ in few bits have drifted apart after these.
    for (let i = 0; i < 16; i++) next();
  }
  seedRandom([0, 0, 0, 1]);

  const hidden = (value) => ({ ...dataProperty(value), enumerable: false });
  defineProperty(Math, "random", hidden(random));

  // The engine's own counts from when the guest was made, which is a fixed time, and none of its properties can be changed.
  const { performance } = globalThis;
  const engineNow = performance.now.bind(performance);
  let origin = 0;
  function startTime() {
    origin ||= engineNow();
  }
  const elapsed = {
    now: () => engineNow() - origin,
    get timeOrigin() {
      return origin;
    },
  };
  defineProperty(globalThis, "performance", hidden(elapsed));

  return { __proto__: null, seedRandom, startTime };
});
