import { oneOf } from "../shared/example.ts";

const PEOPLE = 100;
const TOWNS = ["Bergen", "Lund", "Turku", "Ghent"];

export type Skill = "bicycles" | "violin" | "baking" | "pottery" | "chess";

/** How people say what they can teach and what they would like to learn. The skill is never named. */
export const SAYINGS: Readonly<Record<Skill, { readonly teaches: string; readonly learns: string }>> = {
  bicycles: { teaches: "I mend the wheels of the whole street", learns: "I never know what to do about a flat tyre" },
  violin: {
    teaches: "I have played first fiddle for years",
    learns: "I bought a bow and strings and cannot play a note",
  },
  baking: { teaches: "my sourdough wins prizes", learns: "my bread comes out of the oven like a stone" },
  pottery: { teaches: "I throw bowls of clay every evening", learns: "clay falls apart under my hands" },
  chess: { teaches: "I coach a team on sixty-four squares", learns: "I lose my queen in every game" },
};
export const SKILLS: readonly Skill[] = ["bicycles", "violin", "baking", "pottery", "chess"];

/** A register of people, and the pairs of a teacher and a learner who live in the same town. */
export function register(random: () => number): { readonly text: string; readonly pairs: readonly string[] } {
  const people = Array.from({ length: PEOPLE }, (_, index) => {
    const teaches = oneOf(SKILLS, random);
    const others = SKILLS.filter((skill) => skill !== teaches);
    const id = `p${String(index + 1).padStart(3, "0")}`;
    return { id, town: oneOf(TOWNS, random), teaches, learns: oneOf(others, random) };
  });
  const lines = people.map(
    ({ id, town, teaches, learns }) => `${id} | ${town} | ${SAYINGS[teaches].teaches}; ${SAYINGS[learns].learns}.`,
  );
  const pairs = people.flatMap((teacher) => {
    const learners = people.filter(({ town, learns }) => town === teacher.town && learns === teacher.teaches);
    return learners.map(({ id }) => `${teacher.id}-${id}`);
  });
  return { text: `${lines.join("\n")}\n`, pairs };
}
