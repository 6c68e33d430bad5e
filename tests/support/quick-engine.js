import { setFlagsFromString } from "node:v8";

// Preloaded into the processes that tests start. They live for a second: an optimised engine would come too late for
// them. `--liftoff-only` on the command line would do, but then Node compiles its own modules anew in every thread.

const OPTIMISING = ["wasm-tier-up", "wasm-dynamic-tiering", "wasm-lazy-compilation"];

/** V8 reads the flags while it compiles: they hold for that time alone, so everything is compiled at once. */
WebAssembly.Module = new Proxy(WebAssembly.Module, {
  construct(module, [bytes]) {
    setFlagsFromString("--liftoff-only");
    for (const flag of OPTIMISING) setFlagsFromString(`--no-${flag}`);
    try {
      return new module(bytes);
    } finally {
      for (const flag of OPTIMISING) setFlagsFromString(`--${flag}`);
      setFlagsFromString("--no-liftoff-only");
    }
  },
});
