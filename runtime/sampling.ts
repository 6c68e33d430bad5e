/** Parameters of a call that say how a model picks its words. An absent one is left to the provider. */
export interface Sampling {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly seed?: number;
  /** Texts at which the answer ends. They are not a part of it. */
  readonly stop?: readonly string[];
}
