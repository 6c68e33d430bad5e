/** Computes something once for each object that never changes, such as the records of an exec. */
export function memoize<Of extends object, T>(compute: (of: Of) => T): (of: Of) => T {
  const known = new WeakMap<Of, { readonly value: T }>();
  return (of) => {
    const result = known.get(of) ?? { value: compute(of) };
    known.set(of, result);
    return result.value;
  };
}
