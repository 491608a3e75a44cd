// What a conversation is carried over.

/** One socket, from the attempt to open it on. */
export type Wire = {
  state(): "opening" | "open" | "ending";
  send(json: string): void;
  /** Ends it at once; may be called at any time, and again. */
  destroy(): void;
};

/** What a wire tells, never before it was returned. Nothing of one that was given up is heard. */
export type WireListener = {
  onOpen(): void;
  onMessage(body: Buffer): void;
  /** The answer to this call is longer than what is taken, and was not kept. */
  onTooLarge(callId: number): void;
  onLost(reason: string): void;
};
