import type { DeliveryReport } from "./campaign.ts";

/** The figures of a campaign, as they are printed. */
export function reportLines({ kills, mismatches, ...sums }: DeliveryReport): readonly string[] {
  const count = (form: RegExp) => [...kills].reduce((sum, [label, times]) => sum + (form.test(label) ? times : 0), 0);
  const kinds = [...kills].toSorted(([a], [b]) => a.localeCompare(b)).map(([label, times]) => `${times} ${label}`);
  return [
    ...mismatches.map((mismatch) => `MISMATCH  ${mismatch}`),
    `kills           ${count(/^/)}: ${count(/^create/)} at creates, ${count(/ lost$/)} lost responses, ${count(/ delayed$/)} delayed requests`,
    `by kind         ${kinds.join(", ")}`,
    `runs            ${sums.runs}`,
    `batches         ${sums.batches}, where ${sums.waves} waves are made undisturbed`,
    `rows            ${sums.rows}, ${sums.twice} of them paid twice`,
    `live calls      ${sums.again} sent again; ${sums.inFlight} were in flight at kills`,
  ];
}
