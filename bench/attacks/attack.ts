// An attack on a running gateway: something a hostile caller does for a while, bounded in time.

export type AttackTarget = {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly network: string;
  /** A valid key of the attacker's own. */
  readonly key: string;
  /** The attacker's own address on this machine (127.0.0.0/8), so that it is not the callers'. */
  readonly localAddress: string;
};

export type Attack = {
  readonly name: string;
  /** Attacks until `signal` aborts, and leaves nothing open. What the gateway does is its own affair: never throws. */
  run(target: AttackTarget, signal: AbortSignal): Promise<void>;
};
