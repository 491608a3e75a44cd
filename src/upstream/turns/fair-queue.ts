// Who is next of those that wait: keys in turn, each as often as its weight, and within a key its callers in
// turn. Pure: time and nodes are others' affair.

/** On whose behalf something waits. */
export type Asker = {
  /** The name of the key. */
  readonly holder: string;
  /** One of the key's callers, such as by its address. */
  readonly client: string;
  /** A key of weight 2 has two turns where others have one. */
  readonly weight: number;
};

type Waiting = { readonly asker: Asker };

/** By caller, in the order of their turns. What waits is in the order in which it came. */
type KeyQueue<Item> = {
  readonly byClient: Map<string, Set<Item>>;
  size: number;
  turnsLeft: number;
};

export class FairQueue<Item extends Waiting> {
  /** By key, in the order of their turns. Nobody is in it who does not wait. */
  readonly #byKey = new Map<string, KeyQueue<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many wait: of the key, and of the caller. */
  sizesOf({ holder, client }: Asker): { readonly ofKey: number; readonly ofClient: number } {
    const queue = this.#byKey.get(holder);
    return { ofKey: queue?.size ?? 0, ofClient: queue?.byClient.get(client)?.size ?? 0 };
  }

  /** How many others will have had their turn before one more of this asker, at most. */
  ahead({ holder, client, weight }: Asker): number {
    const own = this.#byKey.get(holder);
    const ofClient = own?.byClient.get(client)?.size ?? 0;
    const clients = own?.byClient.size ?? 0;
    const inKey = Math.min(own?.size ?? 0, (ofClient + 1) * Math.max(1, clients));
    const rounds = Math.ceil((inKey + 1) / weight);
    let others = 0;
    for (const [key, queue] of this.#byKey)
      if (key !== holder) others += Math.min(queue.size, rounds * queue.turnsLeft);
    return inKey + others;
  }

  add(item: Item): void {
    const { holder, client, weight } = item.asker;
    let queue = this.#byKey.get(holder);
    if (!queue) {
      queue = { byClient: new Map(), size: 0, turnsLeft: weight };
      this.#byKey.set(holder, queue);
    }
    const items = queue.byClient.get(client);
    if (items) items.add(item);
    else queue.byClient.set(client, new Set([item]));
    queue.size += 1;
    this.#size += 1;
  }

  /** Nobody waits for it any more. */
  remove(item: Item): void {
    const { holder, client } = item.asker;
    const queue = this.#byKey.get(holder);
    const items = queue?.byClient.get(client);
    if (!queue || !items?.delete(item)) return;
    if (items.size === 0) queue.byClient.delete(client);
    this.#taken(holder, queue);
  }

  /** @param may Which keys may have a turn now; the first of them in turn has it. */
  take(may: (holder: string) => boolean): Item | undefined {
    for (const [holder, queue] of this.#byKey) {
      if (!may(holder)) continue;
      const item = nextOf(queue);
      queue.turnsLeft -= 1;
      if (queue.turnsLeft <= 0) {
        this.#byKey.delete(holder); // the last in turn again
        this.#byKey.set(holder, queue);
        queue.turnsLeft = item.asker.weight;
      }
      this.#taken(holder, queue);
      return item;
    }
    return undefined;
  }

  #taken(holder: string, queue: KeyQueue<Item>): void {
    queue.size -= 1;
    this.#size -= 1;
    if (queue.size === 0) this.#byKey.delete(holder);
  }
}

/** Its caller is the last in turn again. */
function nextOf<Item>({ byClient }: KeyQueue<Item>): Item {
  const [[client, items]] = byClient as unknown as [[string, Set<Item>]];
  const [item] = items as unknown as [Item];
  items.delete(item);
  byClient.delete(client);
  if (items.size > 0) byClient.set(client, items);
  return item;
}
