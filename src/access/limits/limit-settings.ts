// What may be configured of one key's limits.

export type LimitSettings = {
  readonly rate?:
    | { readonly computeUnitsPerSecond: number; readonly burstComputeUnits: number }
    | undefined;
  readonly computeUnits: {
    readonly perDay?: number | undefined;
    readonly perMonth?: number | undefined;
  };
  readonly concurrentCalls?: number | undefined;
  /** Of its turns at the nodes. */
  readonly weight?: number | undefined;
};
