// URL and URLSearchParams. A guest keeps their texts; Node's own read and change them, in the host.
(function url(kit) {
  const { call, labels, weakSet, define, defineProperty, inspect, named } = kit;

  const text = (value) => `${value}`.toWellFormed();
  const property = (prototype, name, how) => defineProperty(prototype, name, { configurable: true, ...how });

  class URLSearchParams {
    /** Functions that read and write the query: that of a URL, if it belongs to one. */
    #query;
    constructor(init = "") {
      let query = queryOf(init);
      this.#query = { read: () => query, write: (changed) => (query = changed) };
      weakSet(labels, this, () => `URLSearchParams ${inspect(this.toString())}`);
    }
    static of(href) {
      const params = new URLSearchParams();
      params.#query = href;
      return params;
    }
    static do(params, method, args) {
      const { query, value } = call(`URLSearchParams.${method}`, [params.#query.read(), args.map(text)]);
      if (query !== null) params.#query.write(query);
      return value ?? undefined;
    }
    get size() {
      return [...this].length;
    }
    get(name) {
      return this.getAll(name)[0] ?? null;
    }
    toString() {
      return operate(this, "text", []);
    }
    *entries() {
      yield* operate(this, "entries", []);
    }
    *keys() {
      for (const [name] of this) yield name;
    }
    *values() {
      for (const [, value] of this) yield value;
    }
    forEach(run, that) {
      for (const [name, value] of this) run.call(that, value, name, this);
    }
  }
  const { of: paramsOf, do: operate } = URLSearchParams;
  delete URLSearchParams.of;
  delete URLSearchParams.do;
  const { prototype } = URLSearchParams;
  for (const method of ["append", "delete", "getAll", "has", "set", "sort"]) {
    const run = function (...args) {
      const given = args.filter((one) => one !== undefined);
      return operate(this, method, given);
    };
    property(prototype, method, { value: named(method, run), writable: true });
  }
  property(prototype, Symbol.iterator, { value: prototype.entries, writable: true });

  function queryOf(init) {
    if (init instanceof URLSearchParams) return init.toString();
    if (init === null || (typeof init !== "object" && typeof init !== "function")) return text(init);
    const pairs = init[Symbol.iterator] ? [...init] : Object.entries(init);
    const params = new URLSearchParams();
    for (const pair of pairs) {
      const items = [...pair];
      if (items.length !== 2) throw new TypeError("each pair of URLSearchParams has a name and a value");
      params.append(...items);
    }
    return params.toString();
  }

  class URL {
    #href;
    #params;
    constructor(href, ...base) {
      this.#href = call("URL", [text(href), ...bases(base)]);
      this.#params = paramsOf({ read: () => part(this, "search"), write: (query) => change(this, "search", query) });
      weakSet(labels, this, () => `URL ${inspect(this.#href)}`);
    }
    static get(url, name) {
      return call("URL.get", [url.#href, name]);
    }
    static set(url, name, value) {
      url.#href = call("URL.set", [url.#href, name, text(value)]);
    }
    static canParse(href, ...base) {
      return call("URL.canParse", [text(href), ...bases(base)]);
    }
    static parse(href, ...base) {
      return URL.canParse(href, ...base) ? new URL(href, ...base) : null;
    }
    get searchParams() {
      return this.#params;
    }
    toString() {
      return this.#href;
    }
    toJSON() {
      return this.#href;
    }
  }
  const bases = (base) => base.filter((one) => one !== undefined).map(text);
  const { get: part, set: change } = URL;
  delete URL.get;
  delete URL.set;
  const NAMES = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash", "href"];
  for (const name of [...NAMES, "origin"]) {
    const get = function () {
      return part(this, name);
    };
    const set = function (value) {
      change(this, name, value);
    };
    property(URL.prototype, name, { get, set: name === "origin" ? undefined : set, enumerable: true });
  }

  define("URL", URL);
  define("URLSearchParams", URLSearchParams);
  return null;
});
