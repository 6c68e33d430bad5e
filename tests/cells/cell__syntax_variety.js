outer: for (const i of [1, 2]) {
  for (;;) {
    continue outer;
  }
}
"labels"
//=> {"result_json":"labels"}
//---
switch (2) {
  case 1: var a = 1; break;
  default: let b = 2; a = b;
}
a
//=> {"result_json":2}
//---
const o = { get x() { return 7 }, set x(v) { this.y = v }, async *z() { yield 1 }, [`k${1}`]: 2, ...{ s: 3 } };
o.x = 9;
[o.x, o.y, o.k1, o.s, o?.missing?.deep ?? "none", (await o.z().next()).value]
//=> {"result_json":[7,9,2,3,"none",1]}
//---
class A { #p = 1; static s = 2; static { this.t = 3 } get p() { return this.#p } static #q() { return 4 } static q() { return A.#q() } }
class B extends A { p2 = super.p + 1 }
[new B().p, new B().p2, B.s, A.t, A.q(), new B() instanceof A, A.name]
//=> {"result_json":[1,2,2,3,4,true,"A"]}
//---
const [p, , q = 3, ...rest] = [1, 2, undefined, 4, 5], { m: { n = 6 } = {}, ...others } = { k: 7 };
[p, q, rest, n, others]
//=> {"result_json":[1,3,[4,5],6,{"k":7}]}
//---
var { length } = "four", tagged = ((s, ...v) => s.raw.join("|") + v)`a${1}\n${2}`;
[length, tagged, 1_000, 0b11, 2 ** 10, 0x1f, "\u{1f600}".length, /(?<year>\d+)/.exec("in 1999").groups.year]
//=> {"result_json":[4,"a|\\n|1,2",1000,3,1024,31,2,"1999"]}
//---
function* count() { for (let i = 0; ; i++) if ((yield i) === "stop") return "done" }
const counter = count();
[counter.next().value, counter.next().value, counter.next("stop").value]
//=> {"result_json":[0,1,"done"]}
//---
counter.next().done
//=> {"result_json":true}
//---
try { null.x } catch { a = "optional binding" } finally { a += "!" }
a
//=> {"result_json":"optional binding!"}
//---
with ({ inside: 1 }) { result = inside }
//=> {"success":true,"result_json":1}
//---
#!/usr/bin/env node
"a hashbang"
//=> {"success":true,"result_json":"a hashbang"}
//---
var 変数 = "日本", $ = 1, _ = 2;
[変数, $, _, "😀".length]
//=> {"result_json":["日本",1,2,2]}
