import * as v from "valibot";

const SWITCH = "must be true or false";
const FILES = "must be a list of at most 100 names of files, each of 1 to 100 characters without /";

const fileName = v.pipe(v.string(FILES), v.regex(/^[^/\\]{1,100}$/, FILES));

/** Keys of the read cache. */
export const READ_CACHE_ENTRIES = {
  /** A file that the model reads again costs a line or a diff. */
  read_cache: v.exactOptional(v.boolean(SWITCH)),
  /** Names of files that the read cache never looks at; `*` stands for any characters. */
  read_cache_exclude: v.exactOptional(v.pipe(v.array(fileName, FILES), v.maxLength(100, FILES))),
};

type Exempted = { readonly read_cache_exclude?: string[] };

/** The files that the user and the project exempt: a project's add to the user's. */
export function exempted(user: Exempted, project: Exempted): Exempted {
  const names = [...(user.read_cache_exclude ?? []), ...(project.read_cache_exclude ?? [])];
  return names.length > 0 ? { read_cache_exclude: names } : {};
}
