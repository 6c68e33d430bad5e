/** Computes something once of each object that never changes, such as the records of an exec. */
export function remembered<Of extends object, T>(compute: (of: Of) => T): (of: Of) => T {
  const known = new WeakMap<Of, { readonly is: T }>();
  return (of) => {
    const last = known.get(of) ?? { is: compute(of) };
    known.set(of, last);
    return last.is;
  };
}
