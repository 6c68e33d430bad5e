import { openStore } from "../../../src/store/open.ts";
import { recordOf, sessionOf } from "./sample.ts";

// A process of its own: makes or takes session S1 of the store that it is told, says so and waits to be killed.
const store = await openStore(process.argv[2] ?? "");
if (await store.find("S1")) await store.lease("S1");
else await store.create(sessionOf("S1"));
await store.commit("S1", { records: [recordOf("E1", 5)], facts: { status: "running" } });
console.log("held");
setInterval(() => {}, 1000);
