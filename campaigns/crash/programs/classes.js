// Classes with private state, accessors, statics and inheritance; proxies and symbols; all in use across awaits.
const ask = (text) => llm_query(text, { tools: [] });
const HIDDEN = Symbol("hidden");
class Account {
  #balance = 0;
  static #made = 0;
  static kinds = new Set();
  static {
    Account.kinds.add("plain");
  }
  constructor(owner) {
    this.owner = owner;
    Account.#made++;
  }
  get balance() {
    return this.#balance;
  }
  set balance(value) {
    if (value < 0) throw new RangeError("below zero");
    this.#balance = value;
  }
  static get made() {
    return Account.#made;
  }
  #note(text) {
    return `${this.owner}: ${text}`;
  }
  async deposit() {
    const answer = await ask(`classes: deposit ${this.owner} at ${this.#balance}`);
    this.balance += answer.length;
    return this.#note(answer);
  }
  static is(value) {
    return #balance in value;
  }
}
class Savings extends Account {
  #rate = 2;
  [HIDDEN] = "kept";
  constructor(owner) {
    super(owner);
    Account.kinds.add(new.target.name);
  }
  async deposit() {
    const told = await super.deposit();
    this.balance *= this.#rate;
    return `${told} (doubled)`;
  }
  *[Symbol.iterator]() {
    yield this.owner;
    yield this.balance;
  }
}
const accounts = [new Account("ann"), new Savings("bob")];
const told = [];
for (const round of [1, 2]) {
  for (const account of accounts) {
    told.push(await account.deposit());
    print(`round ${round}`, account.owner, account.balance);
  }
}
const reads = [];
const watched = new Proxy(accounts[1], {
  get(target, key) {
    reads.push(String(key));
    const value = Reflect.get(target, key, target);
    return typeof value === "function" ? value.bind(target) : value;
  },
});
told.push(await watched.deposit());
let refused;
try {
  accounts[0].balance = -1;
} catch (error) {
  refused = error.message;
}
const frozen = Object.freeze({ deep: { open: 1 } });
frozen.deep.open = (await ask("classes: frozen")).length;
result = {
  told,
  refused,
  reads,
  frozen,
  made: Account.made,
  kinds: [...Account.kinds],
  spread: [...accounts[1]],
  hidden: accounts[1][HIDDEN],
  is: [Account.is(accounts[1]), Account.is({})],
  chain: accounts[1] instanceof Account,
};
