/** The parts of requests that models are not asked with, as a user writes them: with commas between. */
export const leftOutParts = (text: string): readonly string[] => text.split(",").map((part) => part.trim());

/** True for a part that can be left out: `schema` or `cache`, for all models or as `schema@PROVIDER/ID` and `schema@PROVIDER/*`. */
export const isLeftOutPart = (part: string): boolean => /^(?:schema|cache)(?:@[^/\s@]+\/\S+)?$/.test(part);
