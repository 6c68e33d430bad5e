// WeakRef as the standard has it: what it refers to stays until the job is over. The engine frees it at once.
(function weak(kit) {
  const { SafeSet, setAdd, define, named, defineProperty, uncurry } = kit;
  const Native = globalThis.WeakRef;
  const deref = uncurry(Native.prototype.deref);
  const later = queueMicrotask;

  let held;
  function hold(target) {
    if (held === undefined) {
      held = new SafeSet();
      later(() => {
        held = undefined;
      });
    }
    setAdd(held, target);
    return target;
  }

  class Ref extends Native {
    constructor(target) {
      super(target);
      hold(target);
    }
    deref() {
      const target = deref(this);
      return target === undefined ? undefined : hold(target);
    }
  }
  named("WeakRef", Ref);
  defineProperty(Ref.prototype, Symbol.toStringTag, { __proto__: null, value: "WeakRef", configurable: true });
  define("WeakRef", Ref);
  return null;
});
