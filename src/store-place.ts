import { resolve } from "node:path";

// Where a store is: a folder, or the URL of a PostgreSQL server, `postgres://user@host/database`.

export function isServer(place: string): boolean {
  return /^postgres(ql)?:\/\//i.test(place);
}

/** The place as the store takes it: a folder becomes absolute. */
export function placeOf(given: string): string {
  return isServer(given) ? given : resolve(given);
}

/** The place as people may see it, and as files may keep it: without a password. */
export function shownPlace(place: string): string {
  if (!isServer(place)) return place;
  if (!URL.canParse(place)) return "postgres://…";
  const url = new URL(place);
  if (url.password !== "") url.password = "***";
  for (const name of SECRET) if (url.searchParams.has(name)) url.searchParams.set(name, "***");
  return url.href;
}

/** Whether the place has what nobody may see. One that cannot be read may have it. */
export function hasSecret(place: string): boolean {
  if (!isServer(place)) return false;
  if (!URL.canParse(place)) return true;
  const { password, searchParams } = new URL(place);
  return password !== "" || SECRET.some((name) => searchParams.has(name));
}

const SECRET = ["password", "sslpassword", "passfile"];
