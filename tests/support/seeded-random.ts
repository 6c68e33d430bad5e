export { seededRandom } from "../../src/platform/seeded-random.ts";
