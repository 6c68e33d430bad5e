/** Globals of the language as the engine has them. */
export const LANGUAGE_NAMES: readonly string[] =
  "AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask structuredClone undefined unescape".split(
    " ",
  );

/**
 * Names that belong to the machine: a helper cannot have one, nor declare it for every later cell.
 */
export const OWNED_NAMES: ReadonlySet<string> = new Set([...LANGUAGE_NAMES, "result", "result_meta"]);
