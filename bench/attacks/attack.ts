// An attack on a running gateway: the requests of a hostile caller for a limited time.

export type AttackTarget = {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly network: string;
  /** A valid key that only the attacker uses. */
  readonly key: string;
  /** The attacker's address on this machine (127.0.0.0/8), which differs from that of the callers. */
  readonly localAddress: string;
};

export type Attack = {
  readonly name: string;
  /** Attacks until `signal` aborts, and closes all connections. Never throws, whatever the gateway does. */
  run(target: AttackTarget, signal: AbortSignal): Promise<void>;
};
