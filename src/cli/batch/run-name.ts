import { basename, extname } from "node:path";

const DIGITS = 8;
/** Room for the hash behind it, and for `-2` behind that. */
const BASE_UNITS = 80;

/** `reviews-3f2a91c0`: what a run is called unless `--name` says otherwise. @param hash of what the run does, hex */
export function runName(script: string, hash: string): string {
  const base = basename(script, extname(script)).replaceAll(/[^\p{L}\p{N}._-]+/gu, "-");
  return `${base.replace(/^[^\p{L}\p{N}]+/u, "").slice(0, BASE_UNITS) || "run"}-${hash.slice(0, DIGITS)}`;
}

/** The first of `NAME-2`, `NAME-3` … that no run has. */
export async function nextName(name: string, isTaken: (name: string) => Promise<boolean>): Promise<string> {
  let number = 2;
  while (await isTaken(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}
